/* Synchronous faults: what siginfo says, recovery, and what happens when nobody listens. */
#include "test.h"
#include <sys/mman.h>
#include <ucontext.h>

static sigjmp_buf back;
static siginfo_t got;
static greg_t trap_number, error_code;

static void note_and_jump(int signal __attribute__((unused)), siginfo_t *info, void *context)
{
	got = *info;
	trap_number = ((ucontext_t *)context)->uc_mcontext.gregs[REG_TRAPNO];
	error_code = ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR];
	siglongjmp(back, 1);
}

static void catch(int signal)
{
	struct sigaction action = { .sa_sigaction = note_and_jump, .sa_flags = SA_SIGINFO };
	SUCCEEDS(sigaction(signal, &action, NULL));
}

static char *map(int protection)
{
	return SUCCEEDS((char *)mmap(NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

#define FAULTS(statement)                                                                          \
	do {                                                                                       \
		if (sigsetjmp(back, 1) == 0) {                                                     \
			statement;                                                                 \
			CHECK(!"there was no fault");                                              \
		}                                                                                  \
	} while (0)

TEST(read_of_nothing)
{
	catch(SIGSEGV);
	volatile char *nowhere = map(PROT_READ);
	SUCCEEDS(munmap((void *)nowhere, 4096));
	FAULTS((void)*(nowhere + 17));
	EQUALS(got.si_signo, SIGSEGV);
	EQUALS(got.si_code, SEGV_MAPERR);
	CHECK(got.si_addr == nowhere + 17);
	EQUALS(trap_number, 14);
	EQUALS(error_code & 7, 4);
}

TEST(null_pointer)
{
	catch(SIGSEGV);
	volatile char *volatile null = NULL;
	FAULTS(*null = 1);
	EQUALS(got.si_code, SEGV_MAPERR);
	CHECK(got.si_addr == NULL);
	EQUALS(error_code & 7, 6);
}

TEST(write_to_read_only)
{
	catch(SIGSEGV);
	volatile char *page = map(PROT_READ);
	FAULTS(page[100] = 1);
	EQUALS(got.si_code, SEGV_ACCERR);
	CHECK(got.si_addr == page + 100);
}

TEST(no_access)
{
	catch(SIGSEGV);
	volatile char *page = map(PROT_NONE);
	FAULTS((void)page[5]);
	EQUALS(got.si_code, SEGV_ACCERR);
	CHECK(got.si_addr == page + 5);
}

TEST(execution_of_data)
{
	catch(SIGSEGV);
	char *page = map(PROT_READ | PROT_WRITE);
	page[0] = (char)0xc3;
	FAULTS(((void (*)(void))page)());
	EQUALS(got.si_code, SEGV_ACCERR);
	CHECK(got.si_addr == page);
}

TEST(jump_to_nowhere)
{
	catch(SIGSEGV);
	void (*volatile nowhere)(void) = (void (*)(void))0x1000;
	FAULTS(nowhere());
	EQUALS(got.si_code, SEGV_MAPERR);
	CHECK(got.si_addr == (void *)0x1000);
}

TEST(address_that_is_not_canonical)
{
	catch(SIGSEGV);
	volatile char *volatile odd = (char *)0x8000000000000000;
	FAULTS((void)*odd);
	EQUALS(got.si_code, SI_KERNEL);
	CHECK(got.si_addr == NULL);
}

TEST(division_by_zero)
{
	catch(SIGFPE);
	FAULTS(__asm__ volatile("xor %%ecx, %%ecx\n\tmov $1, %%eax\n\tcltd\n\tidivl %%ecx" ::: "eax", "ecx", "edx"));
	EQUALS(got.si_code, FPE_INTDIV);
	CHECK(got.si_addr != NULL);
	EQUALS(trap_number, 0);
}

TEST(illegal_instruction)
{
	catch(SIGILL);
	FAULTS(__builtin_trap());
	EQUALS(got.si_code, ILL_ILLOPN);
	CHECK(got.si_addr != NULL);
	EQUALS(trap_number, 6);
}

TEST(breakpoint)
{
	catch(SIGTRAP);
	FAULTS(__asm__ volatile("int3"));
	EQUALS(got.si_code, SI_KERNEL);
	EQUALS(trap_number, 3);
}

TEST(privileged_instruction)
{
	catch(SIGSEGV);
	FAULTS(__asm__ volatile("hlt"));
	EQUALS(got.si_code, SI_KERNEL);
	EQUALS(trap_number, 13);
}

TEST(float_exception)
{
	catch(SIGFPE);
	unsigned control = 0x1f80 & ~0x200;
	volatile double zero = 0, one = 1;
	FAULTS(__asm__ volatile("ldmxcsr %0" ::"m"(control)); zero = one / zero);
	EQUALS(got.si_code, FPE_FLTDIV);
	EQUALS(trap_number, 19);
}

TEST(behind_the_end_of_a_file)
{
	catch(SIGBUS);
	int file = SUCCEEDS(memfd_create("short", 0));
	SUCCEEDS(ftruncate(file, 100));
	volatile char *pages = SUCCEEDS((char *)mmap(NULL, 8192, PROT_READ, MAP_SHARED, file, 0));
	EQUALS(pages[4095], 0);
	FAULTS((void)pages[4096]);
	EQUALS(got.si_code, BUS_ADRERR);
	CHECK(got.si_addr == pages + 4096);
}

TEST(recover_a_thousand_times)
{
	catch(SIGSEGV);
	volatile char *page = map(PROT_NONE);
	for (volatile int i = 0; i < 1000; i++)
		FAULTS(page[i] = 1);
}

static volatile int n_caught;
static char *volatile page_to_open;
static void open_the_page(int signal __attribute__((unused)))
{
	n_caught++;
	mprotect(page_to_open, 4096, PROT_READ | PROT_WRITE);
}

TEST(handler_repairs_and_the_instruction_repeats)
{
	signal(SIGSEGV, open_the_page);
	page_to_open = map(PROT_NONE);
	page_to_open[7] = 42;
	EQUALS(page_to_open[7], 42);
	EQUALS(n_caught, 1);
}

static void skip_instruction(int signal __attribute__((unused)), siginfo_t *info __attribute__((unused)), void *context)
{
	n_caught++;
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	registers[REG_RIP] += 2;
	registers[REG_RAX] = 1234;
}

TEST(handler_changes_registers)
{
	struct sigaction action = { .sa_sigaction = skip_instruction, .sa_flags = SA_SIGINFO };
	SUCCEEDS(sigaction(SIGILL, &action, NULL));
	long value = 0;
	__asm__ volatile("ud2" : "+a"(value));
	EQUALS(value, 1234);
	EQUALS(n_caught, 1);
}

static pid_t child_with_fault(void (*prepare)(void))
{
	pid_t child = FORK();
	if (child == 0) {
		prepare();
		*(volatile char *)BAD_POINTER = 1;
		_exit(0);
	}
	return child;
}

static void set_default(void)
{
	signal(SIGSEGV, SIG_DFL);
}

static void ignore(void)
{
	signal(SIGSEGV, SIG_IGN);
}

static void block(void)
{
	sigset_t set;
	signal(SIGSEGV, open_the_page);
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void fault_again(int signal __attribute__((unused)))
{
	*(volatile char *)BAD_POINTER = 1;
	_exit(0);
}

static void fault_in_handler(void)
{
	signal(SIGSEGV, fault_again);
}

TEST(nobody_can_ignore_a_fault)
{
	DIES(child_with_fault(set_default), SIGSEGV);
	DIES(child_with_fault(ignore), SIGSEGV);
	DIES(child_with_fault(block), SIGSEGV);
	DIES(child_with_fault(fault_in_handler), SIGSEGV);
}

TEST(bad_stack_is_fatal)
{
	pid_t child = FORK();
	if (child == 0) {
		signal(SIGUSR1, open_the_page);
		pid_t self = getpid();
		__asm__ volatile("mov %%rsp, %%rbx\n\tmov $8, %%rsp\n\tsyscall\n\tmov %%rbx, %%rsp"
				 :
				 : "a"(SYS_kill), "D"(self), "S"(SIGUSR1)
				 : "rbx", "rcx", "r11", "memory");
		_exit(0);
	}
	DIES(child, SIGSEGV);
}

TEST(system_calls_return_errors_instead)
{
	catch(SIGSEGV);
	char *page = map(PROT_NONE);
	int ends[2];
	SUCCEEDS(pipe(ends));
	FAILS(write(ends[1], page, 1), EFAULT);
	EQUALS(write(ends[1], "x", 1), 1);
	FAILS(read(ends[0], page, 1), EFAULT);
	FAILS(open(page, O_RDONLY), EFAULT);
}
