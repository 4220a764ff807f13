/* Pipes that are used much: they must behave as they did before. */
#include "files.h"
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

static int ends[2];
static char data[200000];

/* Makes a pipe and uses both of its ends often. */
static void make_busy(int flags)
{
	char byte = 'b';
	SUCCEEDS(pipe2(ends, flags));
	for (int i = 0; i < 200; i++) {
		EQUALS(write(ends[1], &byte, 1), 1);
		EQUALS(read(ends[0], &byte, 1), 1);
	}
}

/* A child that has used an end often too: it answers what comes, byte by byte, up to the end. */
static pid_t busy_child(int reader, int writer, int close_first, int close_second)
{
	pid_t child = FORK();
	if (child > 0)
		return child;
	char byte;
	close(close_first);
	close(close_second);
	while (read(reader, &byte, 1) == 1)
		if (write(writer, &byte, 1) != 1)
			_exit(1);
	_exit(0);
}

static volatile int n_signals;

static void count_signal(int signal)
{
	(void)signal;
	n_signals++;
}

static void catch(int signal, int flags)
{
	struct sigaction action = { .sa_handler = count_signal, .sa_flags = flags };
	SUCCEEDS(sigaction(signal, &action, NULL));
}

TEST(two_processes)
{
	int there[2], back[2];
	char byte;
	SUCCEEDS(pipe(there));
	SUCCEEDS(pipe(back));
	pid_t child = busy_child(there[0], back[1], there[1], back[0]);
	close(there[0]);
	close(back[1]);
	for (int i = 0; i < 1000; i++) {
		byte = i;
		EQUALS(write(there[1], &byte, 1), 1);
		EQUALS(read(back[0], &byte, 1), 1);
		EQUALS((unsigned char)byte, i % 256);
	}
	close(there[1]);
	EQUALS(read(back[0], &byte, 1), 0);
	EXITS(child, 0);
}

TEST(the_end_and_nobody_there)
{
	char byte;
	make_busy(0);
	EQUALS(write(ends[1], "xy", 2), 2);
	SUCCEEDS(close(ends[1]));
	EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(read(ends[0], &byte, 1), 0);

	catch(SIGPIPE, 0);
	make_busy(0);
	SUCCEEDS(close(ends[0]));
	FAILS(write(ends[1], &byte, 1), EPIPE);
	EQUALS(n_signals, 1);
	FAILS(write(ends[1], &byte, 1), EPIPE);
	EQUALS(n_signals, 2);
}

TEST(a_writer_is_killed_by_the_signal)
{
	make_busy(0);
	pid_t child = FORK();
	if (child == 0) {
		close(ends[0]);
		for (;;)
			if (write(ends[1], data, 4096) < 0)
				_exit(1);
	}
	close(ends[1]);
	for (int i = 0; i < 100; i++)
		CHECK(read(ends[0], data, 4096) > 0);
	close(ends[0]);
	int status;
	EQUALS(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

TEST(what_was_there_comes_first)
{
	SUCCEEDS(pipe(ends));
	/* Fills it while nobody reads: what is moved elsewhere stays in order. */
	for (int i = 0; i < 16; i++) {
		memset(data, 'a' + i, 4096);
		EQUALS(write(ends[1], data, 4096), 4096);
	}
	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 64; j++) {
			EQUALS(read(ends[0], data, 64), 64);
			EQUALS(data[0], 'a' + i);
			EQUALS(data[63], 'a' + i);
		}
}

TEST(busy_after_the_other_side_is_gone)
{
	char byte;
	SUCCEEDS(pipe(ends));
	EQUALS(write(ends[1], data, 500), 500);
	SUCCEEDS(close(ends[1]));
	for (int i = 0; i < 500; i++)
		EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(read(ends[0], &byte, 1), 0);
	EQUALS(read(ends[0], &byte, 1), 0);
	signal(SIGPIPE, SIG_IGN);
	SUCCEEDS(pipe(ends));
	for (int i = 0; i < 30; i++)
		EQUALS(write(ends[1], data, 100), 100);
	SUCCEEDS(close(ends[0]));
	for (int i = 0; i < 1000; i++)
		FAILS(write(ends[1], data, 100), EPIPE);
}

TEST(a_signal_interrupts)
{
	char byte;
	catch(SIGALRM, 0);
	make_busy(0);
	alarm(1);
	FAILS(read(ends[0], &byte, 1), EINTR);
	EQUALS(n_signals, 1);
	while (fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0 && write(ends[1], data, 4096) > 0)
		;
	SUCCEEDS(fcntl(ends[1], F_SETFL, 0));
	alarm(1);
	FAILS(write(ends[1], data, 4096), EINTR);
	EQUALS(n_signals, 2);
}

TEST(a_signal_restarts)
{
	char byte = 0;
	catch(SIGUSR1, SA_RESTART);
	make_busy(0);
	pid_t parent = getpid(), child = FORK();
	if (child == 0) {
		for (int i = 0; i < 5; i++) {
			sleep_ms(5);
			kill(parent, SIGUSR1);
		}
		sleep_ms(20);
		_exit(write(ends[1], "r", 1) == 1 ? 0 : 1);
	}
	EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(byte, 'r');
	CHECK(n_signals >= 1);
	EXITS(child, 0);
}

TEST(stopped_and_continued)
{
	int there[2], back[2], status;
	char byte = 's';
	SUCCEEDS(pipe(there));
	SUCCEEDS(pipe(back));
	pid_t child = busy_child(there[0], back[1], there[1], back[0]);
	for (int i = 0; i < 200; i++) {
		EQUALS(write(there[1], &byte, 1), 1);
		EQUALS(read(back[0], &byte, 1), 1);
	}
	SUCCEEDS(kill(child, SIGSTOP));
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	EQUALS(write(there[1], &byte, 1), 1);
	struct pollfd one = { .fd = back[0], .events = POLLIN };
	EQUALS(poll(&one, 1, 50), 0);
	SUCCEEDS(kill(child, SIGCONT));
	EQUALS(read(back[0], &byte, 1), 1);
	SUCCEEDS(kill(child, SIGKILL));
	EQUALS(waitpid(child, &status, 0), child);
	close(back[1]);
	EQUALS(read(back[0], &byte, 1), 0);
}

TEST(becomes_nonblocking)
{
	char byte;
	make_busy(0);
	SUCCEEDS(fcntl(ends[0], F_SETFL, O_NONBLOCK));
	FAILS(read(ends[0], &byte, 1), EAGAIN);
	int on = 1;
	SUCCEEDS(ioctl(ends[1], FIONBIO, &on));
	EQUALS(write(ends[1], data, sizeof data), 65536);
	FAILS(write(ends[1], data, 1), EAGAIN);
	EQUALS(read(ends[0], data, sizeof data), 65536);
	SUCCEEDS(fcntl(ends[0], F_SETFL, 0));
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(10);
		_exit(write(ends[1], "n", 1) == 1 ? 0 : 1);
	}
	EQUALS(read(ends[0], &byte, 1), 1);
	EXITS(child, 0);
}

TEST(polled)
{
	char byte = 'p';
	make_busy(0);
	pid_t child = FORK();
	if (child == 0) {
		for (int i = 0; i < 100; i++) {
			if (i % 10 == 0)
				sleep_ms(2);
			if (write(ends[1], &byte, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(ends[1]);
	struct pollfd one = { .fd = ends[0], .events = POLLIN };
	for (int i = 0; i < 100; i++) {
		EQUALS(poll(&one, 1, 5000), 1);
		CHECK(one.revents & POLLIN);
		EQUALS(read(ends[0], &byte, 1), 1);
	}
	EQUALS(poll(&one, 1, 5000), 1);
	EQUALS(one.revents, POLLHUP);
	EXITS(child, 0);
	make_busy(0);
	one = (struct pollfd){ .fd = ends[1], .events = POLLOUT };
	EQUALS(poll(&one, 1, 0), 1);
	EQUALS(one.revents, POLLOUT);
	close(ends[0]);
	EQUALS(poll(&one, 1, 0), 1);
	CHECK(one.revents & POLLERR);
}

TEST(each_write_is_an_edge)
{
	make_busy(0);
	int set = SUCCEEDS(epoll_create1(0));
	struct epoll_event event = { .events = EPOLLIN | EPOLLET }, got;
	SUCCEEDS(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
	EQUALS(epoll_wait(set, &got, 1, 0), 0);
	for (int i = 0; i < 3; i++) {
		EQUALS(write(ends[1], "e", 1), 1);
		EQUALS(epoll_wait(set, &got, 1, 1000), 1);
		EQUALS(epoll_wait(set, &got, 1, 0), 0);
	}
	pid_t child = FORK();
	if (child == 0)
		_exit(write(ends[1], "e", 1) == 1 ? 0 : 1);
	EXITS(child, 0);
	EQUALS(epoll_wait(set, &got, 1, 1000), 1);
	EQUALS(read(ends[0], data, 100), 4);
}

TEST(sizes)
{
	int n;
	make_busy(0);
	EQUALS(write(ends[1], data, 5000), 5000);
	SUCCEEDS(ioctl(ends[0], FIONREAD, &n));
	EQUALS(n, 5000);
	EQUALS(fcntl(ends[0], F_GETPIPE_SZ), 65536);
	EQUALS(fcntl(ends[0], F_SETPIPE_SZ, 200000), 262144);
	EQUALS(fcntl(ends[1], F_GETPIPE_SZ), 262144);
	EQUALS(write(ends[1], data, 190000), 190000);
	FAILS(fcntl(ends[0], F_SETPIPE_SZ, 4096), EBUSY);
	EQUALS(read(ends[0], data, 195000), 195000);
	EQUALS(fcntl(ends[0], F_SETPIPE_SZ, 1), 4096);

	/* And one that had another size before. */
	SUCCEEDS(pipe(ends));
	EQUALS(fcntl(ends[0], F_SETPIPE_SZ, 8192), 8192);
	for (int i = 0; i < 200; i++) {
		EQUALS(write(ends[1], data, 4096), 4096);
		EQUALS(read(ends[0], data, 4096), 4096);
	}
	SUCCEEDS(fcntl(ends[1], F_SETFL, O_NONBLOCK));
	EQUALS(write(ends[1], data, sizeof data), 8192);
}

TEST(tee_and_splice)
{
	int other[2];
	char text[16] = "";
	make_busy(0);
	SUCCEEDS(pipe(other));
	EQUALS(write(ends[1], "hello", 5), 5);
	EQUALS(tee(ends[0], other[1], 100, 0), 5);
	EQUALS(read(other[0], text, 16), 5);
	SAME_TEXT(text, "hello");
	EQUALS(splice(ends[0], NULL, other[1], NULL, 3, 0), 3);
	EQUALS(read(other[0], text, 16), 3);
	EQUALS(read(ends[0], text, 16), 2);
	FAILS(tee(ends[0], other[1], 100, SPLICE_F_NONBLOCK), EAGAIN);
	SUCCEEDS(close(ends[1]));
	EQUALS(tee(ends[0], other[1], 100, 0), 0);
	make_busy(0);
	struct iovec piece = { "vector", 6 };
	EQUALS(vmsplice(ends[1], &piece, 1, 0), 6);
	EQUALS(read(ends[0], text, 16), 6);
	make_busy(0);
	EQUALS(splice(other[0], NULL, ends[1], NULL, 5, SPLICE_F_NONBLOCK), -1);
	EQUALS(write(other[1], "again", 5), 5);
	EQUALS(splice(other[0], NULL, ends[1], NULL, 5, 0), 5);
	EQUALS(read(ends[0], text, 16), 5);
}

TEST(packets_later)
{
	char text[16];
	make_busy(0);
	SUCCEEDS(fcntl(ends[1], F_SETFL, O_DIRECT));
	EQUALS(write(ends[1], "one", 3), 3);
	EQUALS(write(ends[1], "three", 5), 5);
	EQUALS(read(ends[0], text, sizeof text), 3);
	EQUALS(read(ends[0], text, 2), 2);
	SUCCEEDS(fcntl(ends[1], F_SETFL, 0));
	EQUALS(write(ends[1], "ab", 2), 2);
	EQUALS(write(ends[1], "cd", 2), 2);
	EQUALS(read(ends[0], text, sizeof text), 4);
	make_busy(O_DIRECT);
	EQUALS(write(ends[1], "one", 3), 3);
	EQUALS(write(ends[1], "two", 3), 3);
	EQUALS(read(ends[0], text, sizeof text), 3);
}

TEST(vectors)
{
	char first[3] = "", second[8] = "";
	struct iovec out[2] = { { "ab", 2 }, { "cdef", 4 } }, in[2] = { { first, 2 }, { second, 7 } };
	make_busy(0);
	EQUALS(writev(ends[1], out, 2), 6);
	EQUALS(readv(ends[0], in, 2), 6);
	SAME_TEXT(first, "ab");
	SAME_TEXT(second, "cdef");
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(10);
		_exit(write(ends[1], "w", 1) == 1 ? 0 : 1);
	}
	EQUALS(readv(ends[0], in, 2), 1);
	EXITS(child, 0);
}

TEST(bad_addresses)
{
	char byte;
	make_busy(0);
	FAILS(write(ends[1], BAD_POINTER, 1), EFAULT);
	EQUALS(write(ends[1], "k", 1), 1);
	FAILS(read(ends[0], BAD_POINTER, 1), EFAULT);
	EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(byte, 'k');
	FAILS(lseek(ends[0], 0, SEEK_CUR), ESPIPE);
	FAILS(pread(ends[0], &byte, 1, 0), ESPIPE);
	EQUALS(write(ends[1], NULL, 0), 0);
	FAILS(read(ends[1], &byte, 1), EBADF);
	FAILS(write(ends[0], &byte, 1), EBADF);
}

TEST(duplicates_and_descriptors_used_again)
{
	char byte;
	make_busy(0);
	int reader = ends[0], writer = ends[1];
	int copy = SUCCEEDS(dup(writer));
	SUCCEEDS(close(writer));
	EQUALS(write(copy, "c", 1), 1);
	EQUALS(read(reader, &byte, 1), 1);
	/* Another pipe gets the same numbers. */
	SUCCEEDS(pipe(ends));
	SUCCEEDS(dup2(ends[0], reader));
	EQUALS(write(ends[1], "2", 1), 1);
	EQUALS(read(reader, &byte, 1), 1);
	EQUALS(byte, '2');
	signal(SIGPIPE, SIG_IGN);
	FAILS(write(copy, "c", 1), EPIPE);
	SUCCEEDS(close_range(ends[1], ends[1], 0));
	EQUALS(read(reader, &byte, 1), 0);
}

TEST(opened_again)
{
	char path[64], byte = 0;
	make_busy(0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	EQUALS(write(ends[1], "ab", 2), 2);
	SUCCEEDS(close(ends[1]));
	int writer = SUCCEEDS(open(path, O_WRONLY));
	EQUALS(write(writer, "c", 1), 1);
	EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(byte, 'a');
	SUCCEEDS(fcntl(ends[0], F_SETFL, O_NONBLOCK));
	EQUALS(read(ends[0], data, 10), 2);
	FAILS(read(ends[0], &byte, 1), EAGAIN);
	SUCCEEDS(close(writer));
	EQUALS(read(ends[0], &byte, 1), 0);
}

static void *read_one(void *result)
{
	char byte = 0;
	*(ssize_t *)result = read(ends[0], &byte, 1);
	return NULL;
}

TEST(closed_by_another_thread)
{
	pthread_t thread;
	ssize_t result = -2;
	make_busy(0);
	EQUALS(pthread_create(&thread, NULL, read_one, &result), 0);
	sleep_ms(20);
	int reader = ends[0], copy = SUCCEEDS(dup(ends[0]));
	SUCCEEDS(close(reader));
	/* The number is used again, often, while the thread still waits. */
	int file = SUCCEEDS(open("/etc/passwd", O_RDONLY));
	EQUALS(file, reader);
	for (int i = 0; i < 50; i++)
		EQUALS(pread(file, data, 4, 0), 4);
	EQUALS(write(ends[1], "t", 1), 1);
	EQUALS(pthread_join(thread, NULL), 0);
	EQUALS(result, 1);
	SUCCEEDS(close(copy));
	signal(SIGPIPE, SIG_IGN);
	FAILS(write(ends[1], "t", 1), EPIPE);
}

static void *use_often(void *writes)
{
	static char piece[100];
	for (int i = 0; i < 3000; i++) {
		ssize_t n = writes ? write(ends[1], piece, sizeof piece) : read(ends[0], piece, sizeof piece);
		if (n != (ssize_t)sizeof piece)
			return "failed";
	}
	return NULL;
}

TEST(threads)
{
	pthread_t threads[4];
	void *result;
	make_busy(0);
	for (int i = 0; i < 4; i++)
		EQUALS(pthread_create(&threads[i], NULL, use_often, i % 2 ? "writes" : NULL), 0);
	for (int i = 0; i < 4; i++) {
		EQUALS(pthread_join(threads[i], &result), 0);
		CHECK(result == NULL);
	}
}

TEST(lines_of_many_writers_stay_whole)
{
	enum { WRITERS = 4, LINES = 500, LENGTH = 700 };
	SUCCEEDS(pipe(ends));
	for (int writer = 0; writer < WRITERS; writer++)
		if (FORK() == 0) {
			char line[LENGTH];
			memset(line, 'A' + writer, sizeof line);
			for (int i = 0; i < LINES; i++)
				if (write(ends[1], line, sizeof line) != sizeof line)
					_exit(1);
			_exit(0);
		}
	close(ends[1]);
	char line[LENGTH];
	int n_lines = 0;
	for (;; n_lines++) {
		size_t filled = 0;
		ssize_t n = 1;
		while (filled < sizeof line && (n = SUCCEEDS(read(ends[0], line + filled, sizeof line - filled))) > 0)
			filled += n;
		if (n == 0)
			break;
		for (int i = 1; i < LENGTH; i++)
			EQUALS(line[i], line[0]);
	}
	EQUALS(n_lines, WRITERS * LINES);
	for (int writer = 0; writer < WRITERS; writer++) {
		int status;
		CHECK(wait(&status) > 0 && status == 0);
	}
}

TEST(another_program_reads_to_the_end)
{
	int back[2];
	make_busy(0);
	SUCCEEDS(pipe(back));
	pid_t child = FORK();
	if (child == 0) {
		dup2(ends[0], 0);
		dup2(back[1], 1);
		close_range(3, ~0U, 0);
		execlp("cat", "cat", NULL);
		_exit(127);
	}
	close(ends[0]);
	close(back[1]);
	for (int i = 0; i < 300; i++) {
		EQUALS(write(ends[1], data, 100), 100);
		for (size_t n = 0; n < 100;)
			n += SUCCEEDS(read(back[0], data, 100 - n));
	}
	close(ends[1]);
	EQUALS(read(back[0], data, 1), 0);
	EXITS(child, 0);
}
