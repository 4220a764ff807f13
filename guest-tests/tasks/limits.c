/* Resource limits and what happens at them; priorities; affinity; times and usage. */
#include "files.h"
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/times.h>

TEST(all_limits_can_be_read)
{
	struct rlimit limit;
	for (int resource = 0; resource < RLIMIT_NLIMITS; resource++) {
		SUCCEEDS(getrlimit(resource, &limit));
		CHECK(limit.rlim_cur <= limit.rlim_max);
	}
	FAILS(getrlimit(RLIMIT_NLIMITS, &limit), EINVAL);
	FAILS(getrlimit(-1, &limit), EINVAL);
}

TEST(lower_and_raise)
{
	struct rlimit limit, got;
	SUCCEEDS(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = 100;
	SUCCEEDS(setrlimit(RLIMIT_NOFILE, &limit));
	SUCCEEDS(getrlimit(RLIMIT_NOFILE, &got));
	EQUALS(got.rlim_cur, 100);
	EQUALS(got.rlim_max, limit.rlim_max);
	limit.rlim_cur = limit.rlim_max;
	SUCCEEDS(setrlimit(RLIMIT_NOFILE, &limit));
	limit = (struct rlimit){ 101, 100 };
	FAILS(setrlimit(RLIMIT_NOFILE, &limit), EINVAL);
}

TEST(hard_limit_cannot_be_raised)
{
	become_ordinary();
	struct rlimit limit = { 50, 50 };
	SUCCEEDS(setrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_max = 51;
	FAILS(setrlimit(RLIMIT_NOFILE, &limit), EPERM);
}

TEST(prlimit_of_others)
{
	struct rlimit limit = { 60, 60 }, old;
	pid_t child = FORK();
	if (child == 0)
		for (;;)
			pause();
	SUCCEEDS(prlimit(child, RLIMIT_NOFILE, &limit, &old));
	SUCCEEDS(prlimit(child, RLIMIT_NOFILE, NULL, &old));
	EQUALS(old.rlim_cur, 60);
	FAILS(prlimit(INT_MAX, RLIMIT_NOFILE, NULL, &old), ESRCH);
	FAILS(prlimit(0, RLIMIT_NLIMITS, NULL, &old), EINVAL);
	FAILS(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, BAD_POINTER, NULL), EFAULT);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(prlimit_needs_permission)
{
	need_root();
	pid_t parent = getpid();
	pid_t child = FORK();
	if (child == 0) {
		struct rlimit old;
		become_ordinary();
		FAILS(prlimit(parent, RLIMIT_NOFILE, NULL, &old), EPERM);
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(inherited_by_fork)
{
	struct rlimit limit = { 70, 80 };
	SUCCEEDS(setrlimit(RLIMIT_NOFILE, &limit));
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(getrlimit(RLIMIT_NOFILE, &limit));
		_exit(limit.rlim_cur == 70 && limit.rlim_max == 80 ? 0 : 1);
	}
	EXITS(child, 0);
}

TEST(number_of_files)
{
	struct rlimit limit = { 20, 20 };
	SUCCEEDS(setrlimit(RLIMIT_NOFILE, &limit));
	int file;
	while ((file = dup(0)) >= 0)
		CHECK(file < 20);
	EQUALS(errno, EMFILE);
	int ends[2];
	FAILS(open("/", O_RDONLY), EMFILE);
	FAILS(pipe(ends), EMFILE);
	FAILS(fcntl(0, F_DUPFD, 20), EINVAL);
	FAILS(dup2(0, 20), EBADF);
}

static volatile sig_atomic_t caught;
static void note(int signal)
{
	caught = signal;
}

TEST(size_of_files)
{
	scratch();
	signal(SIGXFSZ, note);
	struct rlimit limit = { 1000, 1000 };
	SUCCEEDS(setrlimit(RLIMIT_FSIZE, &limit));
	int file = SUCCEEDS(open("file", O_RDWR | O_CREAT, 0644));
	char data[600] = { 0 };
	EQUALS(write(file, data, 600), 600);
	EQUALS(write(file, data, 600), 400);
	EQUALS(caught, 0);
	FAILS(write(file, data, 1), EFBIG);
	EQUALS(caught, SIGXFSZ);
	caught = 0;
	FAILS(ftruncate(file, 1001), EFBIG);
	EQUALS(caught, SIGXFSZ);
	SUCCEEDS(ftruncate(file, 1000));
}

TEST(address_space)
{
	struct rlimit limit = { 1 << 30, 1 << 30 };
	SUCCEEDS(setrlimit(RLIMIT_AS, &limit));
	FAILS(mmap(NULL, 2ul << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), ENOMEM);
	SUCCEEDS(mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

TEST(cpu_time)
{
	/* A whole second of CPU time can take long on a busy machine. */
	alarm(5 * TEST_SECONDS);
	pid_t child = FORK();
	if (child == 0) {
		alarm(5 * TEST_SECONDS);
		struct rlimit limit = { 1, 2 };
		SUCCEEDS(setrlimit(RLIMIT_CPU, &limit));
		signal(SIGXCPU, SIG_DFL);
		for (;;)
			;
	}
	DIES(child, SIGXCPU);
}

TEST(priorities)
{
	EQUALS(getpriority(PRIO_PROCESS, 0), 0);
	SUCCEEDS(setpriority(PRIO_PROCESS, 0, 5));
	EQUALS(getpriority(PRIO_PROCESS, getpid()), 5);
	EQUALS(syscall(SYS_getpriority, PRIO_PROCESS, 0), 15);
	SUCCEEDS(setpriority(PRIO_PROCESS, 0, 100));
	EQUALS(getpriority(PRIO_PROCESS, 0), 19);
	FAILS(setpriority(PRIO_PROCESS, INT_MAX, 0), ESRCH);
	FAILS(setpriority(9, 0, 0), EINVAL);
	FAILS(getpriority(9, 0), EINVAL);
	pid_t child = FORK();
	if (child == 0)
		_exit(getpriority(PRIO_PROCESS, 0));
	EXITS(child, 19);
}

TEST(priority_is_not_raised_without_privilege)
{
	become_ordinary();
	struct rlimit limit = { 0, 0 };
	SUCCEEDS(setrlimit(RLIMIT_NICE, &limit));
	SUCCEEDS(setpriority(PRIO_PROCESS, 0, 10));
	FAILS(setpriority(PRIO_PROCESS, 0, 5), EACCES);
	errno = 0;
	FAILS(nice(-1), EPERM);
	EQUALS(nice(1), 11);
}

TEST(affinity)
{
	cpu_set_t all, one;
	SUCCEEDS(sched_getaffinity(0, sizeof all, &all));
	CHECK(CPU_COUNT(&all) >= 1);
	EQUALS(CPU_COUNT(&all), sysconf(_SC_NPROCESSORS_ONLN));
	int cpu = 0;
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	SUCCEEDS(sched_setaffinity(0, sizeof one, &one));
	SUCCEEDS(sched_getaffinity(getpid(), sizeof one, &one));
	EQUALS(CPU_COUNT(&one), 1);
	EQUALS(sched_getcpu(), cpu);
	CPU_ZERO(&one);
	FAILS(sched_setaffinity(0, sizeof one, &one), EINVAL);
	FAILS(sched_getaffinity(0, 1, &one), EINVAL);
	FAILS(sched_getaffinity(INT_MAX, sizeof one, &one), ESRCH);
	FAILS(sched_setaffinity(INT_MAX, sizeof all, &all), ESRCH);
}

TEST(raw_affinity_returns_bytes)
{
	cpu_set_t all;
	long size = SUCCEEDS(syscall(SYS_sched_getaffinity, 0, sizeof all, &all));
	CHECK(size >= 8 && size % 8 == 0);
}

TEST(policies)
{
	struct sched_param parameters = { 0 };
	EQUALS(sched_getscheduler(0), SCHED_OTHER);
	SUCCEEDS(sched_getparam(0, &parameters));
	EQUALS(parameters.sched_priority, 0);
	SUCCEEDS(sched_setscheduler(0, SCHED_BATCH, &parameters));
	EQUALS(sched_getscheduler(0), SCHED_BATCH);
	SUCCEEDS(sched_setscheduler(0, SCHED_OTHER, &parameters));
	parameters.sched_priority = 5;
	FAILS(sched_setscheduler(0, SCHED_OTHER, &parameters), EINVAL);
	FAILS(sched_setscheduler(0, 99, &parameters), EINVAL);
	FAILS(sched_getscheduler(INT_MAX), ESRCH);
	FAILS(sched_getscheduler(-1), EINVAL);
	EQUALS(sched_get_priority_max(SCHED_FIFO), 99);
	EQUALS(sched_get_priority_min(SCHED_FIFO), 1);
	EQUALS(sched_get_priority_max(SCHED_OTHER), 0);
	FAILS(sched_get_priority_max(99), EINVAL);
	SUCCEEDS(sched_yield());
}

static void burn_ms(int milliseconds)
{
	for (int64_t end = now_ns(CLOCK_PROCESS_CPUTIME_ID) + milliseconds * 1000000ll; now_ns(CLOCK_PROCESS_CPUTIME_ID) < end;)
		;
}

static int64_t used_us(int who)
{
	struct rusage usage;
	SUCCEEDS(getrusage(who, &usage));
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000ll + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

TEST(usage)
{
	EQUALS(used_us(RUSAGE_CHILDREN), 0);
	pid_t child = FORK();
	if (child == 0) {
		burn_ms(20);
		CHECK(used_us(RUSAGE_SELF) >= 15000);
		CHECK(used_us(RUSAGE_THREAD) >= 15000);
		_exit(0);
	}
	EXITS(child, 0);
	CHECK(used_us(RUSAGE_CHILDREN) >= 15000);
	struct rusage usage;
	FAILS(getrusage(7, &usage), EINVAL);
	FAILS(getrusage(RUSAGE_SELF, BAD_POINTER), EFAULT);
	SUCCEEDS(getrusage(RUSAGE_SELF, &usage));
	CHECK(usage.ru_maxrss > 100);
	CHECK(usage.ru_minflt > 0);
}

TEST(times_in_ticks)
{
	struct tms before, after;
	clock_t start = SUCCEEDS(times(&before));
	burn_ms(50);
	clock_t end = SUCCEEDS(times(&after));
	CHECK(end - start >= 4);
	CHECK(after.tms_utime + after.tms_stime - before.tms_utime - before.tms_stime >= 4);
	EQUALS(after.tms_cutime, 0);
	FAILS(syscall(SYS_times, BAD_POINTER), EFAULT);
	EQUALS(sysconf(_SC_CLK_TCK), 100);
}
