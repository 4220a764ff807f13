/* What is asked of a file right after it was opened is true, whoever else has the descriptor and whatever they did
 * with it, even if nothing but shared memory tells of that. */
#include "files.h"
#include <pthread.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>

enum turn { NOBODY, OTHERS, DONE };

static _Atomic int turn;
static int file;

static void wait_for(int value)
{
	/* No system call: who waits asks nothing meanwhile. */
	for (time_t end = time(NULL) + 8; turn != value;)
		CHECK(time(NULL) < end);
}

static off_t size_by_fstat(int fd)
{
	struct stat status;
	SUCCEEDS(fstat(fd, &status));
	return status.st_size;
}

static off_t size_by_statx(int fd)
{
	struct statx status;
	SUCCEEDS(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status));
	CHECK(status.stx_mask & STATX_SIZE);
	return (off_t)status.stx_size;
}

/* Opens and asks, as the cases do, so that whoever learns from that has learned. */
static void learn(int flags, off_t (*size)(int))
{
	for (int i = 0; i < 4; i++) {
		int fd = SUCCEEDS(open("learned", flags | O_CREAT, 0644));
		EQUALS(size(fd), 0);
		EQUALS(lseek(fd, 0, SEEK_CUR), 0);
		SUCCEEDS(close(fd));
	}
}

static void *when_called(void *act)
{
	wait_for(OTHERS);
	((void (*)(void))act)();
	turn = DONE;
	return NULL;
}

/* Opens `path` in `file` while another thread waits, and lets that one act before it returns. */
static void open_and_let(const char *path, int flags, void (*act)(void))
{
	pthread_t thread;
	turn = NOBODY;
	EQUALS(pthread_create(&thread, NULL, when_called, (void *)act), 0);
	file = SUCCEEDS(open(path, flags));
	turn = OTHERS;
	wait_for(DONE);
	/* Not joined yet: that would be a call between opening and asking. */
	pthread_detach(thread);
}

static void replace(void)
{
	SUCCEEDS(close(file));
	EQUALS(open("three", O_RDONLY), file);
}

static void prepare(int flags, off_t (*size)(int))
{
	scratch();
	make_file("one", "1");
	make_file("three", "123");
	learn(flags, size);
}

TEST(another_thread_puts_another_file_there)
{
	prepare(O_RDONLY, size_by_fstat);
	open_and_let("one", O_RDONLY, replace);
	EQUALS(size_by_fstat(file), 3);
}

TEST(another_thread_puts_another_file_there_and_statx_asks)
{
	prepare(O_RDWR, size_by_statx);
	open_and_let("one", O_RDWR, replace);
	EQUALS(size_by_statx(file), 3);
}

static void close_it(void) { SUCCEEDS(close(file)); }

TEST(another_thread_closes_it)
{
	prepare(O_RDWR, size_by_fstat);
	open_and_let("one", O_RDWR, close_it);
	struct stat status;
	FAILS(fstat(file, &status), EBADF);
	FAILS(lseek(file, 0, SEEK_CUR), EBADF);
	struct termios settings;
	FAILS(ioctl(file, TCGETS, &settings), EBADF);
}

static void move_it(void) { EQUALS(lseek(file, 2, SEEK_SET), 2); }

TEST(another_thread_moves_its_position)
{
	prepare(O_RDWR, size_by_fstat);
	open_and_let("three", O_RDWR, move_it);
	EQUALS(lseek(file, 0, SEEK_CUR), 2);
}

static void write_to_it(void) { EQUALS(write(file, "12345", 5), 5); }

TEST(another_thread_writes_to_it)
{
	prepare(O_RDWR, size_by_statx);
	open_and_let("one", O_RDWR, write_to_it);
	EQUALS(size_by_statx(file), 5);
	EQUALS(lseek(file, 0, SEEK_CUR), 5);
}

static void mark_it(void) { SUCCEEDS(fcntl(file, F_SETFD, FD_CLOEXEC)); }

TEST(another_thread_marks_the_descriptor)
{
	prepare(O_RDWR, size_by_fstat);
	open_and_let("one", O_RDWR, mark_it);
	EQUALS(fcntl(file, F_GETFD), FD_CLOEXEC);
}

static void append_to_it(void) { SUCCEEDS(fcntl(file, F_SETFL, O_APPEND)); }

TEST(another_thread_changes_the_flags)
{
	prepare(O_RDWR, size_by_fstat);
	open_and_let("one", O_RDWR, append_to_it);
	EQUALS(fcntl(file, F_GETFL) & O_APPEND, O_APPEND);
}

TEST(one_thread_writes_and_asks)
{
	prepare(O_RDWR, size_by_fstat);
	for (int i = 0; i < 4; i++) {
		int fd = SUCCEEDS(open("new", O_RDWR | O_CREAT | O_TRUNC, 0644));
		EQUALS(size_by_fstat(fd), 0);
		EQUALS(lseek(fd, 0, SEEK_CUR), 0);
		EQUALS(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
		EQUALS(write(fd, "text", 4), 4);
		EQUALS(lseek(fd, 0, SEEK_CUR), 4);
		EQUALS(size_by_fstat(fd), 4);
		EQUALS(lseek(fd, 0, SEEK_SET), 0);
		EQUALS(lseek(fd, 0, SEEK_END), 4);
		SUCCEEDS(ftruncate(fd, 1));
		EQUALS(size_by_fstat(fd), 1);
		SUCCEEDS(close(fd));
		FAILS(lseek(fd, 0, SEEK_CUR), EBADF);
	}
}

TEST(an_appending_file_begins_at_its_start)
{
	prepare(O_WRONLY, size_by_fstat);
	int fd = SUCCEEDS(open("three", O_WRONLY | O_APPEND));
	EQUALS(lseek(fd, 0, SEEK_CUR), 0);
	EQUALS(size_by_fstat(fd), 3);
	EQUALS(write(fd, "4", 1), 1);
	EQUALS(lseek(fd, 0, SEEK_CUR), 4);
}

TEST(statx_and_fstat_agree)
{
	prepare(O_RDWR, size_by_statx);
	for (int flags = O_RDONLY; flags <= O_RDWR; flags++) {
		struct statx extended;
		struct stat status;
		int fd = SUCCEEDS(open("three", flags));
		SUCCEEDS(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &extended));
		SUCCEEDS(fstat(fd, &status));
		EQUALS(extended.stx_ino, status.st_ino);
		EQUALS(extended.stx_mode, status.st_mode);
		EQUALS((off_t)extended.stx_size, status.st_size);
		EQUALS(extended.stx_mtime.tv_sec, status.st_mtim.tv_sec);
		EQUALS(extended.stx_mtime.tv_nsec, (uint32_t)status.st_mtim.tv_nsec);
		EQUALS(extended.stx_uid, status.st_uid);
		EQUALS(extended.stx_nlink, status.st_nlink);
		SUCCEEDS(close(fd));
	}
	int fd = SUCCEEDS(open("three", O_RDWR));
	struct statx extended;
	FAILS(statx(fd, "", AT_EMPTY_PATH, STATX__RESERVED, &extended), EINVAL);
	FAILS(statx(fd, "", 0, STATX_SIZE, &extended), ENOENT);
	FAILS(statx(fd, "x", AT_EMPTY_PATH, STATX_SIZE, &extended), ENOTDIR);
	FAILS(statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, (void *)8), EFAULT);
}
