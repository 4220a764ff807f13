/* Forged doorbells: rings for everybody, without end. run: --timeout 1h */
#include "hostile.h"

static void ring(uint64_t seed)
{
	(void)seed;
	uint64_t one = 1;
	double end = seconds() + 2;
	while (seconds() < end) {
		for (int n = 0; n < 64; n++)
			BELL[random_word() % (BELL_BYTES / 8)] = ~0ull;
		for (int n = 0; n < 32; n++)
			CHANNEL[n] = ~0ull;
		host_call(SYS_write, 4, (long)&one, 8, 0, 0, 0);
		host_call(SYS_futex, (long)BELL + 4 * (long)(random_word() % 4096), 1, 0x7fffffff, 0, 0, 0);
	}
}

/* Fills the doorbell, so that a write to it would wait. */
static void fill(uint64_t seed)
{
	(void)seed;
	uint64_t most = ~0ull - 1;
	for (int n = 0; n < 3; n++)
		host_call(SYS_write, 4, (long)&most, 8, 0, 0, 0);
	getppid();
}

int main(void)
{
	for (int seed = 0; seed < 3; seed++)
		in_child(ring, seed, 5);
	in_child(fill, 0, 5);
	double start = seconds();
	for (int n = 0; n < 1000; n++)
		access("/etc/passwd", F_OK);
	if (seconds() - start > 5)
		printf("slow afterwards: %f s\n", seconds() - start);
	puts("held");
	return 0;
}
