/*
 * growth KIND COUNT FOLDER: makes COUNT things of a kind and prints what calls cost then, one per line: the least time in
 * nanoseconds, a tab, and what was done. Kinds: descriptors, entries, mounts, processes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 200
#define CALLS 20

static char path[200];
static int last;

static void fail(const char *what)
{
	fprintf(stderr, "growth: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* The least time of a call, over rounds of some calls each. */
static void measure(const char *name, int rounds, int calls, void (*call)(void))
{
	double least = 1e18;
	for (int round = 0; round < rounds; round++) {
		double start = now();
		for (int i = 0; i < calls; i++)
			call();
		double each = (now() - start) / calls;
		if (each < least)
			least = each;
	}
	printf("%.0f\t%s\n", least, name);
}

static void ask_nothing(void)
{
	umask(022);
}

static void dup_and_close(void)
{
	close(dup(last));
}

static void open_and_close(void)
{
	close(open("/etc/passwd", O_RDONLY));
}

static void stat_it(void)
{
	struct stat status;
	stat(path, &status);
	umask(022); /* otherwise the answer may be a remembered one */
}

static void make_and_remove(void)
{
	close(open("new", O_WRONLY | O_CREAT, 0600));
	unlink("new");
}

static void signal_it(void)
{
	kill(last, 0);
}

static void fork_and_wait(void)
{
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void descriptors(int count)
{
	struct rlimit limit = {count + 100, count + 100};
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		fail("limit of descriptors");
	for (int i = 0; i < count; i++)
		if ((last = open("/dev/null", O_RDONLY)) < 0)
			fail("open");
	measure("umask", ROUNDS, CALLS, ask_nothing);
	measure("dup and close", ROUNDS, CALLS, dup_and_close);
	measure("open and close", ROUNDS, CALLS, open_and_close);
}

static void entries(int count)
{
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof path, "file%d", i);
		int file = open(path, O_WRONLY | O_CREAT, 0600);
		if (file < 0 || close(file) < 0)
			fail(path);
	}
	measure("stat", ROUNDS, CALLS, stat_it);
	measure("create and remove", ROUNDS, CALLS, make_and_remove);
	snprintf(path, sizeof path, "missing");
	measure("stat of a missing file", ROUNDS, CALLS, stat_it);
}

static void mounts(int count)
{
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof path, "mount%d", i);
		if (mkdir(path, 0700) < 0 || mount("none", path, "tmpfs", 0, "size=4096") < 0)
			fail(path);
	}
	measure("stat in the last one", ROUNDS, CALLS, stat_it);
	measure("open and close elsewhere", ROUNDS, CALLS, open_and_close);
	measure("umask", ROUNDS, CALLS, ask_nothing);
}

static void processes(int count)
{
	for (int i = 0; i < count; i++) {
		last = fork();
		if (last < 0)
			fail("fork");
		if (last == 0) {
			pause();
			_exit(0);
		}
	}
	usleep(300000); /* all of them sleep */
	measure("umask", ROUNDS, CALLS, ask_nothing);
	measure("kill of one of them", ROUNDS, CALLS, signal_it);
	measure("fork and wait", ROUNDS, 1, fork_and_wait);
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: growth KIND COUNT FOLDER\n");
		return 2;
	}
	int count = atoi(argv[2]);
	if (chdir(argv[3]) < 0)
		fail(argv[3]);
	setpgid(0, 0);
	if (strcmp(argv[1], "descriptors") == 0)
		descriptors(count);
	else if (strcmp(argv[1], "entries") == 0)
		entries(count);
	else if (strcmp(argv[1], "mounts") == 0)
		mounts(count);
	else if (strcmp(argv[1], "processes") == 0)
		processes(count);
	else
		return 2;
	return 0;
}
