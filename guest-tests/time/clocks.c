/* Clocks and sleeping. */
#include "test.h"
#include <pthread.h>
#include <sys/time.h>
#include <sys/timex.h>

static const clockid_t all[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
				 CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME, CLOCK_TAI };
enum { N_CLOCKS = sizeof all / sizeof *all };

TEST(all_can_be_read)
{
	struct timespec time, resolution;
	for (int i = 0; i < N_CLOCKS; i++) {
		SUCCEEDS(clock_gettime(all[i], &time));
		CHECK(time.tv_sec >= 0 && time.tv_nsec >= 0 && time.tv_nsec < 1000000000);
		SUCCEEDS(clock_getres(all[i], &resolution));
		CHECK(resolution.tv_sec == 0 && resolution.tv_nsec > 0);
		/* Once more without the help of the library. */
		SUCCEEDS(syscall(SYS_clock_gettime, all[i], &time));
	}
}

TEST(resolutions)
{
	struct timespec resolution;
	SUCCEEDS(clock_getres(CLOCK_MONOTONIC, &resolution));
	EQUALS(resolution.tv_nsec, 1);
	SUCCEEDS(clock_getres(CLOCK_REALTIME, &resolution));
	EQUALS(resolution.tv_nsec, 1);
	SUCCEEDS(clock_getres(CLOCK_REALTIME_COARSE, &resolution));
	CHECK(resolution.tv_nsec >= 1000000);
	SUCCEEDS(clock_getres(CLOCK_MONOTONIC, NULL));
}

TEST(never_backwards)
{
	for (int i = 1; i < N_CLOCKS; i++) {
		int64_t last = now_ns(all[i]);
		for (int j = 0; j < 2000; j++) {
			int64_t now = now_ns(all[i]);
			CHECK(now >= last);
			last = now;
		}
	}
}

TEST(library_and_kernel_agree)
{
	const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME };
	for (int i = 0; i < 3; i++) {
		int64_t before = now_ns(clocks[i]);
		struct timespec middle;
		SUCCEEDS(syscall(SYS_clock_gettime, clocks[i], &middle));
		int64_t after = now_ns(clocks[i]), kernel = middle.tv_sec * 1000000000ll + middle.tv_nsec;
		CHECK(kernel >= before && kernel <= after);
	}
}

TEST(old_calls_agree)
{
	struct timeval micro;
	struct timezone zone;
	SUCCEEDS(gettimeofday(&micro, &zone));
	time_t seconds = SUCCEEDS(time(NULL)), stored = 0;
	int64_t difference = now_ns(CLOCK_REALTIME) / 1000 - (micro.tv_sec * 1000000ll + micro.tv_usec);
	CHECK(difference >= 0 && difference < 5000000);
	CHECK(seconds - micro.tv_sec >= -1 && seconds - micro.tv_sec <= 1);
	SUCCEEDS(syscall(SYS_time, &stored));
	CHECK(stored - seconds >= -1 && stored - seconds <= 1);
	SUCCEEDS(syscall(SYS_gettimeofday, &micro, NULL));
	FAILS(syscall(SYS_gettimeofday, BAD_POINTER, NULL), EFAULT);
}

TEST(refusals)
{
	struct timespec time;
	FAILS(clock_gettime(99, &time), EINVAL);
	FAILS(clock_getres(99, &time), EINVAL);
	FAILS(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, BAD_POINTER), EFAULT);
	FAILS(clock_settime(CLOCK_MONOTONIC, &time), EINVAL);
	become_ordinary();
	time = (struct timespec){ 1, 0 };
	FAILS(clock_settime(CLOCK_REALTIME, &time), EPERM);
	struct timeval micro = { 1, 0 };
	FAILS(settimeofday(&micro, NULL), EPERM);
}

static void burn_ms(int milliseconds)
{
	for (int64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + milliseconds * 1000000ll; now_ns(CLOCK_THREAD_CPUTIME_ID) < end;)
		;
}

static void *burn(void *thread_time)
{
	burn_ms(20);
	*(int64_t *)thread_time = now_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

TEST(cpu_time_of_threads_and_process)
{
	pthread_t thread;
	int64_t of_thread = 0, own_before = now_ns(CLOCK_THREAD_CPUTIME_ID);
	EQUALS(pthread_create(&thread, NULL, burn, &of_thread), 0);
	pthread_join(thread, NULL);
	CHECK(of_thread >= 20000000);
	CHECK(now_ns(CLOCK_PROCESS_CPUTIME_ID) >= of_thread);
	CHECK(now_ns(CLOCK_THREAD_CPUTIME_ID) - own_before < 15000000);
}

TEST(cpu_time_stands_still_while_asleep)
{
	int64_t before = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	sleep_ms(50);
	CHECK(now_ns(CLOCK_PROCESS_CPUTIME_ID) - before < 40000000);
}

TEST(cpu_clock_of_another_process)
{
	clockid_t clock;
	pid_t child = FORK();
	if (child == 0) {
		burn_ms(5);
		for (;;)
			pause();
	}
	EQUALS(clock_getcpuclockid(child, &clock), 0);
	while (now_ns(clock) < 5000000)
		sleep_ms(1);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
	struct timespec time;
	FAILS(clock_gettime(clock, &time), EINVAL);
}

TEST(relative_sleep)
{
	const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME };
	struct timespec request = { 0, 5000000 };
	for (int i = 0; i < 3; i++) {
		int64_t start = now_ns(CLOCK_MONOTONIC);
		EQUALS(clock_nanosleep(clocks[i], 0, &request, NULL), 0);
		CHECK(now_ns(CLOCK_MONOTONIC) - start >= 5000000);
	}
	int64_t start = now_ns(CLOCK_MONOTONIC);
	SUCCEEDS(nanosleep(&request, NULL));
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= 5000000);
	SUCCEEDS(usleep(1000));
	request = (struct timespec){ 0, 0 };
	SUCCEEDS(nanosleep(&request, NULL));
}

TEST(absolute_sleep)
{
	const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_REALTIME };
	for (int i = 0; i < 2; i++) {
		int64_t end = now_ns(clocks[i]) + 5000000;
		struct timespec time = { end / 1000000000, end % 1000000000 };
		EQUALS(clock_nanosleep(clocks[i], TIMER_ABSTIME, &time, NULL), 0);
		CHECK(now_ns(clocks[i]) >= end);
		time.tv_sec -= 100;
		EQUALS(clock_nanosleep(clocks[i], TIMER_ABSTIME, &time, NULL), 0);
	}
}

static volatile bool stop;
static void *burn_until_stopped(void *unused __attribute__((unused)))
{
	while (!stop)
		;
	return NULL;
}

TEST(sleep_on_cpu_time)
{
	pthread_t thread;
	struct timespec request = { 0, 5000000 };
	EQUALS(pthread_create(&thread, NULL, burn_until_stopped, NULL), 0);
	EQUALS(clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, 0, &request, NULL), 0);
	CHECK(now_ns(CLOCK_PROCESS_CPUTIME_ID) >= 5000000);
	stop = true;
	pthread_join(thread, NULL);
	EQUALS(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &request, NULL), EINVAL);
}

TEST(sleep_refusals)
{
	struct timespec bad = { 0, 1000000000 }, negative = { -1, 0 };
	FAILS(nanosleep(&bad, NULL), EINVAL);
	FAILS(nanosleep(&negative, NULL), EINVAL);
	FAILS(syscall(SYS_nanosleep, BAD_POINTER, NULL), EFAULT);
	EQUALS(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL), EINVAL);
	EQUALS(clock_nanosleep(99, 0, &negative, NULL), EINVAL);
	EQUALS(clock_nanosleep(CLOCK_MONOTONIC_RAW, 0, &bad, NULL), ENOTSUP);
}

TEST(adjustment_can_be_read)
{
	struct timex state = { .modes = 0 };
	SUCCEEDS(adjtimex(&state));
	CHECK(state.tick >= 9000 && state.tick <= 11000);
	become_ordinary();
	state.modes = ADJ_FREQUENCY;
	FAILS(adjtimex(&state), EPERM);
}
