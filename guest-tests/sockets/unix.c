/* AF_UNIX sockets: stream, datagram, seqpacket; names. */
#include "sockets.h"

static struct sockaddr_un named(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	strcpy(address.sun_path, path);
	return address;
}

static int bind_to(int file, const char *path)
{
	struct sockaddr_un address = named(path);
	return bind(file, (struct sockaddr *)&address, sizeof address);
}

static int connect_path(int file, const char *path)
{
	struct sockaddr_un address = named(path);
	return connect(file, (struct sockaddr *)&address, sizeof address);
}

static int listener_at(const char *path, int type)
{
	int listener = SUCCEEDS(socket(AF_UNIX, type, 0));
	SUCCEEDS(bind_to(listener, path));
	SUCCEEDS(listen(listener, 5));
	return listener;
}

TEST(pairs_of_all_types)
{
	const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	int pair[2];
	for (int i = 0; i < 3; i++) {
		SUCCEEDS(socketpair(AF_UNIX, types[i], 0, pair));
		passes(pair[0], pair[1], "there");
		passes(pair[1], pair[0], "and back");
		EQUALS(get_option(pair[0], SOL_SOCKET, SO_TYPE), types[i]);
		EQUALS(get_option(pair[0], SOL_SOCKET, SO_DOMAIN), AF_UNIX);
		EQUALS(get_option(pair[0], SOL_SOCKET, SO_PROTOCOL), 0);
	}
}

TEST(pair_refusals)
{
	int pair[2];
	FAILS(socketpair(AF_UNIX, 99, 0, pair), EINVAL);
	FAILS(socketpair(AF_UNIX, SOCK_STREAM, 99, pair), EPROTONOSUPPORT);
	FAILS(socketpair(AF_INET, SOCK_STREAM, 0, pair), EOPNOTSUPP);
	FAILS(socketpair(99, SOCK_STREAM, 0, pair), EAFNOSUPPORT);
	FAILS(socketpair(AF_UNIX, SOCK_STREAM, 0, BAD_POINTER), EFAULT);
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
	EQUALS(fcntl(pair[1], F_GETFD), FD_CLOEXEC);
	EQUALS(fcntl(pair[1], F_GETFL), O_RDWR | O_NONBLOCK);
	FAILS(recv(pair[0], pair, 1, 0), EAGAIN);
}

TEST(stream_has_no_borders)
{
	int pair[2];
	char text[16] = "";
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	EQUALS(send(pair[0], "abc", 3, 0), 3);
	EQUALS(send(pair[0], "def", 3, 0), 3);
	EQUALS(recv(pair[1], text, 4, 0), 4);
	SAME_TEXT(text, "abcd");
	EQUALS(recv(pair[1], text, 16, 0), 2);
}

TEST(packets_have_borders)
{
	const int types[] = { SOCK_DGRAM, SOCK_SEQPACKET };
	int pair[2];
	char text[16] = "";
	for (int i = 0; i < 2; i++) {
		SUCCEEDS(socketpair(AF_UNIX, types[i], 0, pair));
		EQUALS(send(pair[0], "abc", 3, 0), 3);
		EQUALS(send(pair[0], "", 0, 0), 0);
		EQUALS(send(pair[0], "defgh", 5, 0), 5);
		EQUALS(recv(pair[1], text, 2, 0), 2);
		EQUALS(recv(pair[1], text, 16, 0), 0);
		EQUALS(recv(pair[1], text, 2, MSG_TRUNC), 5);
	}
}

TEST(connect_by_path)
{
	scratch();
	int listener = listener_at("socket", SOCK_STREAM), client = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	struct stat status;
	SUCCEEDS(stat("socket", &status));
	CHECK(S_ISSOCK(status.st_mode));
	EQUALS(get_option(listener, SOL_SOCKET, SO_ACCEPTCONN), 1);
	SUCCEEDS(connect_path(client, "socket"));
	struct sockaddr_un address;
	socklen_t length = sizeof address;
	int server = SUCCEEDS(accept(listener, (struct sockaddr *)&address, &length));
	/* The client has no name. */
	EQUALS(length, sizeof(sa_family_t));
	EQUALS(address.sun_family, AF_UNIX);
	passes(client, server, "hello");
	length = sizeof address;
	SUCCEEDS(getpeername(client, (struct sockaddr *)&address, &length));
	SAME_TEXT(address.sun_path, "socket");
	EQUALS(length, offsetof(struct sockaddr_un, sun_path) + sizeof "socket");
	length = sizeof address;
	SUCCEEDS(getsockname(server, (struct sockaddr *)&address, &length));
	SAME_TEXT(address.sun_path, "socket");
	FAILS(connect_path(client, "socket"), EISCONN);
}

TEST(bind_refusals)
{
	scratch();
	make_file("file", "");
	int first = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0)), second = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	SUCCEEDS(bind_to(first, "socket"));
	FAILS(bind_to(first, "other"), EINVAL);
	FAILS(bind_to(second, "socket"), EADDRINUSE);
	FAILS(bind_to(second, "file"), EADDRINUSE);
	FAILS(bind_to(second, "absent/socket"), ENOENT);
	struct sockaddr_un address = named("x");
	FAILS(bind(second, (struct sockaddr *)&address, 1), EINVAL);
	FAILS(bind(second, (struct sockaddr *)&address, sizeof address + 1), EINVAL);
	address.sun_family = AF_INET;
	FAILS(bind(second, (struct sockaddr *)&address, sizeof address), EINVAL);
	FAILS(bind(9999, (struct sockaddr *)&address, sizeof address), EBADF);
	FAILS(bind(0, (struct sockaddr *)&address, sizeof address), ENOTSOCK);
}

TEST(connect_refusals)
{
	scratch();
	make_file("file", "");
	int client = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0)), unready = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	FAILS(connect_path(client, "absent"), ENOENT);
	FAILS(connect_path(client, "file"), ECONNREFUSED);
	SUCCEEDS(bind_to(unready, "unready"));
	FAILS(connect_path(client, "unready"), ECONNREFUSED);
	listener_at("packets", SOCK_SEQPACKET);
	FAILS(connect_path(client, "packets"), EPROTOTYPE);
	FAILS(accept(unready, NULL, NULL), EINVAL);
	FAILS(accept(0, NULL, NULL), ENOTSOCK);
	FAILS(send(client, "x", 1, 0), ENOTCONN);
	FAILS(recv(client, BAD_POINTER, 1, 0), EINVAL);
	int datagram = SUCCEEDS(socket(AF_UNIX, SOCK_DGRAM, 0));
	FAILS(listen(datagram, 1), EOPNOTSUPP);
	FAILS(accept(datagram, NULL, NULL), EOPNOTSUPP);
	FAILS(send(datagram, "x", 1, 0), ENOTCONN);
}

TEST(connect_needs_write_permission)
{
	scratch();
	listener_at("socket", SOCK_STREAM);
	SUCCEEDS(chmod("socket", 0555));
	become_ordinary();
	int client = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	FAILS(connect_path(client, "socket"), EACCES);
}

TEST(removed_name_and_live_socket)
{
	scratch();
	int listener = listener_at("socket", SOCK_STREAM), client = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	SUCCEEDS(connect_path(client, "socket"));
	SUCCEEDS(unlink("socket"));
	int server = SUCCEEDS(accept(listener, NULL, NULL));
	passes(server, client, "still");
	int late = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	FAILS(connect_path(late, "socket"), ENOENT);
}

TEST(abstract_names)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int length = snprintf(address.sun_path + 1, 64, "belljar-%d", getpid());
	socklen_t size = offsetof(struct sockaddr_un, sun_path) + 1 + length;
	int listener = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0)), client = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	SUCCEEDS(bind(listener, (struct sockaddr *)&address, size));
	SUCCEEDS(listen(listener, 1));
	int other = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	FAILS(bind(other, (struct sockaddr *)&address, size), EADDRINUSE);
	/* Every byte counts, also a zero at the end. */
	SUCCEEDS(bind(other, (struct sockaddr *)&address, size + 1));
	SUCCEEDS(connect(client, (struct sockaddr *)&address, size));
	passes(client, SUCCEEDS(accept(listener, NULL, NULL)), "abstract");
	struct sockaddr_un got;
	socklen_t got_size = sizeof got;
	SUCCEEDS(getpeername(client, (struct sockaddr *)&got, &got_size));
	EQUALS(got_size, size);
	EQUALS(memcmp(got.sun_path, address.sun_path, length + 1), 0);
	SUCCEEDS(close(listener));
	client = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	FAILS(connect(client, (struct sockaddr *)&address, size), ECONNREFUSED);
}

TEST(automatic_names)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int first = SUCCEEDS(socket(AF_UNIX, SOCK_DGRAM, 0)), second = SUCCEEDS(socket(AF_UNIX, SOCK_DGRAM, 0));
	SUCCEEDS(bind(first, (struct sockaddr *)&address, sizeof(sa_family_t)));
	socklen_t size = sizeof address;
	SUCCEEDS(getsockname(first, (struct sockaddr *)&address, &size));
	EQUALS(size, sizeof(sa_family_t) + 6);
	EQUALS(address.sun_path[0], 0);
	for (int i = 1; i <= 5; i++)
		CHECK(strchr("0123456789abcdef", address.sun_path[i]));
	EQUALS(sendto(second, "x", 1, 0, (struct sockaddr *)&address, size), 1);
	char byte;
	EQUALS(recv(first, &byte, 1, 0), 1);
}

TEST(datagrams_by_path)
{
	scratch();
	int server = SUCCEEDS(socket(AF_UNIX, SOCK_DGRAM, 0)), client = SUCCEEDS(socket(AF_UNIX, SOCK_DGRAM, 0));
	SUCCEEDS(bind_to(server, "server"));
	SUCCEEDS(bind_to(client, "client"));
	struct sockaddr_un address = named("server"), from;
	EQUALS(sendto(client, "question", 8, 0, (struct sockaddr *)&address, sizeof address), 8);
	char text[16] = "";
	socklen_t length = sizeof from;
	EQUALS(recvfrom(server, text, sizeof text, 0, (struct sockaddr *)&from, &length), 8);
	SAME_TEXT(from.sun_path, "client");
	EQUALS(sendto(server, "answer", 6, 0, (struct sockaddr *)&from, length), 6);
	EQUALS(recv(client, text, sizeof text, 0), 6);
	/* Once it is connected it takes nothing from others. */
	SUCCEEDS(connect_path(server, "client"));
	int stranger = SUCCEEDS(socket(AF_UNIX, SOCK_DGRAM, 0));
	FAILS(sendto(stranger, "x", 1, 0, (struct sockaddr *)&address, sizeof address), EPERM);
	SUCCEEDS(close(server));
	FAILS(sendto(client, "x", 1, 0, (struct sockaddr *)&address, sizeof address), ECONNREFUSED);
}

TEST(half_close)
{
	int pair[2];
	char byte;
	signal(SIGPIPE, SIG_IGN);
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	EQUALS(send(pair[0], "x", 1, 0), 1);
	SUCCEEDS(shutdown(pair[0], SHUT_WR));
	FAILS(send(pair[0], "x", 1, 0), EPIPE);
	EQUALS(recv(pair[1], &byte, 1, 0), 1);
	EQUALS(recv(pair[1], &byte, 1, 0), 0);
	passes(pair[1], pair[0], "other way");
	SUCCEEDS(shutdown(pair[0], SHUT_RD));
	FAILS(send(pair[1], "x", 1, 0), EPIPE);
	FAILS(shutdown(pair[0], 9), EINVAL);
	SUCCEEDS(shutdown(SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0)), SHUT_RD));
}

TEST(close_with_unread_data_resets)
{
	int pair[2];
	char byte;
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	EQUALS(send(pair[0], "x", 1, 0), 1);
	SUCCEEDS(close(pair[1]));
	FAILS(recv(pair[0], &byte, 1, 0), ECONNRESET);
	EQUALS(recv(pair[0], &byte, 1, 0), 0);
}

TEST(backlog)
{
	scratch();
	int listener = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0)), n = 0;
	SUCCEEDS(bind_to(listener, "socket"));
	SUCCEEDS(listen(listener, 2));
	for (;; n++) {
		int client = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
		if (connect_path(client, "socket") < 0)
			break;
	}
	EQUALS(errno, EAGAIN);
	EQUALS(n, 3);
	EQUALS(events_of(listener, POLLIN), POLLIN);
}

TEST(accept_flags)
{
	scratch();
	int listener = listener_at("socket", SOCK_STREAM), client = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	SUCCEEDS(fcntl(listener, F_SETFL, O_NONBLOCK));
	FAILS(accept(listener, NULL, NULL), EAGAIN);
	SUCCEEDS(connect_path(client, "socket"));
	FAILS(accept4(listener, NULL, NULL, 99), EINVAL);
	int server = SUCCEEDS(accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
	EQUALS(fcntl(server, F_GETFD), FD_CLOEXEC);
	EQUALS(fcntl(server, F_GETFL), O_RDWR | O_NONBLOCK);
}

TEST(bytes_in_the_queues)
{
	int pair[2], n = -1;
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	EQUALS(send(pair[0], "12345", 5, 0), 5);
	SUCCEEDS(ioctl(pair[1], FIONREAD, &n));
	EQUALS(n, 5);
	SUCCEEDS(ioctl(pair[0], TIOCOUTQ, &n));
	CHECK(n > 0);
}

TEST(full_buffers)
{
	static char data[65536];
	int pair[2];
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair));
	ssize_t total = 0, n;
	while ((n = send(pair[0], data, sizeof data, 0)) > 0)
		total += n;
	EQUALS(errno, EAGAIN);
	CHECK(total >= 65536);
	EQUALS(events_of(pair[0], POLLOUT), 0);
	while ((n = recv(pair[1], data, sizeof data, 0)) > 0)
		total -= n;
	EQUALS(total, 0);
	EQUALS(events_of(pair[0], POLLOUT), POLLOUT);
	SUCCEEDS(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	char *large = calloc(1, 4 << 20);
	FAILS(send(pair[0], large, 4 << 20, 0), EMSGSIZE);
}
