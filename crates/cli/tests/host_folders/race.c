/*
 * A guest that tries to leave a folder which it may write. "/m" is the folder, "canary" lies beside it on
 * the host, and everybody swaps directories and links of it all the time: our threads, another sandbox
 * and the host. "race swap" only swaps; "race attack" tries; both end after the given milliseconds.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static double end;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void *swap(void *unused)
{
	while (now() < end) {
		mkdir("/m/real", 0777);
		mkdir("/m/real/sub", 0777);
		symlink("..", "/m/link");
		renameat2(AT_FDCWD, "/m/real", AT_FDCWD, "/m/link", RENAME_EXCHANGE);
		renameat2(AT_FDCWD, "/m/real", AT_FDCWD, "/m/link", RENAME_EXCHANGE);
		rename("/m/real/sub", "/m/moved");
		rename("/m/moved", "/m/real/sub");
		rename("/m/real", "/m/hold");
		symlink("../../../../../../../..", "/m/real");
		unlink("/m/real");
		rename("/m/hold", "/m/real");
		unlink("/m/link");
	}
	return unused;
}

static long n_opened, n_tried;

static void escaped(const char *how)
{
	printf("escaped: %s\n", how);
	exit(99);
}

static void look(int fd)
{
	char text[64] = "";
	n_tried++;
	if (fd < 0)
		return;
	n_opened++;
	if (pread(fd, text, sizeof text - 1, 0) > 0 && strstr(text, "outside"))
		escaped("a file outside was read");
	/* Whatever it is, it must be inside: the host looks at the canary afterwards. */
	pwrite(fd, "written by a guest", 18, 0);
	close(fd);
}

static void list(const char *path)
{
	DIR *directory = opendir(path);
	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory));)
		if (strcmp(entry->d_name, "canary") == 0 && strcmp(path, "/m") != 0) {
			struct stat status;
			/* One that we made ourselves has our text in it, and is beneath. */
			if (fstatat(dirfd(directory), "only-outside", &status, 0) == 0)
				escaped("a folder outside was listed");
		}
	closedir(directory);
}

static void attack_by_path(const char *base, const char *host_canary)
{
	char path[600], other[600];
	snprintf(path, sizeof path, "%s/canary", base);
	look(open(path, O_RDWR));
	look(open(path, O_RDWR | O_CREAT, 0666));
	look(open(path, O_RDWR | O_CREAT | O_TRUNC, 0666));
	truncate(path, 0);
	chmod(path, 0);
	setxattr(path, "user.guest", "x", 1, 0);
	utimensat(AT_FDCWD, path, NULL, 0);
	link(path, "/m/linked");
	look(open("/m/linked", O_RDWR));
	unlink("/m/linked");
	snprintf(other, sizeof other, "%s/made", base);
	mkdir(other, 0777);
	snprintf(other, sizeof other, "%s/renamed", base);
	rename(path, other);
	rename(other, path);
	unlink(path);
	list(base);
	snprintf(path, sizeof path, "%s%s", base, host_canary);
	look(open(path, O_RDWR));
}

static void attack_by_descriptor(const char *base)
{
	int folder = open(base, O_PATH | O_DIRECTORY);
	if (folder < 0)
		return;
	look(openat(folder, "canary", O_RDWR));
	look(openat(folder, "../canary", O_RDWR));
	look(openat(folder, "../../canary", O_RDWR));
	look(openat(folder, "../../made", O_RDWR | O_CREAT, 0666));
	mkdirat(folder, "../../made-folder", 0777);
	unlinkat(folder, "../../canary", 0);
	linkat(folder, "../../canary", folder, "here", 0);
	look(openat(folder, "here", O_RDWR));
	close(folder);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	end = now() + atof(argv[2]);
	pthread_t swapper;
	pthread_create(&swapper, NULL, swap, NULL);
	static const char *const BASES[] = { "/m/real", "/m/link", "/m/real/sub/..", "/m/host", "/m/host/deep/../..", "/m/hold" };
	if (strcmp(argv[1], "attack") == 0)
		while (now() < end)
			for (unsigned n = 0; n < sizeof BASES / sizeof *BASES; n++) {
				attack_by_path(BASES[n], argv[3]);
				attack_by_descriptor(BASES[n]);
			}
	pthread_join(swapper, NULL);
	printf("held\n");
	return strcmp(argv[1], "attack") == 0 && (n_tried < 100 || n_opened == 0) ? 3 : 0;
}
