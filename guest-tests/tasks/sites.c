/* System calls from unusual code: wherever the instruction stands, and whatever the registers hold. */
#include "test.h"
#include <pthread.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static unsigned char *code_pages(int n)
{
	return SUCCEEDS((unsigned char *)mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

/* mov $number, %eax; syscall; ret */
static size_t put_call(unsigned char *at, int number)
{
	const unsigned char code[] = { 0xb8, number, number >> 8, 0, 0, 0x0f, 0x05, 0xc3 };
	memcpy(at, code, sizeof code);
	return sizeof code;
}

static int run(void *code)
{
	return ((int (*)(void))code)();
}

TEST(at_every_place_around_a_page_border)
{
	unsigned char *code = code_pages(2);
	for (int before = 0; before <= 9; before++) {
		memset(code, 0xcc, 2 * PAGE);
		put_call(code + PAGE - before, SYS_getppid);
		for (int i = 0; i < 3; i++)
			EQUALS(run(code + PAGE - before), getppid());
	}
}

TEST(next_page_is_missing)
{
	unsigned char *code = code_pages(2);
	put_call(code + PAGE - 8, SYS_getppid);
	SUCCEEDS(mprotect(code + PAGE, PAGE, PROT_NONE));
	for (int i = 0; i < 3; i++)
		EQUALS(run(code + PAGE - 8), getppid());
}

/* One instruction for two numbers: a jump leads to the system call behind another mov. */
TEST(jump_to_the_instruction)
{
	unsigned char *code = code_pages(1);
	put_call(code, SYS_getppid);
	const unsigned char other[] = { 0xb8, SYS_getpid, 0, 0, 0, 0xe9, 0, 0, 0, 0 };
	memcpy(code + 64, other, sizeof other);
	int distance = (code + 5) - (code + 64 + 10);
	memcpy(code + 64 + 6, &distance, 4);
	for (int i = 0; i < 3; i++) {
		EQUALS(run(code), getppid());
		EQUALS(run(code + 64), getpid());
	}
}

/* A conditional jump to what follows the system call must find it there. */
TEST(jump_behind_the_instruction)
{
	unsigned char *code = code_pages(1);
	const unsigned char text[] = {
		0x85, 0xff,                         /* test %edi, %edi */
		0xb8, SYS_getppid, 0, 0, 0,         /* mov $getppid, %eax */
		0x75, 0x02,                         /* jne over the call */
		0x0f, 0x05,                         /* syscall */
		0x83, 0xc0, 0x01,                   /* add $1, %eax */
		0xc3,                               /* ret */
	};
	memcpy(code, text, sizeof text);
	int (*function)(int) = (int (*)(int))code;
	for (int i = 0; i < 3; i++) {
		EQUALS(function(0), getppid() + 1);
		EQUALS(function(1), SYS_getppid + 1);
	}
}

TEST(number_from_a_register)
{
	unsigned char *code = code_pages(1);
	const unsigned char text[] = { 0x89, 0xf8, 0x0f, 0x05, 0xc3 }; /* mov %edi, %eax; syscall; ret */
	memcpy(code, text, sizeof text);
	int (*function)(int) = (int (*)(int))code;
	for (int i = 0; i < 3; i++) {
		EQUALS(function(SYS_getpid), getpid());
		EQUALS(function(SYS_getppid), getppid());
		EQUALS(function(999), -ENOSYS);
	}
}

TEST(memory_below_the_stack_pointer_is_kept)
{
	for (int i = 0; i < 3; i++) {
		long first = 1, last = 2, result = SYS_getppid;
		__asm__ volatile("movq $111, -8(%%rsp)\n\tmovq $222, -128(%%rsp)\n\tsyscall\n\t"
				 "movq -8(%%rsp), %1\n\tmovq -128(%%rsp), %2"
				 : "+a"(result), "=r"(first), "=r"(last)
				 :
				 : "rcx", "r11", "memory");
		EQUALS(result, getppid());
		EQUALS(first, 111);
		EQUALS(last, 222);
	}
}

TEST(no_stack_is_needed)
{
	for (int i = 0; i < 3; i++) {
		long result = SYS_getppid;
		__asm__ volatile("mov %%rsp, %%rbx\n\txor %%esp, %%esp\n\tsyscall\n\tmov %%rbx, %%rsp"
				 : "+a"(result)
				 :
				 : "rbx", "rcx", "r11", "memory");
		EQUALS(result, getppid());
	}
}

TEST(flags_are_kept)
{
	for (int i = 0; i < 3; i++) {
		long result = SYS_getppid;
		unsigned long flags = 0;
		__asm__ volatile("std\n\tstc\n\tsyscall\n\tpushfq\n\tpop %1\n\tcld" : "+a"(result), "=r"(flags) : : "rcx", "r11", "memory");
		EQUALS(result, getppid());
		EQUALS(flags & 0x401, 0x401);
	}
}

TEST(vector_registers_are_kept)
{
	for (int i = 0; i < 3; i++) {
		uint64_t in[2] = { 0x1111111111111111, 0x2222222222222222 }, out[4];
		long result = SYS_getppid;
		__asm__ volatile("movups %3, %%xmm0\n\tmovups %3, %%xmm15\n\tsyscall\n\tmovups %%xmm0, %1\n\tmovups %%xmm15, %2"
				 : "+a"(result), "=m"(*(uint64_t(*)[2])out), "=m"(*(uint64_t(*)[2])(out + 2))
				 : "m"(in)
				 : "rcx", "r11", "xmm0", "xmm15", "memory");
		EQUALS(result, getppid());
		EQUALS(memcmp(in, out, 16) | memcmp(in, out + 2, 16), 0);
	}
}

enum { SITES = 500 };
static unsigned char *many_sites;
static pthread_barrier_t all_here;

static void *run_all_sites(void *unused __attribute__((unused)))
{
	long wrong = 0;
	pthread_barrier_wait(&all_here);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < SITES; i++)
			wrong += run(many_sites + 8 * i) != (i & 1 ? getpid() : getppid());
	return (void *)wrong;
}

TEST(fresh_code_in_many_threads_at_once)
{
	pthread_t threads[4];
	many_sites = code_pages(1);
	for (int i = 0; i < SITES; i++)
		put_call(many_sites + 8 * i, i & 1 ? SYS_getpid : SYS_getppid);
	pthread_barrier_init(&all_here, NULL, 4);
	for (int i = 0; i < 4; i++)
		EQUALS(pthread_create(&threads[i], NULL, run_all_sites, NULL), 0);
	for (int i = 0; i < 4; i++) {
		void *wrong;
		pthread_join(threads[i], &wrong);
		EQUALS((long)wrong, 0);
	}
}

TEST(code_that_is_replaced)
{
	unsigned char *code = code_pages(1);
	for (int i = 0; i < 50; i++) {
		put_call(code, i & 1 ? SYS_getpid : SYS_getppid);
		for (int j = 0; j < 3; j++)
			EQUALS(run(code), i & 1 ? getpid() : getppid());
	}
}

TEST(code_that_is_unmapped_and_mapped_again)
{
	unsigned char *code = code_pages(1);
	for (int i = 0; i < 20; i++) {
		put_call(code + i, i & 1 ? SYS_getpid : SYS_getppid);
		for (int j = 0; j < 3; j++)
			EQUALS(run(code + i), i & 1 ? getpid() : getppid());
		SUCCEEDS(munmap(code, PAGE));
		CHECK(mmap(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == code);
		EQUALS(code[i], 0);
	}
}

TEST(code_after_fork)
{
	unsigned char *code = code_pages(1);
	put_call(code, SYS_getppid);
	EQUALS(run(code), getppid());
	pid_t child = FORK();
	if (child == 0) {
		for (int i = 0; i < 3; i++)
			EQUALS(run(code), test_process);
		put_call(code, SYS_getpid);
		EQUALS(run(code), getpid());
		_exit(0);
	}
	EXITS(child, 0);
	EQUALS(run(code), getppid());
}

TEST(shared_code_is_not_changed_in_its_file)
{
	int file = SUCCEEDS(memfd_create("code", 0));
	unsigned char text[8], now[8];
	put_call(text, SYS_getppid);
	EQUALS(write(file, text, sizeof text), sizeof text);
	void *code = SUCCEEDS(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0));
	for (int i = 0; i < 5; i++)
		EQUALS(run(code), getppid());
	EQUALS(pread(file, now, sizeof now, 0), sizeof now);
	EQUALS(memcmp(text, now, sizeof text), 0);
}

/* All six arguments arrive: mmap needs every one of them. */
TEST(six_arguments)
{
	int file = SUCCEEDS(memfd_create("data", 0));
	SUCCEEDS(ftruncate(file, 3 * PAGE));
	EQUALS(pwrite(file, "second page", 11, PAGE), 11);
	for (int i = 0; i < 3; i++) {
		char *page = (char *)syscall(SYS_mmap, NULL, PAGE, PROT_READ, MAP_PRIVATE, file, PAGE);
		EQUALS(memcmp(page, "second page", 11), 0);
		SUCCEEDS(munmap(page, PAGE));
	}
}

/* Whatever children and parents learn of each other's calls, one form of an instruction is enough: it
 * stands where it stood, for those who come back to what is behind it. */
TEST(parents_and_children_come_to_one_site)
{
	unsigned char *code = code_pages(1);
	const unsigned char text[] = {
		0xb8, SYS_getppid, 0, 0, 0,         /* mov $getppid, %eax */
		0x0f, 0x05,                         /* syscall */
		0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff, /* cmp $-4096, %rax */
		0xc3,                               /* ret */
	};
	memcpy(code + 64, text, sizeof text);
	for (int round = 0; round < 8; round++) {
		pid_t parent = getpid();
		pid_t child = FORK();
		if (child == 0) {
			for (int i = 0; i < 6; i++)
				EQUALS(run(code + 64), parent);
			_exit(0);
		}
		EXITS(child, 0);
		for (int i = 0; i < 6; i++)
			EQUALS(run(code + 64), getppid());
	}
	EQUALS(memcmp(code + 64 + 5, text + 5, sizeof text - 5), 0);
}
