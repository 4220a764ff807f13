/* Holds as much memory as it can, in each WAY on its own. ends: limit at most: 130M run: --timeout 2m --memory 100M */
#include "hostile.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/xattr.h>

static char block[1 << 20];
/* After so many refusals in a row nothing more is to be had. */
enum { PATIENCE = 2000 };

static void stay(const char *what, long n)
{
	printf("%ld %s\n", n, what);
	fflush(stdout);
	usleep(700000);
}

/* Writes until nothing more fits. A terminal takes everything, and loses most of it. */
static long fill(int fd, long at_a_time)
{
	long total = 0, n;
	while (total < 1L << 30 && (n = write(fd, block, at_a_time)) > 0)
		total += n;
	return total;
}

static void touch(char *at, long size, long step)
{
	for (long n = 0; at && n < size; n += step)
		at[n] = 1;
}

static char *private_memory(long size)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void plain(void)
{
	touch(private_memory(2L << 30), 2L << 30, 4096);
	stay("GiB", 2);
}

static void plain_large_pages(void)
{
	char *at = private_memory(2L << 30);
	madvise(at, 2L << 30, MADV_HUGEPAGE);
	touch(at, 2L << 30, 4096);
	stay("GiB", 2);
}

/* Nothing happens for a while, and then much. */
static void plain_at_once(void)
{
	char *at = private_memory(2L << 30);
	madvise(at, 2L << 30, MADV_HUGEPAGE);
	touch(at, 90 << 20, 4096);
	for (int n = 0; n < 20; n++)
		usleep(50000);
	touch(at + (90 << 20), 1L << 30, 4096);
	stay("GiB", 1);
}

/* So many files that each look at what is held takes long, and then much at once. */
static void plain_after_mappings(void)
{
	long n = 0;
	while (n < 19000 && mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		n++;
	touch(private_memory(1L << 30), 1L << 30, 4096);
	stay("mappings", n);
}

/* The same, with processes. */
static void plain_after_children(void)
{
	long n = 0;
	for (; n < 150; n++) {
		int child = fork();
		if (child < 0)
			break;
		if (!child)
			for (;;)
				pause();
	}
	touch(private_memory(1L << 30), 1L << 30, 4096);
	stay("children", n);
}

enum { STRIPES = 64000 };

/* Every second page can be read only: the host has a mapping for each page. One page is filled, or none. */
static void stripes(bool fills)
{
	char *at = private_memory(STRIPES * 4096L);
	if (at && fills)
		*at = 1;
	for (long n = 0; at && n < STRIPES; n += 2)
		mprotect(at + n * 4096, 4096, PROT_READ);
}

/* Copies of many mappings. Each child waits. */
static void mappings(void)
{
	stripes(false);
	long n = 0;
	while (n < 12 && fork() > 0)
		n++;
	if (n < 12)
		for (;;)
			pause();
	stay("children with many mappings", n);
}

/* The host keeps more for each mapping of a child's child, and more again for its child. */
static void mappings_of_descendants(void)
{
	stripes(true);
	long n = 0;
	while (n < 12 && fork() == 0)
		n++;
	for (int i = 0; n < 12 && i < 200; i++)
		usleep(50000);
	stay("generations with many mappings", n);
}

/* The same, made in threads of one process while the kernel believes that all wait. */
static void mappings_of_copies(void)
{
	stripes(true);
	for (int n = 0; n < 4; n++)
		if (raw_clone())
			for (;;)
				host_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	stay("copies that the kernel does not know of", 4);
}

static void children(void)
{
	long n = 0;
	for (; n < 3900; n++) {
		int child = fork();
		if (child < 0)
			break;
		if (!child)
			for (;;)
				pause();
	}
	stay("children", n);
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void threads(void)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	pthread_t thread;
	long n = 0;
	while (n < 3900 && !pthread_create(&thread, &small, wait_for_ever, NULL))
		n++;
	stay("threads", n);
}

static void wait_hidden(void)
{
	static int never;
	for (;;)
		host_call(SYS_futex, (long)&never, 0, 0, 0, 0, 0);
}

static void hidden_threads(void)
{
	long n = 0;
	for (; n < 10000; n++) {
		static uint64_t stacks[10000][256];
		uint64_t *top = stacks[n] + 128;
		*top = (uint64_t)wait_hidden;
		if (host_call(SYS_clone, 0x50f00, (long)top, 0, 0, 0, 0) < 0)
			break;
	}
	stay("hidden threads", n);
}

static void page_tables(void)
{
	char *at = private_memory(256L << 30);
	volatile char sum = 0;
	for (long n = 0; at && n < 256L << 30; n += 2 << 20)
		sum += at[n];
	stay("GiB looked at", 256);
}

/* Pages of shared memory stay filled when nobody has them mapped. */
static void shared_let_go(void)
{
	for (int n = 0; n < 200; n++) {
		char *at = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			break;
		touch(at, 8 << 20, 4096);
		madvise(at, 8 << 20, MADV_DONTNEED);
	}
	stay("pieces of 8 MiB", 200);
}

/* The same, past the shim. */
static void shared_raw(void)
{
	char *place = private_memory(1L << 30);
	long flags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED;
	for (long n = 0; n < 128; n++) {
		char *at = place + (n << 23);
		if (host_call(SYS_mmap, (long)at, 8 << 20, PROT_READ | PROT_WRITE, flags, -1, 0) < 0)
			break;
		touch(at, 8 << 20, 4096);
		madvise(at, 8 << 20, MADV_DONTNEED);
	}
	stay("pieces of 8 MiB", 128);
}

static void fill_hidden(void)
{
	static char *at;
	at = (char *)0x200000000000;
	host_call(SYS_mmap, (long)at, 1L << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	touch(at, 1L << 30, 4096);
	for (;;)
		;
}

/* A thread that the kernel does not know of begins where its stack says. */
static void hidden_thread(void)
{
	static uint64_t stack[1 << 16];
	uint64_t *top = stack + sizeof stack / sizeof *stack - 1024;
	*top = (uint64_t)fill_hidden;
	host_call(SYS_clone, 0x50f00, (long)top, 0, 0, 0, 0);
	for (int n = 0; n < 40; n++)
		usleep(50000);
	stay("hidden thread", 1);
}

static void hidden_process(void)
{
	if (raw_clone())
		fill_hidden();
	sleep(2);
	stay("hidden process", 1);
}

static void *fill_after_a_while(void *unused)
{
	usleep(300000);
	touch(private_memory(600L << 20), 600L << 20, 4096);
	stay("MiB without a first thread", 600);
	return unused;
}

/* The host calls a process whose first thread has ended a zombie, and tells nothing of its memory. */
static void leader_gone(void)
{
	pthread_t other;
	if (pthread_create(&other, NULL, fill_after_a_while, NULL))
		return;
	host_call(SYS_exit, 0, 0, 0, 0, 0, 0);
}

static void largest(int fd, int option)
{
	for (int size = 64 << 20; size > 4096; size /= 2)
		if (!setsockopt(fd, SOL_SOCKET, option, &size, sizeof size))
			break;
}

static void many_descriptors(void)
{
	struct rlimit limit = { 20000, 20000 };
	if (setrlimit(RLIMIT_NOFILE, &limit)) {
		getrlimit(RLIMIT_NOFILE, &limit);
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void pairs_of(int kind, long at_a_time)
{
	long total = 0;
	for (int n = 0; n < 2000; n++) {
		int pair[2];
		if (socketpair(AF_UNIX, kind | SOCK_NONBLOCK, 0, pair))
			break;
		for (int side = 0; side < 2; side++) {
			largest(pair[side], SO_SNDBUF);
			total += fill(pair[side], at_a_time);
		}
	}
	stay("MiB in socket pairs", total >> 20);
}

static void socket_pairs(void) { pairs_of(SOCK_STREAM, sizeof block); }
static void packets(void) { pairs_of(SOCK_SEQPACKET, 100); pairs_of(SOCK_DGRAM, 60000); }

static struct sockaddr_in loopback(int fd)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof name;
	bind(fd, (void *)&name, sizeof name);
	getsockname(fd, (void *)&name, &length);
	return name;
}

static void udp(void)
{
	long total = 0;
	int sender = socket(AF_INET, SOCK_DGRAM, 0);
	for (int n = 0; n < 2000; n++) {
		int fd = socket(AF_INET, SOCK_DGRAM, 0);
		if (fd < 0)
			break;
		largest(fd, SO_RCVBUF);
		struct sockaddr_in name = loopback(fd);
		for (int i = 0; i < 300; i++)
			total += sendto(sender, block, 60000, MSG_DONTWAIT, (void *)&name, sizeof name) > 0 ? 60000 : 0;
	}
	stay("MiB sent by UDP", total >> 20);
}

/* What could not be delivered waits in the queue of errors. */
static void udp_errors(void)
{
	long n = 0;
	for (; n < 5000; n++) {
		int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
		if (fd < 0)
			break;
		setsockopt(fd, IPPROTO_IP, 11 /* IP_RECVERR */, &on, sizeof on);
		struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		for (int i = 0; i < 40; i++)
			sendto(fd, block, 60000, MSG_DONTWAIT, (void *)&name, sizeof name);
	}
	stay("sockets with errors", n);
}

static void tcp(void)
{
	long total = 0;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in name = loopback(listener);
	listen(listener, 4096);
	for (int n = 0; n < 2000; n++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (fd < 0)
			break;
		largest(fd, SO_SNDBUF);
		connect(fd, (void *)&name, sizeof name);
		total += fill(fd, sizeof block);
	}
	stay("MiB in TCP connections", total >> 20);
}

static void pipes(void)
{
	long total = 0;
	for (int n = 0; n < 2000; n++) {
		int ends[2];
		if (pipe2(ends, O_NONBLOCK))
			break;
		for (int size = 64 << 20; size >= 4096 && fcntl(ends[1], F_SETPIPE_SZ, size) < 0;)
			size /= 2;
		total += fill(ends[1], 1 << 16);
	}
	stay("MiB in pipes", total >> 20);
}

static void memfds(void)
{
	long total = 0;
	for (int n = 0; n < 200; n++) {
		int fd = memfd_create("x", 0);
		if (fd < 0)
			break;
		ftruncate(fd, 16 << 20);
		for (int at = 0; at < 16; at++)
			total += pwrite(fd, block, sizeof block, (long)at << 20) > 0;
	}
	stay("MiB in memfds", total);
}

static char *map(int fd, long size)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void memfds_mapped(void)
{
	int fd = memfd_create("x", 0);
	ftruncate(fd, 4L << 30);
	char *at = map(fd, 4L << 30);
	for (long n = 0; at && n < 4L << 30; n += 4096)
		at[n] = 1;
	stay("GiB mapped", 4);
}

/* Everything is unmapped and closed but for one page. */
static void left(int fd, long size, char *at)
{
	for (long n = 0; at && n < size; n += 4096)
		at[n] = 1;
	if (at)
		munmap(at + 4096, size - 4096);
	if (fd >= 0)
		close(fd);
}

static void memfds_left(void)
{
	for (int n = 0; n < 200; n++) {
		int fd = memfd_create("x", 0);
		ftruncate(fd, 8 << 20);
		left(fd, 8 << 20, map(fd, 8 << 20));
	}
	stay("files of 8 MiB, unmapped", 200);
}

static void tmpfs_mapped(void)
{
	for (int n = 0; n < 50; n++) {
		char name[64];
		sprintf(name, "/tmp/file%d", n);
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		ftruncate(fd, 32 << 20);
		char *at = map(fd, 32 << 20);
		for (long i = 0; at && i < 32 << 20; i += 4096)
			at[i] = 1;
		munmap(at, 32 << 20);
		close(fd);
	}
	stay("files of 32 MiB", 50);
}

/* The last byte of each piece of 64 KiB. */
static void tmpfs_chunks(void)
{
	int fd = open("/tmp/chunks", O_RDWR | O_CREAT, 0600);
	long n = 0;
	for (int refused = 0; n < 1 << 20 && refused < PATIENCE; n++)
		refused = pwrite(fd, "x", 1, (n << 16) + 65535) < 0 ? refused + 1 : 0;
	stay("pieces", n);
}

static void tmpfs_written(void)
{
	int fd = open("/tmp/written", O_RDWR | O_CREAT, 0600);
	stay("MiB written", fill(fd, sizeof block) >> 20);
}

static void names(int (*make)(const char *), const char *what)
{
	static char name[512];
	long n = 0;
	for (int refused = 0; n < 400000 && refused < PATIENCE; n++) {
		if (n % 10000 == 0) {
			sprintf(name, "/tmp/d%ld", n / 10000);
			mkdir(name, 0700);
		}
		sprintf(name, "/tmp/d%ld/%0200ld", n / 10000, n);
		refused = make(name) < 0 ? refused + 1 : 0;
	}
	stay(what, n);
}

static int make_file(const char *name) { int fd = open(name, O_CREAT | O_WRONLY, 0600); close(fd); return fd; }
static int make_link(const char *name) { return link("/tmp/first", name); }
static int make_symlink(const char *name)
{
	static char target[4000];
	memset(target, 'x', sizeof target - 1);
	return symlink(target, name);
}
static int look_up(const char *name) { struct stat stat_of; stat(name, &stat_of); return 0; }

static void files(void) { names(make_file, "files"); }
static void links(void) { close(open("/tmp/first", O_CREAT | O_WRONLY, 0600)); names(make_link, "links"); }
static void symlinks(void) { names(make_symlink, "symbolic links"); }
static void lookups(void) { names(look_up, "names that are not there"); }

static void xattrs(void)
{
	long n = 0;
	for (int refused = 0; n < 4000 && refused < 100; n++) {
		char name[64];
		sprintf(name, "/tmp/x%ld", n);
		close(open(name, O_CREAT | O_WRONLY, 0600));
		refused = setxattr(name, "user.x", block, 60000, 0) < 0 ? refused + 1 : 0;
	}
	stay("files with attributes", n);
}

static void inotify(void)
{
	mkdir("/tmp/watched", 0700);
	long n = 0;
	for (; n < 120; n++) {
		int fd = inotify_init1(IN_NONBLOCK);
		if (fd < 0 || inotify_add_watch(fd, "/tmp/watched", IN_ALL_EVENTS) < 0)
			break;
	}
	for (int i = 0; i < 9000; i++) {
		char name[300];
		sprintf(name, "/tmp/watched/%0240d", i);
		close(open(name, O_CREAT | O_WRONLY, 0600));
		unlink(name);
	}
	stay("instances with full queues", n);
}

static void watches(void)
{
	long n = 0;
	for (int i = 0; i < 60000; i++) {
		char name[64];
		sprintf(name, "/tmp/w%d", i);
		if (mkdir(name, 0700))
			break;
	}
	for (int instance = 0; instance < 100; instance++) {
		int fd = inotify_init();
		for (int i = 0; i < 60000; i++) {
			char name[64];
			sprintf(name, "/tmp/w%d", i);
			if (inotify_add_watch(fd, name, IN_ALL_EVENTS) < 0)
				break;
			n++;
		}
	}
	stay("watches", n);
}

static void epoll(void)
{
	many_descriptors();
	long n = 0;
	int fds[3000], n_fds = 0;
	for (; n_fds < 3000; n_fds++)
		if ((fds[n_fds] = syscall(SYS_eventfd2, 0, 0)) < 0)
			break;
	for (int set = 0; set < 1000; set++) {
		int fd = epoll_create1(0);
		struct epoll_event event = { EPOLLIN, { 0 } };
		for (int i = 0; fd >= 0 && i < n_fds; i++)
			n += !epoll_ctl(fd, EPOLL_CTL_ADD, fds[i], &event);
	}
	stay("watched files", n);
}

static void locks(void)
{
	long n = 0;
	for (int file = 0; file < 1500; file++) {
		char name[64];
		sprintf(name, "/tmp/l%d", file);
		int fd = open(name, O_CREAT | O_RDWR, 0600);
		for (int i = 0; fd >= 0 && i < 1000; i++) {
			struct flock lock = { .l_type = F_WRLCK, .l_start = 2 * i, .l_len = 1 };
			if (fcntl(fd, F_SETLK, &lock))
				break;
			n++;
		}
	}
	stay("locks", n);
}

static void timers(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	setrlimit(RLIMIT_SIGPENDING, &limit);
	long n = 0;
	for (int child = 0; child < 20; child++)
		if (fork() == 0) {
			timer_t timer;
			struct itimerspec far = { .it_value.tv_sec = 1000 };
			while (n < 200000 && !timer_create(CLOCK_MONOTONIC, NULL, &timer) && !timer_settime(timer, 0, &far, NULL))
				n++;
			pause();
		}
	sleep(3);
	stay("children with timers", 20);
}

static void signals(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	setrlimit(RLIMIT_SIGPENDING, &limit);
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	long n = 0;
	union sigval value = { 1 };
	while (n < 2000000 && !sigqueue(getpid(), SIGRTMIN, value))
		n++;
	stay("signals", n);
}

static void messages(void)
{
	long n = 0;
	for (int queue = 0; queue < 32000; queue++) {
		int id = msgget(IPC_PRIVATE, 0600);
		if (id < 0)
			break;
		struct { long kind; char text[8192]; } message = { 1, { 0 } };
		while (!msgsnd(id, &message, sizeof message.text, IPC_NOWAIT))
			n++;
	}
	stay("messages", n);
}

static void posix_messages(void)
{
	long n = 0;
	for (int queue = 0; queue < 1000; queue++) {
		char name[64];
		sprintf(name, "q%d", queue);
		struct { long flags, maximum, size, current, rest[4]; } attributes = { 0, 10, 8192, 0, { 0 } };
		long id = syscall(SYS_mq_open, name, O_CREAT | O_RDWR | O_NONBLOCK, 0600, &attributes);
		if (id < 0)
			break;
		while (!syscall(SYS_mq_timedsend, id, block, 8192, 0, NULL))
			n++;
	}
	stay("messages", n);
}

static void semaphores(void)
{
	long n = 0;
	while (n < 32000 && semget(IPC_PRIVATE, 32000, 0600) >= 0)
		n++;
	stay("sets of semaphores", n);
}

static void segments_of(bool leaves)
{
	for (int n = 0; n < 200; n++) {
		int id = shmget(IPC_PRIVATE, 8 << 20, 0600);
		char *at = shmat(id, NULL, 0);
		if (at == (char *)-1)
			break;
		for (long i = 0; i < 8 << 20; i += 4096)
			at[i] = 1;
		if (!leaves) {
			shmdt(at);
			continue;
		}
		shmctl(id, IPC_RMID, NULL);
		munmap(at + 4096, (8 << 20) - 4096);
	}
	stay("segments of 8 MiB", 200);
}

static void segments(void) { segments_of(false); }
static void segments_left(void) { segments_of(true); }

static void terminals(void)
{
	many_descriptors();
	long n = 0;
	for (; n < 4000; n++) {
		int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
		if (master < 0)
			break;
		int unlock = 0, slave;
		ioctl(master, TIOCSPTLCK, &unlock);
		char name[64];
		if (!ptsname_r(master, name, sizeof name) && (slave = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK)) >= 0) {
			for (int i = 0; i < 20; i++)
				if (write(master, block, 4000) < 0 && write(slave, block, 4000) < 0)
					break;
		}
	}
	stay("terminals", n);
}

/* A table of descriptors is as long as its highest number. */
static void tables(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	if (setrlimit(RLIMIT_NOFILE, &limit)) {
		getrlimit(RLIMIT_NOFILE, &limit);
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	dup2(0, (int)limit.rlim_cur - 1);
	for (int child = 0; child < 60; child++)
		if (fork() == 0) {
			pause();
			_exit(0);
		}
	stay("tables", 60);
}

/* /proc/self/maps with many lines, in many open files. */
static void texts(void)
{
	many_descriptors();
	for (int n = 0; n < 20000; n++)
		mmap(NULL, 4096, n % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long n = 0;
	for (int refused = 0; n < 800 && refused < 20; n++) {
		int fd = open("/proc/self/maps", O_RDONLY);
		char byte;
		refused = fd < 0 || read(fd, &byte, 1) < 1 ? refused + 1 : 0;
	}
	stay("open texts", n);
}

/* Sockets on their way in sockets. */
static void rights(void)
{
	many_descriptors();
	long n = 0;
	for (int carrier = 0; carrier < 500; carrier++) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
			break;
		for (int i = 0; i < 100; i++) {
			int cargo[2];
			if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, cargo))
				break;
			fill(cargo[0], 1 << 16);
			char space[CMSG_SPACE(sizeof cargo)] = { 0 };
			struct iovec piece = { "x", 1 };
			struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
			struct cmsghdr *header = CMSG_FIRSTHDR(&message);
			header->cmsg_level = SOL_SOCKET;
			header->cmsg_type = SCM_RIGHTS;
			header->cmsg_len = CMSG_LEN(sizeof cargo);
			memcpy(CMSG_DATA(header), cargo, sizeof cargo);
			n += sendmsg(pair[0], &message, MSG_DONTWAIT) > 0;
			close(cargo[0]);
			close(cargo[1]);
		}
	}
	stay("pairs in flight", n);
}

static void netlink(void)
{
	long n = 0;
	struct { uint32_t length; uint16_t type, flags; uint32_t sequence, port; char family[16]; } dump = { 32, 18, 0x301, 1, 0, { 0 } };
	for (; n < 1000; n++) {
		int fd = socket(16, SOCK_RAW, 0);
		if (fd < 0)
			break;
		for (int i = 0; i < 300; i++)
			send(fd, &dump, sizeof dump, MSG_DONTWAIT);
	}
	stay("sockets with answers", n);
}

#define WAY(name) { #name, name }
static const struct { const char *name; void (*run)(void); } ways[] = {
	WAY(plain), WAY(plain_large_pages), WAY(plain_at_once), WAY(plain_after_mappings), WAY(plain_after_children),
	WAY(mappings), WAY(mappings_of_descendants), WAY(mappings_of_copies), WAY(children), WAY(threads), WAY(hidden_threads), WAY(page_tables), WAY(shared_let_go), WAY(shared_raw),
	WAY(hidden_thread), WAY(hidden_process), WAY(leader_gone), WAY(posix_messages), WAY(semaphores), WAY(socket_pairs), WAY(packets), WAY(udp), WAY(udp_errors), WAY(tcp), WAY(pipes), WAY(memfds), WAY(memfds_mapped),
	WAY(memfds_left), WAY(tmpfs_mapped), WAY(tmpfs_chunks), WAY(tmpfs_written), WAY(files), WAY(links),
	WAY(symlinks), WAY(xattrs), WAY(lookups), WAY(inotify), WAY(watches), WAY(epoll), WAY(locks), WAY(timers), WAY(signals),
	WAY(messages), WAY(segments), WAY(segments_left), WAY(terminals), WAY(tables), WAY(texts), WAY(rights), WAY(netlink),
};

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGBUS, SIG_DFL);
	for (unsigned n = 0; argc > 2 && n < sizeof ways / sizeof *ways; n++)
		if (!strcmp(ways[n].name, argv[2])) {
			ways[n].run();
			puts("held");
			return 0;
		}
	puts("no such way");
	return CANNOT_TRY;
}
