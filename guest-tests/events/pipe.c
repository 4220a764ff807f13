/* pipe(2), pipe2(2) and FIFOs. */
#include "files.h"
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

static int ends[2];
static char data[200000];

TEST(flags)
{
	SUCCEEDS(pipe(ends));
	EQUALS(fcntl(ends[0], F_GETFD), 0);
	EQUALS(fcntl(ends[0], F_GETFL), O_RDONLY);
	EQUALS(fcntl(ends[1], F_GETFL), O_WRONLY);
	SUCCEEDS(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
	EQUALS(fcntl(ends[1], F_GETFD), FD_CLOEXEC);
	EQUALS(fcntl(ends[1], F_GETFL), O_WRONLY | O_NONBLOCK);
	FAILS(pipe2(ends, O_APPEND), EINVAL);
	FAILS(pipe(BAD_POINTER), EFAULT);
}

TEST(order_and_parts)
{
	char text[16] = "";
	SUCCEEDS(pipe(ends));
	EQUALS(write(ends[1], "abc", 3), 3);
	EQUALS(write(ends[1], "def", 3), 3);
	EQUALS(read(ends[0], text, 4), 4);
	SAME_TEXT(text, "abcd");
	EQUALS(read(ends[0], text, 16), 2);
}

TEST(wrong_end)
{
	char byte = 0;
	SUCCEEDS(pipe(ends));
	FAILS(read(ends[1], &byte, 1), EBADF);
	FAILS(write(ends[0], &byte, 1), EBADF);
}

TEST(end_of_file)
{
	char byte;
	SUCCEEDS(pipe(ends));
	EQUALS(write(ends[1], "x", 1), 1);
	SUCCEEDS(close(ends[1]));
	EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(read(ends[0], &byte, 1), 0);
	EQUALS(read(ends[0], &byte, 1), 0);
}

TEST(nonblocking)
{
	char byte;
	SUCCEEDS(pipe2(ends, O_NONBLOCK));
	FAILS(read(ends[0], &byte, 1), EAGAIN);
	EQUALS(write(ends[1], data, sizeof data), 65536);
	FAILS(write(ends[1], data, 1), EAGAIN);
	EQUALS(read(ends[0], data, 4096), 4096);
	EQUALS(write(ends[1], data, sizeof data), 4096);
}

TEST(small_writes_are_atomic)
{
	SUCCEEDS(pipe2(ends, O_NONBLOCK));
	EQUALS(write(ends[1], data, 65536 - 100), 65536 - 100);
	/* It would fit in part, but up to PIPE_BUF it is all or nothing. */
	FAILS(write(ends[1], data, 4096), EAGAIN);
	ssize_t written = write(ends[1], data, 4097);
	CHECK(written > 0 && written < 4097);
}

TEST(capacity)
{
	SUCCEEDS(pipe2(ends, O_NONBLOCK));
	EQUALS(fcntl(ends[1], F_SETPIPE_SZ, 4096), 4096);
	EQUALS(write(ends[1], data, 5000), 4096);
	FAILS(write(ends[1], data, 1), EAGAIN);
	EQUALS(fcntl(ends[1], F_SETPIPE_SZ, 8192), 8192);
	EQUALS(write(ends[1], data, 5000), 4096);
}

TEST(bytes_waiting)
{
	int n = -1;
	SUCCEEDS(pipe(ends));
	SUCCEEDS(ioctl(ends[0], FIONREAD, &n));
	EQUALS(n, 0);
	EQUALS(write(ends[1], data, 5000), 5000);
	SUCCEEDS(ioctl(ends[0], FIONREAD, &n));
	EQUALS(n, 5000);
	SUCCEEDS(ioctl(ends[1], FIONREAD, &n));
	EQUALS(n, 5000);
}

TEST(packets)
{
	char text[16] = "";
	SUCCEEDS(pipe2(ends, O_DIRECT));
	EQUALS(write(ends[1], "one", 3), 3);
	EQUALS(write(ends[1], "second", 6), 6);
	EQUALS(write(ends[1], "three", 5), 5);
	EQUALS(read(ends[0], text, sizeof text), 3);
	/* The rest of a packet that is read in part is lost. */
	EQUALS(read(ends[0], text, 2), 2);
	EQUALS(read(ends[0], text, sizeof text), 5);
	EQUALS(memcmp(text, "three", 5), 0);
}

TEST(blocked_writer_continues)
{
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		close(ends[0]);
		for (size_t i = 0; i < sizeof data; i++)
			data[i] = i % 251;
		_exit(write(ends[1], data, sizeof data) == sizeof data ? 0 : 1);
	}
	close(ends[1]);
	size_t total = 0;
	for (ssize_t n; (n = SUCCEEDS(read(ends[0], data, 3001))) > 0; total += n)
		for (ssize_t i = 0; i < n; i++)
			EQUALS((unsigned char)data[i], (total + i) % 251);
	EQUALS(total, sizeof data);
	EXITS(child, 0);
}

TEST(blocked_reader_is_woken)
{
	char byte = 0;
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(5);
		_exit(write(ends[1], "w", 1) == 1 ? 0 : 1);
	}
	EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(byte, 'w');
	EXITS(child, 0);
}

TEST(blocked_reader_sees_the_end)
{
	char byte = 0;
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(5);
		_exit(0);
	}
	close(ends[1]);
	EQUALS(read(ends[0], &byte, 1), 0);
	EXITS(child, 0);
}

TEST(blocked_writer_sees_the_end)
{
	signal(SIGPIPE, SIG_IGN);
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(5);
		_exit(0);
	}
	close(ends[0]);
	ssize_t written = write(ends[1], data, sizeof data);
	CHECK(written == 65536);
	FAILS(write(ends[1], data, 1), EPIPE);
	EXITS(child, 0);
}

TEST(many_writers_keep_their_lines_whole)
{
	enum { WRITERS = 4, LINES = 100, LENGTH = 100 };
	SUCCEEDS(pipe(ends));
	pid_t children[WRITERS];
	for (int i = 0; i < WRITERS; i++) {
		children[i] = FORK();
		if (children[i] == 0) {
			char line[LENGTH];
			memset(line, 'a' + i, LENGTH);
			for (int j = 0; j < LINES; j++)
				EQUALS(write(ends[1], line, LENGTH), LENGTH);
			_exit(0);
		}
	}
	close(ends[1]);
	int n = 0;
	for (ssize_t length = 0; (length = SUCCEEDS(read(ends[0], data, LENGTH))) > 0; n++) {
		EQUALS(length, LENGTH);
		for (int i = 1; i < LENGTH; i++)
			EQUALS(data[i], data[0]);
	}
	EQUALS(n, WRITERS * LINES);
	for (int i = 0; i < WRITERS; i++)
		EXITS(children[i], 0);
}

TEST(fifo)
{
	scratch();
	SUCCEEDS(mkfifo("fifo", 0600));
	pid_t child = FORK();
	if (child == 0) {
		int writer = SUCCEEDS(open("fifo", O_WRONLY));
		_exit(write(writer, "through", 7) == 7 ? 0 : 1);
	}
	int reader = SUCCEEDS(open("fifo", O_RDONLY));
	char text[16] = "";
	EQUALS(read(reader, text, sizeof text), 7);
	SAME_TEXT(text, "through");
	EQUALS(read(reader, text, sizeof text), 0);
	EXITS(child, 0);
	struct pollfd one = { reader, POLLIN, 0 };
	EQUALS(poll(&one, 1, 0), 1);
	EQUALS(one.revents, POLLHUP);
}

TEST(fifo_opened_both_ways)
{
	scratch();
	SUCCEEDS(mkfifo("fifo", 0600));
	int both = SUCCEEDS(open("fifo", O_RDWR));
	EQUALS(write(both, "self", 4), 4);
	char text[8] = "";
	EQUALS(read(both, text, 8), 4);
	SAME_TEXT(text, "self");
	FAILS(mkfifo("fifo", 0600), EEXIST);
	FAILS(mkfifo("absent/fifo", 0600), ENOENT);
}

TEST(fifo_without_a_writer)
{
	scratch();
	SUCCEEDS(mkfifo("fifo", 0600));
	int reader = SUCCEEDS(open("fifo", O_RDONLY | O_NONBLOCK));
	char byte;
	/* Nobody has ever written: the end, not "later"; and no hang-up yet. */
	EQUALS(read(reader, &byte, 1), 0);
	struct pollfd one = { reader, POLLIN, 0 };
	EQUALS(poll(&one, 1, 0), 0);
	int writer = SUCCEEDS(open("fifo", O_WRONLY));
	FAILS(read(reader, &byte, 1), EAGAIN);
	SUCCEEDS(close(writer));
	EQUALS(poll(&one, 1, 0), 1);
	EQUALS(one.revents, POLLHUP);
}

TEST(reopened_through_proc)
{
	SUCCEEDS(pipe(ends));
	char path[64], link[64] = "", byte = 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
	SUCCEEDS(readlink(path, link, sizeof link - 1));
	EQUALS(strncmp(link, "pipe:[", 6), 0);
	int again = SUCCEEDS(open(path, O_WRONLY));
	EQUALS(write(again, "x", 1), 1);
	EQUALS(read(ends[0], &byte, 1), 1);
}
