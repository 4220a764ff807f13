/* fcntl(2) apart from dup and locks; ioctl(2) on any descriptor. */
#include "files.h"
#include <sys/ioctl.h>
#include <sys/socket.h>

TEST(descriptor_flags)
{
	int file = SUCCEEDS(open("/", O_RDONLY));
	EQUALS(fcntl(file, F_GETFD), 0);
	SUCCEEDS(fcntl(file, F_SETFD, FD_CLOEXEC));
	EQUALS(fcntl(file, F_GETFD), FD_CLOEXEC);
	SUCCEEDS(fcntl(file, F_SETFD, ~FD_CLOEXEC));
	EQUALS(fcntl(file, F_GETFD), 0);
	FAILS(fcntl(9999, F_GETFD), EBADF);
	SUCCEEDS(ioctl(file, FIOCLEX));
	EQUALS(fcntl(file, F_GETFD), FD_CLOEXEC);
	SUCCEEDS(ioctl(file, FIONCLEX));
	EQUALS(fcntl(file, F_GETFD), 0);
}

TEST(status_flags)
{
	scratch();
	int file = SUCCEEDS(open("file", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
	/* Flags that matter only at the opening do not stay. */
	EQUALS(fcntl(file, F_GETFL) & ~0100000, O_RDWR | O_APPEND);
	SUCCEEDS(fcntl(file, F_SETFL, O_NONBLOCK));
	EQUALS(fcntl(file, F_GETFL) & ~0100000, O_RDWR | O_NONBLOCK);
	/* The access mode cannot be changed, and trying is no error. */
	SUCCEEDS(fcntl(file, F_SETFL, O_RDONLY));
	EQUALS(fcntl(file, F_GETFL) & O_ACCMODE, O_RDWR);
	int on = 1;
	SUCCEEDS(ioctl(file, FIONBIO, &on));
	CHECK(fcntl(file, F_GETFL) & O_NONBLOCK);
}

TEST(unknown_commands)
{
	FAILS(fcntl(0, 9999), EINVAL);
	FAILS(fcntl(9999, 9999), EBADF);
	FAILS(ioctl(SUCCEEDS(open("/", O_RDONLY)), 0x12345), ENOTTY);
	FAILS(ioctl(9999, FIONREAD), EBADF);
	int path = SUCCEEDS(open("/", O_PATH));
	FAILS(fcntl(path, F_SETFL, 0), EBADF);
	FAILS(ioctl(path, FIONREAD), EBADF);
}

TEST(bytes_to_read)
{
	scratch();
	make_file("file", "12345678");
	int file = SUCCEEDS(open("file", O_RDONLY)), n = -1;
	SUCCEEDS(ioctl(file, FIONREAD, &n));
	EQUALS(n, 8);
	SUCCEEDS(lseek(file, 3, SEEK_SET));
	SUCCEEDS(ioctl(file, FIONREAD, &n));
	EQUALS(n, 5);
}

TEST(owner_of_signals)
{
	int pair[2];
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	EQUALS(fcntl(pair[0], F_GETOWN), 0);
	SUCCEEDS(fcntl(pair[0], F_SETOWN, getpid()));
	EQUALS(fcntl(pair[0], F_GETOWN), getpid());
	struct f_owner_ex owner = { F_OWNER_TID, gettid() }, got;
	SUCCEEDS(fcntl(pair[0], F_SETOWN_EX, &owner));
	SUCCEEDS(fcntl(pair[0], F_GETOWN_EX, &got));
	EQUALS(got.type, F_OWNER_TID);
	EQUALS(got.pid, gettid());
	FAILS(fcntl(pair[0], F_SETOWN, INT_MAX), ESRCH);
	owner.type = 99;
	FAILS(fcntl(pair[0], F_SETOWN_EX, &owner), EINVAL);
	EQUALS(fcntl(pair[0], F_GETSIG), 0);
	SUCCEEDS(fcntl(pair[0], F_SETSIG, SIGRTMIN));
	EQUALS(fcntl(pair[0], F_GETSIG), SIGRTMIN);
	FAILS(fcntl(pair[0], F_SETSIG, 65), EINVAL);
}

static volatile int caught_descriptor, n_caught;
static void note(int signal __attribute__((unused)), siginfo_t *info, void *context __attribute__((unused)))
{
	caught_descriptor = info->si_fd;
	n_caught++;
}

TEST(signal_when_ready)
{
	struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };
	SUCCEEDS(sigaction(SIGRTMIN, &action, NULL));
	int pair[2];
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	SUCCEEDS(fcntl(pair[0], F_SETOWN, getpid()));
	SUCCEEDS(fcntl(pair[0], F_SETSIG, SIGRTMIN));
	SUCCEEDS(fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK));
	EQUALS(write(pair[1], "x", 1), 1);
	while (n_caught == 0)
		sleep_ms(1);
	EQUALS(caught_descriptor, pair[0]);
}

TEST(pipe_size)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	EQUALS(fcntl(ends[0], F_GETPIPE_SZ), 65536);
	EQUALS(fcntl(ends[1], F_SETPIPE_SZ, 5000), 8192);
	EQUALS(fcntl(ends[0], F_GETPIPE_SZ), 8192);
	EQUALS(fcntl(ends[1], F_SETPIPE_SZ, 1), 4096);
	static char data[4096];
	EQUALS(fcntl(ends[1], F_SETPIPE_SZ, 65536), 65536);
	for (int i = 0; i < 4; i++)
		EQUALS(write(ends[1], data, sizeof data), sizeof data);
	FAILS(fcntl(ends[1], F_SETPIPE_SZ, 4096), EBUSY);
	FAILS(fcntl(SUCCEEDS(open("/", O_RDONLY)), F_GETPIPE_SZ), EBADF);
}


TEST(write_hints)
{
	scratch();
	make_file("file", "");
	int file = SUCCEEDS(open("file", O_RDWR));
	uint64_t hint = 99;
	SUCCEEDS(fcntl(file, F_GET_RW_HINT, &hint));
	EQUALS(hint, 0);
	hint = 2;
	SUCCEEDS(fcntl(file, F_SET_RW_HINT, &hint));
	hint = 0;
	SUCCEEDS(fcntl(file, F_GET_RW_HINT, &hint));
	EQUALS(hint, 2);
	hint = 99;
	FAILS(fcntl(file, F_SET_RW_HINT, &hint), EINVAL);
}
