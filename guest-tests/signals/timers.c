/* alarm(2), setitimer(2) and the POSIX timers. */
#include "test.h"
#include <sys/time.h>

static volatile int n_caught, last;
static siginfo_t got;

static void note(int signal, siginfo_t *info, void *context __attribute__((unused)))
{
	n_caught++;
	last = signal;
	got = *info;
}

static void catch(int signal)
{
	struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART };
	SUCCEEDS(sigaction(signal, &action, NULL));
}

static void until_caught(int n)
{
	while (n_caught < n)
		sleep_ms(1);
}

static struct itimerspec in_ms(int first, int interval)
{
	return (struct itimerspec){ { interval / 1000, interval % 1000 * 1000000l }, { first / 1000, first % 1000 * 1000000l } };
}

TEST(alarm_returns_the_rest)
{
	alarm(0);
	EQUALS(alarm(100), 0);
	EQUALS(alarm(50), 100);
	EQUALS(alarm(0), 50);
	EQUALS(alarm(0), 0);
}

TEST(alarm_and_interval_timer_are_the_same)
{
	struct itimerval timer;
	alarm(100);
	SUCCEEDS(getitimer(ITIMER_REAL, &timer));
	CHECK(timer.it_value.tv_sec >= 98);
	EQUALS(timer.it_interval.tv_sec, 0);
	timer = (struct itimerval){ { 0, 0 }, { 30, 600000 } };
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, NULL));
	/* Rounded to the nearest second, but never to zero. */
	EQUALS(alarm(0), 31);
	timer = (struct itimerval){ { 0, 0 }, { 0, 300000 } };
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, NULL));
	EQUALS(alarm(0), 1);
}

TEST(alarm_kills_by_default)
{
	pid_t child = FORK();
	if (child == 0) {
		alarm(1);
		for (;;)
			pause();
	}
	DIES(child, SIGALRM);
}

TEST(real_time_interval)
{
	catch(SIGALRM);
	struct itimerval timer = { { 0, 3000 }, { 0, 1000 } }, old;
	int64_t start = now_ns(CLOCK_MONOTONIC);
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, NULL));
	until_caught(5);
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= 13000000);
	EQUALS(got.si_code, SI_KERNEL);
	memset(&timer, 0, sizeof timer);
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, &old));
	EQUALS(old.it_interval.tv_usec, 3000);
	int before = n_caught;
	sleep_ms(10);
	EQUALS(n_caught, before);
}

TEST(virtual_and_profiling)
{
	catch(SIGVTALRM);
	catch(SIGPROF);
	struct itimerval timer = { { 0, 0 }, { 0, 10000 } };
	SUCCEEDS(setitimer(ITIMER_VIRTUAL, &timer, NULL));
	sleep_ms(30);
	EQUALS(n_caught, 0);
	while (n_caught == 0)
		;
	EQUALS(last, SIGVTALRM);
	SUCCEEDS(setitimer(ITIMER_PROF, &timer, NULL));
	while (n_caught == 1)
		;
	EQUALS(last, SIGPROF);
}

TEST(interval_refusals)
{
	struct itimerval timer = { { 0, 0 }, { 0, 1000000 } };
	FAILS(setitimer(ITIMER_REAL, &timer, NULL), EINVAL);
	timer.it_value.tv_usec = 0;
	FAILS(syscall(SYS_setitimer, 9, &timer, NULL), EINVAL);
	FAILS(syscall(SYS_getitimer, 9, &timer), EINVAL);
	FAILS(syscall(SYS_getitimer, ITIMER_REAL, BAD_POINTER), EFAULT);
}

TEST(timer_with_signal_and_value)
{
	catch(SIGRTMIN);
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 4242 };
	SUCCEEDS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	struct itimerspec time = in_ms(5, 0), now;
	SUCCEEDS(timer_settime(timer, 0, &time, NULL));
	SUCCEEDS(timer_gettime(timer, &now));
	CHECK(now.it_value.tv_nsec > 0 || n_caught);
	until_caught(1);
	EQUALS(got.si_code, SI_TIMER);
	EQUALS(got.si_value.sival_int, 4242);
	SUCCEEDS(timer_gettime(timer, &now));
	EQUALS(now.it_value.tv_sec, 0);
	EQUALS(now.it_value.tv_nsec, 0);
	SUCCEEDS(timer_delete(timer));
	FAILS(timer_delete(timer), EINVAL);
}

TEST(timer_without_event_sends_alarm)
{
	catch(SIGALRM);
	timer_t timer;
	SUCCEEDS(timer_create(CLOCK_REALTIME, NULL, &timer));
	struct itimerspec time = in_ms(2, 0);
	SUCCEEDS(timer_settime(timer, 0, &time, NULL));
	until_caught(1);
	EQUALS(last, SIGALRM);
	EQUALS(got.si_code, SI_TIMER);
}

TEST(timer_counts_overruns)
{
	timer_t timer;
	sigset_t set;
	siginfo_t info;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	SUCCEEDS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	struct itimerspec time = in_ms(1, 1);
	SUCCEEDS(timer_settime(timer, 0, &time, NULL));
	sleep_ms(30);
	EQUALS(sigwaitinfo(&set, &info), SIGRTMIN);
	CHECK(info.si_overrun >= 20);
	EQUALS(timer_getoverrun(timer), info.si_overrun);
}

TEST(absolute_time)
{
	catch(SIGRTMIN);
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	SUCCEEDS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	int64_t end = now_ns(CLOCK_MONOTONIC) + 10000000;
	struct itimerspec time = { { 0, 0 }, { end / 1000000000, end % 1000000000 } };
	SUCCEEDS(timer_settime(timer, TIMER_ABSTIME, &time, NULL));
	until_caught(1);
	CHECK(now_ns(CLOCK_MONOTONIC) >= end);
	time.it_value = (struct timespec){ 0, 1 };
	SUCCEEDS(timer_settime(timer, TIMER_ABSTIME, &time, NULL));
	until_caught(2);
}

TEST(disarm)
{
	catch(SIGRTMIN);
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	SUCCEEDS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	struct itimerspec time = in_ms(100000, 50), none = in_ms(0, 0), old;
	SUCCEEDS(timer_settime(timer, 0, &time, NULL));
	SUCCEEDS(timer_settime(timer, 0, &none, &old));
	CHECK(old.it_value.tv_sec >= 99 - 1 && old.it_value.tv_sec <= 100);
	EQUALS(old.it_interval.tv_nsec, 50000000);
	SUCCEEDS(timer_gettime(timer, &old));
	EQUALS(old.it_value.tv_sec, 0);
}

TEST(timer_to_a_thread)
{
	catch(SIGRTMIN);
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN };
	event._sigev_un._tid = gettid();
	SUCCEEDS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	struct itimerspec time = in_ms(1, 0);
	SUCCEEDS(timer_settime(timer, 0, &time, NULL));
	until_caught(1);
	event._sigev_un._tid = getppid();
	FAILS(timer_create(CLOCK_MONOTONIC, &event, &timer), EINVAL);
}

TEST(timer_of_cpu_time)
{
	catch(SIGRTMIN);
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	SUCCEEDS(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer));
	struct itimerspec time = in_ms(10, 0);
	SUCCEEDS(timer_settime(timer, 0, &time, NULL));
	sleep_ms(20);
	EQUALS(n_caught, 0);
	while (n_caught == 0)
		;
	CHECK(now_ns(CLOCK_PROCESS_CPUTIME_ID) >= 10000000);
}

TEST(timer_refusals)
{
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = 65 };
	FAILS(timer_create(CLOCK_MONOTONIC, &event, &timer), EINVAL);
	event = (struct sigevent){ .sigev_notify = 99, .sigev_signo = SIGUSR1 };
	FAILS(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer), EINVAL);
	FAILS(timer_create(99, NULL, &timer), EINVAL);
	int id;
	SUCCEEDS(syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &id));
	struct itimerspec bad = { { 0, 0 }, { 0, 1000000000 } };
	FAILS(syscall(SYS_timer_settime, id, 0, &bad, NULL), EINVAL);
	FAILS(syscall(SYS_timer_settime, id, 0, NULL, NULL), EINVAL);
	FAILS(syscall(SYS_timer_settime, 9999, 0, &bad, NULL), EINVAL);
	FAILS(syscall(SYS_timer_gettime, 9999, &bad), EINVAL);
	FAILS(syscall(SYS_timer_getoverrun, 9999), EINVAL);
	FAILS(syscall(SYS_timer_delete, 9999), EINVAL);
}

TEST(silent_timer_can_be_read)
{
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	SUCCEEDS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	struct itimerspec time = in_ms(50000, 0), now;
	SUCCEEDS(timer_settime(timer, 0, &time, NULL));
	SUCCEEDS(timer_gettime(timer, &now));
	CHECK(now.it_value.tv_sec >= 48 && now.it_value.tv_sec <= 50);
}

TEST(timers_are_not_inherited)
{
	int id;
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	SUCCEEDS(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id));
	pid_t child = FORK();
	if (child == 0) {
		struct itimerspec now;
		FAILS(syscall(SYS_timer_gettime, id, &now), EINVAL);
		_exit(0);
	}
	EXITS(child, 0);
}

static volatile int thread_value;
static void in_a_thread(union sigval value)
{
	thread_value = value.sival_int;
}

TEST(timer_that_calls_a_function)
{
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = in_a_thread, .sigev_value.sival_int = 5 };
	SUCCEEDS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	struct itimerspec time = in_ms(1, 0);
	SUCCEEDS(timer_settime(timer, 0, &time, NULL));
	while (thread_value != 5)
		sleep_ms(1);
}
