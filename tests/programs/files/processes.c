/* 500 processes alive at one time, each of which answers through one pipe. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 500 };

int main(void)
{
	int answers[2], go[2];
	static pid_t pids[PROCESSES];
	if (pipe(answers) || pipe(go))
		return 1;
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (pids[i] < 0) {
			perror("fork");
			for (int j = 0; j < i; j++)
				kill(pids[j], SIGKILL);
			return 1;
		}
		if (pids[i] == 0) {
			char byte;
			close(go[1]);
			if (read(go[0], &byte, 1) != 0 || write(answers[1], &i, sizeof i) != sizeof i)
				_exit(100);
			_exit(i % 100);
		}
	}
	close(go[0]);
	close(go[1]); /* all of them see the end of the pipe at once */
	long sum = 0, codes = 0;
	for (int i = 0; i < PROCESSES; i++) {
		int number;
		if (read(answers[0], &number, sizeof number) != sizeof number)
			return 2;
		sum += number;
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;
		if (waitpid(pids[i], &status, 0) != pids[i] || !WIFEXITED(status))
			return 3;
		codes += WEXITSTATUS(status);
	}
	printf("%ld %ld\n", sum, codes);
	return 0;
}
