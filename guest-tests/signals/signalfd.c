/* signalfd4(2). */
#include "test.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

static sigset_t block(int first, int second)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, first);
	sigaddset(&set, second);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	return set;
}

TEST(reads_pending_signals)
{
	sigset_t set = block(SIGUSR1, SIGRTMIN);
	int file = SUCCEEDS(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
	EQUALS(fcntl(file, F_GETFD), FD_CLOEXEC);
	CHECK(fcntl(file, F_GETFL) & O_NONBLOCK);
	struct signalfd_siginfo info[4];
	FAILS(read(file, info, sizeof info), EAGAIN);
	SUCCEEDS(sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 17 }));
	SUCCEEDS(kill(getpid(), SIGUSR1));
	EQUALS(read(file, info, sizeof info), 2 * sizeof *info);
	EQUALS(info[0].ssi_signo, SIGUSR1);
	EQUALS(info[0].ssi_code, SI_USER);
	EQUALS(info[0].ssi_pid, getpid());
	EQUALS(info[0].ssi_uid, getuid());
	EQUALS(info[1].ssi_signo, SIGRTMIN);
	EQUALS(info[1].ssi_code, SI_QUEUE);
	EQUALS(info[1].ssi_int, 17);
	sigset_t pending;
	SUCCEEDS(sigpending(&pending));
	CHECK(!sigismember(&pending, SIGUSR1));
}

TEST(one_at_a_time)
{
	sigset_t set = block(SIGUSR1, SIGUSR2);
	int file = SUCCEEDS(signalfd(-1, &set, 0));
	struct signalfd_siginfo info;
	raise(SIGUSR2);
	raise(SIGUSR1);
	EQUALS(read(file, &info, sizeof info), sizeof info);
	EQUALS(info.ssi_signo, SIGUSR1);
	EQUALS(read(file, &info, sizeof info), sizeof info);
	EQUALS(info.ssi_signo, SIGUSR2);
	FAILS(read(file, &info, sizeof info - 1), EINVAL);
	FAILS(write(file, &info, sizeof info), EINVAL);
}

TEST(child_information)
{
	sigset_t set = block(SIGCHLD, SIGCHLD);
	int file = SUCCEEDS(signalfd(-1, &set, 0));
	struct signalfd_siginfo info;
	pid_t child = FORK();
	if (child == 0)
		_exit(21);
	EQUALS(read(file, &info, sizeof info), sizeof info);
	EQUALS(info.ssi_signo, SIGCHLD);
	EQUALS(info.ssi_code, CLD_EXITED);
	EQUALS(info.ssi_pid, child);
	EQUALS(info.ssi_status, 21);
	EXITS(child, 21);
}

TEST(poll_and_epoll)
{
	sigset_t set = block(SIGUSR1, SIGUSR1);
	int file = SUCCEEDS(signalfd(-1, &set, 0)), epoll = SUCCEEDS(epoll_create1(0));
	struct epoll_event event = { .events = EPOLLIN };
	SUCCEEDS(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event));
	struct pollfd one = { file, POLLIN | POLLOUT, 0 };
	EQUALS(poll(&one, 1, 0), 0);
	EQUALS(epoll_wait(epoll, &event, 1, 0), 0);
	raise(SIGUSR1);
	EQUALS(poll(&one, 1, 0), 1);
	EQUALS(one.revents, POLLIN);
	EQUALS(epoll_wait(epoll, &event, 1, 0), 1);
}

TEST(change_the_set)
{
	sigset_t set = block(SIGUSR1, SIGUSR2), second;
	sigemptyset(&second);
	sigaddset(&second, SIGUSR2);
	int file = SUCCEEDS(signalfd(-1, &set, SFD_NONBLOCK));
	EQUALS(signalfd(file, &second, 0), file);
	struct signalfd_siginfo info;
	raise(SIGUSR1);
	FAILS(read(file, &info, sizeof info), EAGAIN);
	raise(SIGUSR2);
	EQUALS(read(file, &info, sizeof info), sizeof info);
	EQUALS(info.ssi_signo, SIGUSR2);
}

TEST(refusals)
{
	sigset_t set = block(SIGUSR1, SIGUSR1);
	FAILS(signalfd(-1, &set, 1), EINVAL);
	FAILS(signalfd(0, &set, 0), EINVAL);
	FAILS(signalfd(9999, &set, 0), EBADF);
	FAILS(syscall(SYS_signalfd4, -1, &set, 4, 0), EINVAL);
	FAILS(syscall(SYS_signalfd4, -1, BAD_POINTER, 8, 0), EFAULT);
}

TEST(blocking_read_is_woken)
{
	sigset_t set = block(SIGUSR1, SIGUSR1);
	int file = SUCCEEDS(signalfd(-1, &set, 0));
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(5);
		_exit(kill(test_process, SIGUSR1));
	}
	struct signalfd_siginfo info;
	EQUALS(read(file, &info, sizeof info), sizeof info);
	EQUALS(info.ssi_pid, child);
	EXITS(child, 0);
}
