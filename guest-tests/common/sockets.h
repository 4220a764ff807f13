/* Small helpers for tests with sockets. */
#ifndef GUEST_SOCKETS_H
#define GUEST_SOCKETS_H

#include "files.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

static inline struct sockaddr_in ipv4(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static inline struct sockaddr_in6 ipv6(int port)
{
	return (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT };
}

static inline int port_of(int socket)
{
	struct sockaddr_in6 address;
	socklen_t length = sizeof address;
	SUCCEEDS(getsockname(socket, (struct sockaddr *)&address, &length));
	return ntohs(address.sin6_port);
}

/* A socket bound to a free port of the loopback. */
static inline int bound(int family, int type)
{
	int bound_socket = SUCCEEDS(socket(family, type, 0));
	struct sockaddr_in v4 = ipv4(0);
	struct sockaddr_in6 v6 = ipv6(0);
	SUCCEEDS(family == AF_INET ? bind(bound_socket, (struct sockaddr *)&v4, sizeof v4) :
				     bind(bound_socket, (struct sockaddr *)&v6, sizeof v6));
	return bound_socket;
}

static inline int connect_to(int from, int family, int port)
{
	struct sockaddr_in v4 = ipv4(port);
	struct sockaddr_in6 v6 = ipv6(port);
	return family == AF_INET ? connect(from, (struct sockaddr *)&v4, sizeof v4) :
				   connect(from, (struct sockaddr *)&v6, sizeof v6);
}

struct pair {
	int client, server, listener;
};

/* A connected pair of TCP sockets. */
static inline struct pair tcp_pair(int family)
{
	struct pair pair;
	pair.listener = bound(family, SOCK_STREAM);
	SUCCEEDS(listen(pair.listener, 5));
	pair.client = SUCCEEDS(socket(family, SOCK_STREAM, 0));
	SUCCEEDS(connect_to(pair.client, family, port_of(pair.listener)));
	pair.server = SUCCEEDS(accept(pair.listener, NULL, NULL));
	return pair;
}

static inline int get_option(int socket, int level, int name)
{
	int value = -1;
	socklen_t length = sizeof value;
	SUCCEEDS(getsockopt(socket, level, name, &value, &length));
	return value;
}

static inline int set_option(int socket, int level, int name, int value)
{
	return setsockopt(socket, level, name, &value, sizeof value);
}

static inline int events_of(int socket, int events)
{
	struct pollfd one = { socket, events, 0 };
	SUCCEEDS(poll(&one, 1, 0));
	return one.revents;
}

/* Sends one text and expects it at the other end. */
static inline void passes(int from, int to, const char *text)
{
	char got[256] = "";
	EQUALS(send(from, text, strlen(text), 0), (ssize_t)strlen(text));
	EQUALS(recv(to, got, sizeof got - 1, 0), (ssize_t)strlen(text));
	SAME_TEXT(got, text);
}

#endif
