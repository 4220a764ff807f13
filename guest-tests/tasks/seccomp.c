/* seccomp(2): strict mode and filters. */
#include "files.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

/* One call gets `action`, all others pass. */
static int filter_one(int number, unsigned action, unsigned flags)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = filter};
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

TEST(an_error_instead_of_a_call)
{
	SUCCEEDS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	SUCCEEDS(filter_one(SYS_getppid, SECCOMP_RET_ERRNO | 42, 0));
	errno = 0;
	EQUALS(syscall(SYS_getppid), -1);
	EQUALS(errno, 42);
	CHECK(getpid() > 0);
	EQUALS(prctl(PR_GET_SECCOMP), 2);
	CHECK(strstr(text_of("/proc/self/status"), "Seccomp:\t2\n") != NULL);
}

TEST(calls_that_need_no_kernel_are_filtered_as_well)
{
	SUCCEEDS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	for (int i = 0; i < 100; i++)
		syscall(SYS_sched_yield); /* the site is hot by now */
	SUCCEEDS(filter_one(SYS_sched_yield, SECCOMP_RET_ERRNO | 7, 0));
	EQUALS(syscall(SYS_sched_yield), -1);
	EQUALS(errno, 7);
	SUCCEEDS(filter_one(SYS_mprotect, SECCOMP_RET_ERRNO | 8, 0));
	EQUALS(syscall(SYS_mprotect, 0, 4096, 0), -1);
	EQUALS(errno, 8);
}

TEST(a_filter_kills)
{
	pid_t child = FORK();
	if (child == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		filter_one(SYS_getppid, SECCOMP_RET_KILL_PROCESS, 0);
		syscall(SYS_getppid);
		_exit(0);
	}
	DIES(child, SIGSYS);
}

static volatile int trapped;
static siginfo_t trap;

static void on_trap(int number, siginfo_t *info, void *context)
{
	(void)context;
	trapped = number;
	trap = *info;
}

TEST(a_filter_sends_a_signal)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	SUCCEEDS(sigaction(SIGSYS, &action, NULL));
	SUCCEEDS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	SUCCEEDS(filter_one(SYS_getppid, SECCOMP_RET_TRAP | 9, 0));
	syscall(SYS_getppid);
	EQUALS(trapped, SIGSYS);
	EQUALS(trap.si_code, 1);
	EQUALS(trap.si_errno, 9);
	EQUALS(trap.si_syscall, SYS_getppid);
	EQUALS(trap.si_arch, AUDIT_ARCH_X86_64);
}

TEST(strict_mode)
{
	pid_t child = FORK();
	if (child == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
			_exit(1);
		syscall(SYS_write, 2, "", 0);
		syscall(SYS_exit, 5);
	}
	EXITS(child, 5);
	child = FORK();
	if (child == 0) {
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		syscall(SYS_getpid);
		syscall(SYS_exit, 5);
	}
	DIES(child, SIGKILL);
}

TEST(filters_stay)
{
	SUCCEEDS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	SUCCEEDS(filter_one(SYS_getppid, SECCOMP_RET_ERRNO | 42, 0));
	SUCCEEDS(filter_one(SYS_getppid, SECCOMP_RET_ALLOW, 0));
	pid_t child = FORK();
	if (child == 0) {
		int refused = syscall(SYS_getppid) == -1 && errno == 42;
		_exit(refused ? 0 : 1);
	}
	EXITS(child, 0);
}

TEST(bad_filters_are_refused)
{
	SUCCEEDS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), BPF_STMT(BPF_RET | BPF_K, 0)};
	struct sock_fprog program = {.len = 2, .filter = filter};
	FAILS(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), EINVAL);
	program.len = 0;
	FAILS(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), EINVAL);
	FAILS(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, BAD_POINTER), EFAULT);
	FAILS(syscall(SYS_seccomp, 77, 0, NULL), EINVAL);
	unsigned action = SECCOMP_RET_ERRNO;
	SUCCEEDS(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action));
	action = 0x12345678;
	FAILS(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action), EOPNOTSUPP);
}

TEST(a_tracer_decides)
{
	pid_t child = FORK();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		filter_one(SYS_getppid, SECCOMP_RET_TRACE | 55, 0);
		_exit(syscall(SYS_getppid) > 0 ? 0 : 1);
	}
	int status;
	EQUALS(waitpid(child, &status, 0), child);
	SUCCEEDS(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESECCOMP));
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	EQUALS(waitpid(child, &status, 0), child);
	EQUALS(status >> 8, SIGTRAP | PTRACE_EVENT_SECCOMP << 8);
	unsigned long message;
	SUCCEEDS(ptrace(PTRACE_GETEVENTMSG, child, 0, &message));
	EQUALS(message, 55);
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	EXITS(child, 0);
}
