/* Forks and spawns while other threads allocate, lock and fork too. */
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_bool stop;
static atomic_int forked;

static void *allocate(void *unused)
{
	while (!stop) {
		char *memory = malloc(5000);
		memset(memory, 1, 5000);
		free(memory);
	}
	return unused;
}

static void *fork_often(void *unused)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			char *memory = malloc(100000);
			memset(memory, i, 100000);
			_exit(memory[99999] == i ? 5 : 6);
		}
		int status;
		if (waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5)
			forked++;
		char *arguments[] = { "true", NULL }, *environment[] = { NULL };
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environment) == 0 &&
		    waitpid(pid, &status, 0) == pid && status == 0)
			forked++;
	}
	return unused;
}

int main(void)
{
	pthread_t allocators[4], forkers[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&allocators[i], NULL, allocate, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&forkers[i], NULL, fork_often, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(forkers[i], NULL);
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(allocators[i], NULL);
	printf("%d\n", forked);
	return 0;
}
