/* TCP_CORK and MSG_MORE: bytes that are held back for whole segments. */
#include "sockets.h"
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>

static struct pair ends;
static char data[200000];

static void set(int option, int value)
{
	SUCCEEDS(set_option(ends.client, IPPROTO_TCP, option, value));
}

/* How many bytes there are to read, after so many milliseconds or when there are any. */
static int arrived(int milliseconds)
{
	struct pollfd one = { .fd = ends.server, .events = POLLIN };
	int n = -1;
	SUCCEEDS(poll(&one, 1, milliseconds));
	SUCCEEDS(ioctl(ends.server, FIONREAD, &n));
	return n;
}

static void make_corked(void)
{
	ends = tcp_pair(AF_INET);
	set(TCP_CORK, 1);
	EQUALS(send(ends.client, "ab", 2, 0), 2);
}

TEST(until_the_cork_is_out)
{
	make_corked();
	EQUALS(arrived(50), 0);
	FAILS(recv(ends.server, data, 2, MSG_DONTWAIT), EAGAIN);
	FAILS(recv(ends.server, data, 2, MSG_DONTWAIT | MSG_PEEK), EAGAIN);
	EQUALS(send(ends.client, "cd", 2, 0), 2);
	EQUALS(arrived(10), 0);
	set(TCP_CORK, 0);
	EQUALS(arrived(1000), 4);
	EQUALS(recv(ends.server, data, sizeof data, 0), 4);
	EQUALS(memcmp(data, "abcd", 4), 0);
}

TEST(not_for_ever)
{
	make_corked();
	struct timespec before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	EQUALS(recv(ends.server, data, sizeof data, 0), 2);
	clock_gettime(CLOCK_MONOTONIC, &after);
	long passed = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
	CHECK(passed >= 150);
}

TEST(more_to_come)
{
	ends = tcp_pair(AF_INET6);
	EQUALS(send(ends.client, "ab", 2, MSG_MORE), 2);
	EQUALS(arrived(50), 0);
	EQUALS(send(ends.client, "c", 1, 0), 1);
	EQUALS(arrived(1000), 3);
}

TEST(no_delay_sends_once)
{
	make_corked();
	set(TCP_NODELAY, 1);
	EQUALS(arrived(1000), 2);
	EQUALS(send(ends.client, "cd", 2, 0), 2);
	EQUALS(arrived(20), 2);
}

TEST(the_end_sends)
{
	make_corked();
	SUCCEEDS(shutdown(ends.client, SHUT_WR));
	EQUALS(arrived(1000), 2);
	EQUALS(recv(ends.server, data, 10, 0), 2);
	EQUALS(recv(ends.server, data, 10, 0), 0);
	make_corked();
	SUCCEEDS(close(ends.client));
	EQUALS(arrived(1000), 2);
	EQUALS(recv(ends.server, data, 10, 0), 2);
	EQUALS(recv(ends.server, data, 10, 0), 0);
}

TEST(whole_segments_go)
{
	make_corked();
	EQUALS(send(ends.client, data, 40000, 0), 40000);
	int first = arrived(1000);
	CHECK(first > 0 && first < 40002);
	set(TCP_CORK, 0);
	size_t total = 0;
	while (total < 40002)
		total += SUCCEEDS(recv(ends.server, data, sizeof data, 0));
	EQUALS(total, 40002);
}

TEST(many_corked_bytes_keep_their_order)
{
	ends = tcp_pair(AF_INET);
	set(TCP_CORK, 1);
	pid_t child = FORK();
	if (child == 0) {
		for (size_t i = 0; i < sizeof data; i++)
			data[i] = i % 251;
		for (size_t sent = 0; sent < sizeof data;)
			sent += SUCCEEDS(send(ends.client, data + sent, sizeof data - sent < 777 ? sizeof data - sent : 777, 0));
		_exit(0);
	}
	SUCCEEDS(close(ends.client));
	size_t total = 0;
	for (ssize_t n; (n = SUCCEEDS(recv(ends.server, data, 5000, 0))) > 0; total += n)
		for (ssize_t i = 0; i < n; i++)
			EQUALS((unsigned char)data[i], (total + i) % 251);
	EQUALS(total, sizeof data);
	EXITS(child, 0);
}
