/* poll(2), ppoll(2), select(2), pselect6(2). */
#include "files.h"
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>

static int ends[2];

static int poll_one(int file, short events)
{
	struct pollfd one = { file, events, -1 };
	int n = SUCCEEDS(poll(&one, 1, 0));
	EQUALS(n, one.revents != 0);
	return one.revents;
}

TEST(pipe_states)
{
	static char data[65536];
	SUCCEEDS(pipe(ends));
	EQUALS(poll_one(ends[0], POLLIN), 0);
	EQUALS(poll_one(ends[1], POLLOUT), POLLOUT);
	EQUALS(write(ends[1], data, sizeof data), sizeof data);
	EQUALS(poll_one(ends[0], POLLIN | POLLRDNORM), POLLIN | POLLRDNORM);
	EQUALS(poll_one(ends[1], POLLOUT), 0);
	SUCCEEDS(close(ends[1]));
	EQUALS(poll_one(ends[0], POLLIN), POLLIN | POLLHUP);
	EQUALS(read(ends[0], data, sizeof data), sizeof data);
	EQUALS(poll_one(ends[0], POLLIN), POLLHUP);
	SUCCEEDS(pipe(ends));
	SUCCEEDS(close(ends[0]));
	EQUALS(poll_one(ends[1], POLLOUT), POLLOUT | POLLERR);
}

TEST(socket_states)
{
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	EQUALS(poll_one(ends[0], POLLIN | POLLOUT), POLLOUT);
	EQUALS(write(ends[1], "x", 1), 1);
	EQUALS(poll_one(ends[0], POLLIN | POLLOUT), POLLIN | POLLOUT);
	SUCCEEDS(shutdown(ends[1], SHUT_WR));
	EQUALS(poll_one(ends[0], POLLIN | POLLRDHUP), POLLIN | POLLRDHUP);
	SUCCEEDS(close(ends[1]));
	CHECK(poll_one(ends[0], 0) & POLLHUP);
}

TEST(files_are_always_ready)
{
	scratch();
	make_file("file", "");
	EQUALS(poll_one(SUCCEEDS(open("file", O_RDWR)), POLLIN | POLLOUT), POLLIN | POLLOUT);
	EQUALS(poll_one(SUCCEEDS(open("/dev/null", O_RDWR)), POLLIN | POLLOUT), POLLIN | POLLOUT);
	EQUALS(poll_one(SUCCEEDS(open(".", O_RDONLY)), POLLIN), POLLIN);
}

TEST(closed_and_negative_descriptors)
{
	EQUALS(poll_one(9999, POLLIN), POLLNVAL);
	EQUALS(poll_one(-1, POLLIN), 0);
	EQUALS(poll_one(SUCCEEDS(open("/", O_PATH)), POLLIN), POLLNVAL);
}

TEST(time_out)
{
	SUCCEEDS(pipe(ends));
	struct pollfd one = { ends[0], POLLIN, 0 };
	int64_t start = now_ns(CLOCK_MONOTONIC);
	EQUALS(poll(&one, 1, 20), 0);
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= 20000000);
	EQUALS(poll(NULL, 0, 1), 0);
}

TEST(woken)
{
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(5);
		_exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
	}
	struct pollfd two[2] = { { 9, 0, 0 }, { ends[0], POLLIN, 0 } };
	two[0].fd = -1;
	EQUALS(poll(two, 2, -1), 1);
	EQUALS(two[0].revents, 0);
	EQUALS(two[1].revents, POLLIN);
	EXITS(child, 0);
}

TEST(counts_descriptors)
{
	struct pollfd several[4] = { { SUCCEEDS(open("/dev/null", O_RDWR)), POLLIN, 0 }, { 9999, POLLIN, 0 }, { -1, POLLIN, 0 } };
	several[3] = several[0];
	EQUALS(poll(several, 4, -1), 3);
}

TEST(poll_refusals)
{
	FAILS(poll(BAD_POINTER, 1, 0), EFAULT);
	struct rlimit limit = { 10, 10 };
	SUCCEEDS(setrlimit(RLIMIT_NOFILE, &limit));
	static struct pollfd many[11];
	FAILS(poll(many, 11, 0), EINVAL);
	struct timespec bad = { 0, 1000000000 };
	FAILS(ppoll(many, 1, &bad, NULL), EINVAL);
	bad = (struct timespec){ -1, 0 };
	FAILS(ppoll(many, 1, &bad, NULL), EINVAL);
}

static volatile int n_caught;
static void note(int signal __attribute__((unused)))
{
	n_caught++;
}

TEST(mask_while_waiting)
{
	signal(SIGUSR1, note);
	sigset_t set, none;
	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	raise(SIGUSR1);
	FAILS(ppoll(NULL, 0, NULL, &none), EINTR);
	EQUALS(n_caught, 1);
	raise(SIGUSR1);
	FAILS(pselect(0, NULL, NULL, NULL, NULL, &none), EINTR);
	EQUALS(n_caught, 2);
	SUCCEEDS(sigprocmask(SIG_BLOCK, NULL, &none));
	CHECK(sigismember(&none, SIGUSR1));
	FAILS(syscall(SYS_ppoll, NULL, 0, NULL, &none, 4), EINVAL);
}

/* The raw call stores the remaining time; the library hides that. */
TEST(remaining_time)
{
	SUCCEEDS(pipe(ends));
	EQUALS(write(ends[1], "x", 1), 1);
	struct pollfd one = { ends[0], POLLIN, 0 };
	struct timespec limit = { 100, 0 };
	EQUALS(syscall(SYS_ppoll, &one, 1, &limit, NULL, 8), 1);
	CHECK(limit.tv_sec == 99 || limit.tv_sec == 100);
	struct timeval time = { 100, 0 };
	fd_set set;
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	EQUALS(syscall(SYS_select, ends[0] + 1, &set, NULL, NULL, &time), 1);
	CHECK(time.tv_sec == 99 || time.tv_sec == 100);
	FD_ZERO(&set);
	time = (struct timeval){ 0, 5000 };
	EQUALS(syscall(SYS_select, 0, NULL, NULL, NULL, &time), 0);
	EQUALS(time.tv_usec, 0);
}

TEST(select_sets)
{
	SUCCEEDS(pipe(ends));
	fd_set readable, writable, other;
	FD_ZERO(&readable);
	FD_ZERO(&other);
	FD_SET(ends[0], &readable);
	FD_SET(ends[0], &other);
	writable = readable;
	FD_CLR(ends[0], &writable);
	FD_SET(ends[1], &writable);
	struct timeval zero = { 0, 0 };
	EQUALS(select(ends[1] + 1, &readable, &writable, &other, &zero), 1);
	CHECK(!FD_ISSET(ends[0], &readable) && FD_ISSET(ends[1], &writable) && !FD_ISSET(ends[0], &other));
	EQUALS(write(ends[1], "x", 1), 1);
	FD_SET(ends[0], &readable);
	EQUALS(select(ends[1] + 1, &readable, &writable, NULL, NULL), 2);
	CHECK(FD_ISSET(ends[0], &readable));
	SUCCEEDS(close(ends[1]));
	char byte;
	EQUALS(read(ends[0], &byte, 1), 1);
	/* The end of the file is readable. */
	EQUALS(select(ends[0] + 1, &readable, NULL, NULL, NULL), 1);
}

TEST(select_refusals)
{
	fd_set set;
	FD_ZERO(&set);
	struct timeval zero = { 0, 0 }, bad = { -1, 0 };
	FAILS(select(-1, NULL, NULL, NULL, &zero), EINVAL);
	FAILS(select(1, NULL, NULL, NULL, &bad), EINVAL);
	int closed = SUCCEEDS(dup(0));
	SUCCEEDS(close(closed));
	FD_SET(closed, &set);
	FAILS(select(closed + 1, &set, NULL, NULL, &zero), EBADF);
	/* Above the first argument nobody looks. */
	EQUALS(select(closed, &set, NULL, NULL, &zero), 0);
	FAILS(select(1, BAD_POINTER, NULL, NULL, &zero), EFAULT);
}

TEST(select_waits)
{
	struct timeval time = { 0, 20000 };
	int64_t start = now_ns(CLOCK_MONOTONIC);
	EQUALS(select(0, NULL, NULL, NULL, &time), 0);
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= 20000000);
	struct timespec precise = { 0, 1000000 };
	EQUALS(pselect(0, NULL, NULL, NULL, &precise, NULL), 0);
	EQUALS(precise.tv_nsec, 1000000);
}

TEST(thousand_descriptors)
{
	static struct pollfd many[1000];
	SUCCEEDS(pipe(ends));
	for (int i = 0; i < 1000; i++)
		many[i] = (struct pollfd){ ends[i & 1], POLLIN, 0 };
	EQUALS(poll(many, 1000, 0), 0);
	EQUALS(write(ends[1], "x", 1), 1);
	EQUALS(poll(many, 1000, -1), 500);
}
