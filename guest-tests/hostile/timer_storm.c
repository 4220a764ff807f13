/* As many timers as there may be, as fast as they go. run: --timeout 1h */
#include "hostile.h"

#include <sys/timerfd.h>
#include <sys/time.h>

int main(void)
{
	struct itimerspec fast = { { 0, 1 }, { 0, 1 } };
	struct sigevent silent = { .sigev_notify = SIGEV_NONE }, loud = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	signal(SIGUSR1, SIG_IGN);
	signal(SIGALRM, SIG_IGN);
	int count = 0;
	timer_t timer;
	for (; count < 20000 && timer_create(CLOCK_MONOTONIC, count % 2 ? &silent : &loud, &timer) == 0; count++)
		timer_settime(timer, 0, &fast, NULL);
	int fds = 0;
	for (; fds < 900; fds++) {
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		if (fd < 0 || timerfd_settime(fd, 0, &fast, NULL))
			break;
	}
	struct itimerval often = { { 0, 1 }, { 0, 1 } };
	setitimer(ITIMER_REAL, &often, NULL);
	printf("%d timers, %d descriptors\n", count, fds);
	double end = seconds() + 3;
	long answered = 0;
	while (seconds() < end) {
		access("/etc/passwd", F_OK);
		answered++;
	}
	printf("%ld calls answered meanwhile\n", answered);
	if (answered < 10)
		puts("the kernel hardly answers");
	puts("held");
	return 0;
}
