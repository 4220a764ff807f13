/* repeat N PROGRAM ARGUMENT...: runs a program N times, one after the other, and prints how many
 * nanoseconds each run took. So a program can be measured in a sandbox that is there already.
 * The first `{}` in an argument becomes the number of the run, for programs that need a new name each time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The argument with its first `{}` replaced; allocated anew, or as it was. */
static char *fill(char *argument, long number)
{
	char *place = strstr(argument, "{}");
	char *filled;
	if (place == NULL)
		return argument;
	if (asprintf(&filled, "%.*s%ld%s", (int)(place - argument), argument, number, place + 2) < 0)
		exit(3);
	return filled;
}

int main(int count, char **arguments)
{
	if (count < 3)
		return 2;
	char **filled = calloc((size_t)count + 1, sizeof *filled);
	if (filled == NULL)
		return 3;
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	for (long n = atol(arguments[1]); n > 0; n--) {
		pid_t child;
		int status;
		for (int i = 0; arguments[i] != NULL; i++)
			filled[i] = fill(arguments[i], n);
		double start = now();
		if (posix_spawnp(&child, filled[2], &actions, NULL, filled + 2, environ) != 0)
			return 127;
		if (waitpid(child, &status, 0) != child || status != 0)
			return 1;
		printf("%.0f\n", now() - start);
	}
	return 0;
}
