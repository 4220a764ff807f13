/* Calls from every instruction form: none reaches the host. run: --timeout 1h */
#include "hostile.h"

static const char path[] = "/tmp/hostile-escaped";

static void by_int80(uint64_t number)
{
	long result = (long)number;
	/* 32-bit pointers: the path has to lie low. */
	char *low = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (low != MAP_FAILED)
		strcpy(low, path);
	__asm__ volatile("int $0x80" : "+a"(result) : "b"(low), "c"(O_CREAT | O_RDWR), "d"(0600) : "memory");
	if ((int)result >= 0)
		escaped("int 0x80 did something");
}

static void by_sysenter(uint64_t number)
{
	__asm__ volatile("mov %%rsp, %%rbp; sysenter" : : "a"(number), "b"(path), "c"(O_CREAT), "d"(0) : "memory");
}

static void by_x32(uint64_t number)
{
	long result = syscall((long)(0x40000000 | number), path, O_CREAT | O_RDWR, 0600, 0, 0, 0);
	if (result >= 0)
		escaped("an x32 number did something");
}

static void by_x32_in_the_shim(uint64_t number)
{
	host_call((long)(0x40000000 | number), -100, (long)path, O_CREAT | O_RDWR, 0600, 0, 0);
	escaped("an x32 number of the shim's went through");
}

static void by_vsyscall(uint64_t which)
{
	long (*entry)(void *, void *) = (long (*)(void *, void *))(0xffffffffff600000 + 0x400 * which);
	char buffer[64];
	entry(buffer, buffer);
}

static void by_high_numbers(uint64_t number)
{
	if (syscall((long)(number << 32 | SYS_getpid), 0, 0, 0, 0, 0, 0) == 0)
		escaped("a call that does not exist gave 0");
}

/* A jump into the middle of an instruction makes another `syscall`; so does code that is written at run time. */
static void by_new_code(uint64_t number)
{
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, "\x0f\x05\xc3", 3);
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	long result;
	__asm__ volatile("call *%1" : "=a"(result) : "r"(code), "a"(number), "D"(0), "S"(0), "d"(0) : "rcx", "r11", "memory");
	/* The kernel's own answer, as for any other call of the guest's: init_module, bpf, io_uring, perf, ptrace. */
	if (result >= 0)
		escaped("a privileged call was done");
}

int main(void)
{
	static const int privileged[] = { SYS_init_module, SYS_bpf, SYS_io_uring_setup, SYS_perf_event_open, SYS_kexec_load,
		SYS_reboot, SYS_userfaultfd, SYS_add_key, SYS_keyctl, SYS_iopl, SYS_ioperm, SYS_swapon, SYS_settimeofday };
	for (int number = 0; number < 450; number += 15)
		in_child(by_int80, number, 1);
	for (int number = 0; number < 3; number++)
		in_child(by_sysenter, number, 1);
	for (int number = 0; number < 20; number++)
		in_child(by_x32, number, 1);
	for (int number = 0; number < 5; number++) {
		int status = in_child(by_x32_in_the_shim, 500 + number, 1);
		if (!WIFSIGNALED(status))
			printf("x32 number %d: status %x\n", number, status);
	}
	for (int which = 0; which < 4; which++)
		in_child(by_vsyscall, which, 1);
	for (uint64_t high = 1; high < 1ull << 31; high *= 16)
		in_child(by_high_numbers, high, 1);
	for (size_t n = 0; n < sizeof(privileged) / sizeof(*privileged); n++)
		in_child(by_new_code, privileged[n], 1);
	if (access(path, F_OK) == 0)
		escaped("a file was made");
	puts("held");
	return 0;
}
