/* Stops itself, and everything it has: the time limit ends it. ends: limit run: --timeout 3s */
#include "hostile.h"

int main(void)
{
	if (fork() == 0)
		for (;;)
			raise(SIGSTOP);
	kill(0, SIGSTOP);
	raise(SIGSTOP);
	for (;;)
		pause();
}
