/* pidfd_open(2), pidfd_send_signal(2), pidfd_getfd(2), polling a process, waiting by descriptor. */
#include "test.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>

static int pidfd_open(pid_t pid, unsigned flags)
{
	return syscall(SYS_pidfd_open, pid, flags);
}

static int pidfd_send_signal(int pidfd, int signal, siginfo_t *info, unsigned flags)
{
	return syscall(SYS_pidfd_send_signal, pidfd, signal, info, flags);
}

static pid_t paused_child(void)
{
	pid_t child = FORK();
	if (child == 0)
		for (;;)
			pause();
	return child;
}

TEST(open_refusals)
{
	FAILS(pidfd_open(0, 0), EINVAL);
	FAILS(pidfd_open(-1, 0), EINVAL);
	FAILS(pidfd_open(INT_MAX, 0), ESRCH);
	FAILS(pidfd_open(getpid(), 1), EINVAL);
}

TEST(open_is_close_on_exec)
{
	int self = SUCCEEDS(pidfd_open(getpid(), 0));
	EQUALS(fcntl(self, F_GETFD), FD_CLOEXEC);
	CHECK(!(fcntl(self, F_GETFL) & O_NONBLOCK));
	int nonblocking = SUCCEEDS(pidfd_open(getpid(), O_NONBLOCK));
	CHECK(fcntl(nonblocking, F_GETFL) & O_NONBLOCK);
}

TEST(send_a_signal)
{
	pid_t child = paused_child();
	int pidfd = SUCCEEDS(pidfd_open(child, 0));
	SUCCEEDS(pidfd_send_signal(pidfd, 0, NULL, 0));
	SUCCEEDS(pidfd_send_signal(pidfd, SIGTERM, NULL, 0));
	DIES(child, SIGTERM);
	FAILS(pidfd_send_signal(pidfd, 0, NULL, 0), ESRCH);
}

TEST(send_refusals)
{
	int self = SUCCEEDS(pidfd_open(getpid(), 0));
	FAILS(pidfd_send_signal(self, 65, NULL, 0), EINVAL);
	FAILS(pidfd_send_signal(self, 0, NULL, 0x1000), EINVAL);
	FAILS(pidfd_send_signal(-1, 0, NULL, 0), EBADF);
	FAILS(pidfd_send_signal(0, 0, NULL, 0), EBADF);
	siginfo_t info = { .si_signo = SIGUSR1, .si_code = SI_QUEUE };
	FAILS(pidfd_send_signal(self, SIGUSR2, &info, 0), EINVAL);
	FAILS(pidfd_send_signal(self, SIGUSR2, BAD_POINTER, 0), EFAULT);
}

static volatile int value;
static void note(int signal __attribute__((unused)), siginfo_t *info, void *context __attribute__((unused)))
{
	value = info->si_value.sival_int;
}

TEST(send_with_information)
{
	struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };
	sigaction(SIGUSR1, &action, NULL);
	int self = SUCCEEDS(pidfd_open(getpid(), 0));
	siginfo_t info = { .si_signo = SIGUSR1, .si_code = SI_QUEUE };
	info.si_value.sival_int = 4711;
	SUCCEEDS(pidfd_send_signal(self, SIGUSR1, &info, 0));
	EQUALS(value, 4711);
}

TEST(poll_tells_the_end)
{
	pid_t child = paused_child();
	struct pollfd poll_pidfd = { SUCCEEDS(pidfd_open(child, 0)), POLLIN, 0 };
	EQUALS(poll(&poll_pidfd, 1, 0), 0);
	SUCCEEDS(kill(child, SIGKILL));
	EQUALS(poll(&poll_pidfd, 1, -1), 1);
	EQUALS(poll_pidfd.revents, POLLIN);
	DIES(child, SIGKILL);
}

TEST(epoll_tells_the_end)
{
	pid_t child = paused_child();
	int pidfd = SUCCEEDS(pidfd_open(child, 0));
	int set = SUCCEEDS(epoll_create1(0));
	struct epoll_event event = { EPOLLIN, { .fd = pidfd } };
	SUCCEEDS(epoll_ctl(set, EPOLL_CTL_ADD, pidfd, &event));
	EQUALS(epoll_wait(set, &event, 1, 0), 0);
	SUCCEEDS(kill(child, SIGKILL));
	EQUALS(epoll_wait(set, &event, 1, -1), 1);
	EQUALS(event.data.fd, pidfd);
	DIES(child, SIGKILL);
}

TEST(wait_by_descriptor)
{
	pid_t child = FORK();
	if (child == 0)
		_exit(31);
	int pidfd = SUCCEEDS(pidfd_open(child, 0));
	siginfo_t info;
	SUCCEEDS(waitid(P_PIDFD, pidfd, &info, WEXITED | WNOWAIT));
	SUCCEEDS(waitid(P_PIDFD, pidfd, &info, WEXITED));
	EQUALS(info.si_pid, child);
	EQUALS(info.si_status, 31);
	FAILS(waitid(P_PIDFD, pidfd, &info, WEXITED), ECHILD);
}

TEST(nonblocking_wait_by_descriptor)
{
	pid_t child = paused_child();
	int pidfd = SUCCEEDS(pidfd_open(child, O_NONBLOCK));
	siginfo_t info;
	FAILS(waitid(P_PIDFD, pidfd, &info, WEXITED), EAGAIN);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(wait_by_descriptor_of_a_stranger)
{
	siginfo_t info;
	int parent = SUCCEEDS(pidfd_open(getppid(), 0));
	FAILS(waitid(P_PIDFD, parent, &info, WEXITED), ECHILD);
}

TEST(read_and_write_are_refused)
{
	char byte = 0;
	int self = SUCCEEDS(pidfd_open(getpid(), 0));
	FAILS(read(self, &byte, 1), EINVAL);
	FAILS(write(self, &byte, 1), EINVAL);
}

TEST(take_a_descriptor)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = paused_child();
	SUCCEEDS(close(ends[1]));
	int pidfd = SUCCEEDS(pidfd_open(child, 0));
	int taken = SUCCEEDS(syscall(SYS_pidfd_getfd, pidfd, ends[1], 0));
	EQUALS(fcntl(taken, F_GETFD), FD_CLOEXEC);
	EQUALS(write(taken, "x", 1), 1);
	char byte = 0;
	EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(byte, 'x');
	FAILS(syscall(SYS_pidfd_getfd, pidfd, 9999, 0), EBADF);
	FAILS(syscall(SYS_pidfd_getfd, pidfd, 0, 1), EINVAL);
	FAILS(syscall(SYS_pidfd_getfd, 0, 0, 0), EBADF);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(reused_only_by_its_own_process)
{
	pid_t child = paused_child();
	int pidfd = SUCCEEDS(pidfd_open(child, 0));
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
	for (int i = 0; i < 5; i++) {
		pid_t other = FORK();
		if (other == 0)
			_exit(0);
		FAILS(pidfd_send_signal(pidfd, SIGKILL, NULL, 0), ESRCH);
		EXITS(other, 0);
	}
}
