/* Takes memory until it is ended: anonymous, shared, in files, by children. run: --timeout 1h --memory 256M --disk 64M */
#include "hostile.h"

/* How much there was when it was ended. */
static _Atomic uint64_t *taken;
enum { LIMIT = 256 << 20, FOR_A_MOMENT = 1 << 30 };

static void anonymous(uint64_t flags)
{
	for (;;) {
		char *at = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, (int)flags | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED)
			_exit(0);
		memset(at, 1, 16 << 20);
		*taken += 16 << 20;
	}
}

static void in_file(uint64_t unused)
{
	(void)unused;
	static char block[1 << 20];
	memset(block, 1, sizeof block);
	int fd = open("/tmp/bomb", O_CREAT | O_WRONLY, 0600);
	long total = 0, n;
	while ((n = write(fd, block, sizeof block)) > 0)
		total += n;
	printf("%ld MiB until errno %d\n", total >> 20, errno);
	fflush(stdout);
	if (total > 80 << 20)
		escaped("more on the disk than allowed");
	unlink("/tmp/bomb");
}

static void in_pipes(uint64_t unused)
{
	(void)unused;
	static char block[1 << 16];
	for (int n = 0; n < 500; n++) {
		int fds[2];
		if (pipe2(fds, O_NONBLOCK))
			break;
		fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
		while (write(fds[1], block, sizeof block) > 0)
			;
	}
}

int main(void)
{
	in_child(in_file, 0, 20);
	in_child(in_pipes, 0, 10);
	taken = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int n = 0; n < 2; n++) {
		*taken = 0;
		int status = in_child(anonymous, n ? MAP_SHARED : MAP_PRIVATE, 60);
		printf("%lu MiB until status %#x\n", *taken >> 20, status);
		/* It is looked at ten times a second: what a process takes meanwhile is for a moment only. */
		if (*taken > LIMIT + FOR_A_MOMENT)
			escaped("more memory than allowed");
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
			differs("at the limit of memory");
	}
	puts("held");
	return 0;
}
