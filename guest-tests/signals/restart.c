/* Which interrupted calls start again with SA_RESTART, which never do, and what time remains. */
#include "test.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>

static volatile int n_caught;
static int ends[2], go[2];

/* The third signal starts the child of fork_until_go. */
static void count(int signal __attribute__((unused)))
{
	if (++n_caught == 3 && go[1] && write(go[1], "g", 1) != 1)
		_exit(1);
}

static pid_t fork_until_go(void)
{
	char byte;
	n_caught = 0;
	SUCCEEDS(pipe(go));
	pid_t child = FORK();
	if (child == 0)
		EQUALS(read(go[0], &byte, 1), 1);
	return child;
}

/* A signal every two milliseconds. */
static void under_fire(int flags)
{
	struct sigaction action = { .sa_handler = count, .sa_flags = flags };
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } };
	SUCCEEDS(sigaction(SIGALRM, &action, NULL));
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, NULL));
}

static void no_more_fire(void)
{
	struct itimerval timer = { { 0, 0 }, { 0, 0 } };
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, NULL));
}

static pid_t write_later(int file)
{
	pid_t child = fork_until_go();
	if (child == 0)
		_exit(write(file, "x", 1) == 1 ? 0 : 1);
	return child;
}

TEST(read_is_interrupted)
{
	char byte;
	SUCCEEDS(pipe(ends));
	under_fire(0);
	FAILS(read(ends[0], &byte, 1), EINTR);
	CHECK(n_caught >= 1);
}

TEST(read_starts_again)
{
	char byte = 0;
	SUCCEEDS(pipe(ends));
	pid_t child = write_later(ends[1]);
	under_fire(SA_RESTART);
	EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(byte, 'x');
	CHECK(n_caught >= 3);
	no_more_fire();
	EXITS(child, 0);
}

TEST(write_is_interrupted)
{
	static char data[65536];
	SUCCEEDS(pipe(ends));
	EQUALS(write(ends[1], data, sizeof data), sizeof data);
	under_fire(0);
	FAILS(write(ends[1], data, 1), EINTR);
}

TEST(part_of_a_write_is_told)
{
	static char data[65536];
	SUCCEEDS(pipe(ends));
	EQUALS(write(ends[1], data, 32768), 32768);
	under_fire(SA_RESTART);
	ssize_t written = write(ends[1], data, sizeof data);
	CHECK(written > 0 && written < (ssize_t)sizeof data);
}

TEST(wait_starts_again)
{
	pid_t child = fork_until_go();
	if (child == 0)
		_exit(5);
	under_fire(SA_RESTART);
	int status;
	EQUALS(waitpid(child, &status, 0), child);
	EQUALS(WEXITSTATUS(status), 5);
	CHECK(n_caught >= 3);
}

TEST(socket_calls)
{
	char byte;
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	under_fire(0);
	FAILS(recv(ends[0], &byte, 1, 0), EINTR);
	no_more_fire();
	pid_t child = write_later(ends[1]);
	under_fire(SA_RESTART);
	EQUALS(recv(ends[0], &byte, 1, 0), 1);
	no_more_fire();
	EXITS(child, 0);
	/* With a time-out of its own a receive never starts again. */
	struct timeval timeout = { 5, 0 };
	SUCCEEDS(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout));
	under_fire(SA_RESTART);
	FAILS(recv(ends[0], &byte, 1, 0), EINTR);
}

TEST(polling_never_starts_again)
{
	SUCCEEDS(pipe(ends));
	struct pollfd one = { ends[0], POLLIN, 0 };
	under_fire(SA_RESTART);
	FAILS(poll(&one, 1, -1), EINTR);
	FAILS(poll(&one, 1, 5000), EINTR);
	fd_set set;
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	FAILS(select(ends[0] + 1, &set, NULL, NULL, NULL), EINTR);
	int epoll = SUCCEEDS(epoll_create1(0));
	struct epoll_event event;
	FAILS(epoll_wait(epoll, &event, 1, -1), EINTR);
	FAILS(pause(), EINTR);
}

TEST(sleep_tells_the_rest)
{
	struct timespec request = { 5, 0 }, rest = { 0, 0 };
	under_fire(SA_RESTART);
	FAILS(nanosleep(&request, &rest), EINTR);
	CHECK(rest.tv_sec == 4 && rest.tv_nsec > 0);
	rest = (struct timespec){ 0, 0 };
	EQUALS(clock_nanosleep(CLOCK_MONOTONIC, 0, &request, &rest), EINTR);
	CHECK(rest.tv_sec == 4);
}

TEST(absolute_sleep_tells_nothing)
{
	struct timespec end, rest = { 7, 7 };
	SUCCEEDS(clock_gettime(CLOCK_MONOTONIC, &end));
	end.tv_sec += 5;
	under_fire(SA_RESTART);
	EQUALS(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, &rest), EINTR);
	EQUALS(rest.tv_sec, 7);
}

/* Stopping and continuing without a handler does not interrupt a sleep. */
TEST(sleep_goes_on_after_a_stop)
{
	pid_t child = FORK();
	if (child == 0) {
		struct timespec request = { 0, 60000000 };
		int64_t start = now_ns(CLOCK_MONOTONIC);
		if (nanosleep(&request, NULL) != 0)
			_exit(1);
		_exit(now_ns(CLOCK_MONOTONIC) - start >= 60000000 ? 0 : 2);
	}
	int status;
	sleep_ms(10);
	SUCCEEDS(kill(child, SIGSTOP));
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	if (WIFEXITED(status)) {
		/* The machine is so busy that the stop came too late. */
		EQUALS(WEXITSTATUS(status), 0);
		return;
	}
	SUCCEEDS(kill(child, SIGCONT));
	EXITS(child, 0);
}

TEST(poll_goes_on_after_a_stop)
{
	pid_t child = FORK();
	if (child == 0)
		_exit(poll(NULL, 0, 60) == 0 ? 0 : 1);
	int status;
	sleep_ms(10);
	SUCCEEDS(kill(child, SIGSTOP));
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	if (WIFEXITED(status)) {
		/* The machine is so busy that the stop came too late. */
		EQUALS(WEXITSTATUS(status), 0);
		return;
	}
	SUCCEEDS(kill(child, SIGCONT));
	EXITS(child, 0);
}

TEST(read_goes_on_after_an_ignored_signal)
{
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } };
	char byte = 0;
	SUCCEEDS(pipe(ends));
	signal(SIGALRM, SIG_IGN);
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(20);
		_exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
	}
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, NULL));
	EQUALS(read(ends[0], &byte, 1), 1);
	EXITS(child, 0);
}

TEST(locks)
{
	char path[] = "/tmp/belljar-restart-XXXXXX";
	int file = SUCCEEDS(mkstemp(path)), other = SUCCEEDS(open(path, O_RDWR));
	SUCCEEDS(unlink(path));
	SUCCEEDS(flock(other, LOCK_EX));
	under_fire(0);
	FAILS(flock(file, LOCK_EX), EINTR);
	no_more_fire();
	pid_t child = fork_until_go();
	if (child == 0)
		_exit(flock(other, LOCK_UN));
	under_fire(SA_RESTART);
	SUCCEEDS(flock(file, LOCK_EX));
	no_more_fire();
	EXITS(child, 0);
}

/* The handler of the first signal writes what the restarted read then finds. */
static void write_from_the_handler(int signal __attribute__((unused)))
{
	if (n_caught++ == 2 && write(ends[1], "h", 1) != 1)
		_exit(1);
}

TEST(handler_satisfies_the_call)
{
	struct sigaction action = { .sa_handler = write_from_the_handler, .sa_flags = SA_RESTART };
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } };
	char byte = 0;
	SUCCEEDS(pipe(ends));
	SUCCEEDS(sigaction(SIGALRM, &action, NULL));
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, NULL));
	EQUALS(read(ends[0], &byte, 1), 1);
	EQUALS(byte, 'h');
}
