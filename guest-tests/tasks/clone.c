/* clone(2) and clone3(2): what is shared, what is told, and which flags are refused. */
#include "test.h"
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { STACK = 65536 };

static char *new_stack_top(void)
{
	char *stack = SUCCEEDS((char *)mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	return stack + STACK;
}

static long raw_clone(unsigned long flags)
{
	return syscall(SYS_clone, flags, 0, NULL, NULL, 0);
}

static long clone3(struct clone_args *arguments, size_t size)
{
	return syscall(SYS_clone3, arguments, size);
}

static volatile int shared;
static volatile pid_t parent_tid, child_tid;

static void wait_for_change(volatile pid_t *word, pid_t from)
{
	while (*word == from)
		syscall(SYS_futex, word, FUTEX_WAIT, from, NULL, NULL, 0);
}

static int store_and_exit(void *value)
{
	shared = (intptr_t)value;
	return 9;
}

static volatile sig_atomic_t n_caught;
static void count(int signal __attribute__((unused)))
{
	n_caught++;
}

TEST(without_flags_is_fork)
{
	pid_t child = SUCCEEDS(raw_clone(SIGCHLD));
	if (child == 0)
		_exit(4);
	EXITS(child, 4);
}

TEST(shares_memory_with_clone_vm)
{
	pid_t child = SUCCEEDS(clone(store_and_exit, new_stack_top(), CLONE_VM | SIGCHLD, (void *)5));
	EXITS(child, 9);
	EQUALS(shared, 5);
}

TEST(copies_memory_without_clone_vm)
{
	pid_t child = SUCCEEDS(clone(store_and_exit, new_stack_top(), SIGCHLD, (void *)6));
	EXITS(child, 9);
	EQUALS(shared, 0);
}

TEST(vm_and_vfork_waits_for_the_exit)
{
	pid_t child = SUCCEEDS(clone(store_and_exit, new_stack_top(), CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)7));
	EQUALS(shared, 7);
	EXITS(child, 9);
}

static int close_descriptor(void *descriptor)
{
	return close((intptr_t)descriptor);
}

TEST(shares_descriptors_with_clone_files)
{
	int file = SUCCEEDS(dup(0));
	pid_t child = SUCCEEDS(clone(close_descriptor, new_stack_top(), CLONE_FILES | SIGCHLD, (void *)(intptr_t)file));
	EXITS(child, 0);
	FAILS(fcntl(file, F_GETFD), EBADF);
}

static int change_directory(void *path)
{
	umask(0123);
	return chdir(path);
}

TEST(shares_the_directory_with_clone_fs)
{
	char directory[PATH_MAX];
	SUCCEEDS(chdir("/"));
	umask(022);
	pid_t child = SUCCEEDS(clone(change_directory, new_stack_top(), CLONE_FS | SIGCHLD, (void *)"/tmp"));
	EXITS(child, 0);
	SAME_TEXT(getcwd(directory, sizeof directory), "/tmp");
	EQUALS(umask(022), 0123);
}

static int ignore_usr1(void *unused __attribute__((unused)))
{
	return signal(SIGUSR1, SIG_IGN) == SIG_ERR;
}

TEST(shares_handlers_with_clone_sighand)
{
	struct sigaction action;
	pid_t child = SUCCEEDS(clone(ignore_usr1, new_stack_top(), CLONE_SIGHAND | CLONE_VM | SIGCHLD, NULL));
	EXITS(child, 0);
	SUCCEEDS(sigaction(SIGUSR1, NULL, &action));
	CHECK(action.sa_handler == SIG_IGN);
}

TEST(clear_sighand_resets_handlers_but_keeps_ignored)
{
	struct clone_args arguments = { .flags = CLONE_CLEAR_SIGHAND, .exit_signal = SIGCHLD };
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, count);
	pid_t child = SUCCEEDS(clone3(&arguments, sizeof arguments));
	if (child == 0) {
		CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
		CHECK(signal(SIGUSR2, SIG_DFL) == SIG_DFL);
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(parent_settid)
{
	pid_t told = 0;
	pid_t child = SUCCEEDS(syscall(SYS_clone, CLONE_PARENT_SETTID | SIGCHLD, 0, &told, NULL, 0));
	if (child == 0)
		_exit(0);
	EQUALS(told, child);
	EXITS(child, 0);
}

TEST(child_settid)
{
	pid_t told = 0;
	pid_t child = SUCCEEDS(syscall(SYS_clone, CLONE_CHILD_SETTID | SIGCHLD, 0, NULL, &told, 0));
	if (child == 0)
		_exit(told == getpid() ? 0 : 1);
	EQUALS(told, 0);
	EXITS(child, 0);
}

TEST(child_cleartid_wakes_a_futex)
{
	child_tid = -1;
	pid_t child = SUCCEEDS(clone(store_and_exit, new_stack_top(), CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD,
				     (void *)1, NULL, NULL, &child_tid));
	wait_for_change(&child_tid, -1);
	EQUALS(child_tid, 0);
	EXITS(child, 9);
}

static int thread_body(void *unused __attribute__((unused)))
{
	if (getpid() == test_process && syscall(SYS_gettid) != test_process)
		shared = 1;
	syscall(SYS_exit, 0);
	return 0;
}

TEST(raw_thread)
{
	enum { THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM };
	child_tid = -1;
	pid_t tid = SUCCEEDS(clone(thread_body, new_stack_top(),
				   THREAD | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID, NULL, &parent_tid, NULL,
				   &child_tid));
	EQUALS(parent_tid, tid);
	wait_for_change(&child_tid, -1);
	EQUALS(shared, 1);
	FAILS(waitpid(tid, NULL, 0), ECHILD);
	FAILS(waitpid(tid, NULL, __WALL), ECHILD);
}

TEST(clone_parent_makes_a_sibling)
{
	int ends[2];
	pid_t sibling = 0;
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		sibling = SUCCEEDS(raw_clone(CLONE_PARENT | SIGCHLD));
		if (sibling == 0) {
			EQUALS(getppid(), test_process);
			_exit(11);
		}
		EQUALS(write(ends[1], &sibling, sizeof sibling), sizeof sibling);
		_exit(0);
	}
	EQUALS(read(ends[0], &sibling, sizeof sibling), sizeof sibling);
	EXITS(child, 0);
	EXITS(sibling, 11);
}

TEST(exit_signal_is_chosen_by_the_caller)
{
	signal(SIGUSR1, count);
	pid_t child = SUCCEEDS(raw_clone(SIGUSR1));
	if (child == 0)
		_exit(0);
	FAILS(waitpid(child, NULL, WNOHANG), ECHILD);
	while (n_caught == 0)
		sched_yield();
	EQUALS(waitpid(child, NULL, __WCLONE), child);
}

TEST(no_exit_signal)
{
	signal(SIGCHLD, count);
	pid_t child = SUCCEEDS(raw_clone(0));
	if (child == 0)
		_exit(3);
	int status;
	EQUALS(waitpid(child, &status, __WALL), child);
	EQUALS(WEXITSTATUS(status), 3);
	EQUALS(n_caught, 0);
}

TEST(refused_combinations)
{
	FAILS(raw_clone(CLONE_SIGHAND | SIGCHLD), EINVAL);
	FAILS(raw_clone(CLONE_THREAD | CLONE_SIGHAND), EINVAL);
	FAILS(raw_clone(CLONE_THREAD | CLONE_VM), EINVAL);
	FAILS(raw_clone(CLONE_NEWNS | CLONE_FS | SIGCHLD), EINVAL);
	FAILS(raw_clone(CLONE_PIDFD | CLONE_PARENT_SETTID | SIGCHLD), EINVAL);
}

TEST(pidfd_is_returned_and_close_on_exec)
{
	int pidfd = -1;
	pid_t child = SUCCEEDS(syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &pidfd, NULL, 0));
	if (child == 0)
		_exit(2);
	EQUALS(fcntl(pidfd, F_GETFD), FD_CLOEXEC);
	siginfo_t info;
	SUCCEEDS(waitid(P_PIDFD, pidfd, &info, WEXITED));
	EQUALS(info.si_pid, child);
	EQUALS(info.si_status, 2);
}

TEST(clone3_fills_everything)
{
	pid_t told_parent = 0, told_child = 0;
	int pidfd = -1;
	struct clone_args arguments = {
		.flags = CLONE_PIDFD | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID,
		.pidfd = (uintptr_t)&pidfd,
		.parent_tid = (uintptr_t)&told_parent,
		.child_tid = (uintptr_t)&told_child,
		.exit_signal = SIGCHLD,
	};
	pid_t child = SUCCEEDS(clone3(&arguments, sizeof arguments));
	if (child == 0)
		_exit(told_child == getpid() ? 0 : 1);
	EQUALS(told_parent, child);
	CHECK(pidfd >= 0);
	EXITS(child, 0);
}

TEST(clone3_sizes)
{
	struct {
		struct clone_args known;
		uint64_t unknown;
	} larger = { .known = { .exit_signal = SIGCHLD } };
	pid_t child = SUCCEEDS(clone3(&larger.known, CLONE_ARGS_SIZE_VER0));
	if (child == 0)
		_exit(0);
	EXITS(child, 0);
	child = SUCCEEDS(clone3(&larger.known, sizeof larger));
	if (child == 0)
		_exit(0);
	EXITS(child, 0);
	larger.unknown = 1;
	FAILS(clone3(&larger.known, sizeof larger), E2BIG);
	FAILS(clone3(&larger.known, CLONE_ARGS_SIZE_VER0 - 1), EINVAL);
	FAILS(clone3(&larger.known, 4097), E2BIG);
	FAILS(clone3(BAD_POINTER, CLONE_ARGS_SIZE_VER0), EFAULT);
}

TEST(clone3_refusals)
{
	struct clone_args arguments = { .flags = CLONE_THREAD, .exit_signal = SIGCHLD };
	FAILS(clone3(&arguments, sizeof arguments), EINVAL);
	arguments = (struct clone_args){ .exit_signal = 65 };
	FAILS(clone3(&arguments, sizeof arguments), EINVAL);
	arguments = (struct clone_args){ .flags = CLONE_DETACHED };
	FAILS(clone3(&arguments, sizeof arguments), EINVAL);
	arguments = (struct clone_args){ .flags = 1ull << 63 };
	FAILS(clone3(&arguments, sizeof arguments), EINVAL);
	arguments = (struct clone_args){ .stack = 4096 };
	FAILS(clone3(&arguments, sizeof arguments), EINVAL);
	arguments = (struct clone_args){ .flags = CLONE_SIGHAND | CLONE_CLEAR_SIGHAND | CLONE_VM };
	FAILS(clone3(&arguments, sizeof arguments), EINVAL);
}

TEST(unshare_descriptors)
{
	FAILS(unshare(1), EINVAL);
	SUCCEEDS(unshare(CLONE_FILES));
	SUCCEEDS(unshare(CLONE_FS));
	SUCCEEDS(unshare(0));
}

static char side_stack[65536] __attribute__((aligned(16)));
static volatile int side_word;

static int write_side_word(void *value)
{
	side_word = (int)(long)value;
	return 7;
}

TEST(a_process_in_the_same_memory)
{
	int flags = CLONE_VM | SIGCHLD;
	pid_t child = SUCCEEDS(clone(write_side_word, side_stack + sizeof side_stack, flags, (void *)5));
	CHECK(child != getpid());
	EXITS(child, 7);
	EQUALS(side_word, 5);
}

static int run_forever(void *unused)
{
	(void)unused;
	for (;;)
		side_word++;
	return 0;
}

TEST(a_process_in_the_same_memory_can_be_killed)
{
	pid_t child = SUCCEEDS(clone(run_forever, side_stack + sizeof side_stack, CLONE_VM | SIGCHLD, NULL));
	int before = side_word;
	while (side_word == before)
		usleep(1000);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
	usleep(10000);
	before = side_word;
	usleep(10000);
	EQUALS(side_word, before);
}

TEST(a_clone_without_a_signal_is_waited_for_on_request)
{
	pid_t child = SUCCEEDS(clone(write_side_word, side_stack + sizeof side_stack, CLONE_VM, (void *)6));
	FAILS(waitpid(child, NULL, 0), ECHILD);
	int status;
	EQUALS(waitpid(child, &status, __WCLONE), child);
	EQUALS(WEXITSTATUS(status), 7);
}
