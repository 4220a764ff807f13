/* getsockopt(2) and setsockopt(2). */
#include "sockets.h"
#include <netinet/tcp.h>
#include <sys/time.h>

static int stream;

static void keeps(int level, int name, int value)
{
	SUCCEEDS(set_option(stream, level, name, value));
	EQUALS(get_option(stream, level, name), value);
}

TEST(booleans)
{
	const int names[] = { SO_REUSEADDR, SO_KEEPALIVE, SO_BROADCAST, SO_OOBINLINE, SO_DONTROUTE, SO_REUSEPORT, SO_TIMESTAMP };
	stream = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		EQUALS(get_option(stream, SOL_SOCKET, names[i]), 0);
		SUCCEEDS(set_option(stream, SOL_SOCKET, names[i], 77));
		EQUALS(get_option(stream, SOL_SOCKET, names[i]), 1);
		SUCCEEDS(set_option(stream, SOL_SOCKET, names[i], 0));
		EQUALS(get_option(stream, SOL_SOCKET, names[i]), 0);
	}
}

TEST(buffer_sizes_are_doubled)
{
	stream = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	SUCCEEDS(set_option(stream, SOL_SOCKET, SO_SNDBUF, 20000));
	EQUALS(get_option(stream, SOL_SOCKET, SO_SNDBUF), 40000);
	SUCCEEDS(set_option(stream, SOL_SOCKET, SO_RCVBUF, 20000));
	EQUALS(get_option(stream, SOL_SOCKET, SO_RCVBUF), 40000);
	SUCCEEDS(set_option(stream, SOL_SOCKET, SO_SNDBUF, 1));
	EQUALS(get_option(stream, SOL_SOCKET, SO_SNDBUF), 4608);
	SUCCEEDS(set_option(stream, SOL_SOCKET, SO_RCVBUF, 1));
	EQUALS(get_option(stream, SOL_SOCKET, SO_RCVBUF), 2304);
}

TEST(linger)
{
	struct linger linger = { 1, 5 }, got;
	socklen_t length = sizeof got;
	stream = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	SUCCEEDS(setsockopt(stream, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
	SUCCEEDS(getsockopt(stream, SOL_SOCKET, SO_LINGER, &got, &length));
	EQUALS(got.l_onoff, 1);
	EQUALS(got.l_linger, 5);
	FAILS(setsockopt(stream, SOL_SOCKET, SO_LINGER, &linger, 4), EINVAL);
}

TEST(time_outs)
{
	int pair[2];
	char byte;
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	struct timeval time = { 0, 20000 }, got, bad = { 0, 1000000 };
	SUCCEEDS(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time));
	socklen_t length = sizeof got;
	SUCCEEDS(getsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &got, &length));
	EQUALS(got.tv_sec, 0);
	CHECK(got.tv_usec >= 20000 && got.tv_usec <= 30000);
	int64_t start = now_ns(CLOCK_MONOTONIC);
	FAILS(recv(pair[0], &byte, 1, 0), EAGAIN);
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= 19000000);
	static char data[1 << 20];
	SUCCEEDS(setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time));
	CHECK(send(pair[0], data, sizeof data, 0) > 0);
	FAILS(send(pair[0], data, sizeof data, 0), EAGAIN);
	FAILS(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &bad, sizeof bad), EDOM);
	FAILS(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, 4), EINVAL);
}

TEST(tcp_options)
{
	stream = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	EQUALS(get_option(stream, IPPROTO_TCP, TCP_NODELAY), 0);
	keeps(IPPROTO_TCP, TCP_NODELAY, 1);
	keeps(IPPROTO_TCP, TCP_CORK, 1);
	keeps(IPPROTO_TCP, TCP_CORK, 0);
	keeps(IPPROTO_TCP, TCP_KEEPIDLE, 100);
	keeps(IPPROTO_TCP, TCP_KEEPINTVL, 20);
	keeps(IPPROTO_TCP, TCP_KEEPCNT, 5);
	keeps(IPPROTO_TCP, TCP_SYNCNT, 3);
	keeps(IPPROTO_TCP, TCP_USER_TIMEOUT, 5000);
	keeps(IPPROTO_TCP, TCP_QUICKACK, 1);
	SUCCEEDS(set_option(stream, IPPROTO_TCP, TCP_DEFER_ACCEPT, 1));
	SUCCEEDS(set_option(stream, IPPROTO_TCP, TCP_FASTOPEN, 5));
	CHECK(get_option(stream, IPPROTO_TCP, TCP_MAXSEG) > 0);
	FAILS(set_option(stream, IPPROTO_TCP, TCP_KEEPIDLE, 0), EINVAL);
	FAILS(set_option(stream, IPPROTO_TCP, 9999, 0), ENOPROTOOPT);
	char name[16] = "";
	socklen_t length = sizeof name;
	SUCCEEDS(getsockopt(stream, IPPROTO_TCP, TCP_CONGESTION, name, &length));
	CHECK(strlen(name) > 0);
}

TEST(ip_options)
{
	stream = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	keeps(IPPROTO_IP, IP_TTL, 33);
	keeps(IPPROTO_IP, IP_TOS, 0x10);
	keeps(IPPROTO_IP, IP_MULTICAST_TTL, 3);
	keeps(IPPROTO_IP, IP_MULTICAST_LOOP, 0);
	keeps(IPPROTO_IP, IP_RECVERR, 1);
	keeps(IPPROTO_IP, IP_FREEBIND, 1);
	keeps(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	FAILS(set_option(stream, IPPROTO_IP, IP_TTL, 256), EINVAL);
	stream = SUCCEEDS(socket(AF_INET6, SOCK_DGRAM, 0));
	keeps(IPPROTO_IPV6, IPV6_V6ONLY, 1);
	keeps(IPPROTO_IPV6, IPV6_UNICAST_HOPS, 44);
	keeps(IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	keeps(IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
	keeps(IPPROTO_IPV6, IPV6_TCLASS, 8);
}

TEST(refusals)
{
	int value = 1;
	socklen_t length = sizeof value;
	stream = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	FAILS(getsockopt(stream, SOL_SOCKET, 9999, &value, &length), ENOPROTOOPT);
	FAILS(set_option(stream, SOL_SOCKET, 9999, 1), ENOPROTOOPT);
	FAILS(setsockopt(stream, 9999, 1, &value, sizeof value), ENOPROTOOPT);
	FAILS(setsockopt(stream, SOL_SOCKET, SO_REUSEADDR, &value, 1), EINVAL);
	FAILS(setsockopt(stream, SOL_SOCKET, SO_REUSEADDR, BAD_POINTER, 4), EFAULT);
	FAILS(getsockopt(stream, SOL_SOCKET, SO_TYPE, &value, BAD_POINTER), EFAULT);
	FAILS(set_option(stream, SOL_SOCKET, SO_TYPE, 1), ENOPROTOOPT);
	FAILS(set_option(stream, SOL_SOCKET, SO_ERROR, 1), ENOPROTOOPT);
	FAILS(set_option(0, SOL_SOCKET, SO_REUSEADDR, 1), ENOTSOCK);
	FAILS(set_option(9999, SOL_SOCKET, SO_REUSEADDR, 1), EBADF);
	FAILS(setsockopt(stream, SOL_SOCKET, SO_REUSEADDR, &value, -1), EINVAL);
	/* A short buffer gets the first bytes. */
	length = 1;
	SUCCEEDS(getsockopt(stream, SOL_SOCKET, SO_TYPE, &value, &length));
	EQUALS(length, 1);
}

TEST(inherited_by_accepted_sockets)
{
	int listener = bound(AF_INET, SOCK_STREAM), client = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	SUCCEEDS(set_option(listener, SOL_SOCKET, SO_KEEPALIVE, 1));
	SUCCEEDS(set_option(listener, IPPROTO_TCP, TCP_NODELAY, 1));
	SUCCEEDS(fcntl(listener, F_SETFL, O_NONBLOCK));
	SUCCEEDS(listen(listener, 1));
	SUCCEEDS(connect_to(client, AF_INET, port_of(listener)));
	int server = SUCCEEDS(accept(listener, NULL, NULL));
	EQUALS(get_option(server, SOL_SOCKET, SO_KEEPALIVE), 1);
	EQUALS(get_option(server, IPPROTO_TCP, TCP_NODELAY), 1);
	EQUALS(fcntl(server, F_GETFL), O_RDWR);
}

TEST(least_amount_to_wait_for)
{
	struct pair pair = tcp_pair(AF_INET);
	SUCCEEDS(set_option(pair.server, SOL_SOCKET, SO_RCVLOWAT, 4));
	EQUALS(get_option(pair.server, SOL_SOCKET, SO_RCVLOWAT), 4);
	EQUALS(send(pair.client, "ab", 2, 0), 2);
	EQUALS(events_of(pair.server, POLLIN), 0);
	EQUALS(send(pair.client, "cd", 2, 0), 2);
	struct pollfd one = { pair.server, POLLIN, 0 };
	EQUALS(poll(&one, 1, -1), 1);
}
