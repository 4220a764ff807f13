/* Vector registers keep their values across system calls and signal handlers. */
#include <immintrin.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;

static void tick(int signal)
{
	(void)signal;
	__asm__ volatile("vxorps %%ymm0, %%ymm0, %%ymm0; vxorps %%ymm7, %%ymm7, %%ymm7" ::: "xmm0", "xmm7");
	ticks++;
}

int main(void)
{
	struct sigaction action = { .sa_handler = tick, .sa_flags = SA_RESTART };
	sigaction(SIGALRM, &action, NULL);
	struct itimerval timer = { { 0, 1000 }, { 0, 1000 } };
	setitimer(ITIMER_REAL, &timer, NULL);
	long wrong = 0;
	while (ticks < 100) {
		double in[4] = { 1, 2, 3, 4 }, out[4];
		long result;
		__asm__ volatile("vmovupd %1, %%ymm0; vmovupd %1, %%ymm7; mov $39, %%eax; syscall;"
				 "vaddpd %%ymm0, %%ymm7, %%ymm0; vmovupd %%ymm0, %0"
				 : "=m"(out), "=m"(in), "=&a"(result)
				 : "m"(in)
				 : "xmm0", "xmm7", "rcx", "r11", "memory");
		for (int i = 0; i < 4; i++)
			wrong += out[i] != 2 * (i + 1);
	}
	printf("%ld wrong\n", wrong);
	return wrong != 0;
}
