/* A signal handler that destroys every register does not disturb the interrupted code. */
#include "test.h"
#include <immintrin.h>
#include <sys/time.h>
#include <ucontext.h>

static volatile int n_caught;

__attribute__((noinline, target("avx"))) static void destroy_avx(void)
{
	_mm256_zeroall();
}

static void destroy_everything(int signal __attribute__((unused)))
{
	unsigned control = 0x1f80 | 0x6000;
	n_caught++;
	__asm__ volatile("ldmxcsr %0" ::"m"(control));
	__asm__ volatile("fninit; fldpi; fldpi; fldpi" ::: "memory");
	if (__builtin_cpu_supports("avx"))
		destroy_avx();
	__asm__ volatile("pxor %%xmm0, %%xmm0; pxor %%xmm5, %%xmm5; pxor %%xmm9, %%xmm9; pxor %%xmm15, %%xmm15" ::
				 : "xmm0", "xmm5", "xmm9", "xmm15");
}

static void catch(int signal)
{
	struct sigaction action = { .sa_handler = destroy_everything, .sa_flags = SA_RESTART };
	SUCCEEDS(sigaction(signal, &action, NULL));
}

struct general {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15, flags;
};

/*
 * Loads all general registers from `in`, spins until `*until` is not `old`, and stores them to `out`.
 * The loop compares memory with an immediate through no register at all: both operands are fixed addresses.
 */
static struct general in, out;
static volatile uint32_t caught_flag;
static uint64_t saved_rsp, saved_rbp;

static void raise_flag(int signal)
{
	destroy_everything(signal);
	caught_flag = 1;
}

__attribute__((noinline)) static void spin_with_known_registers(void)
{
	__asm__ volatile(
		"push %%rbx; push %%rbp; push %%r12; push %%r13; push %%r14; push %%r15\n\t"
		"mov %%rsp, %[rsp]\n\t"
		"lea %[in], %%rax\n\t"
		"mov 8(%%rax), %%rbx; mov 16(%%rax), %%rcx; mov 24(%%rax), %%rdx; mov 32(%%rax), %%rsi\n\t"
		"mov 40(%%rax), %%rdi; mov 48(%%rax), %%rbp; mov 56(%%rax), %%r8; mov 64(%%rax), %%r9\n\t"
		"mov 72(%%rax), %%r10; mov 80(%%rax), %%r11; mov 88(%%rax), %%r12; mov 96(%%rax), %%r13\n\t"
		"mov 104(%%rax), %%r14; mov 112(%%rax), %%r15; mov (%%rax), %%rax\n"
		"1: cmpl $0, %[flag]\n\t"
		"je 1b\n\t"
		"push %%rax\n\t"
		"lea %[out], %%rax\n\t"
		"mov %%rbx, 8(%%rax); mov %%rcx, 16(%%rax); mov %%rdx, 24(%%rax); mov %%rsi, 32(%%rax)\n\t"
		"mov %%rdi, 40(%%rax); mov %%rbp, 48(%%rax); mov %%r8, 56(%%rax); mov %%r9, 64(%%rax)\n\t"
		"mov %%r10, 72(%%rax); mov %%r11, 80(%%rax); mov %%r12, 88(%%rax); mov %%r13, 96(%%rax)\n\t"
		"mov %%r14, 104(%%rax); mov %%r15, 112(%%rax)\n\t"
		"pop %%rbx; mov %%rbx, (%%rax)\n\t"
		"mov %[rsp], %%rsp\n\t"
		"pop %%r15; pop %%r14; pop %%r13; pop %%r12; pop %%rbp; pop %%rbx\n\t"
		: [out] "=m"(out), [rsp] "=m"(saved_rsp)
		: [in] "m"(in), [flag] "m"(caught_flag)
		: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}

static void start_timer(int microseconds)
{
	struct itimerval timer = { { 0, 0 }, { 0, microseconds } };
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, NULL));
}

TEST(general_registers)
{
	struct sigaction action = { .sa_handler = raise_flag };
	SUCCEEDS(sigaction(SIGALRM, &action, NULL));
	uint64_t *words = (uint64_t *)&in;
	for (int i = 0; i < 15; i++)
		words[i] = 0x0101010101010101 * (i + 1) ^ 0x8000000000000000;
	for (int round = 0; round < 5; round++) {
		caught_flag = 0;
		memset(&out, 0, sizeof out);
		start_timer(1000);
		spin_with_known_registers();
		CHECK(memcmp(&in, &out, offsetof(struct general, flags)) == 0);
	}
	(void)saved_rbp;
}

TEST(sse_registers)
{
	catch(SIGUSR1);
	static const uint64_t values[4][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 } };
	uint64_t after[4][2];
	long number = SYS_tkill;
	__asm__ volatile("movups %[a], %%xmm0; movups %[b], %%xmm5; movups %[c], %%xmm9; movups %[d], %%xmm15\n\t"
			 "syscall\n\t"
			 "movups %%xmm0, %[e]; movups %%xmm5, %[f]; movups %%xmm9, %[g]; movups %%xmm15, %[h]"
			 : "+a"(number), [e] "=m"(after[0]), [f] "=m"(after[1]), [g] "=m"(after[2]), [h] "=m"(after[3])
			 : "D"(gettid()), "S"(SIGUSR1), [a] "m"(values[0]), [b] "m"(values[1]), [c] "m"(values[2]), [d] "m"(values[3])
			 : "rcx", "r11", "xmm0", "xmm5", "xmm9", "xmm15", "memory");
	EQUALS(number, 0);
	EQUALS(n_caught, 1);
	CHECK(memcmp(values, after, sizeof values) == 0);
}

__attribute__((target("avx"))) static void check_avx(void)
{
	static const uint64_t value[4] = { 11, 22, 33, 44 };
	uint64_t after[2][4];
	long number = SYS_tkill;
	__asm__ volatile("vmovups %[v], %%ymm3; vmovups %[v], %%ymm14\n\tsyscall\n\t"
			 "vmovups %%ymm3, %[a]; vmovups %%ymm14, %[b]"
			 : "+a"(number), [a] "=m"(after[0]), [b] "=m"(after[1])
			 : "D"(gettid()), "S"(SIGUSR1), [v] "m"(value)
			 : "rcx", "r11", "xmm3", "xmm14", "memory");
	EQUALS(n_caught, 1);
	CHECK(memcmp(value, after[0], sizeof value) == 0);
	CHECK(memcmp(value, after[1], sizeof value) == 0);
}

TEST(avx_registers)
{
	if (!__builtin_cpu_supports("avx"))
		SKIP("no AVX");
	catch(SIGUSR1);
	check_avx();
}

__attribute__((target("avx512f"))) static void check_avx512(void)
{
	static const uint64_t value[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint64_t after[8];
	uint16_t mask = 0;
	long number = SYS_tkill;
	__asm__ volatile("vmovups %[v], %%zmm20; mov $0x5a5a, %%ecx; kmovw %%ecx, %%k3\n\tsyscall\n\t"
			 "vmovups %%zmm20, %[a]; kmovw %%k3, %%ecx; mov %%cx, %[m]"
			 : "+a"(number), [a] "=m"(after), [m] "=m"(mask)
			 : "D"(gettid()), "S"(SIGUSR1), [v] "m"(value)
			 : "rcx", "r11", "xmm20", "k3", "memory");
	EQUALS(n_caught, 1);
	CHECK(memcmp(value, after, sizeof value) == 0);
	EQUALS(mask, 0x5a5a);
}

TEST(avx512_registers)
{
	if (!__builtin_cpu_supports("avx512f"))
		SKIP("no AVX-512");
	catch(SIGUSR1);
	check_avx512();
}

TEST(control_words)
{
	catch(SIGUSR1);
	unsigned set = 0x1f80 | 0x2000, after = 0;
	uint16_t x87_set = 0x0f7f, x87_after = 0;
	__asm__ volatile("ldmxcsr %0; fldcw %1" ::"m"(set), "m"(x87_set));
	syscall(SYS_tkill, gettid(), SIGUSR1);
	__asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(after), "=m"(x87_after));
	EQUALS(n_caught, 1);
	EQUALS(after & 0xffc0, set);
	EQUALS(x87_after, x87_set);
}

static volatile unsigned control_inside;
static void read_control(int signal __attribute__((unused)))
{
	unsigned control;
	__asm__ volatile("stmxcsr %0" : "=m"(control));
	control_inside = control;
}

TEST(handler_starts_with_default_control_word)
{
	signal(SIGUSR1, read_control);
	unsigned set = 0x1f80 | 0x2000;
	__asm__ volatile("ldmxcsr %0" ::"m"(set));
	raise(SIGUSR1);
	EQUALS(control_inside & 0xffc0, 0x1f80);
}

static volatile bool stack_is_aligned, direction_is_clear;
static void look_at_the_frame(int signal __attribute__((unused)), siginfo_t *info __attribute__((unused)), void *context)
{
	uint64_t flags;
	__asm__ volatile("pushfq; popq %0" : "=r"(flags));
	direction_is_clear = !(flags & 0x400);
	stack_is_aligned = ((uintptr_t)__builtin_frame_address(0) & 15) == 0;
	/* The floating-point area is in the frame, with the control word where fxsave puts it. */
	fpregset_t floating = ((ucontext_t *)context)->uc_mcontext.fpregs;
	control_inside = floating->mxcsr;
}

TEST(frame_is_as_the_abi_wants)
{
	struct sigaction action = { .sa_sigaction = look_at_the_frame, .sa_flags = SA_SIGINFO };
	SUCCEEDS(sigaction(SIGUSR1, &action, NULL));
	long number = SYS_tkill;
	uint64_t flags = 0;
	__asm__ volatile("std\n\tsyscall\n\tpushfq\n\tpopq %1\n\tcld"
			 : "+a"(number), "=&r"(flags)
			 : "D"(gettid()), "S"(SIGUSR1)
			 : "rcx", "r11", "memory");
	CHECK(stack_is_aligned);
	CHECK(direction_is_clear);
	CHECK(flags & 0x400);
	EQUALS(control_inside & 0xffc0, 0x1f80);
}

static void change_sse(int signal __attribute__((unused)), siginfo_t *info __attribute__((unused)), void *context)
{
	((ucontext_t *)context)->uc_mcontext.fpregs->_xmm[7].element[0] = 0xabcdef;
}

TEST(handler_changes_a_vector_register)
{
	struct sigaction action = { .sa_sigaction = change_sse, .sa_flags = SA_SIGINFO };
	SUCCEEDS(sigaction(SIGUSR1, &action, NULL));
	long number = SYS_tkill;
	uint64_t after[2];
	__asm__ volatile("pcmpeqd %%xmm7, %%xmm7\n\tsyscall\n\tmovups %%xmm7, %1"
			 : "+a"(number), "=m"(after)
			 : "D"(gettid()), "S"(SIGUSR1)
			 : "rcx", "r11", "xmm7", "memory");
	EQUALS(after[0], (long long)0xffffffff00abcdef);
	EQUALS(after[1], -1);
}

/* Sums in registers while a timer interrupts at any instruction. */
TEST(long_calculation_under_fire)
{
	catch(SIGALRM);
	struct itimerval timer = { { 0, 500 }, { 0, 500 } };
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, NULL));
	double sum = 0;
	uint64_t hash = 1;
	uint64_t expected_hash = 1;
	int rounds = 0;
	while (n_caught < 30) {
		rounds++;
		for (int i = 1; i <= 1000; i++) {
			sum += i;
			hash = hash * 6364136223846793005ull + i;
		}
	}
	memset(&timer, 0, sizeof timer);
	SUCCEEDS(setitimer(ITIMER_REAL, &timer, NULL));
	for (int round = 0; round < rounds; round++)
		for (int i = 1; i <= 1000; i++)
			expected_hash = expected_hash * 6364136223846793005ull + i;
	EQUALS(sum, 500500.0 * rounds);
	EQUALS(hash, expected_hash);
}

TEST(system_call_keeps_all_but_two)
{
	uint64_t rbx = 1, rdx = 2, r8 = 3, r9 = 4, r10 = 5, r12 = 6;
	register uint64_t r8_asm __asm__("r8") = r8;
	register uint64_t r9_asm __asm__("r9") = r9;
	register uint64_t r10_asm __asm__("r10") = r10;
	register uint64_t r12_asm __asm__("r12") = r12;
	uint64_t rdi = 7, rsi = 8;
	for (int i = 0; i < 3; i++) {
		long number = SYS_getppid;
		__asm__ volatile("syscall"
				 : "+a"(number), "+b"(rbx), "+d"(rdx), "+D"(rdi), "+S"(rsi), "+r"(r8_asm), "+r"(r9_asm),
				   "+r"(r10_asm), "+r"(r12_asm)
				 :
				 : "rcx", "r11", "memory");
		EQUALS(number, getppid());
		EQUALS(rbx, 1);
		EQUALS(rdx, 2);
		EQUALS(rdi, 7);
		EQUALS(rsi, 8);
		r8_asm = 3, r9_asm = 4, r10_asm = 5, r12_asm = 6;
	}
}
