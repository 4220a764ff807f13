/* fork(2) and vfork(2): a child is a copy, and what is not copied. */
#include "test.h"
#include <sys/resource.h>
#include <sys/times.h>

TEST(returns_zero_in_the_child)
{
	pid_t parent = getpid();
	pid_t child = FORK();
	if (child == 0) {
		CHECK(getpid() != parent);
		EQUALS(getppid(), parent);
		EQUALS(gettid(), getpid());
		_exit(7);
	}
	EXITS(child, 7);
}

TEST(memory_is_copied)
{
	static volatile int global = 1;
	volatile int local = 1;
	volatile int *heap = malloc(sizeof *heap);
	*heap = 1;
	pid_t child = FORK();
	if (child == 0) {
		global = local = *heap = 2;
		_exit(0);
	}
	EXITS(child, 0);
	EQUALS(global, 1);
	EQUALS(local, 1);
	EQUALS(*heap, 1);
}

TEST(descriptors_share_their_offset)
{
	char path[] = "/tmp/belljar-fork-XXXXXX";
	int file = SUCCEEDS(mkstemp(path));
	SUCCEEDS(unlink(path));
	pid_t child = FORK();
	if (child == 0) {
		EQUALS(write(file, "four", 4), 4);
		_exit(0);
	}
	EXITS(child, 0);
	EQUALS(lseek(file, 0, SEEK_CUR), 4);
}

TEST(closing_in_the_child_leaves_the_parent_alone)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0)
		_exit(close(ends[0]) || close(ends[1]));
	EXITS(child, 0);
	EQUALS(write(ends[1], "x", 1), 1);
}

TEST(pending_signals_are_not_inherited)
{
	sigset_t set, pending;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	SUCCEEDS(raise(SIGUSR1));
	pid_t child = FORK();
	if (child == 0) {
		sigset_t mask;
		SUCCEEDS(sigpending(&pending));
		CHECK(!sigismember(&pending, SIGUSR1));
		SUCCEEDS(sigprocmask(SIG_BLOCK, NULL, &mask));
		CHECK(sigismember(&mask, SIGUSR1));
		_exit(0);
	}
	EXITS(child, 0);
	SUCCEEDS(sigpending(&pending));
	CHECK(sigismember(&pending, SIGUSR1));
}

TEST(alarms_and_times_are_not_inherited)
{
	struct tms times_of_child;
	pid_t child = SUCCEEDS(fork());
	if (child == 0) {
		EQUALS(alarm(0), 0);
		SUCCEEDS(times(&times_of_child));
		EQUALS(times_of_child.tms_cutime, 0);
		_exit(0);
	}
	EXITS(child, 0);
	CHECK(alarm(TEST_SECONDS) > 0);
}

TEST(vfork_child_runs_first_and_shares_memory)
{
	static volatile int seen;
	pid_t child = SUCCEEDS(vfork());
	if (child == 0) {
		seen = getpid();
		_exit(3);
	}
	EQUALS(seen, child);
	EXITS(child, 3);
}

TEST(vfork_parent_waits_for_execve)
{
	int ends[2];
	SUCCEEDS(pipe2(ends, O_CLOEXEC));
	pid_t child = SUCCEEDS(vfork());
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", "exit 5", NULL);
		_exit(1);
	}
	/* The child's copies of the pipe are gone once it has executed. */
	SUCCEEDS(close(ends[1]));
	char byte;
	EQUALS(read(ends[0], &byte, 1), 0);
	EXITS(child, 5);
}

TEST(vfork_child_has_its_own_descriptors)
{
	int file = SUCCEEDS(dup(0));
	pid_t child = SUCCEEDS(vfork());
	if (child == 0)
		_exit(close(file));
	EXITS(child, 0);
	SUCCEEDS(fcntl(file, F_GETFD));
}

TEST(failed_execve_in_vfork_leaves_its_trace)
{
	static volatile int error;
	pid_t child = SUCCEEDS(vfork());
	if (child == 0) {
		execl("/nonexistent/program", "program", NULL);
		error = errno;
		_exit(127);
	}
	EQUALS(error, ENOENT);
	EXITS(child, 127);
}

TEST(vfork_child_killed_by_a_signal)
{
	pid_t child = SUCCEEDS(vfork());
	if (child == 0) {
		kill(getpid(), SIGKILL);
		_exit(0);
	}
	DIES(child, SIGKILL);
}

TEST(a_hundred_live_children)
{
	enum { N = 100 };
	int ends[2];
	pid_t children[N];
	SUCCEEDS(pipe(ends));
	for (int i = 0; i < N; i++) {
		children[i] = FORK();
		if (children[i] == 0) {
			char byte;
			SUCCEEDS(close(ends[1]));
			EQUALS(read(ends[0], &byte, 1), 0);
			_exit(i);
		}
	}
	SUCCEEDS(close(ends[1]));
	for (int i = 0; i < N; i++)
		EXITS(children[i], i);
	FAILS(wait(NULL), ECHILD);
}

TEST(twenty_generations)
{
	pid_t child = 0;
	for (int generation = 0; generation < 20; generation++) {
		child = FORK();
		if (child)
			break;
	}
	if (child == 0)
		_exit(42);
	int status = SUCCEEDS(test_wait(child));
	if (getpid() != test_process)
		_exit(WEXITSTATUS(status));
	EQUALS(WEXITSTATUS(status), 42);
}

TEST(limit_on_processes)
{
	become_ordinary();
	struct rlimit limit = { 0, 0 };
	SUCCEEDS(setrlimit(RLIMIT_NPROC, &limit));
	FAILS(fork(), EAGAIN);
}
