/* process_vm_readv(2), process_vm_writev(2), and what /proc tells about memory. */
#include "files.h"
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>

enum { PAGE = 4096, READ_WRITE = PROT_READ | PROT_WRITE };

static char shared_name[32] = "in the parent";

static pid_t paused_child(void)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		strcpy(shared_name, "in the child");
		EQUALS(write(ends[1], "x", 1), 1);
		for (;;)
			pause();
	}
	char byte;
	EQUALS(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return child;
}

static void end(pid_t child)
{
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(read_and_write_a_child)
{
	pid_t child = paused_child();
	char text[32] = "";
	struct iovec here = { text, sizeof text }, there = { shared_name, sizeof text };
	EQUALS(process_vm_readv(child, &here, 1, &there, 1, 0), sizeof text);
	SAME_TEXT(text, "in the child");
	strcpy(text, "changed");
	EQUALS(process_vm_writev(child, &here, 1, &there, 1, 0), sizeof text);
	memset(text, 0, sizeof text);
	EQUALS(process_vm_readv(child, &here, 1, &there, 1, 0), sizeof text);
	SAME_TEXT(text, "changed");
	SAME_TEXT(shared_name, "in the parent");
	end(child);
}

TEST(several_pieces)
{
	char first[4] = "", second[8] = "";
	struct iovec here[2] = { { first, 3 }, { second, 7 } }, there[2] = { { shared_name, 6 }, { shared_name + 7, 4 } };
	EQUALS(process_vm_readv(getpid(), here, 2, there, 2, 0), 10);
	SAME_TEXT(first, "in ");
	SAME_TEXT(second, "thepare");
}

TEST(refusals)
{
	char byte;
	struct iovec here = { &byte, 1 }, nowhere = { BAD_POINTER, 1 };
	FAILS(process_vm_readv(getpid(), &here, 1, &nowhere, 1, 0), EFAULT);
	FAILS(process_vm_readv(getpid(), &here, 1, &here, 1, 1), EINVAL);
	FAILS(process_vm_readv(INT_MAX, &here, 1, &here, 1, 0), ESRCH);
	FAILS(process_vm_readv(getpid(), &here, 1025, &here, 1, 0), EINVAL);
	EQUALS(process_vm_readv(getpid(), &here, 0, &here, 1, 0), 0);
}

TEST(stops_at_the_first_hole)
{
	char *pages = SUCCEEDS((char *)mmap(NULL, 2 * PAGE, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	SUCCEEDS(munmap(pages + PAGE, PAGE));
	char text[64];
	struct iovec here = { text, 64 }, there = { pages + PAGE - 10, 64 };
	EQUALS(process_vm_readv(getpid(), &here, 1, &there, 1, 0), 10);
}

TEST(strangers_are_protected)
{
	need_root();
	pid_t child = FORK();
	if (child == 0) {
		become_ordinary();
		char byte;
		struct iovec here = { &byte, 1 }, there = { shared_name, 1 };
		FAILS(process_vm_readv(getppid(), &here, 1, &there, 1, 0), EPERM);
		_exit(0);
	}
	EXITS(child, 0);
}

struct mapping {
	unsigned long start, end, offset, inode;
	char permissions[5], path[256];
};

/* The line of /proc/self/maps that holds `address`. */
static bool find_mapping(void *address, struct mapping *mapping)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	bool found = false;
	unsigned long last_end = 0;
	CHECK(maps);
	while (fgets(line, sizeof line, maps)) {
		memset(mapping, 0, sizeof *mapping);
		int n = sscanf(line, "%lx-%lx %4s %lx %*x:%*x %lu %255[^\n]", &mapping->start, &mapping->end,
			       mapping->permissions, &mapping->offset, &mapping->inode, mapping->path);
		CHECK(n >= 5);
		CHECK(mapping->start < mapping->end && mapping->start >= last_end);
		last_end = mapping->end;
		if ((uintptr_t)address >= mapping->start && (uintptr_t)address < mapping->end) {
			found = true;
			break;
		}
	}
	fclose(maps);
	return found;
}

TEST(maps_of_an_anonymous_mapping)
{
	struct mapping mapping;
	/* Pages without access on both sides keep it from being merged with its neighbours. */
	char *pages = SUCCEEDS((char *)mmap(NULL, 6 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	SUCCEEDS(mprotect(pages + PAGE, 3 * PAGE, PROT_READ));
	CHECK(find_mapping(pages + 2 * PAGE, &mapping));
	EQUALS(mapping.start, (uintptr_t)pages + PAGE);
	EQUALS(mapping.end, (uintptr_t)pages + 4 * PAGE);
	SAME_TEXT(mapping.permissions, "r--p");
	SAME_TEXT(mapping.path, "");
	EQUALS(mapping.inode, 0);
	SUCCEEDS(mprotect(pages + PAGE, 3 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
	CHECK(find_mapping(pages + 2 * PAGE, &mapping));
	SAME_TEXT(mapping.permissions, "rwxp");
	SUCCEEDS(munmap(pages, 6 * PAGE));
	CHECK(!find_mapping(pages + 2 * PAGE, &mapping));
}

TEST(maps_of_a_file_mapping)
{
	scratch();
	make_file("file", "text");
	int file = SUCCEEDS(open("file", O_RDWR));
	SUCCEEDS(ftruncate(file, 3 * PAGE));
	char *page = SUCCEEDS((char *)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, PAGE));
	struct mapping mapping;
	struct stat status;
	char path[PATH_MAX];
	SUCCEEDS(fstat(file, &status));
	CHECK(find_mapping(page, &mapping));
	snprintf(path, sizeof path, "%s/file", scratch_path);
	SAME_TEXT(mapping.path, path);
	SAME_TEXT(mapping.permissions, "r--s");
	EQUALS(mapping.offset, PAGE);
	EQUALS(mapping.inode, status.st_ino);
	SUCCEEDS(unlink("file"));
	CHECK(find_mapping(page, &mapping));
	strcat(path, " (deleted)");
	SAME_TEXT(mapping.path, path);
}

TEST(maps_of_the_program)
{
	struct mapping mapping;
	char local, exe[PATH_MAX] = "";
	SUCCEEDS(readlink("/proc/self/exe", exe, sizeof exe - 1));
	CHECK(find_mapping(&local, &mapping));
	SAME_TEXT(mapping.path, "[stack]");
	CHECK(find_mapping((void *)find_mapping, &mapping));
	SAME_TEXT(mapping.permissions, "r-xp");
	SAME_TEXT(mapping.path, exe);
	CHECK(find_mapping(shared_name, &mapping));
	SAME_TEXT(mapping.permissions, "rw-p");
	char *heap = SUCCEEDS((char *)sbrk(PAGE));
	CHECK(find_mapping(heap, &mapping));
	SAME_TEXT(mapping.path, "[heap]");
}

static long field_of(const char *file, unsigned long start, const char *field)
{
	FILE *smaps = fopen(file, "re");
	char line[512];
	bool inside = start == 0;
	long value = -1;
	CHECK(smaps);
	while (fgets(line, sizeof line, smaps)) {
		unsigned long from;
		int length = 0;
		if (start && sscanf(line, "%lx-%*x %n", &from, &length) == 1 && length)
			inside = from == start;
		if (inside && strncmp(line, field, strlen(field)) == 0) {
			value = atol(line + strlen(field));
			break;
		}
	}
	fclose(smaps);
	return value;
}

TEST(smaps_tells_what_is_resident)
{
	char *pages = SUCCEEDS((char *)mmap(NULL, 10 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	SUCCEEDS(mprotect(pages + PAGE, 8 * PAGE, READ_WRITE));
	memset(pages + PAGE, 1, 3 * PAGE);
	unsigned long start = (unsigned long)pages + PAGE;
	EQUALS(field_of("/proc/self/smaps", start, "Size:"), 32);
	EQUALS(field_of("/proc/self/smaps", start, "Rss:"), 12);
	EQUALS(field_of("/proc/self/smaps", start, "Private_Dirty:"), 12);
	EQUALS(field_of("/proc/self/smaps", start, "KernelPageSize:"), 4);
	CHECK(field_of("/proc/self/smaps_rollup", 0, "Rss:") >= 12);
	CHECK(field_of("/proc/self/smaps_rollup", 0, "Pss:") > 0);
}

TEST(statm_and_status_count_pages)
{
	long size, resident, size_after, resident_after;
	EQUALS(sscanf(text_of("/proc/self/statm"), "%ld %ld", &size, &resident), 2);
	char *pages = SUCCEEDS((char *)mmap(NULL, 1 << 24, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	memset(pages, 1, 1 << 23);
	EQUALS(sscanf(text_of("/proc/self/statm"), "%ld %ld", &size_after, &resident_after), 2);
	EQUALS(size_after - size, (1 << 24) / PAGE);
	CHECK(resident_after - resident >= (1 << 23) / PAGE * 9 / 10);
	CHECK(field_of("/proc/self/status", 0, "VmSize:") >= 1 << 14);
	CHECK(field_of("/proc/self/status", 0, "VmRSS:") >= 1 << 12);
}

TEST(own_memory_as_a_file)
{
	int memory = SUCCEEDS(open("/proc/self/mem", O_RDWR));
	char text[32] = "";
	EQUALS(pread(memory, text, sizeof shared_name, (off_t)(uintptr_t)shared_name), sizeof shared_name);
	SAME_TEXT(text, "in the parent");
	EQUALS(pwrite(memory, "at", 2, (off_t)(uintptr_t)shared_name), 2);
	SAME_TEXT(shared_name, "at the parent");
	FAILS(pread(memory, text, 1, 1), EIO);
}
