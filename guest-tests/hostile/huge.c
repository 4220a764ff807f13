/* Huge lengths, counts and offsets. run: --timeout 1h --memory 512M --disk 64M */
#include "hostile.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/xattr.h>

static const uint64_t sizes[] = { 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 1ull << 40, 1ull << 47, 0x7ffffffffffff000,
	0x7fffffffffffffff, 0x8000000000000000, ~0ull - 4095, ~0ull };

static void lengths(uint64_t size)
{
	static char buffer[4096];
	int fds[2], sockets[2], zero = open("/dev/zero", O_RDWR), file = open("/tmp/huge", O_CREAT | O_RDWR, 0600);
	if (pipe2(fds, O_NONBLOCK) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets))
		return;
	int all[] = { fds[0], fds[1], sockets[0], zero, file };
	for (int n = 0; n < 5; n++) {
		syscall(SYS_read, all[n], buffer, size);
		syscall(SYS_write, all[n], buffer, size);
		syscall(SYS_pread64, all[n], buffer, size, size);
		syscall(SYS_pwrite64, all[n], buffer, 10, size);
		struct iovec pieces[1024];
		for (int m = 0; m < 1024; m++)
			pieces[m] = (struct iovec) { buffer, size };
		syscall(SYS_readv, all[n], pieces, 1024);
		syscall(SYS_writev, all[n], pieces, size);
		syscall(SYS_lseek, all[n], size, SEEK_SET);
		syscall(SYS_ftruncate, all[n], size);
		syscall(SYS_fallocate, all[n], 0, size, size);
		syscall(SYS_fcntl, all[n], F_SETPIPE_SZ, size);
		syscall(SYS_getdents64, all[n], buffer, size);
		syscall(SYS_fgetxattr, all[n], "user.x", buffer, size);
		syscall(SYS_fsetxattr, all[n], "user.x", buffer, size, 0);
		struct msghdr message = { buffer, (socklen_t)size, pieces, size, buffer, size, 0 };
		syscall(SYS_sendmsg, all[n], &message, 0);
		syscall(SYS_recvmsg, all[n], &message, MSG_DONTWAIT);
		syscall(SYS_setsockopt, all[n], SOL_SOCKET, SO_RCVBUF, buffer, size);
		syscall(SYS_getsockopt, all[n], SOL_SOCKET, SO_RCVBUF, buffer, buffer);
		syscall(SYS_sendfile, all[n], zero, NULL, 1 << 20);
		syscall(SYS_splice, zero, NULL, all[n], NULL, 1 << 20, 2);
	}
	syscall(SYS_poll, buffer, size, 0);
	syscall(SYS_select, size, buffer, buffer, buffer, buffer);
	syscall(SYS_getgroups, size, buffer);
	syscall(SYS_setgroups, size, buffer);
	syscall(SYS_epoll_wait, epoll_create1(0), buffer, size, 0);
	syscall(SYS_mmap, 0, size, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	syscall(SYS_mmap, 0, size, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	syscall(SYS_mremap, buffer, 4096, size, 1);
	syscall(SYS_brk, size);
	syscall(SYS_readlink, "/proc/self/exe", buffer, size);
	syscall(SYS_getcwd, buffer, size);
	syscall(SYS_sethostname, buffer, size);
	syscall(SYS_sched_setaffinity, 0, size, buffer);
	syscall(SYS_sched_getaffinity, 0, size, buffer);
	syscall(SYS_listxattr, "/", buffer, size);
	syscall(SYS_process_vm_readv, getpid(), buffer, size, buffer, size, 0);
	syscall(SYS_shmget, 0, size, 0600 | 01000);
	syscall(SYS_msgget, 0, 0600 | 01000);
	syscall(SYS_semget, 0, size, 0600 | 01000);
	syscall(SYS_rt_sigaction, size, buffer, buffer, size);
	syscall(SYS_futex, buffer, 0, 1, NULL, NULL, 0);
	syscall(SYS_prlimit64, 0, size, buffer, buffer);
	syscall(SYS_memfd_create, buffer, 0);
	syscall(SYS_close_range, 100, size, 0);
	int copy = dup(1);
	syscall(SYS_dup2, copy, size);
}

/* A random number to every call, with every pointer in one readable and writable page. */
static void every_call(uint64_t number)
{
	static uint64_t page[512];
	for (int n = 0; n < 512; n++)
		page[n] = sizes[random_word() % 11];
	for (int n = 0; n < 8; n++) {
		uint64_t a[6];
		for (int m = 0; m < 6; m++)
			a[m] = random_word() % 3 ? (uint64_t)&page[random_word() % 256] : random_word() % 2 ? sizes[random_word() % 11] : random_word() % 8;
		syscall((long)number, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
}

int main(void)
{
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
		in_child(lengths, sizes[n], 5);
	for (uint64_t number = 0; number < 462; number++)
		in_child(every_call, number, 1);
	puts("held");
	return 0;
}
