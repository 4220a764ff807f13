/* dup, dup2, dup3, close, close_range. */
#include "test.h"
#include <linux/close_range.h>

static bool is_open(int descriptor)
{
	return fcntl(descriptor, F_GETFD) >= 0;
}

TEST(lowest_free_number)
{
	int hole = SUCCEEDS(dup(0));
	SUCCEEDS(close(hole));
	EQUALS(dup(0), hole);
}

TEST(closed_descriptor)
{
	FAILS(dup(-1), EBADF);
	FAILS(dup(9999), EBADF);
	FAILS(dup2(9999, 5), EBADF);
	FAILS(dup2(9999, 9999), EBADF);
	FAILS(dup2(0, -1), EBADF);
	FAILS(dup2(0, INT_MAX), EBADF);
	FAILS(close(9999), EBADF);
	FAILS(close(-1), EBADF);
}

TEST(to_a_chosen_number)
{
	EQUALS(dup2(0, 100), 100);
	EQUALS(dup2(100, 100), 100);
	int ends[2];
	SUCCEEDS(pipe(ends));
	EQUALS(dup2(ends[1], 100), 100);
	SUCCEEDS(close(ends[1]));
	EQUALS(write(100, "x", 1), 1);
	SUCCEEDS(close(100));
	char byte;
	EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(read(ends[0], &byte, 1), 0);
}

TEST(third_version)
{
	EQUALS(dup3(0, 100, O_CLOEXEC), 100);
	EQUALS(fcntl(100, F_GETFD), FD_CLOEXEC);
	EQUALS(dup3(0, 100, 0), 100);
	EQUALS(fcntl(100, F_GETFD), 0);
	FAILS(dup3(0, 0, 0), EINVAL);
	FAILS(dup3(9999, 9999, 0), EINVAL);
	FAILS(dup3(0, 100, O_NONBLOCK), EINVAL);
	FAILS(dup3(9999, 100, 0), EBADF);
}

TEST(flags_of_the_descriptor_are_not_copied)
{
	SUCCEEDS(fcntl(0, F_SETFD, FD_CLOEXEC));
	EQUALS(fcntl(dup(0), F_GETFD), 0);
	EQUALS(fcntl(dup2(0, 50), F_GETFD), 0);
	EQUALS(fcntl(fcntl(0, F_DUPFD, 60), F_GETFD), 0);
	EQUALS(fcntl(fcntl(0, F_DUPFD_CLOEXEC, 60), F_GETFD), FD_CLOEXEC);
}

TEST(offset_and_status_are_shared)
{
	char path[] = "/tmp/belljar-dup-XXXXXX";
	int file = SUCCEEDS(mkstemp(path)), copy = SUCCEEDS(dup(file));
	SUCCEEDS(unlink(path));
	EQUALS(write(file, "abc", 3), 3);
	EQUALS(lseek(copy, 0, SEEK_CUR), 3);
	SUCCEEDS(fcntl(copy, F_SETFL, O_APPEND));
	CHECK(fcntl(file, F_GETFL) & O_APPEND);
}

TEST(from_a_number_upwards)
{
	EQUALS(fcntl(0, F_DUPFD, 200), 200);
	EQUALS(fcntl(0, F_DUPFD, 200), 201);
	FAILS(fcntl(0, F_DUPFD, -1), EINVAL);
	FAILS(fcntl(9999, F_DUPFD, 0), EBADF);
}

TEST(close_a_range)
{
	for (int i = 100; i < 110; i++)
		EQUALS(dup2(0, i), i);
	SUCCEEDS(close_range(102, 105, 0));
	for (int i = 100; i < 110; i++)
		EQUALS(is_open(i), i < 102 || i > 105);
	SUCCEEDS(close_range(102, 105, 0));
	SUCCEEDS(close_range(108, ~0u, CLOSE_RANGE_CLOEXEC));
	EQUALS(fcntl(107, F_GETFD), 0);
	EQUALS(fcntl(109, F_GETFD), FD_CLOEXEC);
	SUCCEEDS(close_range(100, ~0u, CLOSE_RANGE_UNSHARE));
	CHECK(!is_open(109));
	CHECK(is_open(0));
	FAILS(close_range(5, 4, 0), EINVAL);
	FAILS(close_range(5, 6, 99), EINVAL);
}

TEST(a_thousand_descriptors)
{
	for (int i = 0; i < 900; i++)
		SUCCEEDS(dup(0));
	pid_t child = FORK();
	if (child == 0)
		_exit(is_open(900) ? 0 : 1);
	EXITS(child, 0);
	SUCCEEDS(close_range(3, ~0u, 0));
}
