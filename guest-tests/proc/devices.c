/* The devices that every program expects. */
#include "files.h"
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

static bool is_device(const char *path, int major, int minor)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == makedev(major, minor);
}

TEST(numbers)
{
	CHECK(is_device("/dev/null", 1, 3));
	CHECK(is_device("/dev/zero", 1, 5));
	CHECK(is_device("/dev/full", 1, 7));
	CHECK(is_device("/dev/random", 1, 8));
	CHECK(is_device("/dev/urandom", 1, 9));
	CHECK(is_device("/dev/tty", 5, 0));
	CHECK(is_device("/dev/ptmx", 5, 2));
}

TEST(null)
{
	char byte;
	int file = SUCCEEDS(open("/dev/null", O_RDWR));
	EQUALS(read(file, &byte, 1), 0);
	EQUALS(write(file, "text", 4), 4);
	EQUALS(lseek(file, 100, SEEK_SET), 0);
	/* The truncation that comes with opening for output does no harm. */
	SUCCEEDS(open("/dev/null", O_WRONLY | O_TRUNC | O_CREAT, 0666));
	FAILS(ftruncate(file, 0), EINVAL);
	EQUALS(pread(file, &byte, 1, 1000), 0);
}

TEST(zero)
{
	char data[5000];
	memset(data, 'x', sizeof data);
	int file = SUCCEEDS(open("/dev/zero", O_RDWR));
	EQUALS(read(file, data, sizeof data), sizeof data);
	for (unsigned i = 0; i < sizeof data; i++)
		EQUALS(data[i], 0);
	EQUALS(write(file, data, sizeof data), sizeof data);
	FAILS(read(file, BAD_POINTER, 1), EFAULT);
}

TEST(full)
{
	char byte = 'x';
	int file = SUCCEEDS(open("/dev/full", O_RDWR));
	FAILS(write(file, "x", 1), ENOSPC);
	EQUALS(read(file, &byte, 1), 1);
	EQUALS(byte, 0);
}

TEST(random)
{
	const char *paths[] = { "/dev/random", "/dev/urandom" };
	unsigned char first[64], second[64];
	for (int i = 0; i < 2; i++) {
		int file = SUCCEEDS(open(paths[i], O_RDONLY));
		EQUALS(read(file, first, sizeof first), sizeof first);
		EQUALS(read(file, second, sizeof second), sizeof second);
		CHECK(memcmp(first, second, sizeof first) != 0);
		struct pollfd one = { file, POLLIN, 0 };
		EQUALS(poll(&one, 1, 0), 1);
	}
	int writer = SUCCEEDS(open("/dev/urandom", O_WRONLY));
	EQUALS(write(writer, "seed", 4), 4);
}

TEST(links_to_descriptors)
{
	int ends[2];
	char path[64], target[64] = "", byte;
	SUCCEEDS(pipe(ends));
	SUCCEEDS(dup2(ends[0], 0));
	EQUALS(write(ends[1], "ab", 2), 2);
	struct stat status;
	if (stat("/dev/fd", &status) < 0)
		SKIP("no /dev/fd here");
	SUCCEEDS(readlink("/dev/fd", target, sizeof target - 1));
	SAME_TEXT(target, "/proc/self/fd");
	snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
	EQUALS(read(SUCCEEDS(open(path, O_RDONLY)), &byte, 1), 1);
	EQUALS(read(SUCCEEDS(open("/dev/stdin", O_RDONLY)), &byte, 1), 1);
	EQUALS(byte, 'b');
}

TEST(shared_memory_directory)
{
	struct stat status;
	SUCCEEDS(stat("/dev/shm", &status));
	EQUALS(status.st_mode, S_IFDIR | 01777);
	SUCCEEDS(stat("/tmp", &status));
	EQUALS(status.st_mode, S_IFDIR | 01777);
	CHECK(S_ISDIR(status.st_mode));
	SUCCEEDS(stat("/dev/pts", &status));
	CHECK(S_ISDIR(status.st_mode));
}
