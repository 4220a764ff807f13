/* Jumps to the shim's own `syscall` instruction with every number and wild registers. run: --timeout 1h */
#include "hostile.h"

#include <sys/socket.h>

/* What the filter lets pass, whatever the arguments are; everything else must end the process. */
static bool may_pass(long number)
{
	static const short allowed[] = { SYS_futex, SYS_write, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_mremap, SYS_msync,
		SYS_mincore, SYS_pread64, SYS_rt_sigreturn, SYS_recvmsg, SYS_close, SYS_dup2, SYS_clone, SYS_gettid, SYS_sigaltstack,
		SYS_prctl, SYS_clock_gettime, SYS_membarrier, SYS_sched_yield, SYS_exit, SYS_exit_group };
	for (size_t n = 0; n < sizeof(allowed) / sizeof(*allowed); n++)
		if (allowed[n] == number)
			return true;
	/* Hosts from 6.14 on let uretprobe and uprobe pass every filter; outside of a probe they do nothing. */
	return number == 335 || number == 336;
}

static void forbidden(uint64_t number)
{
	long result = host_call((long)number, -100, (long)"/tmp/hostile-escaped", O_CREAT | O_RDWR, 0600, 0, 0);
	/* A rule may name the call and refuse its arguments. */
	if (result < 0)
		return;
	printf("number %lu\n", number);
	escaped("the filter let a call pass");
}

static long wild(void)
{
	static const long values[] = { 0, 1, 3, 4, 5, 7, -1, 0x600000000000, 0x600010000000, 0x600020000000, 4096, 1 << 20, 0x7fffffff };
	uint64_t choice = random_word() % 16;
	return choice < 13 ? values[choice] : (long)random_word();
}

static void allowed(uint64_t seed)
{
	static const short numbers[] = { SYS_futex, SYS_write, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_mremap, SYS_msync,
		SYS_mincore, SYS_pread64, SYS_close, SYS_dup2, SYS_sigaltstack, SYS_prctl, SYS_membarrier };
	(void)seed;
	for (int n = 0; n < 40; n++)
		host_call(numbers[random_word() % 15], wild(), wild(), wild(), wild(), wild(), wild());
}

/* Jumps to any byte of the shim's text, with wild registers. */
static void anywhere(uint64_t seed)
{
	(void)seed;
	uint64_t at = (uint64_t)SHIM + SHIM_TEXT_START + random_word() % (SHIM_TEXT_END - SHIM_TEXT_START);
	uint64_t a = wild(), b = wild(), c = wild(), d = wild();
	__asm__ volatile("jmp *%0" : : "r"(at), "a"(a), "D"(b), "S"(c), "d"(d) : "memory");
}

int main(void)
{
	int passed = 0;
	for (long number = 0; number < 470; number++) {
		if (may_pass(number))
			continue;
		int status = in_child(forbidden, number, 5);
		passed += WIFSIGNALED(status);
	}
	printf("%d numbers ended their process\n", passed);
	for (int seed = 0; seed < 150; seed++)
		in_child(allowed, seed + time(NULL), 2);
	for (int seed = 0; seed < 400; seed++)
		in_child(anywhere, seed + time(NULL), 2);
	if (access("/tmp/hostile-escaped", F_OK) == 0)
		escaped("a file was made");
	puts("held");
	return 0;
}
