/* Writes nonsense into channel and bell while calls run. run: --timeout 1h */
#include "hostile.h"

#include <sys/uio.h>

static _Atomic int stop;

static void *caller(void *unused)
{
	char buffer[8192];
	int fds[2];
	if (pipe(fds))
		return unused;
	while (!stop) {
		struct stat status;
		stat("/etc/passwd", &status);
		int fd = open("/etc/hostname", O_RDONLY);
		read(fd, buffer, sizeof buffer);
		close(fd);
		write(fds[1], buffer, 100);
		read(fds[0], buffer, 100);
		struct iovec pieces[2] = { { buffer, 10 }, { buffer + 50, 10 } };
		writev(fds[1], pieces, 2);
		readv(fds[0], pieces, 2);
		getppid();
		readlink("/proc/self/exe", buffer, sizeof buffer);
	}
	return unused;
}

static void fuzz(volatile uint64_t *base, uint64_t words)
{
	switch (random_word() % 4) {
	case 0: base[random_word() % words] = random_word(); break;
	case 1: base[random_word() % words] ^= 1ull << (random_word() % 64); break;
	case 2: ((volatile uint32_t *)base)[random_word() % (words * 2)] = (uint32_t)random_word() % 8; break;
	case 3: base[random_word() % words] = ~0ull; break;
	}
}

static void run(uint64_t seed)
{
	pthread_t threads[3];
	for (int n = 0; n < 3; n++)
		pthread_create(&threads[n], NULL, caller, NULL);
	double end = seconds() + 0.5;
	uint64_t count = 0;
	while (seconds() < end) {
		for (int n = 0; n < 50; n++) {
			uint64_t slot = random_word() % 6;
			/* The slot's first lines matter most, then its data, then the header and the bell. */
			volatile uint64_t *at = SLOT(slot);
			switch ((seed + random_word()) % 6) {
			case 0: case 1: fuzz(at, 24); break;
			case 2: fuzz(at, SLOT_BYTES / 8); break;
			case 3: fuzz(CHANNEL, 32); break;
			case 4: fuzz(BELL, BELL_BYTES / 8); break;
			case 5: fuzz(at + 512, 1024); break;
			}
			count++;
		}
	}
	(void)count;
	_exit(0);
}

/* Every field of the slot by itself, with every kind of value. */
static void fields(uint64_t field)
{
	pthread_t thread;
	pthread_create(&thread, NULL, caller, NULL);
	double end = seconds() + 0.1;
	while (seconds() < end)
		for (uint64_t slot = 0; slot < 3; slot++) {
			volatile uint32_t *at = (volatile uint32_t *)SLOT(slot);
			uint32_t values[] = { 0, 1, 2, 3, 4, 5, ~0u, 0x80000000, (uint32_t)random_word() };
			at[field] = values[random_word() % 9];
		}
	_exit(0);
}

int main(void)
{
	for (int seed = 0; seed < 20; seed++)
		in_child(run, (uint64_t)(seed + time(NULL)), 3);
	for (uint64_t field = 0; field < 48; field++)
		in_child(fields, field, 1);
	/* The kernel still answers this one. */
	if (getppid() < 0 || access("/etc/passwd", R_OK))
		escaped("another process is not answered");
	puts("held");
	return 0;
}
