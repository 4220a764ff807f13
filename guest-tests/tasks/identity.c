/* The calls that only tell something about the caller, at every moment at which the answer changes. */
#include "test.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

TEST(stable)
{
	pid_t pid = getpid();
	for (int i = 0; i < 1000; i++) {
		EQUALS(syscall(SYS_getpid), pid);
		EQUALS(syscall(SYS_gettid), pid);
		EQUALS(syscall(SYS_getuid), getuid());
	}
}

TEST(after_fork)
{
	pid_t parent = getpid();
	/* Ask first, so that an answer that is kept somewhere would be stale in the child. */
	EQUALS(syscall(SYS_getpid), parent);
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		pid_t told;
		EQUALS(read(ends[0], &told, sizeof told), sizeof told);
		EQUALS(syscall(SYS_getpid), told);
		EQUALS(syscall(SYS_gettid), told);
		EQUALS(syscall(SYS_getppid), parent);
		_exit(0);
	}
	EQUALS(write(ends[1], &child, sizeof child), sizeof child);
	EXITS(child, 0);
	EQUALS(syscall(SYS_getpid), parent);
}

TEST(in_a_vfork_child)
{
	static volatile pid_t pid, tid, ppid;
	pid_t self = getpid();
	pid_t child = SUCCEEDS(vfork());
	if (child == 0) {
		pid = syscall(SYS_getpid);
		tid = syscall(SYS_gettid);
		ppid = syscall(SYS_getppid);
		_exit(0);
	}
	EQUALS(pid, child);
	EQUALS(tid, child);
	EQUALS(ppid, self);
	EQUALS(syscall(SYS_getpid), self);
	EQUALS(syscall(SYS_gettid), self);
	EXITS(child, 0);
}

TEST(state_of_a_vfork_child_is_its_own)
{
	sigset_t set, now;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	umask(022);
	SUCCEEDS(chdir("/"));
	pid_t child = SUCCEEDS(vfork());
	if (child == 0) {
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8);
		syscall(SYS_umask, 0);
		syscall(SYS_chdir, "/tmp");
		syscall(SYS_close, 0);
		syscall(SYS_setpgid, 0, 0);
		_exit(0);
	}
	EXITS(child, 0);
	SUCCEEDS(sigprocmask(SIG_BLOCK, NULL, &now));
	CHECK(!sigismember(&now, SIGUSR1));
	EQUALS(umask(022), 022);
	char path[16];
	SAME_TEXT(getcwd(path, sizeof path), "/");
	SUCCEEDS(fcntl(0, F_GETFD));
	CHECK(getpgrp() != child);
}

static void *tid_of_thread(void *pid)
{
	*(pid_t *)pid = syscall(SYS_getpid);
	return (void *)syscall(SYS_gettid);
}

TEST(in_threads)
{
	pthread_t threads[8];
	pid_t pids[8];
	void *tids[8];
	for (int i = 0; i < 8; i++)
		EQUALS(pthread_create(&threads[i], NULL, tid_of_thread, &pids[i]), 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], &tids[i]);
		EQUALS(pids[i], getpid());
		CHECK((pid_t)(intptr_t)tids[i] != getpid());
	}
}

/* The kernel changes one thread only; the library changes all. */
static volatile int step;
static void *look_at_user(void *seen)
{
	while (step == 0)
		sched_yield();
	*(uid_t *)seen = syscall(SYS_getuid);
	return NULL;
}

TEST(user_of_one_thread)
{
	need_root();
	pthread_t thread;
	uid_t seen = 99;
	EQUALS(pthread_create(&thread, NULL, look_at_user, &seen), 0);
	SUCCEEDS(syscall(SYS_setresuid, 5, 5, 5));
	EQUALS(syscall(SYS_getuid), 5);
	EQUALS(syscall(SYS_geteuid), 5);
	step = 1;
	pthread_join(thread, NULL);
	EQUALS(seen, 0);
}

TEST(user_of_all_threads)
{
	need_root();
	pthread_t thread;
	uid_t seen = 99;
	EQUALS(pthread_create(&thread, NULL, look_at_user, &seen), 0);
	SUCCEEDS(setresuid(5, 5, 5));
	step = 1;
	pthread_join(thread, NULL);
	EQUALS(seen, 5);
}

HELPER(same_pid)
{
	return syscall(SYS_getpid) == atoi(argv[1]) && syscall(SYS_gettid) == atoi(argv[1]) ? 0 : 1;
}

TEST(after_execve)
{
	pid_t child = FORK();
	if (child == 0) {
		char pid[16];
		snprintf(pid, sizeof pid, "%d", getpid());
		execl(test_program, "name", "@same_pid", pid, NULL);
	}
	EXITS(child, 0);
}

TEST(parent_that_has_ended)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		pid_t parent = getpid();
		if (FORK() == 0) {
			while (syscall(SYS_getppid) == parent)
				sleep_ms(1);
			EQUALS(write(ends[1], "x", 1), 1);
		}
		_exit(0);
	}
	EXITS(child, 0);
	char byte;
	EQUALS(read(ends[0], &byte, 1), 1);
}

TEST(groups_and_sessions_changed_from_outside)
{
	int there[2], back[2];
	char byte;
	SUCCEEDS(pipe(there));
	SUCCEEDS(pipe(back));
	pid_t child = FORK();
	if (child == 0) {
		CHECK(getpgrp() != getpid());
		EQUALS(write(back[1], "x", 1), 1);
		EQUALS(read(there[0], &byte, 1), 1);
		EQUALS(getpgrp(), getpid());
		_exit(0);
	}
	EQUALS(read(back[0], &byte, 1), 1);
	SUCCEEDS(setpgid(child, child));
	EQUALS(write(there[1], "x", 1), 1);
	EXITS(child, 0);
}
