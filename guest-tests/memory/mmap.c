/* mmap(2) and munmap(2) in all forms. */
#include "files.h"
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { PAGE = 4096, ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS, READ_WRITE = PROT_READ | PROT_WRITE };

static char *map(size_t length)
{
	return SUCCEEDS((char *)mmap(NULL, length, READ_WRITE, ANONYMOUS, -1, 0));
}

static int file_of(const char *text, size_t size)
{
	int file = SUCCEEDS(open("file", O_RDWR | O_CREAT | O_TRUNC, 0644));
	SUCCEEDS(ftruncate(file, size));
	EQUALS(pwrite(file, text, strlen(text), 0), (ssize_t)strlen(text));
	return file;
}

static bool is_mapped(void *address)
{
	unsigned char residence;
	return mincore(address, PAGE, &residence) == 0;
}

TEST(anonymous_is_zero_and_aligned)
{
	char *pages = map(10 * PAGE);
	EQUALS((uintptr_t)pages % PAGE, 0);
	for (int i = 0; i < 10 * PAGE; i += 64)
		EQUALS(pages[i], 0);
	pages[10 * PAGE - 1] = 1;
}

TEST(length_is_rounded_up)
{
	char *page = map(1);
	page[PAGE - 1] = 1;
	SUCCEEDS(munmap(page, 1));
	CHECK(!is_mapped(page));
}

TEST(hint_is_taken_when_free)
{
	char *hole = map(16 * PAGE);
	SUCCEEDS(munmap(hole, 16 * PAGE));
	CHECK(mmap(hole + 4 * PAGE, PAGE, PROT_READ, ANONYMOUS, -1, 0) == hole + 4 * PAGE);
	CHECK(mmap(hole + 4 * PAGE, PAGE, PROT_READ, ANONYMOUS, -1, 0) != hole + 4 * PAGE);
}

TEST(fixed_replaces)
{
	char *pages = map(3 * PAGE);
	memset(pages, 'a', 3 * PAGE);
	CHECK(mmap(pages + PAGE, PAGE, READ_WRITE, ANONYMOUS | MAP_FIXED, -1, 0) == pages + PAGE);
	EQUALS(pages[PAGE - 1], 'a');
	EQUALS(pages[PAGE], 0);
	EQUALS(pages[2 * PAGE], 'a');
}

TEST(fixed_without_replacing)
{
	char *pages = map(3 * PAGE);
	FAILS(mmap(pages + PAGE, PAGE, PROT_READ, ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), EEXIST);
	SUCCEEDS(munmap(pages + PAGE, PAGE));
	CHECK(mmap(pages + PAGE, PAGE, PROT_READ, ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == pages + PAGE);
	FAILS(mmap(pages, 2 * PAGE, PROT_READ, ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), EEXIST);
}

TEST(below_two_gigabytes)
{
	uintptr_t low = (uintptr_t)SUCCEEDS(mmap(NULL, PAGE, PROT_READ, ANONYMOUS | MAP_32BIT, -1, 0));
	CHECK(low < 1ull << 32);
}

TEST(refusals)
{
	scratch();
	int file = file_of("text", PAGE), directory = SUCCEEDS(open(".", O_RDONLY)), path = SUCCEEDS(open("file", O_PATH));
	FAILS(mmap(NULL, 0, PROT_READ, ANONYMOUS, -1, 0), EINVAL);
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0), EINVAL);
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0), EBADF);
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 9999, 0), EBADF);
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, path, 0), EBADF);
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, directory, 0), ENODEV);
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 1), EINVAL);
	FAILS(mmap((void *)1, PAGE, PROT_READ, ANONYMOUS | MAP_FIXED, -1, 0), EINVAL);
	FAILS(mmap(NULL, SIZE_MAX, PROT_READ, ANONYMOUS, -1, 0), ENOMEM);
	FAILS(mmap(NULL, 1ul << 50, PROT_READ, ANONYMOUS, -1, 0), ENOMEM);
	/* Beyond the end also of hosts with five levels of page tables. */
	FAILS(mmap((void *)(1ul << 56), PAGE, PROT_READ, ANONYMOUS | MAP_FIXED, -1, 0), ENOMEM);
}

TEST(access_mode_of_the_file)
{
	scratch();
	close(file_of("text", PAGE));
	int reader = SUCCEEDS(open("file", O_RDONLY)), writer = SUCCEEDS(open("file", O_WRONLY));
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, writer, 0), EACCES);
	FAILS(mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, writer, 0), EACCES);
	FAILS(mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, reader, 0), EACCES);
	char *page = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE, reader, 0));
	page[0] = 'T';
	page = SUCCEEDS((char *)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, reader, 0));
	FAILS(mprotect(page, PAGE, READ_WRITE), EACCES);
}

TEST(private_file_mapping)
{
	scratch();
	int file = file_of("before", 2 * PAGE);
	char *pages = SUCCEEDS((char *)mmap(NULL, 2 * PAGE, READ_WRITE, MAP_PRIVATE, file, 0));
	SUCCEEDS(close(file));
	SAME_TEXT(pages, "before");
	strcpy(pages, "after");
	SAME_TEXT(text_of("file"), "before");
}

TEST(shared_file_mapping)
{
	scratch();
	int file = file_of("before", 2 * PAGE);
	char *first = SUCCEEDS((char *)mmap(NULL, 2 * PAGE, READ_WRITE, MAP_SHARED, file, 0));
	char *second = SUCCEEDS((char *)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, PAGE));
	strcpy(first, "after");
	SAME_TEXT(text_of("file"), "after");
	EQUALS(pwrite(file, "written", 8, PAGE), 8);
	SAME_TEXT(first + PAGE, "written");
	SAME_TEXT(second, "written");
}

TEST(shared_file_between_processes)
{
	scratch();
	int file = file_of("", PAGE);
	char *page = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, file, 0));
	pid_t child = FORK();
	if (child == 0) {
		strcpy(page, "from the child");
		_exit(0);
	}
	EXITS(child, 0);
	SAME_TEXT(page, "from the child");
}

TEST(rest_of_the_last_page_is_zero)
{
	scratch();
	int file = file_of("abc", 3);
	char *page = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, file, 0));
	for (int i = 3; i < PAGE; i++)
		EQUALS(page[i], 0);
	page[100] = 'x';
	struct stat status;
	SUCCEEDS(fstat(file, &status));
	EQUALS(status.st_size, 3);
}

TEST(growing_file_shows_in_the_mapping)
{
	scratch();
	int file = file_of("", 0);
	char *pages = SUCCEEDS((char *)mmap(NULL, 2 * PAGE, READ_WRITE, MAP_SHARED, file, 0));
	SUCCEEDS(ftruncate(file, 2 * PAGE));
	pages[PAGE] = 'x';
	char byte = 0;
	EQUALS(pread(file, &byte, 1, PAGE), 1);
	EQUALS(byte, 'x');
}

TEST(mapping_outlives_the_name)
{
	scratch();
	int file = file_of("still here", PAGE);
	char *page = SUCCEEDS((char *)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0));
	SUCCEEDS(close(file));
	SUCCEEDS(unlink("file"));
	SAME_TEXT(page, "still here");
}

TEST(shared_anonymous_with_children)
{
	volatile int *shared = SUCCEEDS((volatile int *)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	pid_t children[4];
	for (int i = 0; i < 4; i++) {
		children[i] = FORK();
		if (children[i] == 0) {
			for (int j = 0; j < 1000; j++)
				__sync_fetch_and_add(shared, 1);
			_exit(0);
		}
	}
	for (int i = 0; i < 4; i++)
		EXITS(children[i], 0);
	EQUALS(*shared, 4000);
}

TEST(private_anonymous_is_copied)
{
	char *page = map(PAGE);
	page[0] = 'p';
	pid_t child = FORK();
	if (child == 0) {
		page[0] = 'c';
		_exit(0);
	}
	EXITS(child, 0);
	EQUALS(page[0], 'p');
}

TEST(unmap_splits)
{
	char *pages = map(5 * PAGE);
	memset(pages, 'x', 5 * PAGE);
	SUCCEEDS(munmap(pages + 2 * PAGE, PAGE));
	CHECK(is_mapped(pages + PAGE) && !is_mapped(pages + 2 * PAGE) && is_mapped(pages + 3 * PAGE));
	EQUALS(pages[3 * PAGE], 'x');
	SUCCEEDS(munmap(pages, 5 * PAGE));
	SUCCEEDS(munmap(pages, 5 * PAGE));
	FAILS(munmap(pages + 1, PAGE), EINVAL);
	FAILS(munmap(pages, 0), EINVAL);
	FAILS(munmap(pages, SIZE_MAX - PAGE), EINVAL);
}

TEST(populate_and_lock)
{
	char *pages = SUCCEEDS((char *)mmap(NULL, 4 * PAGE, READ_WRITE, ANONYMOUS | MAP_POPULATE, -1, 0));
	unsigned char resident[4];
	SUCCEEDS(mincore(pages, 4 * PAGE, resident));
	for (int i = 0; i < 4; i++)
		EQUALS(resident[i] & 1, 1);
	SUCCEEDS(mmap(NULL, PAGE, READ_WRITE, ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0));
}

TEST(large_reserve)
{
	char *pages = SUCCEEDS((char *)mmap(NULL, 1ul << 40, PROT_NONE, ANONYMOUS | MAP_NORESERVE, -1, 0));
	SUCCEEDS(mprotect(pages + (1ul << 39), PAGE, READ_WRITE));
	pages[1ul << 39] = 1;
	SUCCEEDS(munmap(pages, 1ul << 40));
}

TEST(zero_device)
{
	int zero = SUCCEEDS(open("/dev/zero", O_RDWR));
	char *page = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE, zero, 0));
	EQUALS(page[5], 0);
	page[5] = 1;
	int null = SUCCEEDS(open("/dev/null", O_RDWR));
	FAILS(mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE, null, 0), ENODEV);
}

TEST(validated_flags)
{
	scratch();
	int file = file_of("x", PAGE);
	SUCCEEDS(mmap(NULL, PAGE, PROT_READ, MAP_SHARED_VALIDATE, file, 0));
	FAILS(mmap(NULL, PAGE, PROT_READ, MAP_SHARED_VALIDATE | 0x400000, file, 0), EOPNOTSUPP);
}

TEST(ten_thousand_mappings)
{
	/* Alternating protections keep them from being merged. */
	char *pages = map(10000 * PAGE);
	for (int i = 0; i < 10000; i += 2)
		SUCCEEDS(mprotect(pages + (long)i * PAGE, PAGE, PROT_READ));
	pages[9999 * PAGE] = 1;
	SUCCEEDS(munmap(pages, 10000 * PAGE));
}

TEST(write_and_run_code)
{
	static const unsigned char add_one[] = { 0x8d, 0x47, 0x01, 0xc3 }; /* lea 1(%rdi), %eax; ret */
	static const unsigned char add_two[] = { 0x8d, 0x47, 0x02, 0xc3 };
	unsigned char *code = SUCCEEDS((unsigned char *)mmap(NULL, PAGE, READ_WRITE | PROT_EXEC, ANONYMOUS, -1, 0));
	int (*run)(int) = (int (*)(int))code;
	memcpy(code, add_one, sizeof add_one);
	EQUALS(run(4), 5);
	memcpy(code, add_two, sizeof add_two);
	EQUALS(run(4), 6);
	SUCCEEDS(mprotect(code, PAGE, READ_WRITE));
	memcpy(code, add_one, sizeof add_one);
	SUCCEEDS(mprotect(code, PAGE, PROT_READ | PROT_EXEC));
	EQUALS(run(4), 5);
}

TEST(code_through_two_views_of_a_file)
{
	static const unsigned char add_one[] = { 0x8d, 0x47, 0x01, 0xc3 };
	int file = SUCCEEDS(memfd_create("code", 0));
	SUCCEEDS(ftruncate(file, PAGE));
	unsigned char *writable = SUCCEEDS((unsigned char *)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, file, 0));
	void *runnable = SUCCEEDS(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0));
	memcpy(writable, add_one, sizeof add_one);
	EQUALS(((int (*)(int))runnable)(1), 2);
}

TEST(system_call_from_fresh_code)
{
	/* mov $110,%eax (getppid); syscall; ret */
	static const unsigned char call[] = { 0xb8, 110, 0, 0, 0, 0x0f, 0x05, 0xc3 };
	unsigned char *code = SUCCEEDS((unsigned char *)mmap(NULL, PAGE, READ_WRITE | PROT_EXEC, ANONYMOUS, -1, 0));
	for (int at = 0; at < 32; at += 8) {
		memcpy(code + at, call, sizeof call);
		for (int i = 0; i < 3; i++)
			EQUALS(((int (*)(void))(code + at))(), getppid());
	}
	/* The same place gets other code: what a kernel may have done to the old one must not show. */
	static const unsigned char other[] = { 0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xc3 };
	memcpy(code, other, sizeof other);
	EQUALS(((int (*)(void))code)(), getpid());
}
