/* sigprocmask(2), sigpending(2), sigsuspend(2), sigtimedwait(2), pause(2). */
#include "test.h"
#include <pthread.h>

static volatile int n_caught, last;
static int order[8];

static void note(int signal)
{
	order[n_caught++ & 7] = signal;
	last = signal;
}

static sigset_t set_of(int first, int second)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, first);
	if (second)
		sigaddset(&set, second);
	return set;
}

static pid_t signal_parent_again_and_again(int signal)
{
	pid_t parent = getpid(), child = FORK();
	if (child == 0)
		for (;;) {
			kill(parent, signal);
			sleep_ms(2);
		}
	return child;
}

static void end(pid_t child)
{
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(blocked_until_unblocked)
{
	signal(SIGUSR1, note);
	sigset_t set = set_of(SIGUSR1, 0), pending;
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	SUCCEEDS(raise(SIGUSR1));
	SUCCEEDS(raise(SIGUSR1));
	EQUALS(n_caught, 0);
	SUCCEEDS(sigpending(&pending));
	CHECK(sigismember(&pending, SIGUSR1));
	SUCCEEDS(sigprocmask(SIG_UNBLOCK, &set, NULL));
	EQUALS(n_caught, 1);
	SUCCEEDS(sigpending(&pending));
	CHECK(!sigismember(&pending, SIGUSR1));
}

TEST(set_block_and_unblock)
{
	sigset_t set = set_of(SIGUSR1, SIGUSR2), one = set_of(SIGUSR1, 0), old;
	SUCCEEDS(sigprocmask(SIG_SETMASK, &set, NULL));
	SUCCEEDS(sigprocmask(SIG_UNBLOCK, &one, &old));
	CHECK(sigismember(&old, SIGUSR1) && sigismember(&old, SIGUSR2));
	SUCCEEDS(sigprocmask(SIG_BLOCK, NULL, &old));
	CHECK(!sigismember(&old, SIGUSR1) && sigismember(&old, SIGUSR2));
}

TEST(kill_and_stop_cannot_be_blocked)
{
	sigset_t set, now;
	sigfillset(&set);
	SUCCEEDS(sigprocmask(SIG_SETMASK, &set, NULL));
	SUCCEEDS(sigprocmask(SIG_SETMASK, NULL, &now));
	CHECK(!sigismember(&now, SIGKILL) && !sigismember(&now, SIGSTOP) && sigismember(&now, SIGTERM));
}

TEST(refusals)
{
	sigset_t set = set_of(SIGUSR1, 0);
	FAILS(syscall(SYS_rt_sigprocmask, 9, &set, NULL, 8), EINVAL);
	FAILS(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 16), EINVAL);
	FAILS(syscall(SYS_rt_sigprocmask, SIG_BLOCK, BAD_POINTER, NULL, 8), EFAULT);
	FAILS(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, BAD_POINTER, 8), EFAULT);
	SUCCEEDS(syscall(SYS_rt_sigprocmask, 9, NULL, NULL, 8));
	FAILS(syscall(SYS_rt_sigpending, BAD_POINTER, 8), EFAULT);
	FAILS(syscall(SYS_rt_sigpending, &set, 9), EINVAL);
}

/* Handlers start for the lowest number first, so that the one that starts last runs first. */
TEST(several_at_once)
{
	sigset_t set = set_of(SIGUSR1, SIGUSR2);
	signal(SIGUSR1, note);
	signal(SIGUSR2, note);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	raise(SIGUSR2);
	raise(SIGUSR1);
	SUCCEEDS(sigprocmask(SIG_UNBLOCK, &set, NULL));
	EQUALS(n_caught, 2);
	EQUALS(order[0], SIGUSR2);
	EQUALS(order[1], SIGUSR1);
}

TEST(suspend_takes_the_pending)
{
	sigset_t set = set_of(SIGUSR1, 0), none, now;
	sigemptyset(&none);
	signal(SIGUSR1, note);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	raise(SIGUSR1);
	FAILS(sigsuspend(&none), EINTR);
	EQUALS(n_caught, 1);
	SUCCEEDS(sigprocmask(SIG_BLOCK, NULL, &now));
	CHECK(sigismember(&now, SIGUSR1));
	FAILS(syscall(SYS_rt_sigsuspend, &none, 4), EINVAL);
	FAILS(syscall(SYS_rt_sigsuspend, BAD_POINTER, 8), EFAULT);
}

TEST(suspend_waits)
{
	sigset_t set = set_of(SIGUSR1, 0), none;
	sigemptyset(&none);
	signal(SIGUSR1, note);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	pid_t child = signal_parent_again_and_again(SIGUSR1);
	FAILS(sigsuspend(&none), EINTR);
	CHECK(n_caught >= 1);
	end(child);
}

TEST(pause_waits)
{
	signal(SIGUSR1, note);
	pid_t child = signal_parent_again_and_again(SIGUSR1);
	FAILS(pause(), EINTR);
	CHECK(n_caught >= 1);
	end(child);
}

TEST(timed_wait_takes_the_pending)
{
	sigset_t set = set_of(SIGUSR1, SIGRTMIN + 1);
	siginfo_t info;
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	SUCCEEDS(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = 12 }));
	SUCCEEDS(raise(SIGUSR1));
	EQUALS(sigwaitinfo(&set, &info), SIGUSR1);
	EQUALS(info.si_signo, SIGUSR1);
	EQUALS(sigwaitinfo(&set, &info), SIGRTMIN + 1);
	EQUALS(info.si_code, SI_QUEUE);
	EQUALS(info.si_value.sival_int, 12);
	EQUALS(info.si_pid, getpid());
}

TEST(timed_wait_ends)
{
	sigset_t set = set_of(SIGUSR1, 0);
	struct timespec zero = { 0, 0 }, some = { 0, 20000000 }, bad = { 0, 1000000000 };
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	FAILS(sigtimedwait(&set, NULL, &zero), EAGAIN);
	int64_t start = now_ns(CLOCK_MONOTONIC);
	FAILS(sigtimedwait(&set, NULL, &some), EAGAIN);
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= 20000000);
	FAILS(sigtimedwait(&set, NULL, &bad), EINVAL);
}

TEST(timed_wait_waits)
{
	sigset_t set = set_of(SIGUSR1, 0);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(5);
		kill(test_process, SIGUSR1);
		_exit(0);
	}
	siginfo_t info;
	struct timespec limit = { 5, 0 };
	EQUALS(sigtimedwait(&set, &info, &limit), SIGUSR1);
	EQUALS(info.si_pid, child);
	EXITS(child, 0);
}

TEST(timed_wait_is_interrupted_by_another_signal)
{
	sigset_t set = set_of(SIGUSR2, 0);
	struct timespec limit = { 5, 0 };
	signal(SIGUSR1, note);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	pid_t child = signal_parent_again_and_again(SIGUSR1);
	FAILS(sigtimedwait(&set, NULL, &limit), EINTR);
	end(child);
}

TEST(timed_wait_takes_an_ignored_signal)
{
	sigset_t set = set_of(SIGCHLD, 0);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	pid_t child = FORK();
	if (child == 0)
		_exit(6);
	siginfo_t info;
	EQUALS(sigwaitinfo(&set, &info), SIGCHLD);
	EQUALS(info.si_status, 6);
	EXITS(child, 6);
}

static void *wait_here(void *set)
{
	int got;
	sigwait(set, &got);
	return (void *)(intptr_t)got;
}

TEST(process_signal_goes_to_a_thread_that_waits)
{
	sigset_t set = set_of(SIGUSR1, 0);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	pthread_t thread;
	void *got;
	EQUALS(pthread_create(&thread, NULL, wait_here, &set), 0);
	SUCCEEDS(kill(getpid(), SIGUSR1));
	pthread_join(thread, &got);
	EQUALS((intptr_t)got, SIGUSR1);
}

static void *look_at_pending(void *unused __attribute__((unused)))
{
	sigset_t pending;
	sigpending(&pending);
	return (void *)(intptr_t)(sigismember(&pending, SIGUSR1) + 2 * sigismember(&pending, SIGUSR2));
}

TEST(thread_signals_are_pending_for_that_thread_only)
{
	sigset_t set = set_of(SIGUSR1, SIGUSR2);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	SUCCEEDS(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1));
	SUCCEEDS(kill(getpid(), SIGUSR2));
	pthread_t thread;
	void *seen;
	EQUALS(pthread_create(&thread, NULL, look_at_pending, NULL), 0);
	pthread_join(thread, &seen);
	EQUALS((intptr_t)seen, 2);
	EQUALS((intptr_t)look_at_pending(NULL), 3);
}

static void *block_one(void *set)
{
	pthread_sigmask(SIG_BLOCK, set, NULL);
	return NULL;
}

TEST(masks_belong_to_threads)
{
	sigset_t set = set_of(SIGUSR1, 0), now;
	pthread_t thread;
	EQUALS(pthread_create(&thread, NULL, block_one, &set), 0);
	pthread_join(thread, NULL);
	SUCCEEDS(sigprocmask(SIG_BLOCK, NULL, &now));
	CHECK(!sigismember(&now, SIGUSR1));
}

TEST(child_has_the_mask_of_the_fork)
{
	/* Whatever the parent does to its own right after it. */
	sigset_t all, none;
	sigfillset(&all);
	sigemptyset(&none);
	for (int i = 0; i < 100; i++) {
		pid_t child = FORK();
		if (child == 0) {
			sigset_t own;
			sigprocmask(SIG_BLOCK, NULL, &own);
			_exit(sigismember(&own, SIGTERM));
		}
		SUCCEEDS(sigprocmask(SIG_SETMASK, &all, NULL));
		EXITS(child, 0);
		SUCCEEDS(sigprocmask(SIG_SETMASK, &none, NULL));
	}
}
