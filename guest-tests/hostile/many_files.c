/* 100,000 open files in several processes. run: --timeout 1h --files 100000 */
#include "hostile.h"

#include <sys/resource.h>

static void open_many(uint64_t kind)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	int count = 0, fds[2];
	for (;; count++) {
		int fd = kind == 0 ? dup(1) : kind == 1 ? open("/etc/passwd", O_RDONLY) : kind == 2 ? pipe(fds) : (int)syscall(SYS_memfd_create, "x", 0);
		if (fd < 0)
			break;
	}
	int error = errno;
	printf("kind %lu: %d until errno %d\n", kind, count, error);
	fflush(stdout);
	errno = error;
	/* Each of these is a descriptor of the host's, whose own limit may come first: the whole system's, as guests see it. */
	if (kind == 3 && errno == ENFILE)
		return;
	if (errno != EMFILE)
		differs("at the limit of open files");
	if (count < (kind == 2 ? 49000 : 99000))
		differs("the limit comes too early");
}

int main(void)
{
	for (uint64_t kind = 0; kind < 4; kind++)
		in_child(open_many, kind, 25);
	int fd = open("/etc/passwd", O_RDONLY);
	if (fd < 0)
		escaped("nothing can be opened afterwards");
	puts("held");
	return 0;
}
