/* Copies its host process without the kernel, in each WAY on its own. ends: attack run: --timeout 20s --processes 8 */
#include "hostile.h"

enum { COPIES = 60 };
/* A hidden process lives for a second at most; the rest is for a machine that is busy. */
static const double LONGEST = 1, BUSY = 1;

/*
 * Asleep, or at work, until it has been there for too long. It may not write: it says so in memory that it shares with the first
 * process, which the kernel process gave them.
 */
static void hide(volatile int *hidden, bool sleeps)
{
	double until = seconds() + LONGEST + BUSY;
	static int never;
	struct timespec pause = { 0, 50000000 };
	while (seconds() < until)
		if (sleeps)
			host_call(SYS_futex, (long)&never, 0, 0, (long)&pause, 0, 0);
		else
			host_call(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	*hidden = 1;
	for (;;)
		host_call(SYS_futex, (long)&never, 0, 0, (long)&pause, 0, 0);
}

static volatile int *shared_word(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void watch(volatile int *hidden)
{
	double until = seconds() + 10;
	/* Waits in the kernel: no thread that it knows of can run. */
	while (seconds() < until) {
		usleep(200000);
		if (*hidden)
			escaped("a process hid for more than a second");
	}
	escaped("processes hid for ten seconds");
}

static void copies(bool sleeps)
{
	volatile int *hidden = shared_word();
	for (int n = 0; n < COPIES; n++)
		if (raw_clone())
			hide(hidden, sleeps);
	watch(hidden);
}

static void many_busy(void) { copies(false); }
static void many_asleep(void) { copies(true); }

static void one_copy(void)
{
	volatile int *hidden = shared_word();
	if (raw_clone())
		hide(hidden, true);
	watch(hidden);
}

static _Atomic bool is_awaited;

/* Turns a call of the first thread into a fork, after its shim has written the number and before the kernel has read it. */
static void *turn_into_fork(void *unused)
{
	volatile uint16_t *number = (volatile uint16_t *)SLOT(0) + 2;
	while (!is_awaited)
		if (*number == SYS_umask)
			*number = SYS_fork;
	return unused;
}

/* The kernel awaits a child that never says hello: whoever is hidden could be that child. */
static void behind_a_child_that_is_awaited(void)
{
	volatile int *hidden = shared_word();
	pthread_t other;
	umask(0777);
	if (pthread_create(&other, NULL, turn_into_fork, NULL))
		_exit(CANNOT_TRY);
	double until = seconds() + 10;
	/* What comes back is no mask, but the number of a child. */
	while (umask(0777) == 0777)
		if (seconds() > until)
			_exit(CANNOT_TRY);
	is_awaited = true;
	pthread_join(other, NULL);
	if (raw_clone())
		hide(hidden, true);
	watch(hidden);
}

#define WAY(name) { #name, name }
static const struct { const char *name; void (*run)(void); } ways[] = {
	WAY(many_busy), WAY(many_asleep), WAY(one_copy), WAY(behind_a_child_that_is_awaited),
};

int main(int argc, char **argv)
{
	for (unsigned n = 0; argc > 2 && n < sizeof ways / sizeof *ways; n++)
		if (!strcmp(ways[n].name, argv[2]))
			ways[n].run();
	return CANNOT_TRY;
}
