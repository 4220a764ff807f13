/* Spins where the shim would wait, deaf to signals. ends: limit run: --timeout 4s */
#include "hostile.h"

static void *spin(void *unused)
{
	/* Its slot says "asleep" and "parked" by turns, while it is neither. */
	for (;;)
		for (uint64_t slot = 0; slot < 4; slot++)
			((volatile uint32_t *)SLOT(slot))[0] = (uint32_t)(random_word() % 6);
	return unused;
}

int main(void)
{
	pthread_t thread;
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int n = 0; n < 2; n++)
		pthread_create(&thread, NULL, spin, NULL);
	for (;;)
		getppid();
}
