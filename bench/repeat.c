/* repeat N PROGRAM ARGUMENT...: runs a program N times, one after the other, and prints how many
 * nanoseconds each run took. So a program can be measured in a sandbox that is there already. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int count, char **arguments)
{
	if (count < 3)
		return 2;
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	for (long n = atol(arguments[1]); n > 0; n--) {
		pid_t child;
		int status;
		double start = now();
		if (posix_spawnp(&child, arguments[2], &actions, NULL, arguments + 2, environ) != 0)
			return 127;
		if (waitpid(child, &status, 0) != child || status != 0)
			return 1;
		printf("%.0f\n", now() - start);
	}
	return 0;
}
