/* TCP over the loopback, IPv4 and IPv6. */
#include "sockets.h"
#include <netinet/tcp.h>
#include <sys/epoll.h>

static const int families[] = { AF_INET, AF_INET6 };
#define EACH_FAMILY(family) for (int i_ = 0, family; i_ < 2 && (family = families[i_], true); i_++)

TEST(connect_and_talk)
{
	EACH_FAMILY(family) {
		struct pair pair = tcp_pair(family);
		passes(pair.client, pair.server, "question");
		passes(pair.server, pair.client, "answer");
		EQUALS(get_option(pair.client, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
		EQUALS(get_option(pair.client, SOL_SOCKET, SO_PROTOCOL), IPPROTO_TCP);
		EQUALS(get_option(pair.client, SOL_SOCKET, SO_DOMAIN), family);
		EQUALS(get_option(pair.listener, SOL_SOCKET, SO_ACCEPTCONN), 1);
		EQUALS(get_option(pair.client, SOL_SOCKET, SO_ACCEPTCONN), 0);
	}
}

TEST(names)
{
	struct pair pair = tcp_pair(AF_INET);
	struct sockaddr_in own, peer;
	socklen_t length = sizeof own;
	SUCCEEDS(getsockname(pair.client, (struct sockaddr *)&own, &length));
	EQUALS(length, sizeof own);
	EQUALS(own.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	CHECK(own.sin_port != 0);
	SUCCEEDS(getpeername(pair.server, (struct sockaddr *)&peer, &length));
	EQUALS(memcmp(&own, &peer, 8), 0);
	/* A short buffer gets a part, and the length says how much there was. */
	length = 4;
	SUCCEEDS(getsockname(pair.client, (struct sockaddr *)&own, &length));
	EQUALS(length, sizeof own);
	length = -1;
	FAILS(getsockname(pair.client, (struct sockaddr *)&own, &length), EINVAL);
	int lone = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	length = sizeof peer;
	FAILS(getpeername(lone, (struct sockaddr *)&peer, &length), ENOTCONN);
	SUCCEEDS(getsockname(lone, (struct sockaddr *)&own, &length));
	EQUALS(own.sin_port, 0);
	FAILS(getsockname(0, (struct sockaddr *)&own, &length), ENOTSOCK);
}

TEST(address_of_the_caller)
{
	int listener = bound(AF_INET, SOCK_STREAM), client = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	SUCCEEDS(listen(listener, 1));
	SUCCEEDS(connect_to(client, AF_INET, port_of(listener)));
	struct sockaddr_in from;
	socklen_t length = sizeof from;
	SUCCEEDS(accept(listener, (struct sockaddr *)&from, &length));
	EQUALS(ntohs(from.sin_port), port_of(client));
	EQUALS(length, sizeof from);
}

TEST(nobody_listens)
{
	EACH_FAMILY(family) {
		int free_socket = bound(family, SOCK_STREAM), client = SUCCEEDS(socket(family, SOCK_STREAM, 0));
		int port = port_of(free_socket);
		FAILS(connect_to(client, family, port), ECONNREFUSED);
		SUCCEEDS(close(free_socket));
		client = SUCCEEDS(socket(family, SOCK_STREAM, 0));
		FAILS(connect_to(client, family, port), ECONNREFUSED);
	}
}

TEST(nonblocking_connect)
{
	int listener = bound(AF_INET, SOCK_STREAM), client = SUCCEEDS(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	SUCCEEDS(listen(listener, 1));
	if (connect_to(client, AF_INET, port_of(listener)) < 0)
		EQUALS(errno, EINPROGRESS);
	struct pollfd one = { client, POLLOUT, 0 };
	EQUALS(poll(&one, 1, -1), 1);
	EQUALS(one.revents, POLLOUT);
	EQUALS(get_option(client, SOL_SOCKET, SO_ERROR), 0);
	SUCCEEDS(connect_to(client, AF_INET, port_of(listener)));
	FAILS(connect_to(client, AF_INET, port_of(listener)), EISCONN);
}

TEST(nonblocking_refusal)
{
	int free_socket = bound(AF_INET, SOCK_STREAM), client = SUCCEEDS(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	int result = connect_to(client, AF_INET, port_of(free_socket));
	CHECK(result == -1 && (errno == EINPROGRESS || errno == ECONNREFUSED));
	if (errno == EINPROGRESS) {
		struct pollfd one = { client, POLLOUT, 0 };
		EQUALS(poll(&one, 1, -1), 1);
		EQUALS(one.revents, POLLOUT | POLLERR | POLLHUP);
		EQUALS(get_option(client, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
		EQUALS(get_option(client, SOL_SOCKET, SO_ERROR), 0);
	}
}

TEST(nonblocking_accept_and_receive)
{
	struct pair pair = tcp_pair(AF_INET);
	char byte;
	SUCCEEDS(fcntl(pair.listener, F_SETFL, O_NONBLOCK));
	FAILS(accept(pair.listener, NULL, NULL), EAGAIN);
	FAILS(recv(pair.client, &byte, 1, MSG_DONTWAIT), EAGAIN);
	SUCCEEDS(fcntl(pair.client, F_SETFL, O_NONBLOCK));
	FAILS(recv(pair.client, &byte, 1, 0), EAGAIN);
}

TEST(end_of_a_connection)
{
	EACH_FAMILY(family) {
		struct pair pair = tcp_pair(family);
		char text[8];
		EQUALS(send(pair.client, "last", 4, 0), 4);
		SUCCEEDS(close(pair.client));
		EQUALS(recv(pair.server, text, 8, 0), 4);
		EQUALS(recv(pair.server, text, 8, 0), 0);
		EQUALS(recv(pair.server, text, 8, 0), 0);
	}
}

TEST(half_close)
{
	struct pair pair = tcp_pair(AF_INET);
	char byte;
	signal(SIGPIPE, SIG_IGN);
	SUCCEEDS(shutdown(pair.client, SHUT_WR));
	EQUALS(recv(pair.server, &byte, 1, 0), 0);
	passes(pair.server, pair.client, "still open");
	FAILS(send(pair.client, "x", 1, 0), EPIPE);
	CHECK(events_of(pair.server, POLLIN | POLLRDHUP) == (POLLIN | POLLRDHUP));
	SUCCEEDS(shutdown(pair.client, SHUT_RD));
	EQUALS(recv(pair.client, &byte, 1, 0), 0);
	int lone = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	FAILS(shutdown(lone, SHUT_RDWR), ENOTCONN);
	FAILS(shutdown(pair.server, 9), EINVAL);
}

TEST(reset)
{
	struct pair pair = tcp_pair(AF_INET);
	char byte;
	struct linger now = { 1, 0 };
	signal(SIGPIPE, SIG_IGN);
	SUCCEEDS(setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &now, sizeof now));
	SUCCEEDS(close(pair.client));
	FAILS(recv(pair.server, &byte, 1, 0), ECONNRESET);
	EQUALS(recv(pair.server, &byte, 1, 0), 0);
	FAILS(send(pair.server, "x", 1, 0), EPIPE);
}

TEST(close_with_unread_data_resets)
{
	struct pair pair = tcp_pair(AF_INET);
	char byte;
	EQUALS(send(pair.client, "unread", 6, 0), 6);
	EQUALS(recv(pair.server, &byte, 1, MSG_PEEK), 1);
	SUCCEEDS(close(pair.server));
	FAILS(recv(pair.client, &byte, 1, 0), ECONNRESET);
}

TEST(bind_rules)
{
	EACH_FAMILY(family) {
		int first = bound(family, SOCK_STREAM), second = SUCCEEDS(socket(family, SOCK_STREAM, 0));
		struct sockaddr_in6 address;
		socklen_t length = sizeof address;
		SUCCEEDS(getsockname(first, (struct sockaddr *)&address, &length));
		FAILS(bind(second, (struct sockaddr *)&address, length), EADDRINUSE);
		FAILS(bind(first, (struct sockaddr *)&address, length), EINVAL);
		/* With both reusing, several may bind, but only one may listen. */
		SUCCEEDS(set_option(first, SOL_SOCKET, SO_REUSEADDR, 1));
		SUCCEEDS(set_option(second, SOL_SOCKET, SO_REUSEADDR, 1));
		SUCCEEDS(bind(second, (struct sockaddr *)&address, length));
		SUCCEEDS(listen(first, 1));
		FAILS(listen(second, 1), EADDRINUSE);
	}
}

TEST(bind_refusals)
{
	int file = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	struct sockaddr_in address = ipv4(0);
	FAILS(bind(file, (struct sockaddr *)&address, 4), EINVAL);
	address.sin_family = AF_INET6;
	FAILS(bind(file, (struct sockaddr *)&address, sizeof address), EAFNOSUPPORT);
	address = ipv4(0);
	address.sin_addr.s_addr = htonl(0x08080808);
	FAILS(bind(file, (struct sockaddr *)&address, sizeof address), EADDRNOTAVAIL);
	FAILS(bind(file, BAD_POINTER, sizeof address), EFAULT);
	FAILS(bind(9999, (struct sockaddr *)&address, sizeof address), EBADF);
	become_ordinary();
	address = ipv4(1);
	FAILS(bind(file, (struct sockaddr *)&address, sizeof address), EACCES);
}

TEST(shared_port)
{
	int first = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0)), second = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	SUCCEEDS(set_option(first, SOL_SOCKET, SO_REUSEPORT, 1));
	SUCCEEDS(set_option(second, SOL_SOCKET, SO_REUSEPORT, 1));
	struct sockaddr_in address = ipv4(0);
	SUCCEEDS(bind(first, (struct sockaddr *)&address, sizeof address));
	address = ipv4(port_of(first));
	SUCCEEDS(bind(second, (struct sockaddr *)&address, sizeof address));
	SUCCEEDS(listen(first, 8));
	SUCCEEDS(listen(second, 8));
	int client = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	SUCCEEDS(connect_to(client, AF_INET, port_of(first)));
	struct pollfd two[2] = { { first, POLLIN, 0 }, { second, POLLIN, 0 } };
	EQUALS(poll(two, 2, -1), 1);
}

TEST(both_families_on_one_socket)
{
	int listener = SUCCEEDS(socket(AF_INET6, SOCK_STREAM, 0)), client = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	SUCCEEDS(set_option(listener, IPPROTO_IPV6, IPV6_V6ONLY, 0));
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 }, from;
	SUCCEEDS(bind(listener, (struct sockaddr *)&any, sizeof any));
	SUCCEEDS(listen(listener, 1));
	SUCCEEDS(connect_to(client, AF_INET, port_of(listener)));
	socklen_t length = sizeof from;
	SUCCEEDS(accept(listener, (struct sockaddr *)&from, &length));
	CHECK(IN6_IS_ADDR_V4MAPPED(&from.sin6_addr));
	int only = SUCCEEDS(socket(AF_INET6, SOCK_STREAM, 0));
	SUCCEEDS(set_option(only, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	SUCCEEDS(bind(only, (struct sockaddr *)&any, sizeof any));
	SUCCEEDS(listen(only, 1));
	client = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	FAILS(connect_to(client, AF_INET, port_of(only)), ECONNREFUSED);
}

TEST(listen_refusals)
{
	int datagram = bound(AF_INET, SOCK_DGRAM), client;
	FAILS(listen(datagram, 1), EOPNOTSUPP);
	FAILS(listen(0, 1), ENOTSOCK);
	FAILS(accept(datagram, NULL, NULL), EOPNOTSUPP);
	int unready = bound(AF_INET, SOCK_STREAM);
	FAILS(accept(unready, NULL, NULL), EINVAL);
	struct pair pair = tcp_pair(AF_INET);
	FAILS(listen(pair.client, 1), EINVAL);
	/* Listening without a name chooses one. */
	client = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	SUCCEEDS(listen(client, 1));
	CHECK(port_of(client) != 0);
}

TEST(several_wait_in_the_backlog)
{
	int listener = bound(AF_INET, SOCK_STREAM), clients[5];
	SUCCEEDS(listen(listener, 5));
	for (int i = 0; i < 5; i++) {
		clients[i] = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
		SUCCEEDS(connect_to(clients[i], AF_INET, port_of(listener)));
		EQUALS(send(clients[i], &i, sizeof i, 0), sizeof i);
	}
	for (int i = 0; i < 5; i++) {
		int number = -1, server = SUCCEEDS(accept(listener, NULL, NULL));
		EQUALS(recv(server, &number, sizeof number, 0), sizeof number);
		EQUALS(number, i);
	}
}

TEST(blocked_accept_is_woken)
{
	int listener = bound(AF_INET, SOCK_STREAM);
	SUCCEEDS(listen(listener, 1));
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(5);
		int client = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
		SUCCEEDS(connect_to(client, AF_INET, port_of(listener)));
		_exit(send(client, "hi", 2, 0) == 2 ? 0 : 1);
	}
	char text[8];
	EQUALS(recv(SUCCEEDS(accept(listener, NULL, NULL)), text, 8, 0), 2);
	EXITS(child, 0);
}

TEST(a_lot_of_data)
{
	enum { SIZE = 4 << 20 };
	struct pair pair = tcp_pair(AF_INET);
	pid_t child = FORK();
	if (child == 0) {
		unsigned char *data = malloc(SIZE);
		for (int i = 0; i < SIZE; i++)
			data[i] = i * 13 >> 4;
		EQUALS(send(pair.client, data, SIZE, 0), SIZE);
		_exit(0);
	}
	SUCCEEDS(close(pair.client));
	unsigned char *data = malloc(65536);
	int total = 0;
	for (ssize_t n; (n = SUCCEEDS(recv(pair.server, data, 65536, 0))) > 0; total += n)
		for (ssize_t i = 0; i < n; i += 97)
			EQUALS(data[i], (unsigned char)((total + i) * 13 >> 4));
	EQUALS(total, SIZE);
	EXITS(child, 0);
}

TEST(full_buffers)
{
	static char data[65536];
	struct pair pair = tcp_pair(AF_INET);
	size_t total = 0;
	for (ssize_t n; (n = send(pair.client, data, sizeof data, MSG_DONTWAIT)) > 0;)
		total += n;
	EQUALS(errno, EAGAIN);
	EQUALS(events_of(pair.client, POLLOUT), 0);
	for (size_t got = 0; got < total;)
		got += SUCCEEDS(recv(pair.server, data, sizeof data, 0));
	struct pollfd one = { pair.client, POLLOUT, 0 };
	EQUALS(poll(&one, 1, -1), 1);
}

TEST(urgent_byte)
{
	struct pair pair = tcp_pair(AF_INET);
	char text[8] = "";
	EQUALS(send(pair.client, "ab", 2, 0), 2);
	EQUALS(send(pair.client, "U", 1, MSG_OOB), 1);
	struct pollfd one = { pair.server, POLLPRI, 0 };
	EQUALS(poll(&one, 1, -1), 1);
	EQUALS(one.revents, POLLPRI);
	EQUALS(recv(pair.server, text, 1, MSG_OOB), 1);
	EQUALS(text[0], 'U');
	EQUALS(recv(pair.server, text, 8, 0), 2);
	FAILS(recv(pair.server, text, 1, MSG_OOB), EINVAL);
}

TEST(information)
{
	struct pair pair = tcp_pair(AF_INET);
	struct tcp_info info;
	socklen_t length = sizeof info;
	passes(pair.client, pair.server, "x");
	SUCCEEDS(getsockopt(pair.client, IPPROTO_TCP, TCP_INFO, &info, &length));
	EQUALS(info.tcpi_state, TCP_ESTABLISHED);
	SUCCEEDS(getsockopt(pair.listener, IPPROTO_TCP, TCP_INFO, &info, &length));
	EQUALS(info.tcpi_state, TCP_LISTEN);
}

TEST(edge_triggered_server)
{
	struct pair pair = tcp_pair(AF_INET);
	int set = SUCCEEDS(epoll_create1(0));
	struct epoll_event event = { EPOLLIN | EPOLLET | EPOLLRDHUP, { 0 } };
	SUCCEEDS(epoll_ctl(set, EPOLL_CTL_ADD, pair.server, &event));
	EQUALS(epoll_wait(set, &event, 1, 0), 0);
	EQUALS(send(pair.client, "abc", 3, 0), 3);
	EQUALS(epoll_wait(set, &event, 1, -1), 1);
	EQUALS(event.events, EPOLLIN);
	EQUALS(epoll_wait(set, &event, 1, 0), 0);
	SUCCEEDS(shutdown(pair.client, SHUT_WR));
	EQUALS(epoll_wait(set, &event, 1, -1), 1);
	CHECK(event.events & EPOLLRDHUP);
}

TEST(unconnected)
{
	int lone = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	char byte;
	signal(SIGPIPE, SIG_IGN);
	FAILS(recv(lone, &byte, 1, 0), ENOTCONN);
	FAILS(send(lone, "x", 1, 0), EPIPE);
	EQUALS(events_of(lone, POLLIN | POLLOUT), POLLOUT | POLLHUP);
	struct sockaddr_in address = ipv4(1);
	FAILS(connect(lone, (struct sockaddr *)&address, 4), EINVAL);
	address.sin_family = 99;
	FAILS(connect(lone, (struct sockaddr *)&address, sizeof address), EAFNOSUPPORT);
}
