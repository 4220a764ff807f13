/* Deep nesting: epoll in epoll, sockets that carry themselves, loops of links and mounts, deep folders. run: --timeout 1h --user root */
#include "hostile.h"

#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/socket.h>

static void send_descriptor(int through, int what)
{
	char control[CMSG_SPACE(sizeof what)] = "";
	struct iovec piece = { "x", 1 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	*header = (struct cmsghdr) { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof what) };
	memcpy(CMSG_DATA(header), &what, sizeof what);
	sendmsg(through, &message, MSG_DONTWAIT);
}

static void epolls(uint64_t unused)
{
	(void)unused;
	int fds[500];
	struct epoll_event event = { .events = EPOLLIN };
	for (int n = 0; n < 500; n++) {
		fds[n] = epoll_create1(0);
		for (int m = n - 1; m >= 0 && m >= n - 3; m--)
			epoll_ctl(fds[n], EPOLL_CTL_ADD, fds[m], &event);
	}
	epoll_ctl(fds[0], EPOLL_CTL_ADD, fds[499], &event);
	epoll_ctl(fds[7], EPOLL_CTL_ADD, fds[7], &event);
	epoll_wait(fds[499], &event, 1, 10);
}

static void sockets(uint64_t depth)
{
	int last = -1;
	for (uint64_t n = 0; n < depth; n++) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
			break;
		send_descriptor(pair[0], pair[0]);
		send_descriptor(pair[0], pair[1]);
		if (last >= 0) {
			send_descriptor(pair[0], last);
			close(last);
		}
		close(pair[0]);
		last = pair[1];
	}
	close(last); /* everything is dropped at once, however deep */
}

static void links(uint64_t unused)
{
	(void)unused;
	symlink("/tmp/loop2", "/tmp/loop1");
	symlink("/tmp/loop1", "/tmp/loop2");
	if (open("/tmp/loop1/x", O_RDONLY) >= 0 || errno != ELOOP)
		puts("a loop of links is no loop");
	char name[32], target[32];
	for (int n = 0; n < 2000; n++) {
		snprintf(name, sizeof name, "/tmp/chain%d", n);
		snprintf(target, sizeof target, "chain%d", n + 1);
		symlink(target, name);
	}
	if (open("/tmp/chain0", O_RDONLY) >= 0)
		escaped("2000 links were followed");
}

static void folders(uint64_t unused)
{
	(void)unused;
	mkdir("/tmp/deep", 0700);
	chdir("/tmp/deep");
	for (int n = 0; n < 20000; n++)
		if (mkdir("d", 0700) || chdir("d"))
			break;
	char path[8192];
	getcwd(path, sizeof path);
	rename("/tmp/deep", "/tmp/deep2");
	rename("/tmp/deep2", "/tmp/deep2/d/d/d");
}

static void mounts(uint64_t unused)
{
	(void)unused;
	mkdir("/tmp/m", 0700);
	for (int n = 0; n < 2000; n++) {
		mount("/", "/tmp/m", NULL, MS_BIND | MS_REC, NULL);
		mount("tmpfs", "/tmp/m", "tmpfs", 0, NULL);
		chdir("/tmp/m");
		mkdir("m", 0700);
		mount("/tmp/m", "m", NULL, MS_BIND, NULL);
	}
}

int main(void)
{
	in_child(epolls, 0, 10);
	in_child(sockets, 400, 10);
	in_child(sockets, 20000, 10);
	in_child(links, 0, 10);
	in_child(folders, 0, 10);
	in_child(mounts, 0, 10);
	if (access("/etc/passwd", R_OK))
		escaped("not answered any more");
	puts("held");
	return 0;
}
