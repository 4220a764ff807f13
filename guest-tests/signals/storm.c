/* Signals that arrive all the time, in the middle of everything, and change nothing. */
#include "test.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>

static volatile int n_caught;

static void count(int signal __attribute__((unused)))
{
	int saved = errno;
	n_caught++;
	syscall(SYS_getppid);
	errno = saved;
}

static void start_storm(void)
{
	struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };
	struct itimerval timer = { { 0, 300 }, { 0, 300 } };
	SUCCEEDS(sigaction(SIGALRM, &action, NULL));
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, NULL));
}

static void end_storm(void)
{
	struct itimerval timer = { { 0, 0 }, { 0, 0 } };
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, NULL));
}

TEST(simple_calls)
{
	pid_t parent = getppid();
	start_storm();
	while (n_caught < 50) {
		EQUALS(syscall(SYS_getpid), test_process);
		EQUALS(syscall(SYS_getppid), parent);
		FAILS(syscall(SYS_close, -1), EBADF);
	}
	end_storm();
}

/* Calls that say who one is, and nothing else: a signal that comes in their middle is not put off. */
TEST(who_am_i)
{
	struct itimerval once = { { 0, 0 }, { 0, 500 } };
	start_storm();
	for (int n = 1; n <= 200; n++) {
		n_caught = 0;
		SUCCEEDS(setitimer(ITIMER_REAL, &once, NULL));
		while (n_caught == 0)
			syscall(SYS_getppid);
	}
}

TEST(flags_stay)
{
	uint64_t before, after;
	pid_t parent;
	for (int carry = 0; carry < 2; carry++) {
		__asm__ volatile("cmp %4, %5; pushf; pop %1; syscall; pushf; pop %2"
				 : "=a"(parent), "=&r"(before), "=&r"(after)
				 : "0"((long)SYS_getppid), "r"(1L), "r"(carry ? 0L : 1L)
				 : "rcx", "r11", "memory", "cc");
		EQUALS(after, before);
		EQUALS(before & 1, (uint64_t)carry);
		EQUALS(parent, getppid());
	}
}

TEST(pipes)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	start_storm();
	for (unsigned i = 0; n_caught < 50; i++) {
		unsigned got = ~i;
		EQUALS(write(ends[1], &i, sizeof i), sizeof i);
		EQUALS(read(ends[0], &got, sizeof got), sizeof got);
		EQUALS(got, i);
	}
	end_storm();
}

TEST(memory)
{
	start_storm();
	while (n_caught < 50) {
		char *pages = SUCCEEDS((char *)mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		pages[5000] = 'x';
		SUCCEEDS(mprotect(pages, 4096, PROT_READ));
		pages = SUCCEEDS((char *)mremap(pages, 16384, 8192, 0));
		SUCCEEDS(munmap(pages, 8192));
	}
	end_storm();
}

TEST(masks)
{
	sigset_t set, old;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	start_storm();
	while (n_caught < 50) {
		SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
		int before = n_caught;
		for (int i = 0; i < 50; i++)
			syscall(SYS_getppid);
		/* None arrives while it is blocked. */
		EQUALS(n_caught, before);
		SUCCEEDS(sigprocmask(SIG_UNBLOCK, &set, &old));
		CHECK(sigismember(&old, SIGALRM));
	}
	end_storm();
}

TEST(fork_and_wait)
{
	start_storm();
	for (int i = 0; i < 30; i++) {
		pid_t child = SUCCEEDS(fork());
		if (child == 0)
			_exit(i);
		int status;
		EQUALS(waitpid(child, &status, 0), child);
		EQUALS(WEXITSTATUS(status), i);
	}
	end_storm();
}

TEST(vfork_and_execve)
{
	start_storm();
	for (int i = 0; i < 10; i++) {
		pid_t child = SUCCEEDS(vfork());
		if (child == 0) {
			execl("/bin/sh", "sh", "-c", "exit 9", NULL);
			_exit(1);
		}
		int status;
		EQUALS(waitpid(child, &status, 0), child);
		EQUALS(WEXITSTATUS(status), 9);
	}
	end_storm();
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void *add(void *unused __attribute__((unused)))
{
	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&lock);
		total++;
		if (i % 16 == 0)
			sched_yield();
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

TEST(contended_locks)
{
	pthread_t threads[4];
	start_storm();
	for (int i = 0; i < 4; i++)
		EQUALS(pthread_create(&threads[i], NULL, add, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	end_storm();
	EQUALS(total, 8000);
}

static volatile bool stop;
static volatile int n_ready;
static void *answer(void *ends)
{
	int *descriptors = ends;
	char byte;
	__sync_fetch_and_add(&n_ready, 1);
	while (!stop && read(descriptors[0], &byte, 1) == 1)
		if (write(descriptors[1], &byte, 1) != 1)
			break;
	return NULL;
}

/* Directed signals meet threads that sleep in calls, run, or are on their way between both. */
TEST(threads_under_directed_signals)
{
	struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };
	int there[2], back[2];
	SUCCEEDS(sigaction(SIGUSR1, &action, NULL));
	SUCCEEDS(pipe(there));
	SUCCEEDS(pipe(back));
	int descriptors[2] = { there[0], back[1] };
	pthread_t thread;
	EQUALS(pthread_create(&thread, NULL, answer, descriptors), 0);
	while (!n_ready)
		sched_yield();
	for (int i = 0; i < 500; i++) {
		char byte = i, got = 0;
		EQUALS(pthread_kill(thread, SIGUSR1), 0);
		EQUALS(write(there[1], &byte, 1), 1);
		EQUALS(pthread_kill(thread, SIGUSR1), 0);
		EQUALS(read(back[0], &got, 1), 1);
		EQUALS(got, byte);
	}
	stop = true;
	SUCCEEDS(close(there[1]));
	pthread_join(thread, NULL);
	CHECK(n_caught >= 1);
}

/* Real-time signals are all delivered, however fast they come. */
static volatile long sum;
static void add_value(int signal __attribute__((unused)), siginfo_t *info, void *context __attribute__((unused)))
{
	sum += info->si_value.sival_int;
	n_caught++;
}

TEST(none_is_lost)
{
	struct sigaction action = { .sa_sigaction = add_value, .sa_flags = SA_SIGINFO | SA_RESTART };
	SUCCEEDS(sigaction(SIGRTMIN, &action, NULL));
	pid_t children[3];
	for (int i = 0; i < 3; i++) {
		children[i] = FORK();
		if (children[i] == 0) {
			for (int j = 1; j <= 100; j++)
				while (sigqueue(test_process, SIGRTMIN, (union sigval){ .sival_int = j }) < 0)
					sched_yield();
			_exit(0);
		}
	}
	for (int i = 0; i < 3; i++)
		EXITS(children[i], 0);
	while (n_caught < 300)
		sleep_ms(1);
	EQUALS(sum, 3 * 5050);
}
