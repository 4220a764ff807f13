/* copy_file_range, sendfile, splice, tee, vmsplice. */
#include "files.h"
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int source, target, ends[2];

static void prepare(void)
{
	scratch();
	make_file("source", "0123456789");
	source = SUCCEEDS(open("source", O_RDWR));
	target = SUCCEEDS(open("target", O_RDWR | O_CREAT, 0644));
	SUCCEEDS(pipe2(ends, O_NONBLOCK));
}

TEST(between_files)
{
	prepare();
	EQUALS(copy_file_range(source, NULL, target, NULL, 4, 0), 4);
	EQUALS(lseek(source, 0, SEEK_CUR), 4);
	EQUALS(lseek(target, 0, SEEK_CUR), 4);
	off_t from = 8, to = 6;
	EQUALS(copy_file_range(source, &from, target, &to, 100, 0), 2);
	EQUALS(from, 10);
	EQUALS(to, 8);
	EQUALS(lseek(source, 0, SEEK_CUR), 4);
	char text[16];
	EQUALS(pread(target, text, sizeof text, 0), 8);
	EQUALS(memcmp(text, "0123\0\0" "89", 8), 0);
	EQUALS(copy_file_range(source, &from, target, NULL, 5, 0), 0);
}

TEST(within_a_file)
{
	prepare();
	off_t from = 0, to = 10;
	EQUALS(copy_file_range(source, &from, source, &to, 10, 0), 10);
	SAME_TEXT(text_of("source"), "01234567890123456789");
	from = 0, to = 5;
	FAILS(copy_file_range(source, &from, source, &to, 10, 0), EINVAL);
}

TEST(copy_refusals)
{
	prepare();
	FAILS(copy_file_range(source, NULL, target, NULL, 1, 1), EINVAL);
	FAILS(copy_file_range(source, NULL, SUCCEEDS(open("target", O_RDONLY)), NULL, 1, 0), EBADF);
	FAILS(copy_file_range(SUCCEEDS(open("source", O_WRONLY)), NULL, target, NULL, 1, 0), EBADF);
	FAILS(copy_file_range(source, NULL, SUCCEEDS(open("target", O_WRONLY | O_APPEND)), NULL, 1, 0), EBADF);
	FAILS(copy_file_range(SUCCEEDS(open(".", O_RDONLY)), NULL, target, NULL, 1, 0), EISDIR);
	FAILS(copy_file_range(ends[0], NULL, target, NULL, 1, 0), EINVAL);
	FAILS(copy_file_range(9999, NULL, target, NULL, 1, 0), EBADF);
}

TEST(send_a_file)
{
	prepare();
	EQUALS(sendfile(target, source, NULL, 100), 10);
	SAME_TEXT(text_of("target"), "0123456789");
	off_t offset = 3;
	char text[16] = "";
	EQUALS(sendfile(ends[1], source, &offset, 4), 4);
	EQUALS(offset, 7);
	EQUALS(read(ends[0], text, sizeof text), 4);
	SAME_TEXT(text, "3456");
	int pair[2];
	SUCCEEDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	offset = 0;
	EQUALS(sendfile(pair[0], source, &offset, 10), 10);
	EQUALS(read(pair[1], text, sizeof text), 10);
	EQUALS(sendfile(pair[0], source, NULL, 10), 0);
}

TEST(send_refusals)
{
	prepare();
	FAILS(sendfile(SUCCEEDS(open("target", O_RDONLY)), source, NULL, 1), EBADF);
	FAILS(sendfile(9999, source, NULL, 1), EBADF);
	FAILS(sendfile(target, 9999, NULL, 1), EBADF);
	off_t offset = -1;
	FAILS(sendfile(target, source, &offset, 1), EINVAL);
	FAILS(sendfile(SUCCEEDS(open("target", O_WRONLY | O_APPEND)), source, NULL, 1), EINVAL);
}

TEST(splice_both_ways)
{
	prepare();
	off_t offset = 2;
	EQUALS(splice(source, &offset, ends[1], NULL, 5, 0), 5);
	EQUALS(offset, 7);
	EQUALS(splice(ends[0], NULL, target, NULL, 100, 0), 5);
	SAME_TEXT(text_of("target"), "23456");
	FAILS(splice(ends[0], NULL, target, NULL, 100, 0), EAGAIN);
	FAILS(splice(ends[0], NULL, target, NULL, 100, SPLICE_F_NONBLOCK), EAGAIN);
}

TEST(splice_between_pipes)
{
	prepare();
	int other[2];
	SUCCEEDS(pipe(other));
	EQUALS(write(ends[1], "abcdef", 6), 6);
	EQUALS(splice(ends[0], NULL, other[1], NULL, 4, 0), 4);
	char text[8] = "";
	EQUALS(read(other[0], text, 8), 4);
	SAME_TEXT(text, "abcd");
	EQUALS(read(ends[0], text, 8), 2);
}

TEST(splice_refusals)
{
	prepare();
	off_t offset = 0;
	FAILS(splice(source, NULL, target, NULL, 1, 0), EINVAL);
	FAILS(splice(ends[0], &offset, target, NULL, 1, 0), ESPIPE);
	FAILS(splice(source, NULL, ends[1], &offset, 1, 0), ESPIPE);
	FAILS(splice(9999, NULL, ends[1], NULL, 1, 0), EBADF);
	FAILS(splice(ends[0], NULL, ends[1], NULL, 1, 0), EINVAL);
	FAILS(splice(ends[1], NULL, target, NULL, 1, 0), EBADF);
	FAILS(splice(source, NULL, ends[1], NULL, 1, 0x100), EINVAL);
	EQUALS(splice(source, NULL, ends[1], NULL, 0, 0), 0);
}

TEST(end_of_a_pipe)
{
	prepare();
	SUCCEEDS(close(ends[1]));
	EQUALS(splice(ends[0], NULL, target, NULL, 1, 0), 0);
}

TEST(tee_leaves_the_data)
{
	prepare();
	int other[2];
	SUCCEEDS(pipe(other));
	EQUALS(write(ends[1], "abcdef", 6), 6);
	EQUALS(tee(ends[0], other[1], 4, 0), 4);
	char text[8] = "";
	EQUALS(read(ends[0], text, 8), 6);
	SAME_TEXT(text, "abcdef");
	memset(text, 0, sizeof text);
	EQUALS(read(other[0], text, 8), 4);
	SAME_TEXT(text, "abcd");
	FAILS(tee(ends[0], ends[1], 1, 0), EINVAL);
	FAILS(tee(source, other[1], 1, 0), EINVAL);
	FAILS(tee(ends[0], other[1], 1, SPLICE_F_NONBLOCK), EAGAIN);
}

TEST(memory_into_a_pipe)
{
	prepare();
	char first[] = "one ", second[] = "two", text[16] = "";
	struct iovec pieces[2] = { { first, 4 }, { second, 3 } };
	EQUALS(vmsplice(ends[1], pieces, 2, 0), 7);
	EQUALS(read(ends[0], text, 16), 7);
	SAME_TEXT(text, "one two");
	EQUALS(write(ends[1], "back", 4), 4);
	struct iovec into = { text, 16 };
	EQUALS(vmsplice(ends[0], &into, 1, 0), 4);
	EQUALS(memcmp(text, "back", 4), 0);
	FAILS(vmsplice(source, pieces, 2, 0), EBADF);
	FAILS(vmsplice(ends[1], pieces, 1025, 0), EINVAL);
}

TEST(a_large_copy)
{
	enum { SIZE = 1 << 20 };
	prepare();
	char *data = malloc(SIZE), *copy = malloc(SIZE);
	for (int i = 0; i < SIZE; i++)
		data[i] = i * 31 >> 3;
	EQUALS(pwrite(source, data, SIZE, 0), SIZE);
	off_t from = 0;
	for (size_t done = 0; done < SIZE;)
		done += SUCCEEDS(sendfile(target, source, &from, SIZE - done));
	EQUALS(pread(target, copy, SIZE, 0), SIZE);
	EQUALS(memcmp(data, copy, SIZE), 0);
}
