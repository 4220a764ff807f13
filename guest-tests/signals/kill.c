/* kill(2), tkill(2), tgkill(2): who may signal whom; SIGPIPE. */
#include "test.h"
#include <pthread.h>
#include <sys/socket.h>

static volatile int n_caught, last;
static volatile pid_t handler_tid;

static void note(int signal)
{
	n_caught++;
	last = signal;
	handler_tid = gettid();
}

static pid_t paused_child(void)
{
	pid_t child = FORK();
	if (child == 0)
		for (;;)
			pause();
	return child;
}

TEST(signal_zero_only_asks)
{
	SUCCEEDS(kill(getpid(), 0));
	SUCCEEDS(kill(0, 0));
	FAILS(kill(INT_MAX, 0), ESRCH);
	FAILS(kill(-INT_MAX, 0), ESRCH);
}

TEST(bad_numbers)
{
	FAILS(kill(getpid(), 65), EINVAL);
	FAILS(kill(getpid(), -1), EINVAL);
	FAILS(kill(INT_MAX, 65), ESRCH);
	FAILS(kill(INT_MIN, SIGTERM), ESRCH);
}

TEST(zombie_exists)
{
	pid_t child = FORK();
	if (child == 0)
		_exit(0);
	siginfo_t info;
	SUCCEEDS(waitid(P_PID, child, &info, WEXITED | WNOWAIT));
	SUCCEEDS(kill(child, SIGKILL));
	EXITS(child, 0);
	FAILS(kill(child, 0), ESRCH);
}

TEST(own_group)
{
	SUCCEEDS(setpgid(0, 0));
	signal(SIGTERM, SIG_IGN);
	pid_t child = FORK();
	if (child == 0) {
		signal(SIGTERM, SIG_DFL);
		kill(getppid(), SIGCONT);
		for (;;)
			pause();
	}
	int status;
	while (waitpid(child, &status, WNOHANG) == 0) {
		SUCCEEDS(kill(0, SIGTERM));
		sleep_ms(1);
	}
	EQUALS(WTERMSIG(status), SIGTERM);
}

TEST(strangers_need_permission)
{
	need_root();
	pid_t child = FORK();
	if (child == 0) {
		become_ordinary();
		FAILS(kill(getppid(), 0), EPERM);
		FAILS(kill(getppid(), SIGTERM), EPERM);
		/* Within a session everybody may continue everybody. */
		SUCCEEDS(kill(getppid(), SIGCONT));
		SUCCEEDS(setsid());
		FAILS(kill(getppid(), SIGCONT), EPERM);
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(same_user_may)
{
	pid_t child = FORK();
	if (child == 0) {
		become_ordinary();
		pid_t other = paused_child();
		SUCCEEDS(kill(other, SIGTERM));
		DIES(other, SIGTERM);
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(to_a_thread)
{
	signal(SIGUSR1, note);
	SUCCEEDS(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1));
	EQUALS(n_caught, 1);
	SUCCEEDS(syscall(SYS_tkill, gettid(), SIGUSR1));
	EQUALS(n_caught, 2);
	FAILS(syscall(SYS_tgkill, getppid(), gettid(), SIGUSR1), ESRCH);
	FAILS(syscall(SYS_tgkill, 0, gettid(), SIGUSR1), EINVAL);
	FAILS(syscall(SYS_tgkill, getpid(), -1, SIGUSR1), EINVAL);
	FAILS(syscall(SYS_tgkill, getpid(), INT_MAX, SIGUSR1), ESRCH);
	FAILS(syscall(SYS_tgkill, getpid(), gettid(), 65), EINVAL);
	FAILS(syscall(SYS_tkill, 0, SIGUSR1), EINVAL);
	FAILS(syscall(SYS_tkill, INT_MAX, SIGUSR1), ESRCH);
}

static volatile pid_t thread_tid;
static volatile bool stop;
static void *spin(void *unused __attribute__((unused)))
{
	thread_tid = gettid();
	while (!stop)
		sleep_ms(1);
	return NULL;
}

TEST(handler_runs_in_the_chosen_thread)
{
	signal(SIGUSR1, note);
	pthread_t thread;
	EQUALS(pthread_create(&thread, NULL, spin, NULL), 0);
	while (!thread_tid)
		sleep_ms(1);
	SUCCEEDS(syscall(SYS_tgkill, getpid(), thread_tid, SIGUSR1));
	while (!n_caught)
		sleep_ms(1);
	EQUALS(handler_tid, thread_tid);
	stop = true;
	pthread_join(thread, NULL);
	FAILS(syscall(SYS_tgkill, getpid(), thread_tid, 0), ESRCH);
}

TEST(process_signal_avoids_threads_that_block_it)
{
	signal(SIGUSR1, note);
	pthread_t thread;
	EQUALS(pthread_create(&thread, NULL, spin, NULL), 0);
	while (!thread_tid)
		sleep_ms(1);
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	SUCCEEDS(kill(getpid(), SIGUSR1));
	while (!n_caught)
		sleep_ms(1);
	EQUALS(handler_tid, thread_tid);
	stop = true;
	pthread_join(thread, NULL);
}

TEST(broken_pipe)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	SUCCEEDS(close(ends[0]));
	signal(SIGPIPE, note);
	FAILS(write(ends[1], "x", 1), EPIPE);
	EQUALS(n_caught, 1);
	signal(SIGPIPE, SIG_IGN);
	FAILS(write(ends[1], "x", 1), EPIPE);
	EQUALS(write(ends[1], "", 0), 0);
	pid_t child = FORK();
	if (child == 0) {
		signal(SIGPIPE, SIG_DFL);
		_exit(write(ends[1], "x", 1));
	}
	DIES(child, SIGPIPE);
}

TEST(broken_socket)
{
	int ends[2];
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	SUCCEEDS(close(ends[0]));
	signal(SIGPIPE, note);
	FAILS(send(ends[1], "x", 1, MSG_NOSIGNAL), EPIPE);
	EQUALS(n_caught, 0);
	FAILS(send(ends[1], "x", 1, 0), EPIPE);
	EQUALS(n_caught, 1);
}

TEST(abort_dies_even_when_ignored)
{
	pid_t child = FORK();
	if (child == 0) {
		signal(SIGABRT, SIG_IGN);
		abort();
	}
	DIES(child, SIGABRT);
}
