/* sigaltstack(2) and SA_ONSTACK. */
#include "test.h"
#include <pthread.h>
#include <sys/mman.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif

enum { SIZE = 65536 };
static char *stack;
static volatile bool on_alternate;
static volatile int flags_inside, change_errno;

static void look(int signal __attribute__((unused)))
{
	char here;
	stack_t now;
	on_alternate = &here >= stack && &here < stack + SIZE;
	sigaltstack(NULL, &now);
	flags_inside = now.ss_flags;
	stack_t other = { .ss_sp = stack, .ss_size = SIZE };
	errno = 0;
	sigaltstack(&other, NULL);
	change_errno = errno;
}

static void use_stack(int flags)
{
	stack = malloc(SIZE);
	stack_t wanted = { .ss_sp = stack, .ss_size = SIZE, .ss_flags = flags };
	SUCCEEDS(sigaltstack(&wanted, NULL));
}

static void catch(int signal, int flags, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	SUCCEEDS(sigaction(signal, &action, NULL));
}

TEST(used_when_asked_for)
{
	use_stack(0);
	catch(SIGUSR1, SA_ONSTACK, look);
	raise(SIGUSR1);
	CHECK(on_alternate);
	EQUALS(flags_inside, SS_ONSTACK);
	EQUALS(change_errno, EPERM);
	catch(SIGUSR2, 0, look);
	raise(SIGUSR2);
	CHECK(!on_alternate);
	EQUALS(flags_inside, 0);
}

TEST(not_there_by_default)
{
	stack_t now;
	SUCCEEDS(sigaltstack(NULL, &now));
	EQUALS(now.ss_flags, SS_DISABLE);
	catch(SIGUSR1, SA_ONSTACK, look);
	raise(SIGUSR1);
	CHECK(!on_alternate);
}

TEST(disarmed_while_in_use)
{
	use_stack(SS_AUTODISARM);
	catch(SIGUSR1, SA_ONSTACK, look);
	raise(SIGUSR1);
	CHECK(on_alternate);
	EQUALS(flags_inside, SS_DISABLE);
	EQUALS(change_errno, 0);
}

TEST(refusals)
{
	stack_t bad = { .ss_sp = BAD_POINTER, .ss_size = 100 };
	FAILS(sigaltstack(&bad, NULL), ENOMEM);
	bad = (stack_t){ .ss_sp = BAD_POINTER, .ss_size = SIZE, .ss_flags = 0x1234 };
	FAILS(sigaltstack(&bad, NULL), EINVAL);
	FAILS(sigaltstack(BAD_POINTER, NULL), EFAULT);
}

TEST(old_one_is_told)
{
	use_stack(0);
	stack_t none = { .ss_flags = SS_DISABLE }, old;
	SUCCEEDS(sigaltstack(&none, &old));
	CHECK(old.ss_sp == stack);
	EQUALS(old.ss_size, SIZE);
	EQUALS(old.ss_flags, 0);
	SUCCEEDS(sigaltstack(NULL, &old));
	EQUALS(old.ss_flags, SS_DISABLE);
}

TEST(inherited_by_fork)
{
	use_stack(0);
	pid_t child = FORK();
	if (child == 0) {
		stack_t now;
		SUCCEEDS(sigaltstack(NULL, &now));
		_exit(now.ss_sp == stack ? 0 : 1);
	}
	EXITS(child, 0);
}

static void *flags_of_thread(void *unused __attribute__((unused)))
{
	stack_t now;
	sigaltstack(NULL, &now);
	return (void *)(intptr_t)now.ss_flags;
}

TEST(not_inherited_by_threads)
{
	use_stack(0);
	pthread_t thread;
	void *flags;
	EQUALS(pthread_create(&thread, NULL, flags_of_thread, NULL), 0);
	pthread_join(thread, &flags);
	EQUALS((intptr_t)flags, SS_DISABLE);
}

static volatile int n_nested;
static void nested(int signal)
{
	char here;
	if (&here >= stack && &here < stack + SIZE)
		n_nested++;
	if (n_nested < 4)
		raise(signal);
}

TEST(nested_handlers_stay_on_it)
{
	use_stack(0);
	catch(SIGUSR1, SA_ONSTACK | SA_NODEFER, nested);
	raise(SIGUSR1);
	EQUALS(n_nested, 4);
}

static sigjmp_buf back;
static void jump(int signal __attribute__((unused)))
{
	siglongjmp(back, 1);
}

static int recurse(volatile int depth)
{
	volatile char frame[1000];
	frame[0] = 1;
	return depth == 0 ? 0 : recurse(depth - 1) + frame[0];
}

TEST(catches_stack_overflow)
{
	use_stack(0);
	catch(SIGSEGV, SA_ONSTACK, jump);
	for (volatile int i = 0; i < 3; i++)
		if (sigsetjmp(back, 1) == 0) {
			recurse(INT_MAX);
			CHECK(!"the stack has no end");
		}
}

TEST(overflow_without_it_is_fatal)
{
	pid_t child = FORK();
	if (child == 0) {
		catch(SIGSEGV, 0, jump);
		if (sigsetjmp(back, 1) == 0)
			recurse(INT_MAX);
		_exit(0);
	}
	DIES(child, SIGSEGV);
}
