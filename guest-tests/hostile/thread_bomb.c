/* Threads without end. run: --timeout 1h --processes 500 */
#include "hostile.h"

static void *wait_for_ever(void *unused)
{
	pause();
	return unused;
}

int main(void)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	int count = 0, error;
	pthread_t thread;
	while ((error = pthread_create(&thread, &small, wait_for_ever, NULL)) == 0)
		count++;
	printf("%d threads until error %d\n", count, error);
	if (count > 500)
		escaped("more threads than allowed");
	if (error != EAGAIN)
		differs("at the limit of threads");
	puts("held");
	return 0;
}
