/* Arguments that change while the kernel looks at them. run: --timeout 1h */
#include "hostile.h"

#include <linux/openat2.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

static struct {
	char path[256];
	struct iovec pieces[16];
	struct msghdr message;
	char control[256];
	struct open_how how;
	struct pollfd polled[16];
	char *argv[8];
	struct sockaddr_un address;
	struct itimerspec timer;
	uint64_t sets[64];
	char data[1 << 16];
} shared;
static _Atomic int stop;

static void *changer(void *unused)
{
	while (!stop) {
		volatile uint64_t *words = (volatile uint64_t *)&shared;
		uint64_t n = sizeof shared / 8 - sizeof shared.data / 8;
		switch (random_word() % 5) {
		case 0: words[random_word() % n] = random_word(); break;
		case 1: words[random_word() % n] = (uint64_t)&shared + random_word() % sizeof shared; break;
		case 2: words[random_word() % n] = random_word() % 64; break;
		case 3: words[random_word() % n] = ~0ull >> (random_word() % 64); break;
		case 4: memset(&shared.path, "/.\0a"[random_word() % 4], 32); break;
		}
	}
	return unused;
}

static void calls(uint64_t seed)
{
	(void)seed;
	int sockets[2], fds[2];
	pthread_t threads[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sockets) || pipe2(fds, O_NONBLOCK))
		return;
	for (int n = 0; n < 2; n++)
		pthread_create(&threads[n], NULL, changer, NULL);
	double end = seconds() + 1.5;
	while (seconds() < end) {
		syscall(SYS_openat2, AT_FDCWD, shared.path, &shared.how, sizeof shared.how);
		syscall(SYS_readv, 0x7fff, shared.pieces, 16);
		syscall(SYS_writev, fds[1], shared.pieces, 16);
		syscall(SYS_readv, fds[0], shared.pieces, 16);
		syscall(SYS_sendmsg, sockets[0], &shared.message, MSG_DONTWAIT);
		syscall(SYS_recvmsg, sockets[1], &shared.message, MSG_DONTWAIT);
		syscall(SYS_poll, shared.polled, 16, 0);
		syscall(SYS_select, 64, &shared.sets[0], &shared.sets[16], &shared.sets[32], &shared.timer);
		syscall(SYS_connect, sockets[0], &shared.address, sizeof shared.address);
		syscall(SYS_bind, sockets[0], &shared.address, (int)(random_word() % 200));
		syscall(SYS_stat, shared.path, shared.data);
		syscall(SYS_mkdir, shared.path, 0700);
		syscall(SYS_rename, shared.path, shared.path + 8);
		syscall(SYS_rt_sigaction, 10, shared.sets, shared.sets + 8, 8);
		syscall(SYS_timerfd_settime, fds[0], 0, &shared.timer, &shared.timer);
		syscall(SYS_process_vm_readv, getpid(), shared.pieces, 16, shared.pieces, 16, 0);
		syscall(SYS_preadv2, fds[0], shared.pieces, 16, -1, -1, 0);
		syscall(SYS_getxattr, shared.path, shared.path + 4, shared.data, sizeof shared.data);
		syscall(SYS_clone3, &shared.sets, 24);
		syscall(SYS_execve, shared.path, shared.argv, shared.argv);
		for (int fd = 10; fd < 60; fd++)
			close(fd);
	}
	_exit(0);
}

int main(void)
{
	for (int seed = 0; seed < 6; seed++)
		in_child(calls, (uint64_t)(seed + time(NULL)), 5);
	puts("held");
	return 0;
}
