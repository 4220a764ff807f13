/* brk(2). */
#include "test.h"
#include <sys/mman.h>
#include <sys/resource.h>

enum { PAGE = 4096 };

static uintptr_t set_break(uintptr_t to)
{
	return syscall(SYS_brk, to);
}

TEST(grow_and_shrink)
{
	uintptr_t start = (set_break(0) + PAGE - 1) & ~(PAGE - 1ul);
	EQUALS(set_break(start + 10 * PAGE), start + 10 * PAGE);
	memset((void *)start, 'x', 10 * PAGE);
	EQUALS(set_break(start + 2 * PAGE), start + 2 * PAGE);
	EQUALS(((char *)start)[2 * PAGE - 1], 'x');
	EQUALS(set_break(start + 10 * PAGE), start + 10 * PAGE);
	EQUALS(((char *)start)[2 * PAGE], 0);
}

TEST(any_byte_may_be_the_end)
{
	uintptr_t start = set_break(0);
	EQUALS(set_break(start + 3), start + 3);
	EQUALS(set_break(0), start + 3);
	EQUALS(set_break(start), start);
}

TEST(impossible_ends_change_nothing)
{
	uintptr_t start = set_break(0);
	EQUALS(set_break(1), start);
	EQUALS(set_break(-1ul), start);
	EQUALS(set_break(1ul << 62), start);
	EQUALS(set_break(0), start);
}

TEST(does_not_run_into_a_mapping)
{
	uintptr_t start = (set_break(0) + PAGE - 1) & ~(PAGE - 1ul);
	void *obstacle = mmap((void *)(start + 64 * PAGE), PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(obstacle == (void *)(start + 64 * PAGE));
	uintptr_t before = set_break(0);
	EQUALS(set_break(start + 80 * PAGE), before);
	EQUALS(set_break(start + 32 * PAGE), start + 32 * PAGE);
}

TEST(sbrk_of_the_library)
{
	char *first = SUCCEEDS((char *)sbrk(3 * PAGE));
	memset(first, 1, 3 * PAGE);
	CHECK((char *)sbrk(0) == first + 3 * PAGE);
	SUCCEEDS(sbrk(-3 * PAGE));
	CHECK((char *)sbrk(0) == first);
}

TEST(inherited_by_fork)
{
	char *first = SUCCEEDS((char *)sbrk(PAGE));
	first[0] = 'p';
	pid_t child = FORK();
	if (child == 0) {
		first[0] = 'c';
		SUCCEEDS(sbrk(PAGE));
		_exit((char *)sbrk(0) == first + 2 * PAGE ? 0 : 1);
	}
	EXITS(child, 0);
	EQUALS(first[0], 'p');
	CHECK((char *)sbrk(0) == first + PAGE);
}

TEST(limit_of_data)
{
	struct rlimit limit = { 16 << 20, 16 << 20 };
	SUCCEEDS(setrlimit(RLIMIT_DATA, &limit));
	uintptr_t start = set_break(0);
	EQUALS(set_break(start + (32 << 20)), start);
	FAILS(mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), ENOMEM);
}
