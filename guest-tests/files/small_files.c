/* Small files of the system, opened, read and closed: positions and descriptors are what others see,
 * however a kernel saves itself work. */
#include "test.h"
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>

/* Every system has it, and it never changes. */
static const char *const file = "/usr/lib/os-release";
static char content[4096];
static long size;

static int open_file(void)
{
	int descriptor = SUCCEEDS(open(file, O_RDONLY));
	if (size == 0) {
		size = pread(descriptor, content, sizeof content, 0);
		CHECK(size > 40 && size < (long)sizeof content);
		SUCCEEDS(close(descriptor));
		descriptor = SUCCEEDS(open(file, O_RDONLY));
	}
	return descriptor;
}

static void next_is(int descriptor, long position, size_t count)
{
	char buffer[64];
	EQUALS(read(descriptor, buffer, count), (long)count);
	CHECK(memcmp(buffer, content + position, count) == 0);
}

TEST(read_to_the_end)
{
	char buffer[4096];
	int descriptor = open_file();
	EQUALS(read(descriptor, buffer, sizeof buffer), size);
	CHECK(memcmp(buffer, content, (size_t)size) == 0);
	EQUALS(read(descriptor, buffer, sizeof buffer), 0);
	EQUALS(lseek(descriptor, 0, SEEK_CUR), size);
	EQUALS(read(descriptor, buffer, 0), 0);
}

TEST(position)
{
	int descriptor = open_file();
	next_is(descriptor, 0, 5);
	EQUALS(lseek(descriptor, 0, SEEK_CUR), 5);
	EQUALS(lseek(descriptor, 10, SEEK_SET), 10);
	next_is(descriptor, 10, 3);
	EQUALS(lseek(descriptor, -2, SEEK_END), size - 2);
	next_is(descriptor, size - 2, 2);
	EQUALS(lseek(descriptor, 100, SEEK_END), size + 100);
	char byte;
	EQUALS(read(descriptor, &byte, 1), 0);
	FAILS(lseek(descriptor, -1, SEEK_SET), EINVAL);
	FAILS(lseek(descriptor, 0, 77), EINVAL);
	EQUALS(lseek(descriptor, 0, SEEK_SET), 0);
	next_is(descriptor, 0, 4);
}

TEST(position_is_the_same_for_every_call)
{
	int descriptor = open_file();
	next_is(descriptor, 0, 7);
	char buffer[8];
	struct iovec vector = { buffer, 4 };
	EQUALS(readv(descriptor, &vector, 1), 4);
	CHECK(memcmp(buffer, content + 7, 4) == 0);
	next_is(descriptor, 11, 3);
	int other = SUCCEEDS(dup(descriptor));
	next_is(other, 14, 3);
	next_is(descriptor, 17, 3);
	EQUALS(pread(descriptor, buffer, 4, 2), 4);
	CHECK(memcmp(buffer, content + 2, 4) == 0);
	next_is(other, 20, 1);
}

TEST(position_of_a_copy_made_after_reading)
{
	int descriptor = open_file();
	next_is(descriptor, 0, 6);
	int other = SUCCEEDS(dup(descriptor));
	next_is(other, 6, 2);
	next_is(descriptor, 8, 2);
}

TEST(position_is_shared_with_a_child)
{
	int descriptor = open_file();
	next_is(descriptor, 0, 6);
	pid_t child = SUCCEEDS(fork());
	if (child == 0) {
		next_is(descriptor, 6, 4);
		_exit(0);
	}
	int status;
	EQUALS(waitpid(child, &status, 0), child);
	EQUALS(status, 0);
	next_is(descriptor, 10, 2);
}

TEST(bad_buffers)
{
	int descriptor = open_file();
	FAILS(read(descriptor, BAD_POINTER, 10), EFAULT);
	next_is(descriptor, 0, 3);
	FAILS(syscall(SYS_fstat, descriptor, BAD_POINTER), EFAULT);
	FAILS(pread(descriptor, content, 10, -1), EINVAL);
	next_is(descriptor, 3, 3);
}

TEST(questions)
{
	int descriptor = open_file();
	struct stat by_descriptor, by_path, by_empty_path;
	SUCCEEDS(fstat(descriptor, &by_descriptor));
	SUCCEEDS(fstatat(descriptor, "", &by_empty_path, AT_EMPTY_PATH));
	SUCCEEDS(stat(file, &by_path));
	EQUALS(by_descriptor.st_size, size);
	EQUALS(by_descriptor.st_ino, by_path.st_ino);
	EQUALS(by_descriptor.st_mode, by_path.st_mode);
	EQUALS(by_empty_path.st_ino, by_path.st_ino);
	struct termios settings;
	FAILS(ioctl(descriptor, TCGETS, &settings), ENOTTY);
	FAILS(fstatat(descriptor, "x", &by_path, AT_EMPTY_PATH), ENOTDIR);
}

TEST(closed_is_closed)
{
	int descriptor = open_file();
	struct stat status;
	char byte;
	SUCCEEDS(fstat(descriptor, &status));
	SUCCEEDS(close(descriptor));
	FAILS(fstat(descriptor, &status), EBADF);
	descriptor = open_file();
	SUCCEEDS(close(descriptor));
	FAILS(read(descriptor, &byte, 1), EBADF);
	descriptor = open_file();
	SUCCEEDS(close(descriptor));
	FAILS(close(descriptor), EBADF);
	descriptor = open_file();
	SUCCEEDS(close(descriptor));
	FAILS(fstatat(descriptor, "", &status, AT_EMPTY_PATH), EBADF);
	descriptor = open_file();
	SUCCEEDS(close(descriptor));
	FAILS(lseek(descriptor, 0, SEEK_CUR), EBADF);
}

TEST(numbers_are_used_again)
{
	signal(SIGPIPE, SIG_IGN);
	int first = open_file();
	int second = open_file();
	SUCCEEDS(close(first));
	SUCCEEDS(close(second));
	EQUALS(open_file(), first);
	EQUALS(open_file(), second);
	SUCCEEDS(close(first));
	int ends[2];
	SUCCEEDS(pipe(ends));
	EQUALS(ends[0], first);
	/* What has the number now is no file that anybody handed over. */
	SUCCEEDS(close(ends[0]));
	FAILS(write(ends[1], "x", 1), EPIPE);
}

TEST(a_number_that_becomes_something_else)
{
	signal(SIGPIPE, SIG_IGN);
	int descriptor = open_file();
	next_is(descriptor, 0, 2);
	int ends[2];
	SUCCEEDS(pipe(ends));
	EQUALS(dup2(ends[0], descriptor), descriptor);
	EQUALS(write(ends[1], "yes", 3), 3);
	char buffer[8];
	EQUALS(read(descriptor, buffer, sizeof buffer), 3);
	SUCCEEDS(close(ends[0]));
	SUCCEEDS(close(descriptor));
	FAILS(write(ends[1], "x", 1), EPIPE);
}

/* Another process sees what this one has closed, though it makes no further call. */
TEST(others_see_the_descriptors)
{
	enum { starting, opened, may_close, closed };
	volatile int *stage = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = SUCCEEDS(fork());
	if (child == 0) {
		int descriptor = open_file();
		char buffer[8];
		*(stage + 1) = descriptor;
		(void)!read(descriptor, buffer, 5);
		*stage = opened;
		while (*stage != may_close)
			;
		close(descriptor);
		*stage = closed;
		for (;;)
			;
	}
	while (*stage != opened)
		sched_yield();
	char path[64], text[256] = "";
	snprintf(path, sizeof path, "/proc/%d/fd/%d", child, stage[1]);
	SUCCEEDS(readlink(path, text, sizeof text));
	*stage = may_close;
	while (*stage != closed)
		sched_yield();
	FAILS(readlink(path, text, sizeof text), ENOENT);
	SUCCEEDS(kill(child, SIGKILL));
	EQUALS(waitpid(child, NULL, 0), child);
}

TEST(watchers_are_told_of_what_comes_after)
{
	int before = open_file();
	int after = open_file();
	int watch = SUCCEEDS(inotify_init1(IN_NONBLOCK));
	SUCCEEDS(close(before));
	SUCCEEDS(inotify_add_watch(watch, file, IN_CLOSE | IN_ACCESS));
	char events[512];
	FAILS(read(watch, events, sizeof events), EAGAIN);
	char byte;
	EQUALS(read(after, &byte, 1), 1);
	SUCCEEDS(close(after));
	EQUALS(read(watch, events, sizeof events), 2 * (long)sizeof(struct inotify_event));
}
