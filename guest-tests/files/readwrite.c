/* read(2), write(2) and their relatives with offsets, vectors and flags; lseek(2). */
#include "files.h"
#include <sys/uio.h>
#include <sys/mman.h>

static int new_file(const char *text)
{
	scratch();
	make_file("file", text);
	return SUCCEEDS(open("file", O_RDWR));
}

TEST(moves_the_offset)
{
	char text[8] = "";
	int file = new_file("abcdefgh");
	EQUALS(read(file, text, 3), 3);
	EQUALS(lseek(file, 0, SEEK_CUR), 3);
	EQUALS(write(file, "XY", 2), 2);
	EQUALS(read(file, text, 8), 3);
	EQUALS(read(file, text, 8), 0);
	SAME_TEXT(text_of("file"), "abcXYfgh");
}

TEST(zero_bytes)
{
	int file = new_file("abc");
	EQUALS(read(file, BAD_POINTER, 0), 0);
	EQUALS(write(file, BAD_POINTER, 0), 0);
	EQUALS(lseek(file, 0, SEEK_CUR), 0);
}

TEST(bad_pointers)
{
	int file = new_file("abc");
	FAILS(read(file, BAD_POINTER, 1), EFAULT);
	FAILS(write(file, BAD_POINTER, 1), EFAULT);
	SUCCEEDS(lseek(file, 3, SEEK_SET));
	/* There is nothing to copy at the end of the file. */
	EQUALS(read(file, BAD_POINTER, 1), 0);
	FAILS(read(9999, BAD_POINTER, 1), EBADF);
}

TEST(up_to_the_bad_page)
{
	int file = new_file("");
	char *pages = SUCCEEDS((char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	SUCCEEDS(munmap(pages + 4096, 4096));
	ssize_t written = write(file, pages + 4000, 200);
	CHECK(written == 96 || (written == -1 && errno == EFAULT));
}

TEST(with_an_offset)
{
	char text[8] = "";
	int file = new_file("abcdefgh");
	EQUALS(pread(file, text, 3, 2), 3);
	SAME_TEXT(text, "cde");
	EQUALS(pwrite(file, "XY", 2, 10), 2);
	EQUALS(lseek(file, 0, SEEK_CUR), 0);
	EQUALS(pread(file, text, 4, 8), 4);
	EQUALS(memcmp(text, "\0\0XY", 4), 0);
	EQUALS(pread(file, text, 4, 100), 0);
	FAILS(pread(file, text, 1, -1), EINVAL);
	FAILS(pwrite(file, text, 1, -1), EINVAL);
	int ends[2];
	SUCCEEDS(pipe(ends));
	FAILS(pread(ends[0], text, 1, 0), ESPIPE);
	FAILS(pwrite(ends[1], text, 1, 0), ESPIPE);
}

TEST(vectors)
{
	char first[3] = "", second[4] = "";
	struct iovec pieces[3] = { { first, 2 }, { NULL, 0 }, { second, 3 } };
	int file = new_file("abcdefgh");
	EQUALS(readv(file, pieces, 3), 5);
	SAME_TEXT(first, "ab");
	SAME_TEXT(second, "cde");
	EQUALS(writev(file, pieces, 3), 5);
	SAME_TEXT(text_of("file"), "abcdeabcde");
	EQUALS(preadv(file, pieces, 3, 8), 2);
	EQUALS(pwritev(file, pieces, 1, 0), 2);
	SAME_TEXT(text_of("file"), "decdeabcde");
	EQUALS(readv(file, pieces, 0), 0);
}

TEST(vector_refusals)
{
	char byte;
	struct iovec bad = { &byte, -1 }, wrong = { BAD_POINTER, 1 };
	static struct iovec many[1025];
	int file = new_file("abc");
	FAILS(readv(file, &bad, 1), EINVAL);
	FAILS(syscall(SYS_readv, file, &bad, -1), EINVAL);
	FAILS(readv(file, many, 1025), EINVAL);
	EQUALS(readv(file, many, 1024), 0);
	FAILS(readv(file, &wrong, 1), EFAULT);
	FAILS(readv(file, BAD_POINTER, 1), EFAULT);
	FAILS(readv(9999, &bad, 1), EBADF);
	FAILS(preadv(file, many, 1, -1), EINVAL);
	struct iovec half[2] = { { &byte, 1 }, { BAD_POINTER, 1 } };
	EQUALS(readv(file, half, 2), 1);
}

TEST(flags_of_the_second_version)
{
	char text[8] = "";
	struct iovec piece = { text, 4 };
	int file = new_file("abcdefgh");
	EQUALS(preadv2(file, &piece, 1, 2, 0), 4);
	SAME_TEXT(text, "cdef");
	/* Offset -1 means the current one, and moves it. */
	EQUALS(preadv2(file, &piece, 1, -1, 0), 4);
	EQUALS(lseek(file, 0, SEEK_CUR), 4);
	SUCCEEDS(preadv2(file, &piece, 1, 0, RWF_NOWAIT));
	FAILS(preadv2(file, &piece, 1, 0, 0x4000), EOPNOTSUPP);
	EQUALS(pwritev2(file, &piece, 1, 0, RWF_APPEND), 4);
	EQUALS(lseek(file, 0, SEEK_END), 12);
	EQUALS(pwritev2(file, &piece, 1, 0, RWF_DSYNC | RWF_SYNC), 4);
	int ends[2];
	SUCCEEDS(pipe(ends));
	FAILS(preadv2(ends[0], &piece, 1, -1, RWF_NOWAIT), EAGAIN);
}

TEST(seek)
{
	int file = new_file("abcdefgh");
	EQUALS(lseek(file, 3, SEEK_SET), 3);
	EQUALS(lseek(file, -1, SEEK_CUR), 2);
	EQUALS(lseek(file, -1, SEEK_END), 7);
	EQUALS(lseek(file, 100, SEEK_END), 108);
	FAILS(lseek(file, -1, SEEK_SET), EINVAL);
	FAILS(lseek(file, -200, SEEK_CUR), EINVAL);
	FAILS(lseek(file, 0, 99), EINVAL);
	EQUALS(lseek(file, 0, SEEK_CUR), 108);
	FAILS(lseek(9999, 0, SEEK_SET), EBADF);
	int ends[2];
	SUCCEEDS(pipe(ends));
	FAILS(lseek(ends[0], 0, SEEK_SET), ESPIPE);
	EQUALS(lseek(SUCCEEDS(open("/dev/null", O_RDWR)), 5, SEEK_SET), 0);
}

TEST(write_behind_the_end_leaves_zeros)
{
	int file = new_file("ab");
	SUCCEEDS(lseek(file, 4, SEEK_SET));
	EQUALS(write(file, "e", 1), 1);
	char text[8];
	EQUALS(pread(file, text, 8, 0), 5);
	EQUALS(memcmp(text, "ab\0\0e", 5), 0);
}

TEST(holes_and_data)
{
	enum { PIECE = 1 << 20 };
	int file = new_file("");
	static char data[PIECE];
	memset(data, 'x', sizeof data);
	EQUALS(pwrite(file, data, PIECE, PIECE), PIECE);
	SUCCEEDS(ftruncate(file, 4 * PIECE));
	EQUALS(lseek(file, 0, SEEK_DATA), PIECE);
	EQUALS(lseek(file, 0, SEEK_HOLE), 0);
	EQUALS(lseek(file, PIECE + 100, SEEK_DATA), PIECE + 100);
	EQUALS(lseek(file, PIECE + 100, SEEK_HOLE), 2 * PIECE);
	FAILS(lseek(file, 2 * PIECE + 1, SEEK_DATA), ENXIO);
	EQUALS(lseek(file, 3 * PIECE, SEEK_HOLE), 3 * PIECE);
	FAILS(lseek(file, 4 * PIECE, SEEK_DATA), ENXIO);
	FAILS(lseek(file, 4 * PIECE, SEEK_HOLE), ENXIO);
	struct stat status;
	SUCCEEDS(fstat(file, &status));
	CHECK(status.st_blocks * 512 < 2 * PIECE);
}

TEST(full_file_has_its_hole_at_the_end)
{
	int file = new_file("abc");
	EQUALS(lseek(file, 0, SEEK_HOLE), 3);
	EQUALS(lseek(file, 1, SEEK_DATA), 1);
}

TEST(a_megabyte_in_one_go)
{
	enum { SIZE = 3 << 20 };
	int file = new_file("");
	unsigned char *out = malloc(SIZE), *in = malloc(SIZE);
	for (int i = 0; i < SIZE; i++)
		out[i] = i * 7 ^ i >> 8;
	EQUALS(write(file, out, SIZE), SIZE);
	EQUALS(pread(file, in, SIZE, 0), SIZE);
	EQUALS(memcmp(in, out, SIZE), 0);
}

TEST(synchronise)
{
	int file = new_file("abc"), ends[2];
	SUCCEEDS(fsync(file));
	SUCCEEDS(fdatasync(file));
	SUCCEEDS(sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE));
	SUCCEEDS(syncfs(file));
	SUCCEEDS(pipe(ends));
	FAILS(fsync(ends[0]), EINVAL);
	FAILS(fsync(9999), EBADF);
	FAILS(sync_file_range(file, 0, 0, 0x100), EINVAL);
	FAILS(sync_file_range(ends[0], 0, 0, SYNC_FILE_RANGE_WRITE), ESPIPE);
}

TEST(advice)
{
	int file = new_file("abc"), ends[2];
	EQUALS(posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL), 0);
	EQUALS(posix_fadvise(file, 0, 0, POSIX_FADV_WILLNEED), 0);
	EQUALS(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED), 0);
	EQUALS(posix_fadvise(file, 0, 0, 99), EINVAL);
	EQUALS(posix_fadvise(9999, 0, 0, POSIX_FADV_NORMAL), EBADF);
	SUCCEEDS(pipe(ends));
	EQUALS(posix_fadvise(ends[0], 0, 0, POSIX_FADV_NORMAL), ESPIPE);
	SUCCEEDS(readahead(file, 0, 4096));
	FAILS(readahead(ends[0], 0, 4096), EINVAL);
	FAILS(readahead(9999, 0, 4096), EBADF);
}

TEST(largest_request)
{
	int null = SUCCEEDS(open("/dev/null", O_RDWR));
	void *data = SUCCEEDS(mmap(NULL, 0x80000000ul, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
	EQUALS(write(null, data, 0x7ffff000), 0x7ffff000);
	/* More than that is done in part. */
	EQUALS(write(null, data, 0x80000000ul), 0x7ffff000);
}

TEST(appends_of_several_processes_do_not_overlap)
{
	scratch();
	make_file("log", "");
	pid_t children[4];
	for (int i = 0; i < 4; i++) {
		children[i] = FORK();
		if (children[i] == 0) {
			int file = SUCCEEDS(open("log", O_WRONLY | O_APPEND));
			for (int j = 0; j < 50; j++)
				EQUALS(write(file, "0123456789\n", 11), 11);
			_exit(0);
		}
	}
	for (int i = 0; i < 4; i++)
		EXITS(children[i], 0);
	const char *text = text_of("log");
	EQUALS(strlen(text), 4 * 50 * 11);
	for (int i = 0; i < 200; i++)
		EQUALS(memcmp(text + i * 11, "0123456789\n", 11), 0);
}
