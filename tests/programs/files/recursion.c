/* The main stack grows to 7 MiB, and beyond its limit there is a signal on another stack. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static sigjmp_buf back;

static int deep(int n)
{
	volatile char frame[1024];
	frame[0] = (char)n;
	return n == 0 ? 0 : deep(n - 1) + 1 + (frame[0] - (char)n);
}

static int forever(int n)
{
	volatile char frame[1024];
	frame[n % 1024] = 1;
	return forever(n + 1) + frame[0];
}

static void overflow(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

int main(void)
{
	printf("%d\n", deep(6500));
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct sigaction action = { .sa_handler = overflow, .sa_flags = SA_ONSTACK };
	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
	if (sigsetjmp(back, 1) == 0)
		forever(0);
	puts("the stack has an end");
	return 0;
}
