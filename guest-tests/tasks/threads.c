/* Threads through pthread: many at once, exit of the leader, fork and execve among threads, deep stacks. */
#include "test.h"
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static pthread_t start(void *(*body)(void *), void *argument)
{
	pthread_t thread;
	EQUALS(pthread_create(&thread, NULL, body, argument), 0);
	return thread;
}

static void *join(pthread_t thread)
{
	void *result;
	EQUALS(pthread_join(thread, &result), 0);
	return result;
}

enum { MANY = 200 };
static pthread_barrier_t all_here;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int counter;
static __thread int own = 1;

static void *meet_and_count(void *argument)
{
	own += (intptr_t)argument;
	pthread_barrier_wait(&all_here);
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&lock);
		counter++;
		pthread_mutex_unlock(&lock);
	}
	return (void *)(intptr_t)own;
}

TEST(two_hundred_live_threads)
{
	pthread_t threads[MANY];
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	pthread_barrier_init(&all_here, NULL, MANY);
	for (int i = 0; i < MANY; i++)
		EQUALS(pthread_create(&threads[i], &attributes, meet_and_count, (void *)(intptr_t)i), 0);
	for (int i = 0; i < MANY; i++)
		EQUALS((intptr_t)join(threads[i]), i + 1);
	EQUALS(counter, MANY * 50);
	EQUALS(own, 1);
}

static void *return_tid(void *unused __attribute__((unused)))
{
	return (void *)(intptr_t)gettid();
}

TEST(tids_differ_and_pid_is_shared)
{
	pid_t first = (intptr_t)join(start(return_tid, NULL));
	CHECK(first != getpid());
	EQUALS(gettid(), getpid());
}

static void *create_and_join(void *unused __attribute__((unused)))
{
	for (int i = 0; i < 50; i++)
		join(start(return_tid, NULL));
	return NULL;
}

TEST(threads_create_threads)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		threads[i] = start(create_and_join, NULL);
	for (int i = 0; i < 4; i++)
		join(threads[i]);
}

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *play(void *argument)
{
	int mine = (intptr_t)argument;
	for (int round = 0; round < 200; round++) {
		pthread_mutex_lock(&lock);
		while (turn != mine)
			pthread_cond_wait(&changed, &lock);
		turn = !mine;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

TEST(condition_variables_pass_the_turn)
{
	pthread_t other = start(play, (void *)1);
	play((void *)0);
	join(other);
	EQUALS(turn, 0);
}

static void *exit_group(void *code)
{
	_exit((intptr_t)code);
}

TEST(exit_of_a_thread_ends_the_process)
{
	pid_t child = FORK();
	if (child == 0) {
		start(exit_group, (void *)33);
		for (;;)
			pause();
	}
	EXITS(child, 33);
}

static void *exit_later(void *leader)
{
	pthread_join(*(pthread_t *)leader, NULL);
	_exit(44);
}

TEST(process_lives_on_after_its_leader)
{
	pid_t child = FORK();
	if (child == 0) {
		static pthread_t leader;
		leader = pthread_self();
		start(exit_later, &leader);
		pthread_exit(NULL);
	}
	EXITS(child, 44);
}

static void *exit_thread(void *code)
{
	syscall(SYS_exit, (long)code);
	return NULL;
}

/* Which thread's code counts has changed between versions of Linux, so both give the same. */
TEST(exit_of_every_thread_ends_the_process)
{
	pid_t child = FORK();
	if (child == 0) {
		start(exit_thread, (void *)21);
		syscall(SYS_exit, 21);
	}
	EXITS(child, 21);
}

static void *keep_counting(void *unused __attribute__((unused)))
{
	for (;;)
		counter++;
	return NULL;
}

TEST(fork_copies_only_the_calling_thread)
{
	start(keep_counting, NULL);
	while (counter == 0)
		sched_yield();
	pid_t child = FORK();
	if (child == 0) {
		int before = counter;
		sleep_ms(5);
		EQUALS(counter, before);
		EQUALS(gettid(), getpid());
		/* The lone thread may start new ones. */
		CHECK((intptr_t)join(start(return_tid, NULL)) != getpid());
		_exit(0);
	}
	EXITS(child, 0);
}

static void *fork_here(void *unused __attribute__((unused)))
{
	pid_t child = fork();
	if (child == 0)
		_exit(gettid() == getpid() && getppid() == test_process ? 0 : 1);
	return (void *)(intptr_t)test_wait(child);
}

TEST(fork_from_many_threads_at_once)
{
	pthread_t threads[8];
	for (int i = 0; i < 8; i++)
		threads[i] = start(fork_here, NULL);
	for (int i = 0; i < 8; i++)
		EQUALS((intptr_t)join(threads[i]), 0);
}

static void *fork_and_leave(void *child)
{
	*(pid_t *)child = fork();
	if (*(pid_t *)child == 0) {
		sleep_ms(1);
		_exit(getppid() == test_process ? 12 : 13);
	}
	return NULL;
}

TEST(children_belong_to_the_process)
{
	pid_t child;
	join(start(fork_and_leave, &child));
	EXITS(child, 12);
}

HELPER(is_alone)
{
	int n_threads = 0;
	DIR *tasks = opendir("/proc/self/task");
	for (struct dirent *entry; tasks && (entry = readdir(tasks));)
		n_threads += entry->d_name[0] != '.';
	return n_threads == 1 && gettid() == getpid() && getpid() == atoi(argv[1]) ? 0 : 1;
}

static void *execute(void *pid)
{
	execl(test_program, test_program, "@is_alone", (char *)pid, NULL);
	_exit(1);
}

TEST(execve_from_a_thread_takes_over_the_pid)
{
	pid_t child = FORK();
	if (child == 0) {
		static char pid[16];
		snprintf(pid, sizeof pid, "%d", getpid());
		start(keep_counting, NULL);
		start(execute, pid);
		for (;;)
			pause();
	}
	EXITS(child, 0);
}

static int recurse(int depth)
{
	volatile char frame[4096];
	frame[0] = depth;
	frame[4095] = depth;
	return depth == 0 ? frame[0] : recurse(depth - 1) + (frame[4095] == (char)depth);
}

TEST(deep_recursion_grows_the_stack)
{
	EQUALS(recurse(1800), 1800);
}

TEST(endless_recursion_is_a_segmentation_fault)
{
	pid_t child = FORK();
	if (child == 0)
		_exit(recurse(INT_MAX));
	DIES(child, SIGSEGV);
}

static void *recurse_here(void *unused __attribute__((unused)))
{
	return (void *)(intptr_t)recurse(200);
}

TEST(deep_recursion_in_a_thread)
{
	EQUALS((intptr_t)join(start(recurse_here, NULL)), 200);
}

static void *wait_to_be_cancelled(void *ready)
{
	sem_post(ready);
	for (;;)
		pause();
	return NULL;
}

TEST(cancel_a_blocked_thread)
{
	sem_t ready;
	sem_init(&ready, 0, 0);
	pthread_t thread = start(wait_to_be_cancelled, &ready);
	sem_wait(&ready);
	EQUALS(pthread_cancel(thread), 0);
	CHECK(join(thread) == PTHREAD_CANCELED);
}

static void *name_self(void *unused __attribute__((unused)))
{
	char name[16];
	prctl(PR_SET_NAME, "a-name-longer-than-fifteen");
	prctl(PR_GET_NAME, name);
	return (void *)(intptr_t)strcmp(name, "a-name-longer-t");
}

TEST(names_belong_to_threads)
{
	char name[16];
	SUCCEEDS(prctl(PR_SET_NAME, "leader"));
	EQUALS((intptr_t)join(start(name_self, NULL)), 0);
	SUCCEEDS(prctl(PR_GET_NAME, name));
	SAME_TEXT(name, "leader");
}

static void *timed_lock(void *mutex)
{
	struct timespec end;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += 10000000;
	if (end.tv_nsec >= 1000000000)
		end.tv_sec++, end.tv_nsec -= 1000000000;
	return (void *)(intptr_t)pthread_mutex_timedlock(mutex, &end);
}

TEST(timed_lock_times_out)
{
	pthread_mutex_lock(&lock);
	EQUALS((intptr_t)join(start(timed_lock, &lock)), ETIMEDOUT);
}

static void *die_with_the_lock(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

TEST(robust_mutex_tells_of_a_dead_owner)
{
	pthread_mutex_t mutex;
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&mutex, &attributes);
	join(start(die_with_the_lock, &mutex));
	EQUALS(pthread_mutex_lock(&mutex), EOWNERDEAD);
	EQUALS(pthread_mutex_consistent(&mutex), 0);
	EQUALS(pthread_mutex_unlock(&mutex), 0);
	EQUALS(pthread_mutex_lock(&mutex), 0);
}

TEST(priority_inheritance_mutex)
{
	pthread_mutex_t mutex;
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	EQUALS(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT), 0);
	EQUALS(pthread_mutex_init(&mutex, &attributes), 0);
	EQUALS(pthread_mutex_lock(&mutex), 0);
	EQUALS((intptr_t)join(start(timed_lock, &mutex)), ETIMEDOUT);
	EQUALS(pthread_mutex_unlock(&mutex), 0);
	EQUALS((intptr_t)join(start(timed_lock, &mutex)), 0);
}
