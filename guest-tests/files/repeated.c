/* Files that are read again and again: position, sharing and changes stay what they are. */
#include "files.h"
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define PIECE (40 << 10)
#define SIZE (1 << 20)

static char page[PIECE];
/* Addresses that nothing can be at; the compiler shall not know. */
static void *volatile low = (void *)8, *volatile high = (void *)-4096;

/* A file of the system that is long, and whose bytes are not all the same. */
static int open_program(void)
{
	return SUCCEEDS(open("/proc/self/exe", O_RDONLY));
}

/* A long file in the working directory: byte n is n / 7. */
static int make_long_file(const char *path, int flags)
{
	static unsigned char bytes[SIZE];
	for (int i = 0; i < SIZE; i++)
		bytes[i] = i / 7;
	int file = SUCCEEDS(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
	EQUALS(write(file, bytes, SIZE), SIZE);
	SUCCEEDS(close(file));
	return SUCCEEDS(open(path, flags));
}

static int at(int file)
{
	unsigned char byte;
	off_t position = SUCCEEDS(lseek(file, 0, SEEK_CUR));
	EQUALS(read(file, &byte, 1), 1);
	EQUALS(byte, (unsigned char)(position / 7));
	return position;
}

static void read_much(int file)
{
	for (int i = 0; i < 10; i++)
		EQUALS(pread(file, page, PIECE, 0), PIECE);
}

TEST(position_moves)
{
	scratch();
	int file = make_long_file("f", O_RDONLY);
	for (int i = 0; i < 20; i++)
		EQUALS(at(file), i);
	read_much(file);
	for (int i = 20; i < 40; i++)
		EQUALS(at(file), i);
	EQUALS(lseek(file, 100, SEEK_SET), 100);
	EQUALS(at(file), 100);
	EQUALS(lseek(file, -1, SEEK_END), SIZE - 1);
	EQUALS(at(file), SIZE - 1);
	EQUALS(read(file, page, 1), 0);
	FAILS(lseek(file, -1, SEEK_SET), EINVAL);
	FAILS(lseek(file, 0, 99), EINVAL);
	EQUALS(lseek(file, 0, SEEK_CUR), SIZE);
}

TEST(position_is_shared_by_copies)
{
	scratch();
	int file = make_long_file("f", O_RDONLY), copy = SUCCEEDS(dup(file));
	read_much(file);
	EQUALS(at(file), 0);
	EQUALS(at(copy), 1);
	read_much(copy);
	EQUALS(at(copy), 2);
	EQUALS(at(file), 3);
	SUCCEEDS(close(file));
	EQUALS(at(copy), 4);
}

TEST(position_is_shared_by_processes)
{
	scratch();
	int file = make_long_file("f", O_RDONLY);
	read_much(file);
	EQUALS(at(file), 0);
	pid_t child = SUCCEEDS(fork());
	if (child == 0) {
		bool good = at(file) == 1;
		read_much(file);
		_exit(good && at(file) == 2 ? 0 : 1);
	}
	int status;
	EQUALS(waitpid(child, &status, 0), child);
	EQUALS(status, 0);
	EQUALS(at(file), 3);
}

TEST(vectors_and_single_reads_share_the_position)
{
	scratch();
	int file = make_long_file("f", O_RDONLY);
	read_much(file);
	EQUALS(at(file), 0);
	char bytes[7];
	struct iovec vector = { bytes, 7 };
	EQUALS(readv(file, &vector, 1), 7);
	EQUALS(at(file), 8);
}

TEST(closed_after_much_reading)
{
	for (int i = 0; i < 5; i++) {
		int file = open_program();
		for (int n = 0; n < 40; n++)
			EQUALS(pread(file, page, 512, n * 64), 512);
		SUCCEEDS(close(file));
		FAILS(read(file, page, 1), EBADF);
		FAILS(pread(file, page, 1, 0), EBADF);
		FAILS(lseek(file, 0, SEEK_CUR), EBADF);
	}
}

TEST(number_is_used_again)
{
	scratch();
	make_file("small", "small");
	int file = make_long_file("f", O_RDONLY);
	for (int i = 0; i < 5; i++) {
		read_much(file);
		SUCCEEDS(close(file));
		FAILS(read(file, page, 1), EBADF);
		EQUALS(open("small", O_RDONLY), file);
		EQUALS(read(file, page, 9), 5);
		CHECK(memcmp(page, "small", 5) == 0);
		int longer = SUCCEEDS(open("f", O_RDONLY));
		EQUALS(dup2(longer, file), file);
		SUCCEEDS(close(longer));
		EQUALS(at(file), 0);
		EQUALS(lseek(file, 0, SEEK_SET), 0);
	}
}

TEST(closed_by_range)
{
	scratch();
	int file = make_long_file("f", O_RDONLY);
	read_much(file);
	SUCCEEDS(close_range(file, file, 0));
	FAILS(read(file, page, 1), EBADF);
	FAILS(lseek(file, 0, SEEK_CUR), EBADF);
}

TEST(writes_are_seen)
{
	scratch();
	int file = make_long_file("f", O_RDWR);
	read_much(file);
	int other = SUCCEEDS(open("f", O_WRONLY));
	EQUALS(pwrite(other, "changed", 7, 0), 7);
	EQUALS(pread(file, page, 7, 0), 7);
	CHECK(memcmp(page, "changed", 7) == 0);
	EQUALS(lseek(file, 10, SEEK_SET), 10);
	EQUALS(write(file, "here", 4), 4);
	EQUALS(at(file), 14);
	EQUALS(pread(file, page, 4, 10), 4);
	CHECK(memcmp(page, "here", 4) == 0);
	SUCCEEDS(ftruncate(other, 5));
	EQUALS(pread(file, page, PIECE, 0), 5);
}

TEST(unlinked_file)
{
	scratch();
	int file = make_long_file("f", O_RDONLY);
	read_much(file);
	SUCCEEDS(unlink("f"));
	read_much(file);
	EQUALS(at(file), 0);
}

TEST(write_only_and_closed)
{
	scratch();
	close(make_long_file("f", O_RDONLY));
	int file = SUCCEEDS(open("f", O_WRONLY));
	for (int i = 0; i < 10; i++)
		FAILS(pread(file, page, PIECE, 0), EBADF);
}

TEST(bad_buffers)
{
	int file = open_program();
	for (int i = 0; i < 10; i++)
		EQUALS(pread(file, page, 64, 0), 64);
	FAILS(pread(file, low, 64, 0), EFAULT);
	FAILS(read(file, high, 64), EFAULT);
	FAILS(pread(file, page, 64, -1), EINVAL);
	EQUALS(pread(file, page, 0, 0), 0);
}

TEST(zeroes_and_nothing)
{
	int zero = SUCCEEDS(open("/dev/zero", O_RDWR)), null = SUCCEEDS(open("/dev/null", O_RDWR));
	for (int i = 0; i < 10; i++) {
		memset(page, 1, PIECE);
		EQUALS(read(zero, page, PIECE - 1), PIECE - 1);
		EQUALS(page[0] | page[PIECE - 2], 0);
		EQUALS(page[PIECE - 1], 1);
		EQUALS(write(zero, page, 99), 99);
		EQUALS(write(null, page, 99), 99);
		EQUALS(read(null, page, 99), 0);
	}
	FAILS(read(zero, low, 64), EFAULT);
	FAILS(write(null, high, 64), EFAULT);
	EQUALS(write(null, low, 64), 64);
	int reads = SUCCEEDS(open("/dev/zero", O_RDONLY)), writes = SUCCEEDS(open("/dev/null", O_WRONLY));
	for (int i = 0; i < 10; i++) {
		EQUALS(read(reads, page, 3), 3);
		FAILS(write(reads, page, 3), EBADF);
		EQUALS(write(writes, page, 3), 3);
		FAILS(read(writes, page, 3), EBADF);
	}
}

TEST(watchers_are_told)
{
	scratch();
	int file = make_long_file("f", O_RDONLY);
	read_much(file);
	int watch = SUCCEEDS(inotify_init1(IN_NONBLOCK));
	SUCCEEDS(inotify_add_watch(watch, "f", IN_ACCESS));
	EQUALS(pread(file, page, 1, 0), 1);
	CHECK(read(watch, page, sizeof page) >= (ssize_t)sizeof(struct inotify_event));
}

static int raced;

static void *reads_until_closed(void *unused)
{
	(void)unused;
	unsigned char byte;
	for (;;) {
		ssize_t n = pread(raced, &byte, 1, 7 * 5);
		if (n < 0 && errno == EBADF)
			continue;
		if (n != 1 || (byte != 5 && byte != 'x'))
			return byte == 'q' ? NULL : "read something else";
	}
}

TEST(race_with_closing)
{
	scratch();
	char text[100];
	memset(text, 'x', sizeof text - 1);
	text[99] = 0;
	make_file("x", text);
	memset(text, 'q', sizeof text - 1);
	make_file("q", text);
	raced = make_long_file("f", O_RDONLY);
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		EQUALS(pthread_create(&threads[i], NULL, reads_until_closed, NULL), 0);
	for (int i = 0; i < 300; i++) {
		int other = SUCCEEDS(open(i % 2 ? "f" : "x", O_RDONLY));
		EQUALS(dup2(other, raced), raced);
		SUCCEEDS(close(other));
	}
	int last = SUCCEEDS(open("q", O_RDONLY));
	EQUALS(dup2(last, raced), raced);
	for (int i = 0; i < 3; i++) {
		void *result;
		EQUALS(pthread_join(threads[i], &result), 0);
		CHECK(result == NULL);
	}
}

