/* Ancillary data over AF_UNIX: descriptors and credentials. */
#include "sockets.h"
#include <sys/mman.h>

static int pair[2];

static void new_pair(int type)
{
	SUCCEEDS(socketpair(AF_UNIX, type, 0, pair));
}

static ssize_t send_descriptors(const int *descriptors, int n)
{
	char byte = 'd';
	struct iovec piece = { &byte, 1 };
	union {
		char bytes[CMSG_SPACE(300 * sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(header), descriptors, n * sizeof(int));
	return sendmsg(pair[0], &message, 0);
}

/* Receives up to `max` descriptors and returns how many came; `flags_out` are the flags of the message. */
static int receive_descriptors(int *descriptors, int max, int flags, int *flags_out)
{
	char byte;
	struct iovec piece = { &byte, 1 };
	union {
		char bytes[CMSG_SPACE(300 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(max * sizeof(int)) };
	EQUALS(recvmsg(pair[1], &message, flags), 1);
	if (flags_out)
		*flags_out = message.msg_flags;
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (!header)
		return 0;
	EQUALS(header->cmsg_level, SOL_SOCKET);
	EQUALS(header->cmsg_type, SCM_RIGHTS);
	int n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(descriptors, CMSG_DATA(header), n * sizeof(int));
	return n;
}

TEST(pass_a_file)
{
	scratch();
	make_file("file", "content");
	const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	for (int i = 0; i < 3; i++) {
		new_pair(types[i]);
		int file = SUCCEEDS(open("file", O_RDONLY)), got = -1;
		EQUALS(send_descriptors(&file, 1), 1);
		SUCCEEDS(close(file));
		EQUALS(receive_descriptors(&got, 1, 0, NULL), 1);
		char text[16] = "";
		EQUALS(read(got, text, sizeof text), 7);
		EQUALS(fcntl(got, F_GETFD), 0);
	}
}

TEST(offset_is_shared)
{
	scratch();
	make_file("file", "content");
	new_pair(SOCK_STREAM);
	int file = SUCCEEDS(open("file", O_RDONLY)), got;
	EQUALS(send_descriptors(&file, 1), 1);
	SUCCEEDS(lseek(file, 4, SEEK_SET));
	EQUALS(receive_descriptors(&got, 1, 0, NULL), 1);
	EQUALS(lseek(got, 0, SEEK_CUR), 4);
}

TEST(close_on_exec_for_the_receiver)
{
	new_pair(SOCK_STREAM);
	int zero = 0, got;
	EQUALS(send_descriptors(&zero, 1), 1);
	EQUALS(receive_descriptors(&got, 1, MSG_CMSG_CLOEXEC, NULL), 1);
	EQUALS(fcntl(got, F_GETFD), FD_CLOEXEC);
}

TEST(to_a_child)
{
	new_pair(SOCK_STREAM);
	pid_t child = FORK();
	if (child == 0) {
		int got = -1;
		SUCCEEDS(close(pair[0]));
		EQUALS(receive_descriptors(&got, 1, 0, NULL), 1);
		_exit(write(got, "from child", 10) == 10 ? 0 : 1);
	}
	int ends[2];
	SUCCEEDS(pipe(ends));
	EQUALS(send_descriptors(&ends[1], 1), 1);
	SUCCEEDS(close(ends[1]));
	char text[16] = "";
	EQUALS(read(ends[0], text, sizeof text), 10);
	EQUALS(read(ends[0], text, sizeof text), 0);
	EXITS(child, 0);
}

TEST(many_and_too_many)
{
	static int many[254], got[254];
	new_pair(SOCK_STREAM);
	for (int i = 0; i < 254; i++)
		many[i] = 0;
	EQUALS(send_descriptors(many, 253), 1);
	EQUALS(receive_descriptors(got, 253, 0, NULL), 253);
	FAILS(send_descriptors(many, 254), EINVAL);
}

TEST(too_little_room)
{
	new_pair(SOCK_STREAM);
	int two[2] = { 0, 0 }, got[2] = { -1, -1 }, flags = 0;
	EQUALS(send_descriptors(two, 2), 1);
	EQUALS(receive_descriptors(got, 1, 0, &flags), 1);
	CHECK(flags & MSG_CTRUNC);
}

TEST(read_drops_them)
{
	new_pair(SOCK_STREAM);
	int ends[2];
	char byte;
	SUCCEEDS(pipe(ends));
	EQUALS(send_descriptors(&ends[1], 1), 1);
	SUCCEEDS(close(ends[1]));
	EQUALS(read(pair[1], &byte, 1), 1);
	EQUALS(read(ends[0], &byte, 1), 0);
}

TEST(dropped_with_the_socket)
{
	new_pair(SOCK_STREAM);
	int ends[2];
	char byte;
	SUCCEEDS(pipe(ends));
	EQUALS(send_descriptors(&ends[1], 1), 1);
	SUCCEEDS(close(ends[1]));
	SUCCEEDS(close(pair[0]));
	SUCCEEDS(close(pair[1]));
	EQUALS(read(ends[0], &byte, 1), 0);
}

TEST(peeking_gives_copies)
{
	new_pair(SOCK_STREAM);
	int zero = 0, first = -1, second = -1;
	EQUALS(send_descriptors(&zero, 1), 1);
	EQUALS(receive_descriptors(&first, 1, MSG_PEEK, NULL), 1);
	EQUALS(receive_descriptors(&second, 1, 0, NULL), 1);
	CHECK(first != second);
}

TEST(data_around_descriptors_is_not_merged)
{
	new_pair(SOCK_STREAM);
	int zero = 0;
	char text[16];
	EQUALS(send(pair[0], "ab", 2, 0), 2);
	EQUALS(send_descriptors(&zero, 1), 1);
	EQUALS(send(pair[0], "cd", 2, 0), 2);
	/* A plain read goes on, but a message stops behind the byte with the descriptor. */
	struct iovec piece = { text, sizeof text };
	char control[64];
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	EQUALS(recvmsg(pair[1], &message, 0), 3);
	CHECK(message.msg_controllen > 0);
	EQUALS(recv(pair[1], text, sizeof text, 0), 2);
}

TEST(refusals)
{
	new_pair(SOCK_STREAM);
	int closed = 9999;
	FAILS(send_descriptors(&closed, 1), EBADF);
	struct iovec piece = { "x", 1 };
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = 0x77;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	FAILS(sendmsg(pair[0], &message, 0), EINVAL);
	header->cmsg_len = 3;
	FAILS(sendmsg(pair[0], &message, 0), EINVAL);
}

static struct ucred peer_of(int socket)
{
	struct ucred credentials;
	socklen_t length = sizeof credentials;
	SUCCEEDS(getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length));
	EQUALS(length, sizeof credentials);
	return credentials;
}

TEST(who_is_the_peer)
{
	scratch();
	new_pair(SOCK_STREAM);
	EQUALS(peer_of(pair[0]).pid, getpid());
	EQUALS(peer_of(pair[0]).uid, geteuid());
	EQUALS(peer_of(pair[0]).gid, getegid());
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	int listener = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	SUCCEEDS(bind(listener, (struct sockaddr *)&address, sizeof address));
	SUCCEEDS(listen(listener, 1));
	pid_t child = FORK();
	if (child == 0) {
		int client = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
		SUCCEEDS(connect(client, (struct sockaddr *)&address, sizeof address));
		_exit(peer_of(client).pid == test_process ? 0 : 1);
	}
	EQUALS(peer_of(SUCCEEDS(accept(listener, NULL, NULL))).pid, child);
	EXITS(child, 0);
	EQUALS((int)peer_of(SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0))).uid, -1);
}

static struct ucred receive_credentials(void)
{
	char byte;
	struct iovec piece = { &byte, 1 };
	char control[CMSG_SPACE(sizeof(struct ucred))] __attribute__((aligned(8)));
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	EQUALS(recvmsg(pair[1], &message, 0), 1);
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	CHECK(header && header->cmsg_type == SCM_CREDENTIALS);
	return *(struct ucred *)CMSG_DATA(header);
}

static ssize_t send_credentials(struct ucred credentials)
{
	struct iovec piece = { "x", 1 };
	char control[CMSG_SPACE(sizeof credentials)] __attribute__((aligned(8))) = { 0 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_CREDENTIALS;
	header->cmsg_len = CMSG_LEN(sizeof credentials);
	memcpy(CMSG_DATA(header), &credentials, sizeof credentials);
	return sendmsg(pair[0], &message, 0);
}

TEST(credentials_of_the_sender)
{
	new_pair(SOCK_DGRAM);
	SUCCEEDS(set_option(pair[1], SOL_SOCKET, SO_PASSCRED, 1));
	EQUALS(get_option(pair[1], SOL_SOCKET, SO_PASSCRED), 1);
	EQUALS(send(pair[0], "x", 1, 0), 1);
	EQUALS(receive_credentials().pid, getpid());
	pid_t child = FORK();
	if (child == 0)
		_exit(send(pair[0], "x", 1, 0) == 1 ? 0 : 1);
	struct ucred got = receive_credentials();
	EQUALS(got.pid, child);
	EQUALS(got.uid, getuid());
	EXITS(child, 0);
	EQUALS(send_credentials((struct ucred){ getpid(), getuid(), getgid() }), 1);
	EQUALS(receive_credentials().pid, getpid());
}

TEST(credentials_cannot_be_forged)
{
	new_pair(SOCK_DGRAM);
	become_ordinary();
	FAILS(send_credentials((struct ucred){ 1, getuid(), getgid() }), EPERM);
	FAILS(send_credentials((struct ucred){ getpid(), 0, getgid() }), EPERM);
	EQUALS(send_credentials((struct ucred){ getpid(), getuid(), getgid() }), 1);
}

TEST(memory_passed_by_descriptor)
{
	new_pair(SOCK_STREAM);
	pid_t child = FORK();
	if (child == 0) {
		int memory = SUCCEEDS(memfd_create("shared", 0));
		SUCCEEDS(ftruncate(memory, 4096));
		char *page = SUCCEEDS((char *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
		strcpy(page, "shared by passing");
		EQUALS(send_descriptors(&memory, 1), 1);
		_exit(0);
	}
	int memory;
	EQUALS(receive_descriptors(&memory, 1, 0, NULL), 1);
	EXITS(child, 0);
	char *page = SUCCEEDS((char *)mmap(NULL, 4096, PROT_READ, MAP_SHARED, memory, 0));
	SAME_TEXT(page, "shared by passing");
}
