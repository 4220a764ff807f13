/* Descriptor tricks with the socket to the kernel process. run: --timeout 1h */
#include "hostile.h"

#include <sys/socket.h>

/* Says hello again and again, and takes messages that are meant for the shim. */
static void chatter(uint64_t seed)
{
	(void)seed;
	for (int n = 0; n < 100; n++)
		host_call(SYS_write, 3, (long)"x", 1, 0, 0, 0);
	for (int n = 5; n < 300; n++)
		host_call(SYS_close, n, 0, 0, 0, 0, 0);
	getppid();
	access("/etc/passwd", F_OK);
}

/* A child that is never made: asks for a fork, takes the descriptors, and says hello in the child's place. */
static void take_over(uint64_t seed)
{
	(void)seed;
	for (int n = 5; n < 40; n++) {
		host_call(SYS_dup2, n, 3, 0, 0, 0, 0);
		host_call(SYS_write, 3, (long)"x", 1, 0, 0, 0);
	}
	if (fork() == 0)
		_exit(0);
	wait(NULL);
}

/* Maps and reads every descriptor that there is. */
static void look_around(uint64_t seed)
{
	(void)seed;
	static char text[4096];
	for (int n = 0; n < 200; n++) {
		if ((n < 5) && host_call(SYS_pread64, n, (long)text, sizeof text, 0, 0, 0) >= 0)
			escaped("a descriptor of the host's could be read");
		host_call(SYS_pread64, n, (long)text, sizeof text, 0, 0, 0);
		if (strstr(text, "belljar-canary"))
			escaped("the canary was read");
		host_call(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, n, 0);
	}
}

/* Files that were mapped read-only must not become writable by mapping them past the shim. */
static void write_to_files(uint64_t seed)
{
	(void)seed;
	int fd = open("/etc/passwd", O_RDONLY);
	char *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	int library = open("/bin/true", O_RDONLY);
	char *other = mmap(NULL, 4096, PROT_READ, MAP_SHARED, library, 0);
	(void)mapped;
	(void)other;
	for (int n = 5; n < 100; n++) {
		char *at = (char *)0x100000000;
		if (host_call(SYS_mmap, (long)at, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, n, 0) < 0)
			continue;
		if (memcmp(at, "\177ELF", 4) == 0)
			escaped("a program of the host's can be written");
	}
}

int main(void)
{
	for (int n = 0; n < 3; n++) {
		in_child(chatter, n, 2);
		in_child(take_over, n, 2);
		in_child(look_around, n, 2);
		in_child(write_to_files, n, 2);
	}
	/* Many processes come and go, so that host numbers are used again. */
	for (int n = 0; n < 300; n++)
		if (fork() == 0)
			_exit(0);
		else
			wait(NULL);
	if (access("/etc/passwd", R_OK))
		escaped("not answered any more");
	puts("held");
	return 0;
}
