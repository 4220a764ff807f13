/* sigaction(2): dispositions and flags. */
#include "test.h"
#include <ucontext.h>

static volatile int n_caught, last, depth, deepest;

static void count(int signal)
{
	n_caught++;
	last = signal;
}

static void nest(int signal)
{
	if (++depth > deepest)
		deepest = depth;
	if (n_caught++ < 2)
		raise(signal);
	depth--;
}

static void install(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	sigemptyset(&action.sa_mask);
	SUCCEEDS(sigaction(signal, &action, NULL));
}

TEST(handler_runs_before_raise_returns)
{
	install(SIGUSR1, count, 0);
	SUCCEEDS(raise(SIGUSR1));
	EQUALS(n_caught, 1);
	EQUALS(last, SIGUSR1);
}

TEST(every_signal_can_be_caught_but_two)
{
	for (int number = 1; number <= SIGRTMAX; number++) {
		if (number == SIGKILL || number == SIGSTOP || number == 32 || number == 33)
			continue;
		n_caught = 0;
		install(number, count, 0);
		SUCCEEDS(raise(number));
		EQUALS(n_caught, 1);
		EQUALS(last, number);
	}
}

TEST(refusals)
{
	struct sigaction action = { .sa_handler = SIG_IGN };
	FAILS(sigaction(SIGKILL, &action, NULL), EINVAL);
	FAILS(sigaction(SIGSTOP, &action, NULL), EINVAL);
	FAILS(sigaction(0, &action, NULL), EINVAL);
	FAILS(sigaction(65, &action, NULL), EINVAL);
	SUCCEEDS(sigaction(SIGKILL, NULL, &action));
	FAILS(syscall(SYS_rt_sigaction, SIGUSR1, NULL, NULL, 4), EINVAL);
	FAILS(syscall(SYS_rt_sigaction, SIGUSR1, BAD_POINTER, NULL, 8), EFAULT);
}

TEST(tells_the_old_action)
{
	struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART | SA_NODEFER }, old;
	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGHUP);
	SUCCEEDS(sigaction(SIGUSR1, &action, NULL));
	SUCCEEDS(sigaction(SIGUSR1, NULL, &old));
	CHECK(old.sa_handler == count);
	EQUALS(old.sa_flags & (SA_RESTART | SA_NODEFER | SA_SIGINFO), SA_RESTART | SA_NODEFER);
	CHECK(sigismember(&old.sa_mask, SIGHUP));
	CHECK(!sigismember(&old.sa_mask, SIGINT));
}

TEST(kill_and_stop_are_left_out_of_the_mask)
{
	struct sigaction action = { .sa_handler = count }, old;
	sigfillset(&action.sa_mask);
	SUCCEEDS(sigaction(SIGUSR1, &action, NULL));
	SUCCEEDS(sigaction(SIGUSR1, NULL, &old));
	CHECK(!sigismember(&old.sa_mask, SIGKILL));
	CHECK(!sigismember(&old.sa_mask, SIGSTOP));
}

TEST(default_actions)
{
	const struct { int signal, end; } ends[] = {
		{ SIGHUP, SIGHUP }, { SIGINT, SIGINT }, { SIGQUIT, SIGQUIT }, { SIGILL, SIGILL }, { SIGTRAP, SIGTRAP },
		{ SIGABRT, SIGABRT }, { SIGBUS, SIGBUS }, { SIGFPE, SIGFPE }, { SIGKILL, SIGKILL }, { SIGUSR1, SIGUSR1 },
		{ SIGSEGV, SIGSEGV }, { SIGUSR2, SIGUSR2 }, { SIGPIPE, SIGPIPE }, { SIGALRM, SIGALRM }, { SIGTERM, SIGTERM },
		{ SIGSTKFLT, SIGSTKFLT }, { SIGXCPU, SIGXCPU }, { SIGXFSZ, SIGXFSZ }, { SIGVTALRM, SIGVTALRM },
		{ SIGPROF, SIGPROF }, { SIGIO, SIGIO }, { SIGPWR, SIGPWR }, { SIGSYS, SIGSYS }, { 34, 34 }, { 64, 64 },
		{ SIGCHLD, 0 }, { SIGCONT, 0 }, { SIGURG, 0 }, { SIGWINCH, 0 },
	};
	for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) {
		pid_t child = FORK();
		if (child == 0) {
			signal(ends[i].signal, SIG_DFL);
			kill(getpid(), ends[i].signal);
			_exit(0);
		}
		int status = test_wait(child);
		EQUALS(WIFSIGNALED(status) ? WTERMSIG(status) : 0, ends[i].end);
	}
}

TEST(ignored)
{
	install(SIGTERM, SIG_IGN, 0);
	SUCCEEDS(raise(SIGTERM));
	sigset_t set, pending;
	sigfillset(&set);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	SUCCEEDS(raise(SIGTERM));
	SUCCEEDS(sigpending(&pending));
	/* A blocked signal waits even if it is ignored, since the disposition may change. */
	EQUALS(sigismember(&pending, SIGTERM), 1);
	install(SIGTERM, SIG_IGN, 0);
	SUCCEEDS(sigpending(&pending));
	EQUALS(sigismember(&pending, SIGTERM), 0);
}

TEST(deferred_while_its_handler_runs)
{
	install(SIGUSR1, nest, 0);
	SUCCEEDS(raise(SIGUSR1));
	EQUALS(deepest, 1);
	EQUALS(n_caught, 3);
}

TEST(nodefer_allows_nesting)
{
	install(SIGUSR1, nest, SA_NODEFER);
	SUCCEEDS(raise(SIGUSR1));
	EQUALS(n_caught, 3);
	EQUALS(deepest, 3);
}

TEST(reset_after_the_first)
{
	install(SIGUSR1, count, SA_RESETHAND);
	SUCCEEDS(raise(SIGUSR1));
	EQUALS(n_caught, 1);
	struct sigaction now;
	SUCCEEDS(sigaction(SIGUSR1, NULL, &now));
	CHECK(now.sa_handler == SIG_DFL);
	pid_t child = FORK();
	if (child == 0) {
		raise(SIGUSR1);
		_exit(0);
	}
	DIES(child, SIGUSR1);
}

static volatile bool was_blocked, self_was_blocked;
static void look_at_mask(int signal)
{
	sigset_t mask;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	was_blocked = sigismember(&mask, SIGUSR2);
	self_was_blocked = sigismember(&mask, signal);
}

TEST(mask_of_the_handler)
{
	struct sigaction action = { .sa_handler = look_at_mask };
	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGUSR2);
	SUCCEEDS(sigaction(SIGUSR1, &action, NULL));
	SUCCEEDS(raise(SIGUSR1));
	CHECK(was_blocked && self_was_blocked);
	sigset_t mask;
	SUCCEEDS(sigprocmask(SIG_BLOCK, NULL, &mask));
	CHECK(!sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGUSR1));
}

static volatile uintptr_t context_address, signal_in_info;
static void with_information(int signal __attribute__((unused)), siginfo_t *info, void *context)
{
	context_address = (uintptr_t)context;
	signal_in_info = info->si_signo;
	/* A mask changed here counts after the return. */
	sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGHUP);
}

TEST(handler_with_three_arguments)
{
	struct sigaction action = { .sa_sigaction = with_information, .sa_flags = SA_SIGINFO };
	SUCCEEDS(sigaction(SIGUSR1, &action, NULL));
	SUCCEEDS(raise(SIGUSR1));
	CHECK(context_address != 0);
	EQUALS(signal_in_info, SIGUSR1);
	sigset_t mask;
	SUCCEEDS(sigprocmask(SIG_BLOCK, NULL, &mask));
	CHECK(sigismember(&mask, SIGHUP));
}

TEST(no_child_wait)
{
	install(SIGCHLD, count, SA_NOCLDWAIT);
	pid_t child = FORK();
	if (child == 0)
		_exit(0);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	EQUALS(errno, ECHILD);
	EQUALS(n_caught, 1);
}

TEST(no_child_stop)
{
	install(SIGCHLD, count, SA_NOCLDSTOP | SA_RESTART);
	pid_t child = FORK();
	if (child == 0)
		for (;;)
			pause();
	int status;
	SUCCEEDS(kill(child, SIGSTOP));
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	SUCCEEDS(kill(child, SIGCONT));
	EQUALS(waitpid(child, &status, WCONTINUED), child);
	EQUALS(n_caught, 0);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
	EQUALS(n_caught, 1);
}

static sigjmp_buf back;
static void jump(int signal)
{
	siglongjmp(back, signal);
}

TEST(leave_the_handler_by_a_jump)
{
	install(SIGUSR1, jump, 0);
	for (int i = 0; i < 3; i++) {
		int from = sigsetjmp(back, 1);
		if (from == 0) {
			raise(SIGUSR1);
			CHECK(!"came back from raise");
		}
		EQUALS(from, SIGUSR1);
		n_caught++;
	}
	EQUALS(n_caught, 3);
}

TEST(fork_inherits_handlers)
{
	install(SIGUSR1, count, 0);
	pid_t child = FORK();
	if (child == 0) {
		raise(SIGUSR1);
		_exit(n_caught);
	}
	EXITS(child, 1);
	EQUALS(n_caught, 0);
}
