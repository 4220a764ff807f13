/* Fills memory in more processes than the host has CPUs, in each WAY on its own. ends: limit at most: 130M run: --timeout 30s --memory 100M */
#include "hostile.h"

enum { CHILDREN = 6 };

static void fill(int flags, int fd)
{
	char *at = mmap(NULL, 1L << 30, PROT_READ | PROT_WRITE, flags, fd, 0);
	for (long n = 0; at != MAP_FAILED && n < 1L << 30; n += 4096)
		at[n] = 1;
	pause();
}

static void private_memory(void) { fill(MAP_PRIVATE | MAP_ANONYMOUS, -1); }

static void memory_files(void)
{
	int fd = memfd_create("x", 0);
	if (!ftruncate(fd, 1L << 30))
		fill(MAP_SHARED, fd);
}

#define WAY(name) { #name, name }
static const struct { const char *name; void (*run)(void); } ways[] = { WAY(private_memory), WAY(memory_files) };

int main(int argc, char **argv)
{
	for (unsigned n = 0; argc > 2 && n < sizeof ways / sizeof *ways; n++) {
		if (strcmp(ways[n].name, argv[2]))
			continue;
		for (int child = 0; child < CHILDREN; child++)
			if (fork() == 0)
				ways[n].run();
		sleep(2);
		puts("held");
		return 0;
	}
	return CANNOT_TRY;
}
