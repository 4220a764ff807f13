/* timerfd(2). */
#include "test.h"
#include <poll.h>
#include <sys/timerfd.h>

static struct itimerspec in_ms(int first, int interval)
{
	return (struct itimerspec){ { interval / 1000, interval % 1000 * 1000000l }, { first / 1000, first % 1000 * 1000000l } };
}

static uint64_t take(int timer)
{
	uint64_t n = 0;
	EQUALS(read(timer, &n, 8), 8);
	return n;
}

TEST(once)
{
	uint64_t n;
	int timer = SUCCEEDS(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
	FAILS(read(timer, &n, 8), EAGAIN);
	struct itimerspec time = in_ms(10, 0), now;
	int64_t start = now_ns(CLOCK_MONOTONIC);
	SUCCEEDS(timerfd_settime(timer, 0, &time, NULL));
	SUCCEEDS(timerfd_gettime(timer, &now));
	CHECK(now.it_value.tv_nsec <= 10000000);
	struct pollfd one = { timer, POLLIN, 0 };
	EQUALS(poll(&one, 1, -1), 1);
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= 10000000);
	EQUALS(take(timer), 1);
	FAILS(read(timer, &n, 8), EAGAIN);
	SUCCEEDS(timerfd_gettime(timer, &now));
	EQUALS(now.it_value.tv_nsec, 0);
}

TEST(repeated)
{
	int timer = SUCCEEDS(timerfd_create(CLOCK_MONOTONIC, 0));
	struct itimerspec time = in_ms(1, 2), now;
	SUCCEEDS(timerfd_settime(timer, 0, &time, NULL));
	sleep_ms(12);
	CHECK(take(timer) >= 5);
	EQUALS(take(timer) >= 1, 1);
	SUCCEEDS(timerfd_gettime(timer, &now));
	EQUALS(now.it_interval.tv_nsec, 2000000);
}

TEST(absolute)
{
	const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME };
	for (int i = 0; i < 3; i++) {
		int timer = SUCCEEDS(timerfd_create(clocks[i], 0));
		int64_t end = now_ns(clocks[i]) + 5000000;
		struct itimerspec time = { { 0, 0 }, { end / 1000000000, end % 1000000000 } };
		SUCCEEDS(timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL));
		EQUALS(take(timer), 1);
		CHECK(now_ns(clocks[i]) >= end);
		time.it_value = (struct timespec){ 0, 1 };
		SUCCEEDS(timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL));
		EQUALS(take(timer), 1);
	}
}

TEST(disarm_and_old_value)
{
	uint64_t n;
	int timer = SUCCEEDS(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
	struct itimerspec time = in_ms(60000, 30), none = in_ms(0, 0), old;
	SUCCEEDS(timerfd_settime(timer, 0, &time, &old));
	EQUALS(old.it_value.tv_sec, 0);
	SUCCEEDS(timerfd_settime(timer, 0, &none, &old));
	CHECK(old.it_value.tv_sec == 59 || old.it_value.tv_sec == 60);
	EQUALS(old.it_interval.tv_nsec, 30000000);
	FAILS(read(timer, &n, 8), EAGAIN);
}

/* Setting the timer forgets what had expired. */
TEST(set_again)
{
	uint64_t n;
	int timer = SUCCEEDS(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
	struct itimerspec time = in_ms(1, 0);
	SUCCEEDS(timerfd_settime(timer, 0, &time, NULL));
	sleep_ms(5);
	time = in_ms(60000, 0);
	SUCCEEDS(timerfd_settime(timer, 0, &time, NULL));
	FAILS(read(timer, &n, 8), EAGAIN);
}

TEST(refusals)
{
	uint64_t n;
	struct itimerspec time = in_ms(1, 0);
	FAILS(timerfd_create(99, 0), EINVAL);
	FAILS(timerfd_create(CLOCK_MONOTONIC, 0x100), EINVAL);
	int timer = SUCCEEDS(timerfd_create(CLOCK_MONOTONIC, 0));
	FAILS(timerfd_settime(timer, 0x100, &time, NULL), EINVAL);
	FAILS(timerfd_settime(0, 0, &time, NULL), EINVAL);
	FAILS(timerfd_settime(9999, 0, &time, NULL), EBADF);
	FAILS(timerfd_settime(timer, 0, BAD_POINTER, NULL), EFAULT);
	FAILS(timerfd_gettime(0, &time), EINVAL);
	FAILS(timerfd_gettime(9999, &time), EBADF);
	time.it_value.tv_nsec = 1000000000;
	FAILS(timerfd_settime(timer, 0, &time, NULL), EINVAL);
	FAILS(read(timer, &n, 7), EINVAL);
	FAILS(write(timer, &n, 8), EINVAL);
	EQUALS(lseek(timer, 5, SEEK_SET), 0);
}

TEST(flags)
{
	int timer = SUCCEEDS(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	EQUALS(fcntl(timer, F_GETFD), FD_CLOEXEC);
	CHECK(fcntl(timer, F_GETFL) & O_NONBLOCK);
}

TEST(all_clocks)
{
	/* Those of alarms need a privilege that root may not have everywhere. */
	const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME };
	for (int i = 0; i < 3; i++) {
		int timer = SUCCEEDS(timerfd_create(clocks[i], 0));
		struct itimerspec time = { { 0, 0 }, { 0, 1000000 } };
		SUCCEEDS(timerfd_settime(timer, 0, &time, NULL));
		EQUALS(take(timer), 1);
	}
	FAILS(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0), EINVAL);
	FAILS(timerfd_create(CLOCK_THREAD_CPUTIME_ID, 0), EINVAL);
	FAILS(timerfd_create(CLOCK_MONOTONIC_RAW, 0), EINVAL);
}

TEST(told_of_a_step_of_the_clock)
{
	/* Nobody sets it here: the timer waits, and goes off in the end. */
	int timer = SUCCEEDS(timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK));
	int64_t end = now_ns(CLOCK_REALTIME) + 30000000;
	struct itimerspec time = { { 0, 0 }, { end / 1000000000, end % 1000000000 } };
	SUCCEEDS(timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &time, NULL));
	struct pollfd poll_timer = { timer, POLLIN, 0 };
	EQUALS(poll(&poll_timer, 1, 5000), 1);
	CHECK(now_ns(CLOCK_REALTIME) >= end);
	EQUALS(take(timer), 1);
	FAILS(timerfd_settime(timer, 4, &time, NULL), EINVAL);
}
