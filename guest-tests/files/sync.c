/* fsync, fdatasync, sync_file_range, O_SYNC: whoever waits for the disk waits alone, and is not interrupted. */
#include "files.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static char bytes[1 << 20];

static int fresh(const char *name)
{
	int file = SUCCEEDS(open(name, O_RDWR | O_CREAT | O_TRUNC, 0600));
	memset(bytes, 'x', sizeof bytes);
	EQUALS(write(file, bytes, sizeof bytes), sizeof bytes);
	return file;
}

TEST(answers)
{
	scratch();
	int file = fresh("file");
	SUCCEEDS(fsync(file));
	SUCCEEDS(fsync(file));
	SUCCEEDS(fdatasync(file));
	SUCCEEDS(sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE));
	SUCCEEDS(sync_file_range(file, 4096, 4096, 7));
	FAILS(sync_file_range(file, -1, 1, 7), EINVAL);
	FAILS(sync_file_range(file, 0, 1, 8), EINVAL);
	int ends[2];
	SUCCEEDS(pipe(ends));
	FAILS(fdatasync(ends[0]), EINVAL);
	FAILS(sync_file_range(ends[0], 0, 1, 7), ESPIPE);
	FAILS(fdatasync(-1), EBADF);
	SUCCEEDS(fsync(SUCCEEDS(open("file", O_RDONLY))));
	SUCCEEDS(fsync(SUCCEEDS(open(".", O_RDONLY | O_DIRECTORY))));
}

TEST(file_without_a_name)
{
	scratch();
	int file = fresh("file");
	SUCCEEDS(unlink("file"));
	SUCCEEDS(fsync(file));
	SUCCEEDS(fdatasync(file));
}

TEST(every_write_is_synced)
{
	scratch();
	int file = SUCCEEDS(open("file", O_RDWR | O_CREAT | O_SYNC, 0600));
	EQUALS(write(file, "12345", 5), 5);
	EQUALS(pwrite(file, "67", 2, 5), 2);
	struct iovec part = {"89", 2};
	EQUALS(pwritev2(file, &part, 1, 7, RWF_DSYNC), 2);
	EQUALS(pwritev2(file, &part, 1, -1, RWF_SYNC | RWF_APPEND), 2);
	SAME_TEXT(text_of("file"), "123456789" "89");
	int other = SUCCEEDS(open("other", O_RDWR | O_CREAT | O_DSYNC, 0600));
	off_t from = 0;
	EQUALS(copy_file_range(file, &from, other, NULL, 100, 0), 11);
	SAME_TEXT(text_of("other"), "12345678989");
}

static int n_signals;

static void count(int signal)
{
	(void)signal;
	n_signals++;
}

TEST(signals_do_not_end_it)
{
	scratch();
	struct sigaction action = {.sa_handler = count};
	SUCCEEDS(sigaction(SIGUSR1, &action, NULL));
	int file = fresh("file");
	pid_t parent = getpid();
	pid_t child = FORK();
	if (child == 0) {
		for (int i = 0; i < 200; i++) {
			kill(parent, SIGUSR1);
			usleep(100);
		}
		_exit(0);
	}
	for (int i = 0; i < 20; i++) {
		while (pwrite(file, bytes, 65536, i * 65536) < 0 && errno == EINTR)
			;
		SUCCEEDS(fsync(file));
	}
	int status;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	EQUALS(status, 0);
	CHECK(n_signals > 0);
}

static void *syncs(void *argument)
{
	return (void *)(long)fsync(*(int *)argument);
}

TEST(closed_meanwhile)
{
	scratch();
	for (int i = 0; i < 20; i++) {
		int file = fresh("file");
		int number = file;
		pthread_t thread;
		EQUALS(pthread_create(&thread, NULL, syncs, &number), 0);
		close(file);
		void *result;
		EQUALS(pthread_join(thread, &result), 0);
		/* Either it came first, or there was nothing any more. */
		CHECK((long)result == 0 || (long)result == -1);
	}
}

TEST(killed_meanwhile)
{
	scratch();
	for (int i = 0; i < 20; i++) {
		pid_t child = FORK();
		if (child == 0) {
			int file = fresh("file");
			for (;;) {
				pwrite(file, bytes, 65536, 0);
				fsync(file);
			}
		}
		usleep(1000 + 500 * i);
		SUCCEEDS(kill(child, SIGKILL));
		DIES(child, SIGKILL);
	}
	SUCCEEDS(fsync(fresh("file")));
}

/* More than are under way at a time. */
TEST(many_at_once)
{
	scratch();
	enum { MANY = 80 };
	pid_t children[MANY];
	for (int i = 0; i < MANY; i++) {
		children[i] = FORK();
		if (children[i] == 0) {
			char name[20];
			snprintf(name, sizeof name, "file%d", i);
			int file = SUCCEEDS(open(name, O_RDWR | O_CREAT, 0600));
			for (int k = 0; k < 3; k++) {
				EQUALS(write(file, bytes, 4096), 4096);
				SUCCEEDS(k == 1 ? fdatasync(file) : fsync(file));
			}
			_exit(0);
		}
	}
	for (int i = 0; i < MANY; i++)
		EXITS(children[i], 0);
}

static long micros(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/*
 * One process syncs all the time; what another asks of the kernel is not kept waiting for the disk each time. Shows something
 * only where there is a disk: in memory nobody waits.
 */
TEST(others_go_on)
{
	scratch();
	volatile long *n_syncs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(n_syncs != MAP_FAILED);
	pid_t child = FORK();
	if (child == 0) {
		int file = fresh("file");
		for (;;) {
			pwrite(file, bytes, sizeof bytes, 0);
			long start = micros();
			fsync(file);
			n_syncs[1] += micros() - start;
			++*n_syncs;
		}
	}
	/* A kernel that waits for each sync itself answers about one question per sync. */
	long n_asked = 0;
	while (*n_syncs < 5)
		usleep(1000);
	long from = *n_syncs, before = n_syncs[1];
	for (; *n_syncs < from + 10 && n_asked < 100000; n_asked++)
		EQUALS(getpgid(child), getpgid(0));
	long each = (n_syncs[1] - before) / 10;
	CHECK(n_asked > 20 || each < 1000);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}
