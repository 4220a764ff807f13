/* ptrace(2): attaching, stops, registers, memory, events. */
#include "files.h"
#include <elf.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#define STOPS(pid, signal_number)                                                                                      \
	do {                                                                                                           \
		int status_;                                                                                           \
		EQUALS(waitpid((pid), &status_, __WALL), (pid));                                                       \
		CHECK(WIFSTOPPED(status_));                                                                            \
		EQUALS(status_ >> 8, (signal_number));                                                                 \
	} while (0)

/* A child that lets its parent trace it and stops at once. */
static pid_t traced_child(void (*work)(void))
{
	pid_t child = FORK();
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(99);
		raise(SIGSTOP);
		work();
		_exit(0);
	}
	STOPS(child, SIGSTOP);
	return child;
}

static void nothing(void) {}

TEST(trace_me_and_continue)
{
	pid_t child = traced_child(nothing);
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	EXITS(child, 0);
}

TEST(only_the_tracer_may_ask)
{
	pid_t child = FORK();
	if (child == 0) {
		pause();
		_exit(0);
	}
	FAILS(ptrace(PTRACE_CONT, child, 0, 0), ESRCH);
	FAILS(ptrace(PTRACE_ATTACH, 999999, 0, 0), ESRCH);
	FAILS(ptrace(PTRACE_ATTACH, getpid(), 0, 0), EPERM);
	SUCCEEDS(ptrace(PTRACE_ATTACH, child, 0, 0));
	STOPS(child, SIGSTOP);
	FAILS(ptrace(PTRACE_ATTACH, child, 0, 0), EPERM);
	SUCCEEDS(ptrace(PTRACE_DETACH, child, 0, SIGTERM));
	int status;
	EQUALS(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static volatile long word = 1234;

static void say_word(void)
{
	_exit(word == 4321 ? 0 : 1);
}

TEST(memory_can_be_read_and_written)
{
	pid_t child = traced_child(say_word);
	errno = 0;
	EQUALS(ptrace(PTRACE_PEEKDATA, child, &word, 0), 1234);
	EQUALS(errno, 0);
	SUCCEEDS(ptrace(PTRACE_POKEDATA, child, &word, 4321));
	FAILS(ptrace(PTRACE_PEEKDATA, child, 8, 0), EIO);
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	EXITS(child, 0);
}

__attribute__((noinline)) static int answer(void)
{
	__asm__ volatile("nop; nop");
	return 5;
}

static void call_answer(void)
{
	_exit(answer());
}

TEST(a_breakpoint_in_the_text)
{
	pid_t child = traced_child(call_answer);
	long text = ptrace(PTRACE_PEEKTEXT, child, answer, 0);
	SUCCEEDS(ptrace(PTRACE_POKETEXT, child, answer, (text & ~0xffL) | 0xcc));
	EQUALS(ptrace(PTRACE_PEEKTEXT, child, answer, 0) & 0xff, 0xcc);
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	STOPS(child, SIGTRAP);
	struct user_regs_struct registers;
	SUCCEEDS(ptrace(PTRACE_GETREGS, child, 0, &registers));
	EQUALS(registers.rip, (unsigned long)answer + 1);
	SUCCEEDS(ptrace(PTRACE_POKETEXT, child, answer, text));
	registers.rip--;
	SUCCEEDS(ptrace(PTRACE_SETREGS, child, 0, &registers));
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	EXITS(child, 5);
}

static void ask_id(void)
{
	_exit(syscall(SYS_getppid) == 77 ? 0 : 1);
}

TEST(calls_stop_before_and_after)
{
	pid_t child = traced_child(ask_id);
	SUCCEEDS(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD));
	struct user_regs_struct registers;
	do {
		SUCCEEDS(ptrace(PTRACE_SYSCALL, child, 0, 0));
		STOPS(child, SIGTRAP | 0x80);
		SUCCEEDS(ptrace(PTRACE_GETREGS, child, 0, &registers));
	} while (registers.orig_rax != SYS_getppid);
	EQUALS((long)registers.rax, -ENOSYS);
	struct __ptrace_syscall_info info;
	SUCCEEDS(ptrace(0x420e, child, sizeof info, &info));
	EQUALS(info.op, PTRACE_SYSCALL_INFO_ENTRY);
	EQUALS(info.entry.nr, SYS_getppid);
	SUCCEEDS(ptrace(PTRACE_SYSCALL, child, 0, 0));
	STOPS(child, SIGTRAP | 0x80);
	SUCCEEDS(ptrace(PTRACE_GETREGS, child, 0, &registers));
	EQUALS(registers.rax, getpid());
	registers.rax = 77;
	SUCCEEDS(ptrace(PTRACE_SETREGS, child, 0, &registers));
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	EXITS(child, 0);
}

static void spin(void)
{
	for (;;)
		__asm__ volatile("nop; nop; nop; nop");
}

TEST(single_steps_move_by_one_instruction)
{
	pid_t child = traced_child(spin);
	unsigned long before = 0;
	int nops = 0;
	for (int i = 0; i < 60; i++) {
		SUCCEEDS(ptrace(PTRACE_SINGLESTEP, child, 0, 0));
		STOPS(child, SIGTRAP);
		unsigned long now = ptrace(PTRACE_PEEKUSER, child, offsetof(struct user_regs_struct, rip), 0);
		nops += now == before + 1;
		before = now;
	}
	CHECK(nops >= 10);
	SUCCEEDS(kill(child, SIGKILL));
	int status;
	EQUALS(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
}

static void floating(void)
{
	double value = 1.5;
	__asm__ volatile("movq %0, %%xmm7" : : "r"(value) : "xmm7");
	__asm__ volatile("int3" : : : "xmm7");
	uint64_t after;
	__asm__ volatile("movq %%xmm7, %0" : "=r"(after));
	_exit(after == 0x1122334455667788 ? 0 : 1);
}

TEST(floating_point_registers)
{
	pid_t child = traced_child(floating);
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	STOPS(child, SIGTRAP);
	struct user_fpregs_struct registers;
	SUCCEEDS(ptrace(PTRACE_GETFPREGS, child, 0, &registers));
	double seen;
	memcpy(&seen, (char *)registers.xmm_space + 7 * 16, sizeof seen);
	CHECK(seen == 1.5);
	uint64_t wanted = 0x1122334455667788;
	memcpy((char *)registers.xmm_space + 7 * 16, &wanted, sizeof wanted);
	SUCCEEDS(ptrace(PTRACE_SETFPREGS, child, 0, &registers));
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	EXITS(child, 0);
}

static void fork_once(void)
{
	pid_t child = fork();
	if (child == 0)
		_exit(3);
	int status;
	waitpid(child, &status, 0);
	_exit(WEXITSTATUS(status));
}

TEST(children_are_traced_as_well)
{
	pid_t child = traced_child(fork_once);
	SUCCEEDS(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEFORK));
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	STOPS(child, SIGTRAP | PTRACE_EVENT_FORK << 8);
	unsigned long grandchild;
	SUCCEEDS(ptrace(PTRACE_GETEVENTMSG, child, 0, &grandchild));
	STOPS((pid_t)grandchild, SIGSTOP);
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	SUCCEEDS(ptrace(PTRACE_CONT, grandchild, 0, 0));
	int status;
	EQUALS(waitpid(grandchild, &status, __WALL), (pid_t)grandchild);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	STOPS(child, SIGCHLD);
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, SIGCHLD));
	EXITS(child, 3);
}

static void run_true(void)
{
	execl("/proc/self/exe", "ptrace", "--no-such-case", NULL);
	_exit(98);
}

TEST(a_program_stops_before_it_starts)
{
	pid_t child = traced_child(run_true);
	SUCCEEDS(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL));
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	STOPS(child, SIGTRAP | PTRACE_EVENT_EXEC << 8);
	SUCCEEDS(ptrace(PTRACE_KILL, child, 0, 0));
	int status;
	EQUALS(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(seize_and_interrupt)
{
	pid_t child = FORK();
	if (child == 0) {
		for (;;)
			pause();
	}
	SUCCEEDS(ptrace(PTRACE_SEIZE, child, 0, 0));
	SUCCEEDS(ptrace(PTRACE_INTERRUPT, child, 0, 0));
	STOPS(child, SIGTRAP | 128 << 8);
	FAILS(ptrace(PTRACE_LISTEN, getpid(), 0, 0), ESRCH);
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/status", child);
	char line[32];
	snprintf(line, sizeof line, "TracerPid:\t%d\n", getpid());
	CHECK(strstr(text_of(path), line) != NULL);
	CHECK(strstr(text_of(path), "t (tracing stop)") != NULL);
	SUCCEEDS(ptrace(PTRACE_DETACH, child, 0, 0));
	SUCCEEDS(kill(child, SIGKILL));
	int status;
	EQUALS(waitpid(child, &status, 0), child);
}

static void wait_long(void)
{
	struct timespec second = {.tv_nsec = 100000000};
	_exit(nanosleep(&second, NULL) == 0 ? 0 : 1);
}

TEST(an_interrupted_call_is_made_again)
{
	pid_t child = traced_child(wait_long);
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	usleep(20000);
	SUCCEEDS(kill(child, SIGUSR1));
	STOPS(child, SIGUSR1);
	SUCCEEDS(ptrace(PTRACE_CONT, child, 0, 0));
	EXITS(child, 0);
}



/* A tracer that listens for the end of a stop hears of it even if it was over before. */
TEST(listen_after_the_stop_is_over)
{
	pid_t child = SUCCEEDS(fork());
	if (child == 0) {
		raise(SIGSTOP);
		_exit(7);
	}
	int status;
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	SUCCEEDS(ptrace(PTRACE_SEIZE, child, 0, 0));
	siginfo_t info;
	SUCCEEDS(waitid(P_PID, (id_t)child, &info, WSTOPPED | WNOWAIT));
	SUCCEEDS(kill(child, SIGCONT));
	EQUALS(waitpid(child, &status, 0), child);
	EQUALS(status >> 8, SIGSTOP | PTRACE_EVENT_STOP << 8);
	SUCCEEDS(ptrace(PTRACE_LISTEN, child, 0, 0));
	EQUALS(waitpid(child, &status, 0), child);
	EQUALS(status >> 8, SIGTRAP | PTRACE_EVENT_STOP << 8);
	SUCCEEDS(ptrace(PTRACE_DETACH, child, 0, 0));
	EQUALS(waitpid(child, &status, 0), child);
	EQUALS(WEXITSTATUS(status), 7);
}
