/* Ports of TCP connections that are over: who closes first keeps its port for a while (TIME_WAIT). */
#include "sockets.h"

static const int families[] = { AF_INET, AF_INET6 };
#define EACH_FAMILY(family) for (int i_ = 0, family; i_ < 2 && (family = families[i_], true); i_++)

/* What binding to a port of the loopback says: 0 or an error number. */
static int try_to_bind(int family, int port, int option)
{
	struct sockaddr_in four = ipv4(port);
	struct sockaddr_in6 six = ipv6(port);
	int file = SUCCEEDS(socket(family, SOCK_STREAM, 0));
	if (option)
		SUCCEEDS(set_option(file, SOL_SOCKET, option, 1));
	int result = family == AF_INET ? bind(file, (struct sockaddr *)&four, sizeof four)
				       : bind(file, (struct sockaddr *)&six, sizeof six);
	if (result == 0)
		result = listen(file, 1);
	int error = result < 0 ? errno : 0;
	close(file);
	return error;
}

static void reads_the_end(int file)
{
	char byte;
	EQUALS(read(file, &byte, 1), 0);
}

TEST(the_first_to_close_keeps_the_port)
{
	EACH_FAMILY(family) {
		struct pair pair = tcp_pair(family);
		int port = port_of(pair.listener), other = port_of(pair.client);
		close(pair.listener);
		EQUALS(try_to_bind(family, port, 0), EADDRINUSE);
		close(pair.server);
		reads_the_end(pair.client);
		EQUALS(try_to_bind(family, port, 0), EADDRINUSE);
		close(pair.client);
		EQUALS(try_to_bind(family, port, 0), EADDRINUSE);
		/* Both have to allow it. */
		EQUALS(try_to_bind(family, port, SO_REUSEADDR), EADDRINUSE);
		EQUALS(try_to_bind(family, other, 0), 0);
	}
}

TEST(the_second_gives_it_back)
{
	EACH_FAMILY(family) {
		struct pair pair = tcp_pair(family);
		int port = port_of(pair.listener), other = port_of(pair.client);
		close(pair.listener);
		close(pair.client);
		reads_the_end(pair.server);
		close(pair.server);
		EQUALS(try_to_bind(family, port, 0), 0);
		EQUALS(try_to_bind(family, other, 0), EADDRINUSE);
	}
}

/* How often /proc tells of a connection from this port in this state. */
static int shown(int port, unsigned state)
{
	char line[256];
	int n = 0;
	FILE *list = fopen("/proc/net/tcp", "r");
	CHECK(list);
	while (fgets(line, sizeof line, list)) {
		unsigned local, local_port, remote, remote_port, shown_state;
		if (sscanf(line, "%*u: %x:%x %x:%x %x", &local, &local_port, &remote, &remote_port, &shown_state) == 5)
			n += local_port == (unsigned)port && shown_state == state;
	}
	fclose(list);
	return n;
}

/*
 * The same, when it has become what is expected: Linux acknowledges an end when it likes, and may leave out a
 * line while others come and go.
 */
static int shown_at_last(int port, unsigned state, int expected)
{
	int n = shown(port, state);
	for (int i = 0; i < 200 && n != expected; i++) {
		usleep(10000);
		n = shown(port, state);
	}
	return n;
}

TEST(shown_in_proc)
{
	enum { FIN_WAIT2 = 5, TIME_WAIT = 6 };
	struct pair pair = tcp_pair(AF_INET);
	int port = port_of(pair.listener);
	close(pair.server);
	reads_the_end(pair.client);
	EQUALS(shown_at_last(port, FIN_WAIT2, 1), 1);
	EQUALS(shown_at_last(port, TIME_WAIT, 0), 0);
	close(pair.client);
	EQUALS(shown_at_last(port, FIN_WAIT2, 0), 0);
	EQUALS(shown_at_last(port, TIME_WAIT, 1), 1);
}

TEST(half_closed_first)
{
	struct pair pair = tcp_pair(AF_INET);
	int port = port_of(pair.listener);
	close(pair.listener);
	SUCCEEDS(shutdown(pair.server, SHUT_WR));
	reads_the_end(pair.client);
	close(pair.client);
	reads_the_end(pair.server);
	close(pair.server);
	EQUALS(try_to_bind(AF_INET, port, 0), EADDRINUSE);
}

static void restart_with(int option)
{
	int listener = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0)), client = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	struct sockaddr_in address = ipv4(0);
	SUCCEEDS(set_option(listener, SOL_SOCKET, option, 1));
	SUCCEEDS(bind(listener, (struct sockaddr *)&address, sizeof address));
	SUCCEEDS(listen(listener, 1));
	int port = port_of(listener);
	SUCCEEDS(connect_to(client, AF_INET, port));
	int server = SUCCEEDS(accept(listener, NULL, NULL));
	close(listener);
	EQUALS(try_to_bind(AF_INET, port, option), 0);
	close(server);
	reads_the_end(client);
	close(client);
	EQUALS(try_to_bind(AF_INET, port, option), 0);
	EQUALS(try_to_bind(AF_INET, port, 0), EADDRINUSE);
}

TEST(servers_that_reuse_addresses_start_again) { restart_with(SO_REUSEADDR); }

TEST(servers_that_share_ports_start_again)
{
	become_ordinary();
	restart_with(SO_REUSEPORT);
}

TEST(a_reset_gives_it_back)
{
	struct pair pair = tcp_pair(AF_INET);
	int port = port_of(pair.listener);
	struct linger none = { 1, 0 };
	close(pair.listener);
	SUCCEEDS(setsockopt(pair.server, SOL_SOCKET, SO_LINGER, &none, sizeof none));
	close(pair.server);
	EQUALS(try_to_bind(AF_INET, port, 0), 0);
}

TEST(unread_data_gives_it_back)
{
	struct pair pair = tcp_pair(AF_INET);
	int port = port_of(pair.listener);
	close(pair.listener);
	passes(pair.server, pair.client, "all of it");
	EQUALS(write(pair.client, "lost", 4), 4);
	char byte;
	EQUALS(recv(pair.server, &byte, 1, MSG_PEEK), 1);
	close(pair.server);
	EQUALS(try_to_bind(AF_INET, port, 0), 0);
}

TEST(an_answer_to_nobody_gives_it_back)
{
	struct pair pair = tcp_pair(AF_INET);
	int port = port_of(pair.listener);
	close(pair.listener);
	close(pair.server);
	reads_the_end(pair.client);
	EQUALS(write(pair.client, "too late", 8), 8);
	EQUALS(try_to_bind(AF_INET, port, 0), 0);
}

TEST(many_short_connections)
{
	int listener = bound(AF_INET, SOCK_STREAM);
	SUCCEEDS(listen(listener, 16));
	for (int i = 0; i < 500; i++) {
		int client = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
		SUCCEEDS(connect_to(client, AF_INET, port_of(listener)));
		int server = SUCCEEDS(accept(listener, NULL, NULL));
		close(client);
		reads_the_end(server);
		close(server);
	}
}
