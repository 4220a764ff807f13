/* mremap(2). */
#include "files.h"
#include <sys/mman.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

enum { PAGE = 4096, READ_WRITE = PROT_READ | PROT_WRITE };

static char *map(int n_pages)
{
	return SUCCEEDS((char *)mmap(NULL, n_pages * PAGE, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static bool is_mapped(void *address)
{
	unsigned char residence;
	return mincore(address, PAGE, &residence) == 0;
}

TEST(shrink)
{
	char *pages = map(4);
	pages[0] = 'x';
	CHECK(mremap(pages, 4 * PAGE, 2 * PAGE, 0) == pages);
	EQUALS(pages[0], 'x');
	CHECK(is_mapped(pages + PAGE) && !is_mapped(pages + 2 * PAGE));
}

TEST(grow_in_place)
{
	char *pages = map(4);
	SUCCEEDS(munmap(pages + 2 * PAGE, 2 * PAGE));
	memset(pages, 'x', 2 * PAGE);
	CHECK(mremap(pages, 2 * PAGE, 4 * PAGE, 0) == pages);
	EQUALS(pages[PAGE], 'x');
	EQUALS(pages[3 * PAGE], 0);
}

TEST(grow_without_room)
{
	char *pages = map(3);
	memset(pages, 'x', 3 * PAGE);
	SUCCEEDS(mprotect(pages + 2 * PAGE, PAGE, PROT_NONE));
	FAILS(mremap(pages, 2 * PAGE, 4 * PAGE, 0), ENOMEM);
	char *moved = SUCCEEDS((char *)mremap(pages, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE));
	CHECK(moved != pages);
	EQUALS(moved[2 * PAGE - 1], 'x');
	EQUALS(moved[2 * PAGE], 0);
	CHECK(!is_mapped(pages));
	CHECK(is_mapped(pages + 2 * PAGE));
}

TEST(move_to_a_fixed_place)
{
	char *from = map(2), *to = map(4);
	memset(from, 'f', 2 * PAGE);
	memset(to, 't', 4 * PAGE);
	CHECK(mremap(from, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + PAGE) == to + PAGE);
	EQUALS(to[0], 't');
	EQUALS(to[PAGE], 'f');
	EQUALS(to[3 * PAGE], 't');
	CHECK(!is_mapped(from));
}

TEST(move_and_leave_an_empty_mapping)
{
	char *from = map(2);
	memset(from, 'f', 2 * PAGE);
	char *to = SUCCEEDS((char *)mremap(from, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL));
	CHECK(to != from);
	EQUALS(to[PAGE], 'f');
	EQUALS(from[PAGE], 0);
}

TEST(second_view_of_a_shared_mapping)
{
	char *first = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	char *second = SUCCEEDS((char *)mremap(first, 0, PAGE, MREMAP_MAYMOVE));
	CHECK(first != second);
	first[7] = 'x';
	EQUALS(second[7], 'x');
	FAILS(mremap(map(1), 0, PAGE, MREMAP_MAYMOVE), EINVAL);
}

TEST(part_in_the_middle)
{
	char *pages = map(5);
	for (int i = 0; i < 5; i++)
		pages[i * PAGE] = '0' + i;
	char *moved = SUCCEEDS((char *)mremap(pages + PAGE, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE));
	EQUALS(moved[0], '1');
	EQUALS(moved[PAGE], '2');
	EQUALS(moved[2 * PAGE], 0);
	CHECK(is_mapped(pages) && !is_mapped(pages + PAGE) && is_mapped(pages + 3 * PAGE));
}

TEST(file_mapping_grows_over_the_file)
{
	int file = SUCCEEDS(memfd_create("file", 0));
	SUCCEEDS(ftruncate(file, 4 * PAGE));
	EQUALS(pwrite(file, "end", 3, 3 * PAGE), 3);
	char *pages = SUCCEEDS((char *)mmap(NULL, PAGE, READ_WRITE, MAP_SHARED, file, 0));
	pages = SUCCEEDS((char *)mremap(pages, PAGE, 4 * PAGE, MREMAP_MAYMOVE));
	EQUALS(pages[3 * PAGE], 'e');
}

TEST(protection_is_kept)
{
	char *pages = map(1);
	SUCCEEDS(mprotect(pages, PAGE, PROT_READ));
	pages = SUCCEEDS((char *)mremap(pages, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
	int ends[2];
	SUCCEEDS(pipe(ends));
	EQUALS(write(ends[1], "x", 1), 1);
	FAILS(read(ends[0], pages, 1), EFAULT);
}

TEST(refusals)
{
	char *pages = map(4);
	FAILS(mremap(pages + 1, PAGE, PAGE, 0), EINVAL);
	FAILS(mremap(pages, PAGE, 0, 0), EINVAL);
	FAILS(mremap(pages, PAGE, PAGE, 0x10), EINVAL);
	FAILS(mremap(pages, PAGE, PAGE, MREMAP_FIXED, pages), EINVAL);
	FAILS(mremap(pages, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, pages + 1), EINVAL);
	FAILS(mremap(pages, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, pages + PAGE), EINVAL);
	SUCCEEDS(munmap(pages + PAGE, PAGE));
	FAILS(mremap(pages + PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE), EFAULT);
	FAILS(mremap(pages, 3 * PAGE, 4 * PAGE, MREMAP_MAYMOVE), EFAULT);
	CHECK(mremap(pages, PAGE, PAGE, 0) == pages);
}

TEST(a_growing_array)
{
	size_t size = PAGE;
	int *numbers = SUCCEEDS((int *)mmap(NULL, size, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	for (unsigned i = 0; i < 1 << 20; i++) {
		if (i * sizeof *numbers == size) {
			numbers = SUCCEEDS((int *)mremap(numbers, size, 2 * size, MREMAP_MAYMOVE));
			size *= 2;
		}
		numbers[i] = i;
	}
	for (unsigned i = 0; i < 1 << 20; i += 1000)
		EQUALS(numbers[i], i);
}
