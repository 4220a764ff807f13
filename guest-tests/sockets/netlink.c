/* AF_NETLINK as far as programs use it to find their interfaces. */
#include "sockets.h"
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

static int netlink;
static char buffer[32768];

static void request(int type, int family)
{
	netlink = SUCCEEDS(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	SUCCEEDS(bind(netlink, (struct sockaddr *)&address, sizeof address));
	struct {
		struct nlmsghdr header;
		struct rtgenmsg body;
	} message = { { sizeof message, type, NLM_F_REQUEST | NLM_F_DUMP, 42, 0 }, { family } };
	EQUALS(sendto(netlink, &message, sizeof message, 0, (struct sockaddr *)&address, sizeof address), sizeof message);
}

/* Calls `visit` for each answer until the end of the dump. */
static int collect(int type, bool (*visit)(struct nlmsghdr *))
{
	int n = 0;
	for (;;) {
		int length = SUCCEEDS(recv(netlink, buffer, sizeof buffer, 0));
		for (struct nlmsghdr *header = (struct nlmsghdr *)buffer; NLMSG_OK(header, (unsigned)length); header = NLMSG_NEXT(header, length)) {
			EQUALS(header->nlmsg_seq, 42);
			if (header->nlmsg_type == NLMSG_DONE)
				return n;
			EQUALS(header->nlmsg_type, type);
			CHECK(header->nlmsg_flags & NLM_F_MULTI);
			n += visit(header);
		}
	}
}

static bool is_loopback_link(struct nlmsghdr *header)
{
	struct ifinfomsg *info = NLMSG_DATA(header);
	int length = IFLA_PAYLOAD(header);
	for (struct rtattr *attribute = IFLA_RTA(info); RTA_OK(attribute, length); attribute = RTA_NEXT(attribute, length))
		if (attribute->rta_type == IFLA_IFNAME && strcmp(RTA_DATA(attribute), "lo") == 0)
			return info->ifi_flags & IFF_LOOPBACK && info->ifi_flags & IFF_UP && info->ifi_index == 1;
	return false;
}

TEST(links)
{
	request(RTM_GETLINK, AF_UNSPEC);
	EQUALS(collect(RTM_NEWLINK, is_loopback_link), 1);
}

static bool is_loopback_address(struct nlmsghdr *header)
{
	struct ifaddrmsg *info = NLMSG_DATA(header);
	int length = IFA_PAYLOAD(header);
	for (struct rtattr *attribute = IFA_RTA(info); RTA_OK(attribute, length); attribute = RTA_NEXT(attribute, length))
		if (attribute->rta_type == IFA_ADDRESS && info->ifa_family == AF_INET)
			return *(uint32_t *)RTA_DATA(attribute) == htonl(INADDR_LOOPBACK) && info->ifa_prefixlen == 8;
	return false;
}

TEST(addresses)
{
	request(RTM_GETADDR, AF_INET);
	EQUALS(collect(RTM_NEWADDR, is_loopback_address), 1);
}

static bool count(struct nlmsghdr *header)
{
	return header != NULL;
}

TEST(routes)
{
	request(RTM_GETROUTE, AF_INET);
	CHECK(collect(RTM_NEWROUTE, count) >= 0);
}

TEST(own_address)
{
	request(RTM_GETLINK, AF_UNSPEC);
	struct sockaddr_nl address;
	socklen_t length = sizeof address;
	SUCCEEDS(getsockname(netlink, (struct sockaddr *)&address, &length));
	EQUALS(address.nl_family, AF_NETLINK);
	EQUALS(address.nl_pid, getpid());
	EQUALS(get_option(netlink, SOL_SOCKET, SO_PROTOCOL), NETLINK_ROUTE);
	EQUALS(get_option(netlink, SOL_SOCKET, SO_DOMAIN), AF_NETLINK);
}

TEST(unknown_requests_are_answered_with_an_error)
{
	netlink = SUCCEEDS(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	struct nlmsghdr message = { sizeof message, 0x7fff, NLM_F_REQUEST | NLM_F_ACK, 43, 0 };
	EQUALS(send(netlink, &message, sizeof message, 0), sizeof message);
	SUCCEEDS(recv(netlink, buffer, sizeof buffer, 0));
	struct nlmsghdr *header = (struct nlmsghdr *)buffer;
	EQUALS(header->nlmsg_type, NLMSG_ERROR);
	EQUALS(header->nlmsg_seq, 43);
	EQUALS(((struct nlmsgerr *)NLMSG_DATA(header))->error, -EOPNOTSUPP);
}

TEST(library_finds_the_loopback)
{
	struct ifaddrs *all;
	SUCCEEDS(getifaddrs(&all));
	int found = 0;
	for (struct ifaddrs *one = all; one; one = one->ifa_next)
		if (strcmp(one->ifa_name, "lo") == 0 && one->ifa_addr && one->ifa_addr->sa_family == AF_INET)
			found += ((struct sockaddr_in *)one->ifa_addr)->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
	freeifaddrs(all);
	EQUALS(found, 1);
	EQUALS(if_nametoindex("lo"), 1);
}

TEST(interface_ioctls)
{
	int file = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	struct ifreq interface = { .ifr_name = "lo" };
	SUCCEEDS(ioctl(file, SIOCGIFINDEX, &interface));
	EQUALS(interface.ifr_ifindex, 1);
	SUCCEEDS(ioctl(file, SIOCGIFFLAGS, &interface));
	CHECK(interface.ifr_flags & IFF_UP && interface.ifr_flags & IFF_LOOPBACK);
	SUCCEEDS(ioctl(file, SIOCGIFADDR, &interface));
	EQUALS(((struct sockaddr_in *)&interface.ifr_addr)->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	SUCCEEDS(ioctl(file, SIOCGIFMTU, &interface));
	CHECK(interface.ifr_mtu >= 1500);
	strcpy(interface.ifr_name, "absent0");
	FAILS(ioctl(file, SIOCGIFINDEX, &interface), ENODEV);
}
