/* Overwrites the shim, its data and its code, and goes on. run: --timeout 1h */
#include "hostile.h"

static void all_of_it(uint64_t seed)
{
	long size = (SHIM_DATA_END + 4095) & ~4095;
	host_call(SYS_mprotect, (long)SHIM, size, PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0, 0);
	for (long at = 0; at < size; at++)
		SHIM[at] = (unsigned char)(seed & 1 ? 0x90 : random_word());
	getppid();
	write(1, "after\n", 6);
}

/* Replaces the code of one call site by calls that the guest wants: the filter is what holds. */
static void own_code(uint64_t number)
{
	uint64_t site = host_call_site();
	host_call(SYS_mprotect, (long)(site & ~4095), 8192, PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0, 0);
	/* mov %rdi..., syscall, ret: the whole result is seen now. */
	memcpy((void *)site, "\x0f\x05\xc3", 3);
	long result = host_call((long)number, -100, (long)"/etc/shadow", O_RDONLY, 0, 0, 0);
	if (result >= 0)
		escaped("own code in the shim's place made a call");
}

static void data_of_it(uint64_t seed)
{
	(void)seed;
	for (int n = 0; n < 200; n++) {
		SHIM[SHIM_DATA_START + random_word() % (SHIM_DATA_END - SHIM_DATA_START)] = (unsigned char)random_word();
		getppid();
		access("/", F_OK);
		free(malloc(random_word() % 100000));
	}
}

static void unmapped(uint64_t seed)
{
	(void)seed;
	host_call(SYS_munmap, (long)SHIM, 0x80000000, 0, 0, 0, 0);
	write(1, "after\n", 6);
}

int main(void)
{
	for (int seed = 0; seed < 6; seed++)
		in_child(all_of_it, seed, 1);
	for (int number = 0; number < 60; number++)
		if (number != SYS_write && number != SYS_mmap && number != SYS_mprotect && number != SYS_munmap && number != SYS_close &&
		    !(number >= 24 && number <= 28) && number != SYS_pread64 && number != SYS_rt_sigreturn && number != SYS_clone &&
		    number != SYS_dup2 && number != SYS_recvmsg)
			in_child(own_code, number, 1);
	in_child(own_code, SYS_openat, 1);
	in_child(own_code, SYS_openat2, 1);
	for (int seed = 0; seed < 8; seed++)
		in_child(data_of_it, seed, 1);
	in_child(unmapped, 0, 1);
	if (getppid() < 0)
		escaped("the parent is not answered");
	puts("held");
	return 0;
}
