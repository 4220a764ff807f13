/* epoll_wait(2), asked again and again: an answer that stands for long must not outlive the change. */
#include "files.h"
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* So often an answer is asked for, before something changes. */
enum { OFTEN = 20 };

static int set, ends[2];

static void watch(int file, uint32_t events)
{
	struct epoll_event event = { events, { .fd = file } };
	SUCCEEDS(epoll_ctl(set, EPOLL_CTL_ADD, file, &event));
}

static void prepare(uint32_t events)
{
	set = SUCCEEDS(epoll_create1(EPOLL_CLOEXEC));
	SUCCEEDS(pipe2(ends, O_NONBLOCK));
	watch(ends[0], events);
}

/* The events of the only ready descriptor, or 0. */
static uint32_t ready(void)
{
	struct epoll_event events[4];
	int n = SUCCEEDS(epoll_wait(set, events, 4, 0));
	CHECK(n <= 1);
	return n ? events[0].events : 0;
}

/* The same, and that it stays so while nothing happens. */
static void stays(uint32_t expected)
{
	for (int i = 0; i < OFTEN; i++)
		EQUALS(ready(), expected);
}

static void put(int file)
{
	EQUALS(write(file, "12345678", 8), 8);
}

static void take(int file)
{
	char bytes[8];
	EQUALS(read(file, bytes, 8), 8);
}

TEST(reads_and_writes_are_seen)
{
	prepare(EPOLLIN);
	for (int i = 0; i < OFTEN; i++) {
		stays(0);
		put(ends[1]);
		stays(EPOLLIN);
		take(ends[0]);
	}
	struct iovec piece = { (char[8]){ 0 }, 8 };
	put(ends[1]);
	stays(EPOLLIN);
	EQUALS(readv(ends[0], &piece, 1), 8);
	stays(0);
	int other[2];
	SUCCEEDS(pipe2(other, 0));
	put(ends[1]);
	stays(EPOLLIN);
	EQUALS(splice(ends[0], NULL, other[1], NULL, 8, 0), 8);
	stays(0);
	put(other[1]);
	EQUALS(tee(other[0], ends[1], 16, 0), 16);
	stays(EPOLLIN);
}

TEST(what_was_ready_for_writing_fills_up)
{
	char block[4096] = { 0 };
	prepare(EPOLLIN);
	watch(ends[1], EPOLLOUT);
	stays(EPOLLOUT);
	while (write(ends[1], block, sizeof block) > 0)
		;
	stays(EPOLLIN);
}

TEST(children_change_it)
{
	prepare(EPOLLIN);
	for (int i = 0; i < OFTEN; i++) {
		stays(0);
		pid_t writer = FORK();
		if (writer == 0) {
			put(ends[1]);
			_exit(0);
		}
		EXITS(writer, 0);
		stays(EPOLLIN);
		pid_t reader = FORK();
		if (reader == 0) {
			stays(EPOLLIN);
			take(ends[0]);
			stays(0);
			_exit(0);
		}
		EXITS(reader, 0);
	}
	stays(0);
}

TEST(the_last_writer_is_killed)
{
	int pair[2];
	prepare(EPOLLIN);
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	watch(pair[0], EPOLLIN);
	pid_t child = FORK();
	if (child == 0) {
		close(pair[0]);
		pause();
	}
	close(pair[1]);
	stays(0);
	SUCCEEDS(kill(child, SIGKILL));
	while (!ready())
		;
	stays(EPOLLIN | EPOLLHUP);
	DIES(child, SIGKILL);
}

static void *put_later(void *argument)
{
	put(ends[1]);
	return argument;
}

static void *take_later(void *argument)
{
	take(ends[0]);
	return argument;
}

TEST(threads_change_it)
{
	pthread_t thread;
	prepare(EPOLLIN);
	for (int i = 0; i < OFTEN; i++) {
		stays(0);
		EQUALS(pthread_create(&thread, NULL, put_later, NULL), 0);
		while (!ready())
			;
		pthread_join(thread, NULL);
		stays(EPOLLIN);
		EQUALS(pthread_create(&thread, NULL, take_later, NULL), 0);
		while (ready())
			;
		pthread_join(thread, NULL);
	}
}

/* Two that see each other's bytes only by asking. */
static void answer_by_asking(int in, int out, int rounds)
{
	set = SUCCEEDS(epoll_create1(0));
	watch(in, EPOLLIN);
	for (int i = 0; i < rounds; i++) {
		while (!ready())
			;
		take(in);
		EQUALS(ready(), 0);
		put(out);
	}
}

TEST(two_processes_that_only_ask)
{
	int there[2], back[2];
	SUCCEEDS(pipe(there));
	SUCCEEDS(pipe(back));
	pid_t child = FORK();
	if (child == 0) {
		answer_by_asking(there[0], back[1], 300);
		_exit(0);
	}
	put(there[1]);
	answer_by_asking(back[0], there[1], 300);
	EXITS(child, 0);
}

TEST(control_calls_change_it)
{
	prepare(EPOLLIN);
	put(ends[1]);
	stays(EPOLLIN);
	struct epoll_event event = { EPOLLIN, { .u64 = 77 } }, told;
	SUCCEEDS(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event));
	for (int i = 0; i < OFTEN; i++) {
		EQUALS(epoll_wait(set, &told, 1, 0), 1);
		EQUALS(told.data.u64, 77);
	}
	event.events = EPOLLOUT;
	SUCCEEDS(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event));
	stays(0);
	event.events = EPOLLIN;
	SUCCEEDS(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event));
	stays(EPOLLIN);
	SUCCEEDS(epoll_ctl(set, EPOLL_CTL_DEL, ends[0], NULL));
	stays(0);
	watch(ends[0], EPOLLIN);
	stays(EPOLLIN);
}

TEST(another_one_gets_ready)
{
	struct epoll_event events[4];
	int counter = SUCCEEDS(eventfd(0, EFD_NONBLOCK));
	prepare(EPOLLIN);
	watch(counter, EPOLLIN);
	put(ends[1]);
	stays(EPOLLIN);
	EQUALS(eventfd_write(counter, 1), 0);
	for (int i = 0; i < OFTEN; i++)
		EQUALS(epoll_wait(set, events, 4, -1), 2);
	take(counter);
	for (int i = 0; i < OFTEN; i++)
		EQUALS(epoll_wait(set, events, 4, -1), 1);
	EQUALS(events[0].data.fd, ends[0]);
}

TEST(more_events_of_the_same_one)
{
	int pair[2];
	prepare(EPOLLIN);
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	watch(pair[0], EPOLLIN | EPOLLRDHUP);
	put(pair[1]);
	stays(EPOLLIN);
	SUCCEEDS(shutdown(pair[1], SHUT_WR));
	stays(EPOLLIN | EPOLLRDHUP);
	SUCCEEDS(close(pair[1]));
	stays(EPOLLIN | EPOLLRDHUP | EPOLLHUP);
}

TEST(few_at_a_time_take_turns)
{
	int counters[3], seen[3] = { 0 };
	set = SUCCEEDS(epoll_create1(0));
	for (int i = 0; i < 3; i++) {
		struct epoll_event event = { EPOLLIN, { .u32 = i } };
		counters[i] = SUCCEEDS(eventfd(1, 0));
		SUCCEEDS(epoll_ctl(set, EPOLL_CTL_ADD, counters[i], &event));
	}
	for (int i = 0; i < 3 * OFTEN; i++) {
		struct epoll_event event;
		EQUALS(epoll_wait(set, &event, 1, 0), 1);
		seen[event.data.u32]++;
	}
	for (int i = 0; i < 3; i++)
		EQUALS(seen[i], OFTEN);
}

TEST(edges_and_single_shots_are_told_once)
{
	prepare(EPOLLIN | EPOLLET);
	int counter = SUCCEEDS(eventfd(1, 0));
	watch(counter, EPOLLIN | EPOLLONESHOT);
	EQUALS(ready(), EPOLLIN);
	stays(0);
	put(ends[1]);
	EQUALS(ready(), EPOLLIN);
	stays(0);
	put(ends[1]);
	EQUALS(ready(), EPOLLIN);
	stays(0);
}

TEST(closed_and_replaced_descriptors)
{
	prepare(EPOLLIN);
	put(ends[1]);
	stays(EPOLLIN);
	SUCCEEDS(close(ends[0]));
	stays(0);
	int other = SUCCEEDS(epoll_create1(0)), counter = SUCCEEDS(eventfd(1, 0));
	struct epoll_event event = { EPOLLIN, { .fd = counter } };
	SUCCEEDS(epoll_ctl(other, EPOLL_CTL_ADD, counter, &event));
	SUCCEEDS(dup2(other, set));
	stays(EPOLLIN);
	SUCCEEDS(close(set));
	FAILS(epoll_wait(set, &event, 1, 0), EBADF);
	set = other;
	stays(EPOLLIN);
	FAILS(syscall(SYS_epoll_wait, set, 1, 4, 0), EFAULT);
	FAILS(epoll_wait(set, &event, 0, 0), EINVAL);
	FAILS(epoll_wait(counter, &event, 1, 0), EINVAL);
}

TEST(a_child_that_borrows_the_memory)
{
	prepare(EPOLLIN);
	int other = SUCCEEDS(epoll_create1(0)), counter = SUCCEEDS(eventfd(1, 0)), status;
	struct epoll_event event = { EPOLLIN, { .fd = counter } };
	SUCCEEDS(epoll_ctl(other, EPOLL_CTL_ADD, counter, &event));
	stays(0);
	pid_t child = vfork();
	if (child == 0) {
		dup2(other, set);
		for (int i = 0; i < OFTEN; i++)
			if (epoll_wait(set, &event, 1, 0) != 1)
				_exit(1);
		_exit(0);
	}
	SUCCEEDS(waitpid(child, &status, 0));
	EQUALS(status, 0);
	stays(0);
}

TEST(timers_make_it_ready)
{
	prepare(EPOLLIN);
	int timer = SUCCEEDS(timerfd_create(CLOCK_MONOTONIC, 0));
	struct itimerspec soon = { .it_value.tv_nsec = 20000000 };
	watch(timer, EPOLLIN);
	stays(0);
	SUCCEEDS(timerfd_settime(timer, 0, &soon, NULL));
	while (!ready())
		;
	stays(EPOLLIN);
	take(timer);
	stays(0);
}

static void write_from_handler(int number)
{
	(void)number;
	if (write(ends[1], "12345678", 8) != 8)
		_exit(1);
}

TEST(handlers_make_it_ready)
{
	prepare(EPOLLIN);
	struct itimerval soon = { .it_value.tv_usec = 20000 };
	signal(SIGALRM, write_from_handler);
	stays(0);
	SUCCEEDS(setitimer(ITIMER_REAL, &soon, NULL));
	while (!ready())
		;
	stays(EPOLLIN);
}

TEST(other_masks_let_signals_in)
{
	sigset_t blocked, none;
	struct epoll_event event;
	prepare(EPOLLIN);
	signal(SIGUSR1, write_from_handler);
	sigemptyset(&none);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	for (int i = 0; i < OFTEN; i++)
		EQUALS(epoll_pwait(set, &event, 1, 0, NULL), 0);
	raise(SIGUSR1);
	EQUALS(epoll_pwait(set, &event, 1, 0, NULL), 0);
	FAILS(epoll_pwait(set, &event, 1, -1, &none), EINTR);
	EQUALS(epoll_pwait(set, &event, 1, -1, &blocked), 1);
}

static void talk_to(int type)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof name;
	int here = SUCCEEDS(socket(AF_INET, type, 0)), there = SUCCEEDS(socket(AF_INET, type, 0));
	SUCCEEDS(bind(here, (void *)&name, length));
	SUCCEEDS(getsockname(here, (void *)&name, &length));
	set = SUCCEEDS(epoll_create1(0));
	if (type == SOCK_STREAM) {
		SUCCEEDS(listen(here, 5));
		watch(here, EPOLLIN);
		stays(0);
		SUCCEEDS(connect(there, (void *)&name, length));
		while (!ready())
			;
		stays(EPOLLIN);
		int accepted = SUCCEEDS(accept(here, NULL, NULL));
		stays(0);
		SUCCEEDS(close(here));
		here = accepted;
	} else {
		SUCCEEDS(connect(there, (void *)&name, length));
	}
	watch(there, EPOLLIN);
	if (type == SOCK_STREAM)
		watch(here, EPOLLIN);
	else
		watch(here, EPOLLIN | EPOLLEXCLUSIVE);
	for (int i = 0; i < OFTEN; i++) {
		stays(0);
		put(there);
		while (!ready())
			;
		stays(EPOLLIN);
		take(here);
	}
	stays(0);
}

TEST(stream_sockets) { talk_to(SOCK_STREAM); }
TEST(datagram_sockets) { talk_to(SOCK_DGRAM); }

/* Many files of all kinds that are read, filled, closed and replaced at random, by two processes and
   two threads in turns; poll(2) says what epoll has to say. */
enum { FILES = 12, STEPS = 3000 };
static int files[FILES], others[FILES];
static unsigned seed = 1;

static unsigned any(unsigned below)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % below;
}

static void make(int i)
{
	int pair[2];
	switch (any(5)) {
	case 0:
		SUCCEEDS(pipe2(pair, O_NONBLOCK));
		break;
	case 1:
		SUCCEEDS(pipe2(pair, O_NONBLOCK));
		int reader = pair[0];
		pair[0] = pair[1];
		pair[1] = reader;
		break;
	case 2:
		pair[0] = SUCCEEDS(eventfd(0, EFD_NONBLOCK));
		pair[1] = SUCCEEDS(dup(pair[0]));
		break;
	case 3:
		SUCCEEDS(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair));
		break;
	default:
		SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair));
	}
	files[i] = pair[0];
	others[i] = pair[1];
	watch(files[i], any(2) ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

/* What only those do who share the descriptors. */
static void change(unsigned what, int i)
{
	static char block[65536];
	ssize_t n = 0;
	switch (what) {
	case 0:
		n += write(others[i], "12345678", 8);
		break;
	case 1:
		n += read(files[i], block, 8);
		break;
	case 2:
		n += write(files[i], "12345678", 8);
		break;
	case 3:
		n += read(others[i], block, sizeof block);
		break;
	case 4:
		while (write(others[i], block, 4096) > 0)
			n++;
		break;
	default:
		while (read(files[i], block, sizeof block) > 0)
			n++;
	}
	CHECK(n >= -1);
}

static void agrees(void)
{
	struct epoll_event told[FILES];
	struct pollfd asked[FILES];
	for (int i = 0; i < FILES; i++)
		asked[i] = (struct pollfd){ files[i], POLLIN | POLLOUT, 0 };
	poll(asked, FILES, 0);
	for (unsigned times = any(4) + 1; times > 0; times--) {
		int n = SUCCEEDS(epoll_wait(set, told, FILES, 0));
		uint32_t found[FILES] = { 0 };
		for (int e = 0; e < n; e++)
			for (int i = 0; i < FILES; i++)
				if (files[i] == told[e].data.fd)
					found[i] = told[e].events;
		for (int i = 0; i < FILES; i++) {
			/* A closed number may still be told, for the sake of its copy. */
			if (asked[i].revents & POLLNVAL)
				continue;
			/* Not all are watched for writing; the others are told for nothing else. */
			EQUALS(found[i] & ~EPOLLOUT, asked[i].revents & ~POLLOUT);
			CHECK(!(found[i] & EPOLLOUT) || asked[i].revents & POLLOUT);
		}
	}
}

static void *change_once(void *argument)
{
	uintptr_t order = (uintptr_t)argument;
	change(order % 8, order / 8);
	return NULL;
}

TEST(agrees_with_poll)
{
	int orders[2], dones[2];
	set = SUCCEEDS(epoll_create1(0));
	for (int i = 0; i < FILES; i++)
		make(i);
	SUCCEEDS(pipe(orders));
	SUCCEEDS(pipe(dones));
	pid_t child = FORK();
	if (child == 0) {
		unsigned char order;
		close(orders[1]);
		while (read(orders[0], &order, 1) == 1) {
			change(order % 8, order / 8);
			if (write(dones[1], &order, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	for (int step = 0; step < STEPS; step++) {
		int i = any(FILES);
		unsigned char order = i * 8 + any(6);
		pthread_t thread;
		switch (any(16)) {
		case 0:
			EQUALS(pthread_create(&thread, NULL, change_once, (void *)(uintptr_t)order), 0);
			pthread_join(thread, NULL);
			break;
		case 1:
		case 2:
		case 3:
			EQUALS(write(orders[1], &order, 1), 1);
			EQUALS(read(dones[0], &order, 1), 1);
			break;
		default:
			change(order % 8, i);
		}
		agrees();
	}
	SUCCEEDS(close(orders[1]));
	EXITS(child, 0);
	/* Files that only this process has come and go as well. */
	for (int step = 0; step < STEPS / 4; step++) {
		int i = any(FILES);
		change(any(6), i);
		if (any(4) == 0) {
			close(any(2) ? others[i] : files[i]);
			agrees();
			close(others[i]);
			close(files[i]);
			make(i);
		}
		agrees();
	}
}
