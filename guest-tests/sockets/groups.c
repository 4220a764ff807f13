/* Multicast and broadcast on the loopback, the queue of errors, echoes, and news of devices. */
#include "sockets.h"
#include <linux/errqueue.h>
#include <linux/netlink.h>
#include <netinet/ip_icmp.h>

static struct sockaddr_in group_of(int port)
{
	struct sockaddr_in address = ipv4(port);
	address.sin_addr.s_addr = inet_addr("224.1.2.3");
	return address;
}

static struct ip_mreqn membership(void)
{
	return (struct ip_mreqn){ .imr_multiaddr.s_addr = inet_addr("224.1.2.3"), .imr_address.s_addr = htonl(INADDR_LOOPBACK) };
}

/* A socket that hears what is sent to any address. */
static int listener(void)
{
	int file = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in any = { .sin_family = AF_INET };
	SUCCEEDS(bind(file, (struct sockaddr *)&any, sizeof any));
	return file;
}

/* A socket that sends to groups over the loopback. */
static int sender(void)
{
	int file = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	struct in_addr own = { htonl(INADDR_LOOPBACK) };
	SUCCEEDS(setsockopt(file, IPPROTO_IP, IP_MULTICAST_IF, &own, sizeof own));
	return file;
}

static void say(int from, int port)
{
	struct sockaddr_in to = group_of(port);
	EQUALS(sendto(from, "hello", 5, 0, (struct sockaddr *)&to, sizeof to), 5);
}

TEST(members_hear_what_the_group_is_told)
{
	char text[8];
	int first = listener(), from = sender();
	struct ip_mreqn group = membership();
	SUCCEEDS(setsockopt(first, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group));
	FAILS(setsockopt(first, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group), EADDRINUSE);
	say(from, port_of(first));
	EQUALS(recv(first, text, sizeof text, 0), 5);
	SUCCEEDS(setsockopt(first, IPPROTO_IP, IP_DROP_MEMBERSHIP, &group, sizeof group));
	FAILS(setsockopt(first, IPPROTO_IP, IP_DROP_MEMBERSHIP, &group, sizeof group), EADDRNOTAVAIL);
	group.imr_multiaddr.s_addr = inet_addr("10.1.2.3");
	FAILS(setsockopt(first, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group), EINVAL);
}

TEST(several_members_hear_it)
{
	char text[8];
	struct ip_mreqn group = membership();
	struct sockaddr_in any = { .sin_family = AF_INET };
	int files[3];
	for (int i = 0; i < 3; i++) {
		files[i] = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
		SUCCEEDS(set_option(files[i], SOL_SOCKET, SO_REUSEADDR, 1));
		SUCCEEDS(bind(files[i], (struct sockaddr *)&any, sizeof any));
		any.sin_port = htons(port_of(files[i]));
		SUCCEEDS(setsockopt(files[i], IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group));
	}
	say(sender(), port_of(files[0]));
	for (int i = 0; i < 3; i++)
		EQUALS(recv(files[i], text, sizeof text, 0), 5);
}

TEST(options_of_senders)
{
	int file = sender();
	EQUALS(get_option(file, IPPROTO_IP, IP_MULTICAST_TTL), 1);
	EQUALS(get_option(file, IPPROTO_IP, IP_MULTICAST_LOOP), 1);
	SUCCEEDS(set_option(file, IPPROTO_IP, IP_MULTICAST_TTL, 5));
	EQUALS(get_option(file, IPPROTO_IP, IP_MULTICAST_TTL), 5);
	SUCCEEDS(set_option(file, IPPROTO_IP, IP_MULTICAST_LOOP, 0));
	EQUALS(get_option(file, IPPROTO_IP, IP_MULTICAST_LOOP), 0);
	FAILS(set_option(file, IPPROTO_IP, IP_MULTICAST_TTL, 256), EINVAL);
}

TEST(broadcast_on_the_loopback)
{
	char text[8];
	int to = listener(), from = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in everybody = ipv4(port_of(to));
	everybody.sin_addr.s_addr = inet_addr("127.255.255.255");
	FAILS(sendto(from, "x", 1, 0, (struct sockaddr *)&everybody, sizeof everybody), EACCES);
	SUCCEEDS(set_option(from, SOL_SOCKET, SO_BROADCAST, 1));
	EQUALS(sendto(from, "x", 1, 0, (struct sockaddr *)&everybody, sizeof everybody), 1);
	EQUALS(recv(to, text, sizeof text, 0), 1);
}

TEST(errors_are_queued)
{
	int file = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0)), nobody = bound(AF_INET, SOCK_DGRAM), port = port_of(nobody);
	char text[8], control[256];
	struct sockaddr_in name;
	struct iovec piece = { text, sizeof text };
	struct msghdr message = { &name, sizeof name, &piece, 1, control, sizeof control, 0 };
	FAILS(recvmsg(file, &message, MSG_ERRQUEUE), EAGAIN);
	SUCCEEDS(set_option(file, IPPROTO_IP, IP_RECVERR, 1));
	SUCCEEDS(connect_to(file, AF_INET, port));
	SUCCEEDS(close(nobody));
	EQUALS(send(file, "lost", 4, 0), 4);
	struct pollfd poll_file = { file, 0, 0 };
	EQUALS(poll(&poll_file, 1, 5000), 1);
	EQUALS(poll_file.revents, POLLERR);
	/* What was sent comes back, with who did not want it. */
	EQUALS(recvmsg(file, &message, MSG_ERRQUEUE), 4);
	CHECK(message.msg_flags & MSG_ERRQUEUE);
	EQUALS(ntohs(name.sin_port), port);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	CHECK(header && header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_RECVERR);
	struct sock_extended_err *error = (void *)CMSG_DATA(header);
	EQUALS(error->ee_errno, ECONNREFUSED);
	EQUALS(error->ee_origin, SO_EE_ORIGIN_ICMP);
	EQUALS(error->ee_type, 3);
	EQUALS(error->ee_code, 3);
	message.msg_controllen = sizeof control;
	FAILS(recvmsg(file, &message, MSG_ERRQUEUE), EAGAIN);
}

TEST(echoes)
{
	int file = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
	if (file < 0 && errno == EACCES)
		SKIP("the host does not let everybody ping");
	SUCCEEDS(file);
	struct icmphdr question = { .type = ICMP_ECHO, .un.echo.sequence = htons(7) }, answer;
	struct sockaddr_in to = ipv4(0);
	EQUALS(sendto(file, &question, sizeof question, 0, (struct sockaddr *)&to, sizeof to), sizeof question);
	EQUALS(recv(file, &answer, sizeof answer, 0), sizeof answer);
	EQUALS(answer.type, ICMP_ECHOREPLY);
	EQUALS(ntohs(answer.un.echo.sequence), 7);
	question.type = ICMP_ECHOREPLY;
	FAILS(sendto(file, &question, sizeof question, 0, (struct sockaddr *)&to, sizeof to), EINVAL);
}

TEST(news_of_devices)
{
	char text[64];
	int file = SUCCEEDS(socket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	SUCCEEDS(bind(file, (struct sockaddr *)&address, sizeof address));
	FAILS(recv(file, text, sizeof text, 0), EAGAIN);
}
