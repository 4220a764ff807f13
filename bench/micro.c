/*
 * One system call, or one small exchange, again and again.
 *
 *   micro --list                    prints the names
 *   micro FILE MILLISECONDS NAME    prints one line per sample: nanoseconds per operation
 *
 * FILE is a readable file of at least one mebibyte. A sample takes about MILLISECONDS.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 7, MEBIBYTE = 1 << 20 };

static const char *file;
static char buffer[MEBIBYTE];
extern char **environ;

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

static long check(long result, const char *what)
{
	if (result < 0)
		fail(what);
	return result;
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* Calls about the caller alone. */

static void bench_getppid(long n)
{
	while (n--)
		syscall(SYS_getppid);
}

static void bench_gettid(long n)
{
	while (n--)
		syscall(SYS_gettid);
}

static void bench_sigprocmask(long n)
{
	uint64_t set = 0;
	while (n--)
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8);
}

static void bench_clock_gettime(long n)
{
	struct timespec time;
	while (n--)
		clock_gettime(CLOCK_MONOTONIC, &time);
}

/* Files. */

static void bench_read_1(long n)
{
	int zero = check(open("/dev/zero", O_RDONLY), "/dev/zero");
	while (n--)
		check(read(zero, buffer, 1), "read");
	close(zero);
}

static void bench_write_1(long n)
{
	int null = check(open("/dev/null", O_WRONLY), "/dev/null");
	while (n--)
		check(write(null, buffer, 1), "write");
	close(null);
}

/* A file that grows to 64 MiB, again and again. */
static void bench_write_64k(long n)
{
	char name[] = "/tmp/belljar-bench-XXXXXX";
	int descriptor = check(mkstemp(name), name);
	check(unlink(name), name);
	for (long i = 0; i < n; i++) {
		if (i % 1024 == 0) {
			check(ftruncate(descriptor, 0), "ftruncate");
			check(lseek(descriptor, 0, SEEK_SET), "lseek");
		}
		if (write(descriptor, buffer, 64 << 10) != 64 << 10)
			fail("write");
	}
	close(descriptor);
}

static void pread_of(long n, size_t size)
{
	int descriptor = check(open(file, O_RDONLY), file);
	while (n--)
		if (pread(descriptor, buffer, size, 0) != (ssize_t)size)
			fail("pread");
	close(descriptor);
}

static void bench_pread_4k(long n) { pread_of(n, 4096); }
static void bench_pread_64k(long n) { pread_of(n, 65536); }
static void bench_pread_1m(long n) { pread_of(n, MEBIBYTE); }

static void bench_stat(long n)
{
	struct stat status;
	while (n--)
		check(stat(file, &status), "stat");
}

static void bench_fstat(long n)
{
	struct stat status;
	int descriptor = check(open(file, O_RDONLY), file);
	while (n--)
		check(fstat(descriptor, &status), "fstat");
	close(descriptor);
}

static void bench_stat_missing(long n)
{
	struct stat status;
	while (n--)
		if (stat("/usr/lib/no-such-file", &status) == 0)
			exit(1);
}

static void bench_open_close(long n)
{
	while (n--)
		close(check(open(file, O_RDONLY | O_CLOEXEC), file));
}

static char scratch_path[32];

/* Enters a folder of our own, which clean_up removes. */
static void scratch(void)
{
	if (scratch_path[0])
		return;
	strcpy(scratch_path, "/tmp/belljar-bench-XXXXXX");
	if (!mkdtemp(scratch_path) || chdir(scratch_path) < 0)
		fail(scratch_path);
}

static void bench_create_write_unlink(long n)
{
	scratch();
	while (n--) {
		int made = check(open("made", O_WRONLY | O_CREAT | O_EXCL, 0644), "made");
		check(write(made, buffer, 100), "write");
		close(made);
		check(unlink("made"), "unlink");
	}
}

static void bench_readdir_100(long n)
{
	static int filled;
	scratch();
	if (!filled++) {
		check(mkdir("folder", 0755), "mkdir");
		for (int i = 0; i < 100; i++) {
			char name[32];
			snprintf(name, sizeof name, "folder/entry%d", i);
			close(check(open(name, O_WRONLY | O_CREAT, 0644), name));
		}
	}
	while (n--) {
		DIR *folder = opendir("folder");
		int entries = 0;
		while (folder && readdir(folder))
			entries++;
		if (entries != 102)
			exit(1);
		closedir(folder);
	}
}

/* Memory. */

static void bench_mmap_touch_munmap(long n)
{
	while (n--) {
		char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (int i = 0; i < 65536; i += 4096)
			memory[i] = 1;
		munmap(memory, 65536);
	}
}

static void bench_page_fault(long n)
{
	enum { PAGES = 4096 };
	char *memory = mmap(NULL, PAGES * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, PAGES * 4096L, MADV_NOHUGEPAGE);
	for (long i = 0; i < n; i++) {
		if (i % PAGES == 0)
			madvise(memory, PAGES * 4096L, MADV_DONTNEED);
		memory[i % PAGES * 4096] = 1;
	}
	munmap(memory, PAGES * 4096L);
}

/* Processes and threads. */

static void bench_fork_exit_wait(long n)
{
	while (n--) {
		pid_t pid = check(fork(), "fork");
		if (pid == 0)
			_exit(0);
		check(waitpid(pid, NULL, 0), "waitpid");
	}
}

static void spawn_and_wait(char **arguments)
{
	pid_t pid;
	int status;
	if (posix_spawnp(&pid, arguments[0], NULL, NULL, arguments, environ) != 0)
		fail(arguments[0]);
	check(waitpid(pid, &status, 0), "waitpid");
	if (status != 0)
		exit(1);
}

static void bench_spawn_true(long n)
{
	char *arguments[] = { "/bin/true", NULL };
	while (n--)
		spawn_and_wait(arguments);
}

static void bench_spawn_sh(long n)
{
	char *arguments[] = { "/bin/sh", "-c", ":", NULL };
	while (n--)
		spawn_and_wait(arguments);
}

static void bench_spawn_python(long n)
{
	char *arguments[] = { "/usr/bin/python3", "-c", "pass", NULL };
	while (n--)
		spawn_and_wait(arguments);
}

static void *return_at_once(void *argument)
{
	return argument;
}

static void bench_thread_create_join(long n)
{
	while (n--) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, return_at_once, NULL) != 0)
			exit(1);
		pthread_join(thread, NULL);
	}
}

/* Asking a set of one descriptor, which is ready or is not. */

static void epoll_of(long n, unsigned count)
{
	int set = check(epoll_create1(0), "epoll_create1"), counter = check(eventfd(count, 0), "eventfd");
	struct epoll_event event = { .events = EPOLLIN };
	check(epoll_ctl(set, EPOLL_CTL_ADD, counter, &event), "epoll_ctl");
	while (n--)
		if (epoll_wait(set, &event, 1, 0) != (int)count)
			exit(1);
	close(counter);
	close(set);
}

static void bench_epoll_ready(long n) { epoll_of(n, 1); }
static void bench_epoll_nothing(long n) { epoll_of(n, 0); }

/* An event loop's turn: something gets ready, is found, and is taken. */
static void bench_epoll_turn(long n)
{
	int set = check(epoll_create1(0), "epoll_create1"), counter = check(eventfd(0, 0), "eventfd");
	struct epoll_event event = { .events = EPOLLIN };
	check(epoll_ctl(set, EPOLL_CTL_ADD, counter, &event), "epoll_ctl");
	while (n--) {
		eventfd_t value;
		if (eventfd_write(counter, 1) || epoll_wait(set, &event, 1, -1) != 1 || eventfd_read(counter, &value))
			exit(1);
	}
	close(counter);
	close(set);
}

/* Two that talk in turns: one byte there, one byte back. */

static void ping_pong(long n, int here_out, int here_in, int there_out, int there_in)
{
	char byte = 0;
	pid_t pid = check(fork(), "fork");
	if (pid == 0) {
		for (long i = 0; i < n; i++)
			if (read(there_in, &byte, 1) != 1 || write(there_out, &byte, 1) != 1)
				_exit(1);
		_exit(0);
	}
	for (long i = 0; i < n; i++)
		if (write(here_out, &byte, 1) != 1 || read(here_in, &byte, 1) != 1)
			fail("ping-pong");
	check(waitpid(pid, NULL, 0), "waitpid");
}

static void bench_pipe_ping_pong(long n)
{
	int there[2], back[2];
	check(pipe(there), "pipe");
	check(pipe(back), "pipe");
	ping_pong(n, there[1], back[0], back[1], there[0]);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
}

static void bench_unix_ping_pong(long n)
{
	int pair[2];
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	ping_pong(n, pair[0], pair[0], pair[1], pair[1]);
	close(pair[0]);
	close(pair[1]);
}

static void bench_tcp_ping_pong(long n)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof address;
	int one = 1, listener = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
	check(bind(listener, (struct sockaddr *)&address, length), "bind");
	check(listen(listener, 1), "listen");
	check(getsockname(listener, (struct sockaddr *)&address, &length), "getsockname");
	int client = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
	check(connect(client, (struct sockaddr *)&address, length), "connect");
	int server = check(accept(listener, NULL, NULL), "accept");
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	ping_pong(n, client, client, server, server);
	close(client);
	close(server);
	close(listener);
}

static uint32_t turn;
static long rounds;

static void take_turns(uint32_t own)
{
	for (long i = 0; i < rounds; i++) {
		uint32_t seen;
		while ((seen = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != own)
			syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
		__atomic_store_n(&turn, !own, __ATOMIC_RELEASE);
		syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

static void *second_turn(void *argument)
{
	take_turns(1);
	return argument;
}

static void bench_futex_ping_pong(long n)
{
	pthread_t thread;
	turn = 0;
	rounds = n;
	if (pthread_create(&thread, NULL, second_turn, NULL) != 0)
		exit(1);
	take_turns(0);
	pthread_join(thread, NULL);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long counted;

static void *count(void *argument)
{
	for (long i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock);
		counted++;
		pthread_mutex_unlock(&lock);
	}
	return argument;
}

static void bench_contended_mutex(long n)
{
	pthread_t threads[2];
	rounds = n / 2;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, count, NULL) != 0)
			exit(1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void ignore(int signal)
{
	(void)signal;
}

static void bench_signal_to_self(long n)
{
	pid_t process = getpid();
	signal(SIGUSR1, ignore);
	while (n--)
		kill(process, SIGUSR1);
}

static const struct {
	const char *name;
	void (*run)(long n);
} benches[] = {
	{ "getppid", bench_getppid },
	{ "gettid", bench_gettid },
	{ "rt_sigprocmask", bench_sigprocmask },
	{ "clock_gettime", bench_clock_gettime },
	{ "read 1 B", bench_read_1 },
	{ "write 1 B", bench_write_1 },
	{ "write 64 KiB", bench_write_64k },
	{ "pread 4 KiB", bench_pread_4k },
	{ "pread 64 KiB", bench_pread_64k },
	{ "pread 1 MiB", bench_pread_1m },
	{ "stat", bench_stat },
	{ "fstat", bench_fstat },
	{ "stat, missing", bench_stat_missing },
	{ "open+close", bench_open_close },
	{ "create+write+unlink", bench_create_write_unlink },
	{ "readdir of 100", bench_readdir_100 },
	{ "mmap+touch+munmap", bench_mmap_touch_munmap },
	{ "page fault", bench_page_fault },
	{ "fork+exit+wait", bench_fork_exit_wait },
	{ "posix_spawn+wait", bench_spawn_true },
	{ "spawn sh -c :", bench_spawn_sh },
	{ "spawn python3 -c pass", bench_spawn_python },
	{ "thread create+join", bench_thread_create_join },
	{ "epoll of a ready descriptor", bench_epoll_ready },
	{ "epoll, nothing ready", bench_epoll_nothing },
	{ "write+epoll+read", bench_epoll_turn },
	{ "pipe ping-pong", bench_pipe_ping_pong },
	{ "unix ping-pong", bench_unix_ping_pong },
	{ "tcp ping-pong", bench_tcp_ping_pong },
	{ "futex ping-pong", bench_futex_ping_pong },
	{ "contended mutex", bench_contended_mutex },
	{ "signal to self", bench_signal_to_self },
};

/* So many operations that they take about this long. */
static long calibrate(void (*run)(long), double nanoseconds)
{
	for (long n = 1;; n *= 2) {
		double started = now();
		run(n);
		double taken = now() - started;
		if (taken > nanoseconds / 4 || n > 1L << 40) {
			long wanted = n * nanoseconds / taken;
			return wanted > 1 ? wanted : 1;
		}
	}
}

static void clean_up(void)
{
	char command[64];
	if (!scratch_path[0])
		return;
	snprintf(command, sizeof command, "rm -rf %s", scratch_path);
	if (chdir("/") < 0 || system(command) != 0)
		exit(1);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
			puts(benches[i].name);
		return 0;
	}
	if (argc != 4)
		return 2;
	file = argv[1];
	for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
		if (strcmp(benches[i].name, argv[3]) != 0)
			continue;
		long n = calibrate(benches[i].run, atof(argv[2]) * 1e6);
		for (int sample = 0; sample < SAMPLES; sample++) {
			double started = now();
			benches[i].run(n);
			printf("%.2f\n", (now() - started) / n);
		}
		clean_up();
		return 0;
	}
	return 2;
}
