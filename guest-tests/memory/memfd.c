/* memfd_create(2), seals, and shared memory objects in /dev/shm. */
#include "files.h"
#include <sys/mman.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x10
#endif

enum { PAGE = 4096, READ_WRITE = PROT_READ | PROT_WRITE };

TEST(is_an_empty_file)
{
	int file = SUCCEEDS(memfd_create("a name", 0));
	struct stat status;
	SUCCEEDS(fstat(file, &status));
	CHECK(S_ISREG(status.st_mode));
	EQUALS(status.st_size, 0);
	EQUALS(status.st_nlink, 0);
	EQUALS(fcntl(file, F_GETFL) & O_ACCMODE, O_RDWR);
	EQUALS(fcntl(file, F_GETFD), 0);
	EQUALS(write(file, "hello", 5), 5);
	char text[8] = "";
	EQUALS(pread(file, text, 8, 0), 5);
	SAME_TEXT(text, "hello");
	EQUALS(fcntl(memfd_create("x", MFD_CLOEXEC), F_GETFD), FD_CLOEXEC);
}

TEST(link_in_proc)
{
	char path[64], target[64] = "";
	snprintf(path, sizeof path, "/proc/self/fd/%d", SUCCEEDS(memfd_create("a name", 0)));
	SUCCEEDS(readlink(path, target, sizeof target - 1));
	SAME_TEXT(target, "/memfd:a name (deleted)");
}

TEST(refusals)
{
	char name[300];
	memset(name, 'x', sizeof name);
	name[249] = 0;
	SUCCEEDS(memfd_create(name, 0));
	name[249] = 'x';
	name[250] = 0;
	FAILS(memfd_create(name, 0), EINVAL);
	FAILS(memfd_create("x", 0x4000), EINVAL);
	FAILS(memfd_create(BAD_POINTER, 0), EFAULT);
}

TEST(sealing_must_be_allowed)
{
	int plain = SUCCEEDS(memfd_create("x", 0)), sealable = SUCCEEDS(memfd_create("x", MFD_ALLOW_SEALING));
	EQUALS(fcntl(plain, F_GET_SEALS), F_SEAL_SEAL);
	FAILS(fcntl(plain, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
	EQUALS(fcntl(sealable, F_GET_SEALS), 0);
	FAILS(fcntl(sealable, F_ADD_SEALS, 0x1000), EINVAL);
	int ends[2];
	SUCCEEDS(pipe(ends));
	FAILS(fcntl(ends[0], F_GET_SEALS), EINVAL);
}

TEST(seal_of_size)
{
	int file = SUCCEEDS(memfd_create("x", MFD_ALLOW_SEALING));
	SUCCEEDS(ftruncate(file, PAGE));
	SUCCEEDS(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK));
	FAILS(ftruncate(file, 100), EPERM);
	SUCCEEDS(ftruncate(file, 2 * PAGE));
	SUCCEEDS(fcntl(file, F_ADD_SEALS, F_SEAL_GROW));
	FAILS(ftruncate(file, 3 * PAGE), EPERM);
	EQUALS(pwrite(file, "xy", 2, 2 * PAGE - 2), 2);
	FAILS(pwrite(file, "xy", 2, 2 * PAGE), EPERM);
	EQUALS(fcntl(file, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW);
}

TEST(seal_of_content)
{
	int file = SUCCEEDS(memfd_create("x", MFD_ALLOW_SEALING));
	SUCCEEDS(ftruncate(file, PAGE));
	char *page = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, file, 0));
	FAILS(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), EBUSY);
	SUCCEEDS(munmap(page, PAGE));
	SUCCEEDS(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE));
	FAILS(write(file, "x", 1), EPERM);
	FAILS(mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, file, 0), EPERM);
	SUCCEEDS(mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE, file, 0));
	FAILS(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE), EPERM);
}

TEST(seal_of_later_writes)
{
	int file = SUCCEEDS(memfd_create("x", MFD_ALLOW_SEALING));
	SUCCEEDS(ftruncate(file, PAGE));
	char *page = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, file, 0));
	SUCCEEDS(fcntl(file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
	page[0] = 'x';
	FAILS(write(file, "x", 1), EPERM);
	FAILS(mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, file, 0), EPERM);
}

TEST(seal_of_seals)
{
	int file = SUCCEEDS(memfd_create("x", MFD_ALLOW_SEALING));
	SUCCEEDS(fcntl(file, F_ADD_SEALS, F_SEAL_SEAL));
	FAILS(fcntl(file, F_ADD_SEALS, F_SEAL_GROW), EPERM);
}

TEST(shared_with_a_child)
{
	int file = SUCCEEDS(memfd_create("x", 0));
	SUCCEEDS(ftruncate(file, PAGE));
	pid_t child = FORK();
	if (child == 0) {
		char *page = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, file, 0));
		strcpy(page, "mapped by the child");
		_exit(0);
	}
	EXITS(child, 0);
	char text[32] = "";
	EQUALS(read(file, text, sizeof text), sizeof text);
	SAME_TEXT(text, "mapped by the child");
}

TEST(reopened_through_proc)
{
	int file = SUCCEEDS(memfd_create("x", 0));
	EQUALS(write(file, "data", 4), 4);
	char path[64], text[8] = "";
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	int again = SUCCEEDS(open(path, O_RDONLY));
	EQUALS(read(again, text, 8), 4);
	FAILS(write(again, "x", 1), EBADF);
	SAME_TEXT(text, "data");
}

TEST(named_shared_memory)
{
	char name[64];
	snprintf(name, sizeof name, "/belljar-%d", getpid());
	FAILS(shm_open(name, O_RDWR, 0), ENOENT);
	int file = SUCCEEDS(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
	FAILS(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
	SUCCEEDS(ftruncate(file, PAGE));
	char *page = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, file, 0));
	pid_t child = FORK();
	if (child == 0) {
		int again = SUCCEEDS(shm_open(name, O_RDWR, 0));
		char *there = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, again, 0));
		strcpy(there, "hello");
		_exit(0);
	}
	EXITS(child, 0);
	SAME_TEXT(page, "hello");
	SUCCEEDS(shm_unlink(name));
	FAILS(shm_unlink(name), ENOENT);
	SAME_TEXT(page, "hello");
}
