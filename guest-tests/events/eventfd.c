/* eventfd2(2). */
#include "test.h"
#include <poll.h>
#include <sys/eventfd.h>

static uint64_t take(int file)
{
	uint64_t value = 0;
	EQUALS(read(file, &value, 8), 8);
	return value;
}

static ssize_t put(int file, uint64_t value)
{
	return write(file, &value, 8);
}

static int events_of(int file)
{
	struct pollfd one = { file, POLLIN | POLLOUT, 0 };
	SUCCEEDS(poll(&one, 1, 0));
	return one.revents;
}

TEST(counts)
{
	uint64_t value;
	int file = SUCCEEDS(eventfd(3, EFD_NONBLOCK));
	EQUALS(take(file), 3);
	FAILS(read(file, &value, 8), EAGAIN);
	EQUALS(put(file, 4), 8);
	EQUALS(put(file, 5), 8);
	EQUALS(take(file), 9);
	EQUALS(put(file, 0), 8);
	FAILS(read(file, &value, 8), EAGAIN);
}

TEST(semaphore)
{
	uint64_t value;
	int file = SUCCEEDS(eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK));
	EQUALS(take(file), 1);
	EQUALS(take(file), 1);
	FAILS(read(file, &value, 8), EAGAIN);
}

TEST(limits)
{
	int file = SUCCEEDS(eventfd(0, EFD_NONBLOCK));
	FAILS(put(file, UINT64_MAX), EINVAL);
	EQUALS(put(file, UINT64_MAX - 1), 8);
	FAILS(put(file, 1), EAGAIN);
	EQUALS(events_of(file), POLLIN);
	EQUALS(take(file), UINT64_MAX - 1);
	EQUALS(events_of(file), POLLOUT);
}

TEST(refusals)
{
	uint64_t value = 1;
	int file = SUCCEEDS(eventfd(1, 0));
	FAILS(read(file, &value, 7), EINVAL);
	FAILS(write(file, &value, 7), EINVAL);
	EQUALS(lseek(file, 5, SEEK_SET), 0);
	FAILS(eventfd(0, 0x100), EINVAL);
	char large[16];
	EQUALS(read(file, large, 16), 8);
}

TEST(flags)
{
	int file = SUCCEEDS(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	EQUALS(fcntl(file, F_GETFD), FD_CLOEXEC);
	EQUALS(fcntl(file, F_GETFL), O_RDWR | O_NONBLOCK);
}

TEST(blocking_reader_and_writer)
{
	int file = SUCCEEDS(eventfd(0, 0));
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(5);
		EQUALS(put(file, UINT64_MAX - 1), 8);
		EQUALS(put(file, 1), 8);
		_exit(0);
	}
	EQUALS(take(file), UINT64_MAX - 1);
	EQUALS(take(file), 1);
	EXITS(child, 0);
}
