/* sendmsg, recvmsg and their plural forms; the MSG_ flags. */
#include "sockets.h"

static int pair[2];

static void new_pair(int type)
{
	SUCCEEDS(socketpair(AF_UNIX, type, 0, pair));
}

TEST(gather_and_scatter)
{
	const int types[] = { SOCK_STREAM, SOCK_DGRAM };
	for (int i = 0; i < 2; i++) {
		new_pair(types[i]);
		struct iovec out[3] = { { "one ", 4 }, { NULL, 0 }, { "two", 3 } };
		struct msghdr message = { .msg_iov = out, .msg_iovlen = 3 };
		EQUALS(sendmsg(pair[0], &message, 0), 7);
		char first[3] = "", second[8] = "";
		struct iovec in[2] = { { first, 2 }, { second, 8 } };
		message = (struct msghdr){ .msg_iov = in, .msg_iovlen = 2 };
		EQUALS(recvmsg(pair[1], &message, 0), 7);
		SAME_TEXT(first, "on");
		SAME_TEXT(second, "e two");
		EQUALS(message.msg_flags, 0);
	}
}

TEST(peek)
{
	const int types[] = { SOCK_STREAM, SOCK_DGRAM };
	char text[8] = "";
	for (int i = 0; i < 2; i++) {
		new_pair(types[i]);
		EQUALS(send(pair[0], "abc", 3, 0), 3);
		EQUALS(recv(pair[1], text, 8, MSG_PEEK), 3);
		EQUALS(recv(pair[1], text, 2, MSG_PEEK), 2);
		EQUALS(recv(pair[1], text, 8, 0), 3);
	}
	struct pair tcp = tcp_pair(AF_INET);
	EQUALS(send(tcp.client, "abc", 3, 0), 3);
	EQUALS(recv(tcp.server, text, 8, MSG_PEEK), 3);
	EQUALS(recv(tcp.server, text, 8, 0), 3);
}

TEST(wait_for_all)
{
	new_pair(SOCK_STREAM);
	pid_t child = FORK();
	if (child == 0) {
		for (int i = 0; i < 4; i++) {
			EQUALS(send(pair[0], "xy", 2, 0), 2);
			sleep_ms(1);
		}
		_exit(0);
	}
	char text[8];
	EQUALS(recv(pair[1], text, 8, MSG_WAITALL), 8);
	EXITS(child, 0);
	struct pair tcp = tcp_pair(AF_INET);
	child = FORK();
	if (child == 0) {
		EQUALS(send(tcp.client, "abc", 3, 0), 3);
		sleep_ms(2);
		EQUALS(send(tcp.client, "def", 3, 0), 3);
		SUCCEEDS(shutdown(tcp.client, SHUT_WR));
		_exit(0);
	}
	EQUALS(recv(tcp.server, text, 5, MSG_WAITALL), 5);
	/* The end of the stream is the end of the waiting. */
	EQUALS(recv(tcp.server, text, 5, MSG_WAITALL), 1);
	EXITS(child, 0);
}

TEST(do_not_wait)
{
	new_pair(SOCK_STREAM);
	char byte;
	FAILS(recv(pair[0], &byte, 1, MSG_DONTWAIT), EAGAIN);
	FAILS(recv(pair[0], &byte, 1, MSG_DONTWAIT | MSG_WAITALL), EAGAIN);
	/* Not even nothing can be had from an empty stream. */
	FAILS(recv(pair[0], &byte, 0, MSG_DONTWAIT), EAGAIN);
}

TEST(end_of_record)
{
	new_pair(SOCK_SEQPACKET);
	EQUALS(send(pair[0], "abc", 3, MSG_EOR), 3);
	char text[8];
	struct iovec piece = { text, 8 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
	EQUALS(recvmsg(pair[1], &message, 0), 3);
	SUCCEEDS(close(pair[0]));
	EQUALS(recv(pair[1], text, 8, 0), 0);
}

TEST(many_at_once)
{
	int server = bound(AF_INET, SOCK_DGRAM), client = SUCCEEDS(socket(AF_INET, SOCK_DGRAM, 0));
	SUCCEEDS(connect_to(client, AF_INET, port_of(server)));
	struct iovec out[3] = { { "a", 1 }, { "bb", 2 }, { "ccc", 3 } };
	struct mmsghdr messages[5] = { 0 };
	for (int i = 0; i < 3; i++)
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &out[i], .msg_iovlen = 1 };
	EQUALS(sendmmsg(client, messages, 3, 0), 3);
	for (int i = 0; i < 3; i++)
		EQUALS(messages[i].msg_len, i + 1);
	char text[5][8];
	struct iovec in[5];
	for (int i = 0; i < 5; i++) {
		in[i] = (struct iovec){ text[i], 8 };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &in[i], .msg_iovlen = 1 };
	}
	EQUALS(recvmmsg(server, messages, 5, MSG_WAITFORONE, NULL), 3);
	for (int i = 0; i < 3; i++)
		EQUALS(messages[i].msg_len, i + 1);
	FAILS(recvmmsg(server, messages, 5, MSG_DONTWAIT, NULL), EAGAIN);
	struct timespec bad = { 0, -1 };
	FAILS(recvmmsg(server, messages, 5, 0, &bad), EINVAL);
}

TEST(part_of_many)
{
	new_pair(SOCK_DGRAM);
	struct iovec good = { "x", 1 }, wrong = { BAD_POINTER, 1 };
	struct mmsghdr messages[2] = { { .msg_hdr = { .msg_iov = &good, .msg_iovlen = 1 } }, { .msg_hdr = { .msg_iov = &wrong, .msg_iovlen = 1 } } };
	EQUALS(sendmmsg(pair[0], messages, 2, 0), 1);
	FAILS(sendmmsg(pair[0], messages + 1, 1, 0), EFAULT);
}

TEST(refusals)
{
	new_pair(SOCK_STREAM);
	struct iovec piece = { "x", 1 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1025 };
	FAILS(sendmsg(pair[0], &message, 0), EMSGSIZE);
	FAILS(sendmsg(pair[0], BAD_POINTER, 0), EFAULT);
	FAILS(recvmsg(pair[0], BAD_POINTER, 0), EFAULT);
	FAILS(sendmsg(0, &message, 0), ENOTSOCK);
	FAILS(sendmsg(9999, &message, 0), EBADF);
	message.msg_iovlen = 1;
	message.msg_name = BAD_POINTER;
	message.msg_namelen = 16;
	FAILS(sendmsg(pair[0], &message, 0), EFAULT);
	FAILS(send(pair[0], BAD_POINTER, 1, 0), EFAULT);
	EQUALS(send(pair[0], "x", 1, 0), 1);
	FAILS(recv(pair[1], BAD_POINTER, 1, 0), EFAULT);
}

TEST(read_and_write_on_sockets)
{
	new_pair(SOCK_DGRAM);
	char text[8] = "";
	EQUALS(write(pair[0], "abc", 3), 3);
	EQUALS(read(pair[1], text, 8), 3);
	/* Reading nothing leaves a datagram where it is. */
	EQUALS(write(pair[0], "abc", 3), 3);
	EQUALS(read(pair[1], text, 0), 0);
	EQUALS(read(pair[1], text, 8), 3);
	FAILS(lseek(pair[0], 0, SEEK_SET), ESPIPE);
	FAILS(pread(pair[0], text, 1, 0), ESPIPE);
	struct stat status;
	SUCCEEDS(fstat(pair[0], &status));
	CHECK(S_ISSOCK(status.st_mode));
}
