/* truncate(2), ftruncate(2), fallocate(2). */
#include "files.h"
#include <linux/magic.h>
#include <sys/vfs.h>

enum { BLOCK = 65536 };

static int new_file(void)
{
	scratch();
	int file = SUCCEEDS(open("file", O_RDWR | O_CREAT, 0644));
	static char data[4 * BLOCK];
	memset(data, 'x', sizeof data);
	EQUALS(write(file, data, sizeof data), sizeof data);
	return file;
}

static struct stat status_of(int file)
{
	struct stat status;
	SUCCEEDS(fstat(file, &status));
	return status;
}

static char byte_at(int file, off_t offset)
{
	char byte = '?';
	EQUALS(pread(file, &byte, 1, offset), 1);
	return byte;
}

TEST(shrink_and_grow)
{
	int file = new_file();
	SUCCEEDS(ftruncate(file, 100));
	EQUALS(status_of(file).st_size, 100);
	SUCCEEDS(truncate("file", 200));
	EQUALS(status_of(file).st_size, 200);
	EQUALS(byte_at(file, 99), 'x');
	EQUALS(byte_at(file, 100), 0);
	EQUALS(lseek(file, 0, SEEK_CUR), 4 * BLOCK);
}

TEST(refusals)
{
	int file = new_file(), ends[2];
	FAILS(ftruncate(file, -1), EINVAL);
	FAILS(truncate("file", -1), EINVAL);
	FAILS(truncate("absent", 0), ENOENT);
	FAILS(truncate(".", 0), EISDIR);
	FAILS(truncate("file/x", 0), ENOTDIR);
	FAILS(truncate(BAD_POINTER, 0), EFAULT);
	FAILS(ftruncate(SUCCEEDS(open("file", O_RDONLY)), 0), EINVAL);
	FAILS(ftruncate(SUCCEEDS(open(".", O_RDONLY)), 0), EINVAL);
	FAILS(ftruncate(9999, 0), EBADF);
	SUCCEEDS(pipe(ends));
	FAILS(ftruncate(ends[1], 0), EINVAL);
	SUCCEEDS(chmod("file", 0444));
	become_ordinary();
	FAILS(truncate("file", 0), EACCES);
}

TEST(allocate)
{
	scratch();
	int file = SUCCEEDS(open("file", O_RDWR | O_CREAT, 0644));
	SUCCEEDS(fallocate(file, 0, 0, BLOCK));
	EQUALS(status_of(file).st_size, BLOCK);
	CHECK(status_of(file).st_blocks * 512 >= BLOCK);
	EQUALS(byte_at(file, BLOCK - 1), 0);
	SUCCEEDS(fallocate(file, FALLOC_FL_KEEP_SIZE, BLOCK, BLOCK));
	EQUALS(status_of(file).st_size, BLOCK);
	EQUALS(posix_fallocate(file, 0, 3 * BLOCK), 0);
	EQUALS(status_of(file).st_size, 3 * BLOCK);
}

TEST(punch_a_hole)
{
	int file = new_file();
	blkcnt_t before = status_of(file).st_blocks;
	SUCCEEDS(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, BLOCK, BLOCK));
	EQUALS(status_of(file).st_size, 4 * BLOCK);
	CHECK(status_of(file).st_blocks < before);
	EQUALS(byte_at(file, BLOCK - 1), 'x');
	EQUALS(byte_at(file, BLOCK), 0);
	EQUALS(byte_at(file, 2 * BLOCK - 1), 0);
	EQUALS(byte_at(file, 2 * BLOCK), 'x');
	SUCCEEDS(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 10, 5));
	EQUALS(byte_at(file, 9), 'x');
	EQUALS(byte_at(file, 10), 0);
	EQUALS(byte_at(file, 15), 'x');
}

/* Not every file system has these modes, but those that have them agree. */
TEST(other_modes)
{
	int file = new_file();
	if (fallocate(file, FALLOC_FL_ZERO_RANGE, BLOCK, BLOCK) == 0) {
		EQUALS(byte_at(file, BLOCK), 0);
		EQUALS(byte_at(file, 2 * BLOCK), 'x');
	} else {
		EQUALS(errno, EOPNOTSUPP);
	}
	if (fallocate(file, FALLOC_FL_COLLAPSE_RANGE, 0, BLOCK) == 0)
		EQUALS(status_of(file).st_size, 3 * BLOCK);
	else
		EQUALS(errno, EOPNOTSUPP);
}

TEST(allocate_refusals)
{
	int file = new_file(), ends[2];
	SUCCEEDS(pipe(ends));
	FAILS(fallocate(file, 0, -1, 10), EINVAL);
	FAILS(fallocate(file, 0, 0, 0), EINVAL);
	FAILS(fallocate(file, FALLOC_FL_PUNCH_HOLE, 0, 10), EOPNOTSUPP);
	FAILS(fallocate(file, 0x8000, 0, 10), EOPNOTSUPP);
	FAILS(fallocate(SUCCEEDS(open("file", O_RDONLY)), 0, 0, 10), EBADF);
	FAILS(fallocate(9999, 0, 0, 10), EBADF);
	FAILS(fallocate(ends[1], 0, 0, 10), ESPIPE);
	FAILS(fallocate(SUCCEEDS(open("/dev/null", O_WRONLY)), 0, 0, 10), ENODEV);
}

TEST(too_large)
{
	int file = new_file();
	FAILS(fallocate(file, 0, INT64_MAX - 10, 100), EFBIG);
	/* Files in memory, with or without an overlay above them, may have any size. */
	struct statfs status;
	SUCCEEDS(fstatfs(file, &status));
	if (status.f_type != TMPFS_MAGIC && status.f_type != OVERLAYFS_SUPER_MAGIC) {
		FAILS(ftruncate(file, INT64_MAX), EFBIG);
		FAILS(pwrite(file, "x", 1, INT64_MAX - 1), EFBIG);
	}
	FAILS(pwrite(file, "x", 1, INT64_MAX), EINVAL);
}
