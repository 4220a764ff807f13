/* Writes past the shim to every descriptor that was passed: pipes may take it, files may not. run: --timeout 1h */
#include "hostile.h"

static char bytes[1 << 16];

/* A memory file that is mapped shared and writable is passed open for writing. It must not grow without the kernel. */
static void grow_a_mapped_file(uint64_t seed)
{
	int memory = memfd_create("grows", 0);
	if (ftruncate(memory, 4096) != 0)
		_exit(CANNOT_TRY);
	volatile char *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	mapped[0] = 'm';
	/* The first refusal ends the process: one descriptor each. */
	if (host_call(SYS_write, 5 + seed, (long)bytes, sizeof bytes, 0, 0, 0) >= 0)
		escaped("a file was written past the kernel");
	struct stat now;
	if (fstat(memory, &now) != 0 || now.st_size != 4096 || mapped[0] != 'm')
		escaped("a file has changed");
}

/* The same with a file of a mounted folder's own. */
static void write_a_mapped_file(uint64_t seed)
{
	int file = open("/tmp/mapped", O_CREAT | O_RDWR, 0600);
	if (file < 0 || write(file, "before", 6) != 6)
		_exit(CANNOT_TRY);
	volatile char *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	(void)mapped;
	host_call(SYS_lseek, 5 + seed, 0, SEEK_SET, 0, 0, 0);
	if (host_call(SYS_write, 5 + seed, (long)bytes, sizeof bytes, 0, 0, 0) >= 0)
		escaped("a file was written past the kernel");
}

/* Keeps the sides of a busy pipe that it has closed, and uses them: only it and its partner may suffer. */
static void keep_a_lent_pipe(uint64_t seed)
{
	int ends[2];
	char byte = 'p';
	if (pipe(ends) != 0)
		_exit(CANNOT_TRY);
	for (int n = 0; n < 200; n++)
		if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			differs("a pipe");
	/* The shim of this process does not learn that they are closed. */
	syscall(SYS_close, ends[seed % 2]);
	for (int n = 5; n < 64; n++)
		host_call(SYS_close, n, 0, 0, 0, 0, 0);
	for (int n = 0; n < 200; n++) {
		if (seed % 2)
			read(ends[0], &byte, 1);
		else
			write(ends[1], &byte, 1);
	}
	close(ends[0]);
	close(ends[1]);
}

/* A partner that is killed with its side in use, and one that fills the pipe from behind. */
static void die_with_a_lent_pipe(uint64_t seed)
{
	int ends[2];
	char byte = 'd';
	if (pipe(ends) != 0)
		_exit(CANNOT_TRY);
	signal(SIGPIPE, SIG_IGN);
	pid_t child = fork();
	if (child == 0)
		for (;;) {
			if (seed % 2)
				read(ends[0], &byte, 1);
			else
				write(ends[1], bytes, sizeof bytes);
		}
	for (int n = 0; n < 300; n++) {
		if (seed % 2)
			write(ends[1], &byte, 1);
		else
			read(ends[0], bytes, 100);
	}
	kill(child, SIGKILL);
	if (waitpid(child, NULL, 0) != child)
		differs("a killed partner");
	close(ends[seed % 2 ? 1 : 0]);
}

int main(void)
{
	for (int n = 0; n < 20; n++) {
		in_child(grow_a_mapped_file, n, 5);
		in_child(write_a_mapped_file, n, 5);
	}
	for (int n = 0; n < 20; n++) {
		in_child(keep_a_lent_pipe, n, 5);
		in_child(die_with_a_lent_pipe, n, 5);
	}
	printf("held\n");
	return 0;
}
