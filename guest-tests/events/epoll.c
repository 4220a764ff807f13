/* epoll(7). */
#include "files.h"
#include <pthread.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

static int set, ends[2];

static void prepare(void)
{
	set = SUCCEEDS(epoll_create1(EPOLL_CLOEXEC));
	SUCCEEDS(pipe2(ends, O_NONBLOCK));
}

static int control(int operation, int file, uint32_t events)
{
	struct epoll_event event = { events, { .fd = file } };
	return epoll_ctl(set, operation, file, &event);
}

/* The events of the only ready descriptor, or 0. */
static uint32_t ready(void)
{
	struct epoll_event events[4];
	int n = SUCCEEDS(epoll_wait(set, events, 4, 0));
	CHECK(n <= 1);
	return n ? events[0].events : 0;
}

static void put(void)
{
	EQUALS(write(ends[1], "x", 1), 1);
}

static void take(void)
{
	char byte;
	EQUALS(read(ends[0], &byte, 1), 1);
}

TEST(create)
{
	EQUALS(fcntl(SUCCEEDS(epoll_create1(EPOLL_CLOEXEC)), F_GETFD), FD_CLOEXEC);
	EQUALS(fcntl(SUCCEEDS(epoll_create(1)), F_GETFD), 0);
	FAILS(epoll_create(0), EINVAL);
	FAILS(epoll_create1(1), EINVAL);
}

TEST(level)
{
	prepare();
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN));
	EQUALS(ready(), 0);
	put();
	EQUALS(ready(), EPOLLIN);
	EQUALS(ready(), EPOLLIN);
	take();
	EQUALS(ready(), 0);
}

TEST(edge)
{
	prepare();
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLET));
	put();
	EQUALS(ready(), EPOLLIN);
	EQUALS(ready(), 0);
	put();
	EQUALS(ready(), EPOLLIN);
	take();
	EQUALS(ready(), 0);
	/* Changing the watch looks again. */
	SUCCEEDS(control(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLET));
	EQUALS(ready(), EPOLLIN);
}

TEST(ready_when_added)
{
	prepare();
	put();
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLET));
	EQUALS(ready(), EPOLLIN);
	EQUALS(ready(), 0);
}

TEST(one_shot)
{
	prepare();
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLONESHOT));
	put();
	EQUALS(ready(), EPOLLIN);
	put();
	EQUALS(ready(), 0);
	SUCCEEDS(control(EPOLL_CTL_MOD, ends[0], EPOLLIN | EPOLLONESHOT));
	EQUALS(ready(), EPOLLIN);
	EQUALS(ready(), 0);
}

TEST(change_and_remove)
{
	prepare();
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[1], EPOLLIN));
	EQUALS(ready(), 0);
	SUCCEEDS(control(EPOLL_CTL_MOD, ends[1], EPOLLOUT));
	EQUALS(ready(), EPOLLOUT);
	SUCCEEDS(epoll_ctl(set, EPOLL_CTL_DEL, ends[1], NULL));
	EQUALS(ready(), 0);
}

TEST(hang_up_needs_no_asking)
{
	prepare();
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], 0));
	SUCCEEDS(close(ends[1]));
	EQUALS(ready(), EPOLLHUP);
	prepare();
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[1], 0));
	SUCCEEDS(close(ends[0]));
	EQUALS(ready(), EPOLLERR);
}

TEST(half_closed_socket)
{
	prepare();
	int pair[2];
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	SUCCEEDS(control(EPOLL_CTL_ADD, pair[0], EPOLLIN | EPOLLRDHUP));
	SUCCEEDS(shutdown(pair[1], SHUT_WR));
	EQUALS(ready(), EPOLLIN | EPOLLRDHUP);
}

TEST(closed_descriptors_leave_the_set)
{
	prepare();
	put();
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN));
	SUCCEEDS(close(ends[0]));
	EQUALS(ready(), 0);
}

TEST(copies_keep_it_in_the_set)
{
	prepare();
	put();
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN));
	int copy = SUCCEEDS(dup(ends[0]));
	SUCCEEDS(close(ends[0]));
	EQUALS(ready(), EPOLLIN);
	SUCCEEDS(close(copy));
	EQUALS(ready(), 0);
}

TEST(same_file_under_two_numbers)
{
	prepare();
	int copy = SUCCEEDS(dup(ends[0]));
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN));
	SUCCEEDS(control(EPOLL_CTL_ADD, copy, EPOLLIN));
	put();
	struct epoll_event events[4];
	EQUALS(epoll_wait(set, events, 4, 0), 2);
}

TEST(data_comes_back)
{
	prepare();
	struct epoll_event event = { EPOLLIN, { .u64 = 0x123456789abcdef0 } };
	SUCCEEDS(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
	put();
	event.data.u64 = 0;
	EQUALS(epoll_wait(set, &event, 1, 0), 1);
	EQUALS(event.data.u64, 0x123456789abcdef0);
}

TEST(takes_turns)
{
	int many[5];
	set = SUCCEEDS(epoll_create1(0));
	for (int i = 0; i < 5; i++) {
		many[i] = SUCCEEDS(eventfd(1, 0));
		SUCCEEDS(control(EPOLL_CTL_ADD, many[i], EPOLLIN));
	}
	/* With room for one event only, each descriptor gets its turn. */
	int seen = 0;
	for (int i = 0; i < 5; i++) {
		struct epoll_event event;
		EQUALS(epoll_wait(set, &event, 1, 0), 1);
		for (int j = 0; j < 5; j++)
			if (event.data.fd == many[j])
				seen |= 1 << j;
	}
	EQUALS(seen, 31);
}

TEST(control_refusals)
{
	scratch();
	prepare();
	make_file("file", "");
	struct epoll_event event = { EPOLLIN, { 0 } };
	FAILS(control(EPOLL_CTL_MOD, ends[0], EPOLLIN), ENOENT);
	FAILS(control(EPOLL_CTL_DEL, ends[0], EPOLLIN), ENOENT);
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN));
	FAILS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN), EEXIST);
	FAILS(control(99, ends[0], EPOLLIN), EINVAL);
	FAILS(control(EPOLL_CTL_ADD, set, EPOLLIN), EINVAL);
	FAILS(control(EPOLL_CTL_ADD, 9999, EPOLLIN), EBADF);
	FAILS(control(EPOLL_CTL_ADD, SUCCEEDS(open("file", O_RDWR)), EPOLLIN), EPERM);
	FAILS(control(EPOLL_CTL_ADD, SUCCEEDS(open(".", O_RDONLY)), EPOLLIN), EPERM);
	FAILS(epoll_ctl(ends[0], EPOLL_CTL_ADD, ends[1], &event), EINVAL);
	FAILS(epoll_ctl(9999, EPOLL_CTL_ADD, ends[1], &event), EBADF);
	FAILS(epoll_ctl(set, EPOLL_CTL_ADD, ends[1], BAD_POINTER), EFAULT);
}

TEST(wait_refusals)
{
	prepare();
	struct epoll_event event;
	FAILS(epoll_wait(set, &event, 0, 0), EINVAL);
	FAILS(syscall(SYS_epoll_wait, set, &event, -1, 0), EINVAL);
	FAILS(epoll_wait(ends[0], &event, 1, 0), EINVAL);
	FAILS(epoll_wait(9999, &event, 1, 0), EBADF);
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[1], EPOLLOUT));
	FAILS(epoll_wait(set, BAD_POINTER, 1, 0), EFAULT);
}

TEST(nested)
{
	prepare();
	int outer = SUCCEEDS(epoll_create1(0));
	struct epoll_event event = { EPOLLIN, { .fd = set } };
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN));
	SUCCEEDS(epoll_ctl(outer, EPOLL_CTL_ADD, set, &event));
	EQUALS(epoll_wait(outer, &event, 1, 0), 0);
	put();
	EQUALS(epoll_wait(outer, &event, 1, 0), 1);
	EQUALS(event.data.fd, set);
	struct pollfd one = { outer, POLLIN, 0 };
	EQUALS(poll(&one, 1, 0), 1);
	/* A circle is refused. */
	event = (struct epoll_event){ EPOLLIN, { 0 } };
	FAILS(epoll_ctl(set, EPOLL_CTL_ADD, outer, &event), ELOOP);
}

TEST(exclusive_is_restricted)
{
	prepare();
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLEXCLUSIVE));
	FAILS(control(EPOLL_CTL_MOD, ends[0], EPOLLIN), EINVAL);
	FAILS(control(EPOLL_CTL_ADD, ends[1], EPOLLOUT | EPOLLONESHOT | EPOLLEXCLUSIVE), EINVAL);
	put();
	EQUALS(ready(), EPOLLIN);
	FAILS(control(EPOLL_CTL_ADD, SUCCEEDS(epoll_create1(0)), EPOLLIN | EPOLLEXCLUSIVE), EINVAL);
}

TEST(time_outs)
{
	prepare();
	struct epoll_event event;
	int64_t start = now_ns(CLOCK_MONOTONIC);
	EQUALS(epoll_wait(set, &event, 1, 20), 0);
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= 20000000);
	struct timespec time = { 0, 3000000 };
	start = now_ns(CLOCK_MONOTONIC);
	EQUALS(epoll_pwait2(set, &event, 1, &time, NULL), 0);
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= 3000000);
	time.tv_nsec = 1000000000;
	FAILS(epoll_pwait2(set, &event, 1, &time, NULL), EINVAL);
}

static volatile int n_caught;
static void note(int signal __attribute__((unused)))
{
	n_caught++;
}

TEST(mask_while_waiting)
{
	prepare();
	struct epoll_event event;
	sigset_t blocked, none;
	sigemptyset(&none);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	signal(SIGUSR1, note);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &blocked, NULL));
	raise(SIGUSR1);
	FAILS(epoll_pwait(set, &event, 1, -1, &none), EINTR);
	EQUALS(n_caught, 1);
}

static void *put_later(void *unused __attribute__((unused)))
{
	sleep_ms(5);
	put();
	return NULL;
}

TEST(woken_by_a_thread)
{
	prepare();
	pthread_t thread;
	struct epoll_event event;
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN));
	EQUALS(pthread_create(&thread, NULL, put_later, NULL), 0);
	EQUALS(epoll_wait(set, &event, 1, -1), 1);
	pthread_join(thread, NULL);
}

static void *add_later(void *unused __attribute__((unused)))
{
	sleep_ms(5);
	put();
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN));
	return NULL;
}

TEST(woken_by_an_addition)
{
	prepare();
	pthread_t thread;
	struct epoll_event event;
	EQUALS(pthread_create(&thread, NULL, add_later, NULL), 0);
	EQUALS(epoll_wait(set, &event, 1, -1), 1);
	pthread_join(thread, NULL);
}

TEST(shared_with_a_child)
{
	prepare();
	SUCCEEDS(control(EPOLL_CTL_ADD, ends[0], EPOLLIN));
	pid_t child = FORK();
	if (child == 0) {
		put();
		_exit(ready() == EPOLLIN ? 0 : 1);
	}
	EXITS(child, 0);
	EQUALS(ready(), EPOLLIN);
}
