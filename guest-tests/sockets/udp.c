/* UDP over the loopback, IPv4 and IPv6. */
#include "sockets.h"

static const int families[] = { AF_INET, AF_INET6 };
#define EACH_FAMILY(family) for (int i_ = 0, family; i_ < 2 && (family = families[i_], true); i_++)

TEST(send_and_answer)
{
	EACH_FAMILY(family) {
		int server = bound(family, SOCK_DGRAM), client = SUCCEEDS(socket(family, SOCK_DGRAM, 0));
		struct sockaddr_in6 address, from;
		socklen_t length = sizeof address, from_length = sizeof from;
		SUCCEEDS(getsockname(server, (struct sockaddr *)&address, &length));
		EQUALS(sendto(client, "question", 8, 0, (struct sockaddr *)&address, length), 8);
		char text[16] = "";
		EQUALS(recvfrom(server, text, sizeof text, 0, (struct sockaddr *)&from, &from_length), 8);
		SAME_TEXT(text, "question");
		EQUALS(from_length, length);
		EQUALS(ntohs(from.sin6_port), port_of(client));
		EQUALS(sendto(server, "answer", 6, 0, (struct sockaddr *)&from, from_length), 6);
		EQUALS(recv(client, text, sizeof text, 0), 6);
	}
}

TEST(borders_and_truncation)
{
	int server = bound(AF_INET, SOCK_DGRAM), client = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	SUCCEEDS(connect_to(client, AF_INET, port_of(server)));
	char text[16];
	EQUALS(send(client, "first", 5, 0), 5);
	EQUALS(send(client, "", 0, 0), 0);
	EQUALS(send(client, "second", 6, 0), 6);
	EQUALS(recv(server, text, 2, 0), 2);
	EQUALS(recv(server, text, sizeof text, 0), 0);
	EQUALS(recv(server, text, 2, MSG_PEEK | MSG_TRUNC), 6);
	struct iovec piece = { text, 2 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
	EQUALS(recvmsg(server, &message, 0), 2);
	CHECK(message.msg_flags & MSG_TRUNC);
}

TEST(connected)
{
	int server = bound(AF_INET, SOCK_DGRAM), client = bound(AF_INET, SOCK_DGRAM), stranger = bound(AF_INET, SOCK_DGRAM);
	SUCCEEDS(connect_to(client, AF_INET, port_of(server)));
	SUCCEEDS(connect_to(stranger, AF_INET, port_of(client)));
	SUCCEEDS(connect_to(server, AF_INET, port_of(client)));
	char byte;
	EQUALS(send(stranger, "s", 1, 0), 1);
	EQUALS(send(server, "f", 1, 0), 1);
	EQUALS(recv(client, &byte, 1, 0), 1);
	EQUALS(byte, 'f');
	FAILS(recv(client, &byte, 1, MSG_DONTWAIT), EAGAIN);
	struct sockaddr_in peer;
	socklen_t length = sizeof peer;
	SUCCEEDS(getpeername(client, (struct sockaddr *)&peer, &length));
	EQUALS(ntohs(peer.sin_port), port_of(server));
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	SUCCEEDS(connect(client, &none, sizeof none));
	FAILS(getpeername(client, (struct sockaddr *)&peer, &length), ENOTCONN);
	FAILS(send(client, "x", 1, 0), EDESTADDRREQ);
}

TEST(nobody_there)
{
	EACH_FAMILY(family) {
		int server = bound(family, SOCK_DGRAM), client = SUCCEEDS(socket(family, SOCK_DGRAM, 0));
		SUCCEEDS(connect_to(client, family, port_of(server)));
		SUCCEEDS(close(server));
		EQUALS(send(client, "x", 1, 0), 1);
		char byte;
		FAILS(recv(client, &byte, 1, 0), ECONNREFUSED);
		EQUALS(send(client, "x", 1, 0), 1);
		FAILS(send(client, "x", 1, 0), ECONNREFUSED);
	}
}

TEST(unconnected_senders_hear_nothing)
{
	int server = bound(AF_INET, SOCK_DGRAM), client = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in address = ipv4(port_of(server));
	SUCCEEDS(close(server));
	for (int i = 0; i < 3; i++)
		EQUALS(sendto(client, "x", 1, 0, (struct sockaddr *)&address, sizeof address), 1);
}

TEST(sizes)
{
	int server = bound(AF_INET, SOCK_DGRAM), client = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	static char data[65536], got[65536];
	memset(data, 'x', sizeof data);
	SUCCEEDS(connect_to(client, AF_INET, port_of(server)));
	EQUALS(send(client, data, 65507, 0), 65507);
	EQUALS(recv(server, got, sizeof got, 0), 65507);
	EQUALS(memcmp(data, got, 65507), 0);
	FAILS(send(client, data, 65508, 0), EMSGSIZE);
}

TEST(readiness)
{
	int server = bound(AF_INET, SOCK_DGRAM), client = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0)), n = -1;
	EQUALS(events_of(server, POLLIN | POLLOUT), POLLOUT);
	SUCCEEDS(connect_to(client, AF_INET, port_of(server)));
	EQUALS(send(client, "12345", 5, 0), 5);
	EQUALS(send(client, "123", 3, 0), 3);
	EQUALS(events_of(server, POLLIN), POLLIN);
	/* The size of the first datagram, not of all. */
	SUCCEEDS(ioctl(server, FIONREAD, &n));
	EQUALS(n, 5);
}

TEST(refusals)
{
	int file = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in address = ipv4(0);
	FAILS(send(file, "x", 1, 0), EDESTADDRREQ);
	FAILS(sendto(file, "x", 1, 0, (struct sockaddr *)&address, sizeof address), EINVAL);
	address = ipv4(9);
	FAILS(sendto(file, "x", 1, 0, (struct sockaddr *)&address, 4), EINVAL);
	address.sin_family = AF_INET6;
	FAILS(sendto(file, "x", 1, 0, (struct sockaddr *)&address, sizeof address), EAFNOSUPPORT);
	FAILS(sendto(file, "x", 1, MSG_OOB, NULL, 0), EOPNOTSUPP);
	FAILS(socket(AF_INET, SOCK_DGRAM, IPPROTO_TCP), EPROTONOSUPPORT);
	FAILS(socket(AF_INET, 99, 0), EINVAL);
	FAILS(socket(99, SOCK_DGRAM, 0), EAFNOSUPPORT);
	FAILS(socket(AF_INET, SOCK_STREAM | 0x100, 0), EINVAL);
}

TEST(raw_sockets_need_privilege)
{
	become_ordinary();
	FAILS(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), EPERM);
	FAILS(socket(AF_PACKET, SOCK_RAW, 0), EPERM);
}

TEST(broadcast_must_be_allowed)
{
	int file = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in address = ipv4(9);
	address.sin_addr.s_addr = htonl(0x7fffffff);
	FAILS(sendto(file, "x", 1, 0, (struct sockaddr *)&address, sizeof address), EACCES);
	SUCCEEDS(set_option(file, SOL_SOCKET, SO_BROADCAST, 1));
	EQUALS(get_option(file, SOL_SOCKET, SO_BROADCAST), 1);
}

TEST(arrival_address)
{
	int server = bound(AF_INET, SOCK_DGRAM), client = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	SUCCEEDS(set_option(server, IPPROTO_IP, IP_PKTINFO, 1));
	SUCCEEDS(connect_to(client, AF_INET, port_of(server)));
	EQUALS(send(client, "x", 1, 0), 1);
	char byte, control[128] __attribute__((aligned(8)));
	struct iovec piece = { &byte, 1 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	EQUALS(recvmsg(server, &message, 0), 1);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	CHECK(header && header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO);
	EQUALS(((struct in_pktinfo *)CMSG_DATA(header))->ipi_addr.s_addr, htonl(INADDR_LOOPBACK));
}

TEST(time_stamps)
{
	int server = bound(AF_INET, SOCK_DGRAM), client = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	SUCCEEDS(set_option(server, SOL_SOCKET, SO_TIMESTAMP, 1));
	SUCCEEDS(connect_to(client, AF_INET, port_of(server)));
	EQUALS(send(client, "x", 1, 0), 1);
	char byte, control[128] __attribute__((aligned(8)));
	struct iovec piece = { &byte, 1 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	EQUALS(recvmsg(server, &message, 0), 1);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	CHECK(header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_TIMESTAMP);
	long age = now_ns(CLOCK_REALTIME) / 1000000000 - ((struct timeval *)CMSG_DATA(header))->tv_sec;
	CHECK(age >= 0 && age <= 5);
}

TEST(other_loopback_addresses)
{
	int server = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0)), client = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in address = ipv4(0);
	address.sin_addr.s_addr = htonl(0x7f010203);
	SUCCEEDS(bind(server, (struct sockaddr *)&address, sizeof address));
	address.sin_port = htons(port_of(server));
	EQUALS(sendto(client, "x", 1, 0, (struct sockaddr *)&address, sizeof address), 1);
	char byte;
	EQUALS(recv(server, &byte, 1, 0), 1);
}
