/* mprotect(2), madvise(2), mincore(2), msync(2), mlock(2). */
#include "files.h"
#include <sys/mman.h>
#include <sys/resource.h>

enum { PAGE = 4096, READ_WRITE = PROT_READ | PROT_WRITE };

static sigjmp_buf back;

static void jump(int signal)
{
	siglongjmp(back, signal);
}

static bool can_write(volatile char *address)
{
	signal(SIGSEGV, jump);
	signal(SIGBUS, jump);
	if (sigsetjmp(back, 1))
		return false;
	*address = *address;
	return true;
}

static bool can_read(volatile char *address)
{
	signal(SIGSEGV, jump);
	signal(SIGBUS, jump);
	if (sigsetjmp(back, 1))
		return false;
	(void)*address;
	return true;
}

static char *map(int n_pages)
{
	return SUCCEEDS((char *)mmap(NULL, n_pages * PAGE, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

TEST(protections)
{
	char *page = map(1);
	CHECK(can_write(page));
	SUCCEEDS(mprotect(page, PAGE, PROT_READ));
	CHECK(can_read(page) && !can_write(page));
	SUCCEEDS(mprotect(page, PAGE, PROT_NONE));
	CHECK(!can_read(page));
	SUCCEEDS(mprotect(page, PAGE, READ_WRITE));
	CHECK(can_write(page));
}

TEST(part_of_a_mapping)
{
	char *pages = map(3);
	SUCCEEDS(mprotect(pages + PAGE, 1, PROT_NONE));
	CHECK(can_write(pages) && !can_read(pages + PAGE) && !can_read(pages + 2 * PAGE - 1) && can_write(pages + 2 * PAGE));
}

TEST(content_survives)
{
	char *page = map(1);
	strcpy(page, "text");
	SUCCEEDS(mprotect(page, PAGE, PROT_NONE));
	SUCCEEDS(mprotect(page, PAGE, PROT_READ));
	SAME_TEXT(page, "text");
}

TEST(refusals)
{
	char *pages = map(3);
	FAILS(mprotect(pages + 1, PAGE, PROT_READ), EINVAL);
	FAILS(mprotect(pages, PAGE, 0x100), EINVAL);
	SUCCEEDS(mprotect(pages, 0, PROT_READ));
	SUCCEEDS(munmap(pages + PAGE, PAGE));
	FAILS(mprotect(pages, 3 * PAGE, PROT_READ), ENOMEM);
	/* What came before the hole has been changed. */
	CHECK(!can_write(pages));
	CHECK(can_write(pages + 2 * PAGE));
	FAILS(mprotect(pages + PAGE, PAGE, PROT_READ), ENOMEM);
}

TEST(dontneed_zeroes_private_memory)
{
	char *pages = map(3);
	memset(pages, 'x', 3 * PAGE);
	SUCCEEDS(madvise(pages + PAGE, PAGE, MADV_DONTNEED));
	EQUALS(pages[0], 'x');
	EQUALS(pages[PAGE], 0);
	EQUALS(pages[2 * PAGE], 'x');
}

TEST(dontneed_rereads_files)
{
	scratch();
	make_file("file", "original");
	int file = SUCCEEDS(open("file", O_RDWR));
	char *page = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE, file, 0));
	strcpy(page, "changed!");
	SUCCEEDS(madvise(page, PAGE, MADV_DONTNEED));
	SAME_TEXT(page, "original");
	char *shared = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, file, 0));
	memcpy(shared, "CHANGED", 7);
	SUCCEEDS(madvise(shared, PAGE, MADV_DONTNEED));
	EQUALS(shared[0], 'C');
}

TEST(remove_makes_a_hole)
{
	int file = SUCCEEDS(memfd_create("hole", 0));
	SUCCEEDS(ftruncate(file, 2 * PAGE));
	char *pages = SUCCEEDS((char *)mmap(NULL, 2 * PAGE, READ_WRITE, MAP_SHARED, file, 0));
	memset(pages, 'x', 2 * PAGE);
	SUCCEEDS(madvise(pages, PAGE, MADV_REMOVE));
	char byte = 'y';
	EQUALS(pread(file, &byte, 1, 0), 1);
	EQUALS(byte, 0);
	EQUALS(pages[PAGE], 'x');
	FAILS(madvise(map(1), PAGE, MADV_REMOVE), EINVAL);
}

TEST(advice_for_fork)
{
	char *pages = map(2);
	memset(pages, 'x', 2 * PAGE);
	SUCCEEDS(madvise(pages, PAGE, MADV_DONTFORK));
	SUCCEEDS(madvise(pages + PAGE, PAGE, MADV_WIPEONFORK));
	pid_t child = FORK();
	if (child == 0)
		_exit(!can_read(pages) && pages[PAGE] == 0 ? 0 : 1);
	EXITS(child, 0);
	EQUALS(pages[0], 'x');
	EQUALS(pages[PAGE], 'x');
	SUCCEEDS(madvise(pages, PAGE, MADV_DOFORK));
	SUCCEEDS(madvise(pages + PAGE, PAGE, MADV_KEEPONFORK));
	child = FORK();
	if (child == 0)
		_exit(pages[0] == 'x' && pages[PAGE] == 'x' ? 0 : 1);
	EXITS(child, 0);
}

TEST(harmless_advice)
{
	char *pages = map(4);
	memset(pages, 'x', 4 * PAGE);
	const int advice[] = { MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTDUMP, MADV_DODUMP, MADV_COLD,
			       MADV_PAGEOUT, MADV_POPULATE_READ, MADV_POPULATE_WRITE };
	for (unsigned i = 0; i < sizeof advice / sizeof *advice; i++)
		SUCCEEDS(madvise(pages, 4 * PAGE, advice[i]));
	EQUALS(pages[3 * PAGE], 'x');
	/* Freed pages are either kept or zero. */
	SUCCEEDS(madvise(pages, PAGE, MADV_FREE));
	CHECK(pages[0] == 'x' || pages[0] == 0);
	pages[0] = 'n';
	EQUALS(pages[0], 'n');
}

TEST(advice_refusals)
{
	char *pages = map(3);
	FAILS(madvise(pages + 1, PAGE, MADV_NORMAL), EINVAL);
	FAILS(madvise(pages, PAGE, 9999), EINVAL);
	FAILS(madvise(pages, -1ul, MADV_NORMAL), EINVAL);
	SUCCEEDS(madvise(pages, 0, MADV_NORMAL));
	memset(pages, 'x', 3 * PAGE);
	SUCCEEDS(munmap(pages + PAGE, PAGE));
	FAILS(madvise(pages, 3 * PAGE, MADV_DONTNEED), ENOMEM);
	/* The rest has been done all the same. */
	EQUALS(pages[0], 0);
	EQUALS(pages[2 * PAGE], 0);
}

TEST(residence)
{
	char *pages = map(3);
	unsigned char resident[3];
	pages[PAGE] = 1;
	SUCCEEDS(mincore(pages, 3 * PAGE, resident));
	EQUALS(resident[0] & 1, 0);
	EQUALS(resident[1] & 1, 1);
	EQUALS(resident[2] & 1, 0);
	FAILS(mincore(pages + 1, PAGE, resident), EINVAL);
	FAILS(mincore(pages, PAGE, BAD_POINTER), EFAULT);
	SUCCEEDS(munmap(pages, 3 * PAGE));
	FAILS(mincore(pages, PAGE, resident), ENOMEM);
}

TEST(synchronisation)
{
	scratch();
	make_file("file", "0123456789");
	int file = SUCCEEDS(open("file", O_RDWR));
	char *pages = SUCCEEDS((char *)mmap(NULL, 2 * PAGE, READ_WRITE, MAP_SHARED, file, 0));
	pages[0] = 'x';
	SUCCEEDS(msync(pages, PAGE, MS_SYNC));
	SUCCEEDS(msync(pages, PAGE, MS_ASYNC));
	SUCCEEDS(msync(pages, PAGE, MS_SYNC | MS_INVALIDATE));
	SUCCEEDS(msync(pages, 0, MS_SYNC));
	FAILS(msync(pages, PAGE, MS_SYNC | MS_ASYNC), EINVAL);
	FAILS(msync(pages, PAGE, 0x100), EINVAL);
	FAILS(msync(pages + 1, PAGE, MS_SYNC), EINVAL);
	SUCCEEDS(munmap(pages + PAGE, PAGE));
	FAILS(msync(pages, 2 * PAGE, MS_SYNC), ENOMEM);
	SAME_TEXT(text_of("file"), "x123456789");
}

TEST(locking)
{
	char *pages = map(4);
	unsigned char resident[4];
	SUCCEEDS(mlock(pages, 2 * PAGE));
	SUCCEEDS(mincore(pages, 4 * PAGE, resident));
	EQUALS(resident[0] & resident[1] & 1, 1);
	SUCCEEDS(munlock(pages, 2 * PAGE));
	SUCCEEDS(mlock2(pages + 2 * PAGE, PAGE, MLOCK_ONFAULT));
	FAILS(mlock2(pages, PAGE, 8), EINVAL);
	SUCCEEDS(munmap(pages + PAGE, PAGE));
	FAILS(mlock(pages, 4 * PAGE), ENOMEM);
	FAILS(munlock(pages, 4 * PAGE), ENOMEM);
	SUCCEEDS(munlockall());
	FAILS(mlockall(0), EINVAL);
	FAILS(mlockall(16), EINVAL);
	FAILS(mlockall(MCL_ONFAULT), EINVAL);
}

TEST(locking_limit)
{
	become_ordinary();
	struct rlimit limit = { 8 * PAGE, 8 * PAGE };
	SUCCEEDS(setrlimit(RLIMIT_MEMLOCK, &limit));
	char *pages = map(20);
	SUCCEEDS(mlock(pages, 4 * PAGE));
	FAILS(mlock(pages, 9 * PAGE), ENOMEM);
	FAILS(mlockall(MCL_CURRENT), ENOMEM);
	limit = (struct rlimit){ 0, 0 };
	SUCCEEDS(setrlimit(RLIMIT_MEMLOCK, &limit));
	FAILS(mlock(pages + 10 * PAGE, PAGE), EPERM);
}

TEST(grows_down)
{
	char *area = map(64);
	SUCCEEDS(munmap(area, 64 * PAGE));
	char *top = SUCCEEDS((char *)mmap(area + 60 * PAGE, PAGE, READ_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0));
	/* A touch of the page below makes the mapping grow. */
	top[-1] = 'x';
	top[-PAGE - 1] = 'y';
	EQUALS(top[-1], 'x');
	/* It does not grow into a mapping with too small a distance, nor jump over a hole that is a mapping. */
	EQUALS(top[-2 * PAGE + 5], 0);
}

TEST(protection_keys_are_refused_or_work)
{
	int key = syscall(SYS_pkey_alloc, 0, 0);
	if (key < 0)
		CHECK(errno == ENOSPC || errno == ENOSYS || errno == EINVAL);
	else
		SUCCEEDS(syscall(SYS_pkey_free, key));
	SUCCEEDS(syscall(SYS_pkey_mprotect, map(1), PAGE, PROT_READ, -1));
}
