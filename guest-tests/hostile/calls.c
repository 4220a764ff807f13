/* Calls from a file, made by several processes with several threads each. run by: cargo xtask fuzz */
/*
 * calls FILE: the file comes from `kernel-fuzz --emit`, whose source says what is in it. A supervisor starts processes, ends
 * those that get nowhere, and starts others in their place, until every chunk was taken. It ends with 0 and says how many
 * calls were made.
 */
#include "hostile.h"

#include <sched.h>
#include <sys/prctl.h>

enum { PUT, CALL, END };
enum { PROCESSES = 3, THREADS = 3, FIRST_USER = 1000 };

/* Where the generator puts arguments. */
#define ARENA ((void *)0x10000)
enum { ARENA_BYTES = 256 << 10 };

/* What all processes share. A call that writes there harms the count. */
static struct shared {
	_Atomic uint64_t next_chunk;
	_Atomic uint64_t calls;
	_Atomic uint64_t progress[PROCESSES];
} *shared;
static const uint64_t *file, **chunks;
static uint64_t n_chunks;
static int self;

static long raw(const uint64_t *words)
{
	register uint64_t r10 __asm__("r10") = words[4];
	register uint64_t r8 __asm__("r8") = words[5];
	register uint64_t r9 __asm__("r9") = words[6];
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(words[0]), "D"(words[1]), "S"(words[2]), "d"(words[3]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Whether a call may stop another process. Administrators are allowed to, and nobody would wake the supervisor again. */
static bool may_stop(const uint64_t *words)
{
	enum { ATTACH = 16, SEIZE = 0x4206 };
	int signal;
	switch (words[0]) {
	case SYS_ptrace:
		return words[1] == ATTACH || words[1] == SEIZE;
	case SYS_kill:
	case SYS_tkill:
	case SYS_rt_sigqueueinfo:
	case SYS_pidfd_send_signal:
		signal = (int)words[2];
		break;
	case SYS_tgkill:
	case SYS_rt_tgsigqueueinfo:
		signal = (int)words[3];
		break;
	default:
		return false;
	}
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static void run_chunk(const uint64_t *at)
{
	for (; *at != END; shared->progress[self]++) {
		if (*at == PUT) {
			uint64_t length = at[2];
			uint64_t start = at[1] - (uint64_t)ARENA;
			if (start < ARENA_BYTES && length <= ARENA_BYTES - start)
				memcpy((void *)at[1], at + 3, length);
			at += 3 + (length + 7) / 8;
		} else {
			if (getuid() || !may_stop(at + 1))
				raw(at + 1);
			shared->calls++;
			at += 8;
		}
	}
}

static void *worker(void *unused)
{
	uint64_t chunk;
	while ((chunk = shared->next_chunk++) < n_chunks)
		run_chunk(chunks[chunk]);
	return unused;
}

/* The first chunk may wait for something, or end the process: then the next one goes without. */
static void *prologue(void *unused)
{
	run_chunk(chunks[0]);
	return unused;
}

static void process(int index, bool is_root, bool has_prologue)
{
	self = index;
	if (!is_root && (setgid(FIRST_USER) || setuid(FIRST_USER)))
		_exit(1);
	mkdir("/tmp/fuzz", 0777);
	chdir("/tmp/fuzz");
	pthread_t threads[THREADS];
	if (has_prologue && !pthread_create(&threads[0], NULL, prologue, NULL))
		usleep(10000);
	int n = 0;
	while (n < THREADS && !pthread_create(&threads[n], NULL, worker, NULL))
		n++;
	/* A thread that waits keeps no other from its chunks, and the supervisor ends those who all wait. */
	while (n-- > 0)
		pthread_join(threads[n], NULL);
	_exit(0);
}

static pid_t start(int index, bool is_root)
{
	static uint64_t n_started;
	bool has_prologue = n_started++ % 2 == 0;
	pid_t child = fork();
	if (child == 0)
		process(index, is_root, has_prologue);
	return child;
}

/* Everybody but the supervisor: fuzzed processes make others, which nobody knows. */
static void end_all(void)
{
	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void supervise(bool is_root)
{
	double last = seconds();
	uint64_t before = 0;
	pid_t children[PROCESSES];
	for (int n = 0; n < PROCESSES; n++)
		children[n] = start(n, is_root);
	while (shared->next_chunk < n_chunks) {
		usleep(5000);
		uint64_t now = 0;
		for (int n = 0; n < PROCESSES; n++)
			now += shared->progress[n];
		if (now != before) {
			before = now;
			last = seconds();
		}
		/* All of them wait for something that does not come. */
		bool is_stuck = seconds() - last > 0.3;
		if (is_stuck) {
			end_all();
			last = seconds();
		}
		pid_t ended;
		while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
			for (int n = 0; n < PROCESSES; n++)
				if (children[n] == ended)
					children[n] = -1;
		for (int n = 0; n < PROCESSES; n++)
			if (is_stuck || children[n] < 0)
				children[n] = start(n, is_root);
	}
	end_all();
}

/* Finds where chunks begin. */
static void index_chunks(uint64_t length)
{
	const uint64_t *end = file + length / 8;
	uint64_t room = 1024;
	chunks = malloc(room * sizeof *chunks);
	for (const uint64_t *at = file; at < end;) {
		if (n_chunks == room)
			chunks = realloc(chunks, (room *= 2) * sizeof *chunks);
		chunks[n_chunks++] = at;
		while (at < end && *at != END)
			at += *at == PUT ? 3 + (at[2] + 7) / 8 : 8;
		at++;
	}
}

int main(int argc, char **argv)
{
	/* A fuzzed call may execute this program again, with other words. */
	if (argc != 3 || (strcmp(argv[1], "--as-root") && strcmp(argv[1], "--as-user")))
		return 1;
	int fd = open(argv[2], O_RDONLY);
	struct stat found;
	if (fd < 0 || fstat(fd, &found))
		return 1;
	file = mmap(NULL, found.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *arena = mmap(ARENA, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (file == MAP_FAILED || shared == MAP_FAILED || arena != ARENA)
		return 1;
	close(fd);
	/* The standard streams of fuzzed processes are files like others: what they write there is thrown away. */
	int said = fcntl(1, F_DUPFD_CLOEXEC, 100);
	int null = open("/dev/null", O_RDWR);
	for (int n = 0; n < 3; n++)
		dup2(null, n);
	close(null);
	index_chunks(found.st_size);
	if (n_chunks < 2)
		return 1;
	shared->next_chunk = 1;
	supervise(!strcmp(argv[1], "--as-root"));
	dprintf(said, "%llu calls\n", (unsigned long long)shared->calls);
	return 0;
}
