/*
 * What hostile guests share. They run inside only: natively some would harm the machine.
 *
 * A program ends with 0 when everything that it tried was held, and says ESCAPED and ends with 99 when something was not.
 * Being killed, or ended by a limit, is being held too; the line "run:" at its top says with which options it runs.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ESCAPED = 99, CANNOT_TRY = 98, DIFFERS = 97 };

/*
 * Where the shim, the bell and the channel are: a hostile guest has read the source. `cargo xtask hostile` writes this file from
 * crates/channel-abi and from the shim that it is about to attack.
 */
#include "layout.h"
#define SHIM ((volatile unsigned char *)SHIM_ADDRESS)
#define BELL ((volatile uint64_t *)BELL_ADDRESS)
#define CHANNEL ((volatile uint64_t *)CHANNEL_ADDRESS)
#define SLOT(n) (CHANNEL + (CHANNEL_HEADER_BYTES + (n) * (uint64_t)SLOT_BYTES) / 8)

__attribute__((unused)) static void escaped(const char *how)
{
	printf("ESCAPED: %s\n", how);
	fflush(stdout);
	_exit(ESCAPED);
}

/* At a limit a guest is to be told what Linux would tell it. */
__attribute__((unused)) static void differs(const char *what)
{
	printf("another answer than Linux gives: %s\n", what);
	fflush(stdout);
	_exit(DIFFERS);
}

static uint64_t random_state = 0x9e3779b97f4a7c15;

__attribute__((unused)) static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

__attribute__((unused)) static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* Runs something in a process of its own, which may be killed. Returns its status. */
__attribute__((unused)) static int in_child(void (*what)(uint64_t), uint64_t argument, unsigned limit_seconds)
{
	fflush(stdout);
	pid_t child = fork();
	if (child < 0)
		return -1;
	if (child == 0) {
		random_state ^= argument * 0x2545f4914f6cdd1d + 1;
		what(argument);
		_exit(0);
	}
	/* Not by alarm(2): what broke its shim does not look for signals any more, and only SIGKILL ends it. */
	int status = 0;
	double end = seconds() + limit_seconds;
	while (waitpid(child, &status, WNOHANG) == 0) {
		if (seconds() > end)
			kill(child, SIGKILL);
		usleep(500);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) >= DIFFERS && WEXITSTATUS(status) <= ESCAPED)
		_exit(WEXITSTATUS(status));
	return status;
}

/* A `syscall` instruction in the shim's text that returns soon; its number is how many to leave out. */
__attribute__((unused)) static uint64_t host_call_site(void)
{
	for (int at = SHIM_TEXT_START; at < SHIM_TEXT_END; at++)
		if (SHIM[at] == 0x0f && SHIM[at + 1] == 0x05 && SHIM[at + 2] == 0xb0 && SHIM[at + 4] == 0xc3)
			return (uint64_t)SHIM + at;
	return 0;
}

/*
 * A host call past the shim, by jumping to its instruction. The low byte of the result is lost; a negative
 * result is an error still.
 */
__attribute__((unused)) static long host_call(long number, long a, long b, long c, long d, long e, long f)
{
	static uint64_t site;
	if (!site && !(site = host_call_site())) {
		printf("no returning instruction in this shim: cannot try\n");
		fflush(stdout);
		_exit(CANNOT_TRY);
	}
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;
	__asm__ volatile("sub $256, %%rsp; call *%[site]; add $256, %%rsp"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9), [site] "b"(site)
			 : "rcx", "r11", "memory", "cc");
	return result;
}

/*
 * Copies the host process without the kernel. Returns whether this is the copy: one that has used no CPU time yet, because the low
 * byte of the call's result is lost.
 */
__attribute__((unused)) static bool raw_clone(void)
{
	struct timespec used;
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec == 0 && used.tv_nsec < 50000000);
	if (host_call(SYS_clone, 0x8011, 0, 0, 0, 0, 0) < 0)
		return false;
	host_call(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, (long)&used, 0, 0, 0, 0);
	return used.tv_sec == 0 && used.tv_nsec < 25000000;
}

#endif
