/* Real-time signals are queued and ordered; siginfo tells who sent what. */
#include "test.h"
#include <pthread.h>
#include <sys/resource.h>

static siginfo_t got[64];
static volatile int n_got;

static void note(int signal __attribute__((unused)), siginfo_t *info, void *context __attribute__((unused)))
{
	got[n_got++ & 63] = *info;
}

static void catch(int signal)
{
	struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };
	sigfillset(&action.sa_mask);
	SUCCEEDS(sigaction(signal, &action, NULL));
}

static void block_all(void)
{
	sigset_t all;
	sigfillset(&all);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &all, NULL));
}

static void unblock_all(void)
{
	sigset_t all;
	sigfillset(&all);
	SUCCEEDS(sigprocmask(SIG_UNBLOCK, &all, NULL));
}

static void queue(int signal, int value)
{
	SUCCEEDS(sigqueue(getpid(), signal, (union sigval){ .sival_int = value }));
}

TEST(queued_in_order_of_sending)
{
	catch(SIGRTMIN + 3);
	block_all();
	for (int i = 0; i < 20; i++)
		queue(SIGRTMIN + 3, i);
	unblock_all();
	EQUALS(n_got, 20);
	for (int i = 0; i < 20; i++)
		EQUALS(got[i].si_value.sival_int, i);
}

TEST(lowest_number_first)
{
	sigset_t all;
	siginfo_t info;
	sigfillset(&all);
	block_all();
	queue(SIGRTMIN + 5, 1);
	queue(SIGRTMIN + 2, 2);
	queue(SIGRTMIN + 5, 3);
	queue(SIGRTMIN + 2, 4);
	SUCCEEDS(raise(SIGTERM));
	const int signals[] = { SIGTERM, SIGRTMIN + 2, SIGRTMIN + 2, SIGRTMIN + 5, SIGRTMIN + 5 };
	const int values[] = { 0, 2, 4, 1, 3 };
	for (int i = 0; i < 5; i++) {
		EQUALS(sigwaitinfo(&all, &info), signals[i]);
		if (i > 0)
			EQUALS(info.si_value.sival_int, values[i]);
	}
}

TEST(ordinary_signals_are_not_queued)
{
	catch(SIGUSR1);
	block_all();
	queue(SIGUSR1, 1);
	queue(SIGUSR1, 2);
	unblock_all();
	EQUALS(n_got, 1);
	EQUALS(got[0].si_value.sival_int, 1);
}

TEST(sent_by_kill)
{
	catch(SIGUSR1);
	SUCCEEDS(kill(getpid(), SIGUSR1));
	EQUALS(got[0].si_signo, SIGUSR1);
	EQUALS(got[0].si_code, SI_USER);
	EQUALS(got[0].si_pid, getpid());
	EQUALS(got[0].si_uid, getuid());
	EQUALS(got[0].si_errno, 0);
}

TEST(sent_by_tgkill)
{
	catch(SIGUSR1);
	SUCCEEDS(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1));
	EQUALS(got[0].si_code, SI_TKILL);
	EQUALS(got[0].si_pid, getpid());
	EQUALS(got[0].si_uid, getuid());
	SUCCEEDS(syscall(SYS_tkill, gettid(), SIGUSR1));
	EQUALS(got[1].si_code, SI_TKILL);
}

TEST(sent_by_sigqueue)
{
	catch(SIGRTMIN);
	SUCCEEDS(sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_ptr = (void *)0x123456789abc }));
	EQUALS(got[0].si_code, SI_QUEUE);
	EQUALS(got[0].si_pid, getpid());
	EQUALS(got[0].si_uid, getuid());
	CHECK(got[0].si_value.sival_ptr == (void *)0x123456789abc);
}

TEST(sent_by_a_child)
{
	catch(SIGUSR1);
	pid_t child = FORK();
	if (child == 0)
		_exit(kill(getppid(), SIGUSR1));
	EXITS(child, 0);
	EQUALS(n_got, 1);
	EQUALS(got[0].si_pid, child);
}

TEST(forged_information)
{
	siginfo_t info = { .si_code = SI_QUEUE };
	info.si_pid = 77;
	info.si_uid = 88;
	catch(SIGRTMIN);
	SUCCEEDS(syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN, &info));
	EQUALS(got[0].si_signo, SIGRTMIN);
	EQUALS(got[0].si_pid, 77);
	EQUALS(got[0].si_uid, 88);
	/* One may say anything to oneself, but to others only what no kernel would say. */
	info.si_code = SI_USER;
	SUCCEEDS(syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN, &info));
	FAILS(syscall(SYS_rt_sigqueueinfo, getppid(), 0, &info), EPERM);
	info.si_code = SI_TKILL;
	FAILS(syscall(SYS_rt_sigqueueinfo, getppid(), 0, &info), EPERM);
	info.si_code = SI_QUEUE;
	SUCCEEDS(syscall(SYS_rt_sigqueueinfo, getppid(), 0, &info));
	FAILS(syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN, BAD_POINTER), EFAULT);
	FAILS(syscall(SYS_rt_sigqueueinfo, getpid(), 65, &info), EINVAL);
	FAILS(syscall(SYS_rt_sigqueueinfo, INT_MAX, SIGRTMIN, &info), ESRCH);
}

TEST(to_a_thread_with_information)
{
	siginfo_t info = { .si_code = SI_QUEUE };
	info.si_value.sival_int = 99;
	catch(SIGRTMIN);
	SUCCEEDS(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGRTMIN, &info));
	EQUALS(got[0].si_value.sival_int, 99);
	FAILS(syscall(SYS_rt_tgsigqueueinfo, 0, gettid(), SIGRTMIN, &info), EINVAL);
	FAILS(syscall(SYS_rt_tgsigqueueinfo, getpid(), INT_MAX, SIGRTMIN, &info), ESRCH);
}

/* A wait may see a stop or a continuation before its signal has arrived. */
static void until_got(int n)
{
	while (n_got < n)
		sleep_ms(1);
}

TEST(child_codes)
{
	catch(SIGCHLD);
	pid_t child = FORK();
	if (child == 0)
		_exit(13);
	EXITS(child, 13);
	EQUALS(got[0].si_code, CLD_EXITED);
	EQUALS(got[0].si_pid, child);
	EQUALS(got[0].si_uid, getuid());
	EQUALS(got[0].si_status, 13);
	n_got = 0;
	child = FORK();
	if (child == 0)
		for (;;)
			pause();
	int status;
	SUCCEEDS(kill(child, SIGSTOP));
	while (waitpid(child, &status, WUNTRACED) < 0)
		EQUALS(errno, EINTR);
	until_got(1);
	EQUALS(got[0].si_code, CLD_STOPPED);
	EQUALS(got[0].si_status, SIGSTOP);
	SUCCEEDS(kill(child, SIGCONT));
	while (waitpid(child, &status, WCONTINUED) < 0)
		EQUALS(errno, EINTR);
	until_got(2);
	EQUALS(got[1].si_code, CLD_CONTINUED);
	EQUALS(got[1].si_status, SIGCONT);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
	until_got(3);
	EQUALS(got[2].si_code, CLD_KILLED);
	EQUALS(got[2].si_status, SIGKILL);
}

TEST(limit_of_the_queue)
{
	become_ordinary();
	struct rlimit limit = { 5, 5 };
	block_all();
	SUCCEEDS(setrlimit(RLIMIT_SIGPENDING, &limit));
	int n_queued = 0;
	while (sigqueue(getpid(), SIGRTMIN, (union sigval){ 0 }) == 0)
		CHECK(++n_queued <= 5);
	EQUALS(errno, EAGAIN);
	/* kill(2) always gets through, if need be without information. */
	SUCCEEDS(kill(getpid(), SIGUSR1));
	sigset_t pending;
	SUCCEEDS(sigpending(&pending));
	CHECK(sigismember(&pending, SIGUSR1));
}

TEST(pthread_sigqueue_reaches_its_thread)
{
	catch(SIGRTMIN + 1);
	EQUALS(pthread_sigqueue(pthread_self(), SIGRTMIN + 1, (union sigval){ .sival_int = 5 }), 0);
	EQUALS(got[0].si_value.sival_int, 5);
}
