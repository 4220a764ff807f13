/* Symbolic links and renames against path walks on a mount that may be written. run: --timeout 1h --mount @INSIDE:/m:rw */
#include "hostile.h"

#include <sys/syscall.h>

static _Atomic int stop;

static void *swapper(void *unused)
{
	while (!stop) {
		rename("/m/real", "/m/hold");
		symlink("..", "/m/real");
		syscall(SYS_renameat2, AT_FDCWD, "/m/real", AT_FDCWD, "/m/hold", 2 /* RENAME_EXCHANGE */);
		unlink("/m/real");
		unlink("/m/hold");
		rename("/m/hold", "/m/real");
		symlink("../../../../../..", "/m/real");
		unlink("/m/real");
		mkdir("/m/real", 0777);
		mkdir("/m/real/sub", 0777);
		rename("/m/real/sub", "/m/moved");
		rename("/m/moved", "/m/real/sub");
	}
	return unused;
}

static void check(int fd)
{
	char text[64] = "";
	if (fd < 0)
		return;
	if (read(fd, text, sizeof text - 1) > 0 && strstr(text, "belljar-canary"))
		escaped("a file outside of the mount was read");
	close(fd);
}

int main(int argc, char **argv)
{
	const char *canary = argc > 1 ? argv[1] : "/nothing";
	char path[512];
	pthread_t threads[2];
	mkdir("/m/real", 0777);
	for (int n = 0; n < 2; n++)
		pthread_create(&threads[n], NULL, swapper, NULL);
	double end = seconds() + 6;
	while (seconds() < end) {
		check(open("/m/real/canary", O_RDONLY));
		check(open("/m/real/../canary", O_RDONLY));
		check(open("/m/real/sub/../../canary", O_RDONLY));
		check(open("/m/real/sub/../../../canary", O_RDONLY));
		snprintf(path, sizeof path, "/m/real%s", canary);
		check(open(path, O_RDONLY));
		int folder = open("/m/real/sub", O_RDONLY | O_DIRECTORY);
		if (folder >= 0) {
			check(openat(folder, "../../canary", O_RDONLY));
			check(openat(folder, "../canary", O_RDONLY));
			int fd = openat(folder, "../../escaped", O_CREAT | O_WRONLY, 0666);
			if (fd >= 0)
				close(fd);
			mkdirat(folder, "../../escaped-folder", 0777);
			unlinkat(folder, "../../canary", 0);
			renameat(folder, "x", folder, "../../canary");
			linkat(folder, "../../canary", folder, "y", 0);
			close(folder);
		}
		truncate("/m/real/canary", 0);
		chmod("/m/real/canary", 0);
	}
	stop = 1;
	for (int n = 0; n < 2; n++)
		pthread_join(threads[n], NULL);
	puts("held");
	return 0;
}
