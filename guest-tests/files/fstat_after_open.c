/* What fstat says of a file that has just been opened is true when it is asked, even if another process
 * has changed the file since, and nothing but shared memory tells of that. */
#include "files.h"
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

enum turn { TO_OPEN, TO_CHANGE, CHANGED };

static _Atomic int *turn;

static void wait_for(int value)
{
	/* No system call: the process that waits asks nothing meanwhile. */
	for (time_t end = time(NULL) + 8; *turn != value;)
		CHECK(time(NULL) < end);
}

/* Longer than a tick of the coarsest clock that times of files come from. */
static void let_time_pass(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* Opens `path`, has `change` run in another process, and returns what fstat says then. */
static struct stat after(const char *path, void (*change)(void), struct stat *before)
{
	turn = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(turn != MAP_FAILED);
	pid_t child = FORK();
	if (child == 0) {
		while (*turn != TO_CHANGE)
			sched_yield();
		change();
		*turn = CHANGED;
		_exit(0);
	}
	let_time_pass();
	SUCCEEDS(stat(path, before));
	struct stat status;
	int file = SUCCEEDS(open(path, O_RDONLY));
	*turn = TO_CHANGE;
	wait_for(CHANGED);
	SUCCEEDS(fstat(file, &status));
	SUCCEEDS(close(file));
	EXITS(child, 0);
	return status;
}

static bool is_later(struct timespec one, struct timespec other)
{
	return one.tv_sec > other.tv_sec || (one.tv_sec == other.tv_sec && one.tv_nsec > other.tv_nsec);
}

static void append(void)
{
	int file = open("file", O_WRONLY | O_APPEND);
	if (write(file, "more", 4) != 4)
		_exit(1);
}

TEST(another_process_writes)
{
	scratch();
	make_file("file", "text");
	struct stat before, now = after("file", append, &before);
	EQUALS(before.st_size, 4);
	EQUALS(now.st_size, 8);
	CHECK(is_later(now.st_mtim, before.st_mtim));
}

static void restrict_mode(void)
{
	if (chmod("file", 0400) < 0)
		_exit(1);
}

TEST(another_process_changes_the_mode)
{
	scratch();
	make_file("file", "text");
	struct stat before, now = after("file", restrict_mode, &before);
	EQUALS(before.st_mode & 07777, 0644);
	EQUALS(now.st_mode & 07777, 0400);
}

static void remove_name(void)
{
	if (unlink("file") < 0)
		_exit(1);
}

TEST(another_process_removes_the_name)
{
	scratch();
	make_file("file", "text");
	struct stat before, now = after("file", remove_name, &before);
	EQUALS(before.st_nlink, 1);
	EQUALS(now.st_nlink, 0);
}

static void add_name(void)
{
	make_file("folder/file", "text");
}

TEST(another_process_adds_to_a_directory)
{
	scratch();
	SUCCEEDS(mkdir("folder", 0755));
	struct stat before, now = after("folder", add_name, &before);
	CHECK(is_later(now.st_mtim, before.st_mtim));
}

TEST(a_write_by_the_same_process)
{
	scratch();
	make_file("file", "text");
	int writer = SUCCEEDS(open("file", O_WRONLY | O_APPEND));
	int reader = SUCCEEDS(open("file", O_RDONLY));
	EQUALS(write(writer, "more", 4), 4);
	struct stat status;
	SUCCEEDS(fstat(reader, &status));
	EQUALS(status.st_size, 8);
}

TEST(a_write_to_mapped_memory)
{
	scratch();
	make_file("file", "text");
	int writer = SUCCEEDS(open("file", O_RDWR));
	char *map = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0);
	CHECK(map != MAP_FAILED);
	struct stat status;
	int reader = SUCCEEDS(open("file", O_RDONLY));
	map[0] = 'T';
	SUCCEEDS(fstat(reader, &status));
	EQUALS(status.st_size, 4);
	SAME_TEXT(text_of("file"), "Text");
}

TEST(descriptors_that_become_something_else)
{
	scratch();
	make_file("one", "1");
	make_file("three", "123");
	struct stat status;
	int other = SUCCEEDS(open("three", O_RDONLY));
	int file = SUCCEEDS(open("one", O_RDONLY));
	SUCCEEDS(fstat(file, &status));
	EQUALS(status.st_size, 1);
	SUCCEEDS(dup2(other, file));
	SUCCEEDS(fstat(file, &status));
	EQUALS(status.st_size, 3);
	SUCCEEDS(close(file));
	FAILS(fstat(file, &status), EBADF);
	file = SUCCEEDS(open("one", O_RDONLY));
	SUCCEEDS(close(file));
	FAILS(fstat(file, &status), EBADF);
	EQUALS(open("three", O_RDONLY), file);
	SUCCEEDS(fstat(file, &status));
	EQUALS(status.st_size, 3);
	FAILS(isatty(file) ? 0 : -1, ENOTTY);
}
