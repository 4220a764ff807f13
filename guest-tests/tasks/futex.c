/* futex(2): waiting, waking, requeueing, operations, time-outs; within a process and between processes. */
#include "test.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

static long futex(volatile void *word, int operation, uint32_t value, const struct timespec *timeout,
		  volatile void *second, uint32_t third)
{
	return syscall(SYS_futex, word, operation, value, timeout, second, third);
}

static volatile uint32_t word, other_word;
static volatile int n_woken;

/* Repeats a wake until it has found `n` waiters, since they may not wait yet. */
static void wake_until(volatile uint32_t *where, int operation, uint32_t mask, int n)
{
	while (n > 0)
		n -= SUCCEEDS(futex(where, operation, n, NULL, NULL, mask));
}

static pthread_t start(void *(*body)(void *))
{
	pthread_t thread;
	EQUALS(pthread_create(&thread, NULL, body, NULL), 0);
	return thread;
}

static void *wait_on_word(void *unused __attribute__((unused)))
{
	long result = futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	__sync_fetch_and_add(&n_woken, 1);
	return (void *)result;
}

TEST(value_has_changed)
{
	word = 1;
	FAILS(futex(&word, FUTEX_WAIT, 0, NULL, NULL, 0), EAGAIN);
	FAILS(futex(&word, FUTEX_WAIT_BITSET, 0, NULL, NULL, 1), EAGAIN);
}

TEST(nobody_to_wake)
{
	EQUALS(futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0), 0);
	EQUALS(futex(&word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0), 0);
}

TEST(refusals)
{
	FAILS(futex((char *)&word + 1, FUTEX_WAIT, 0, NULL, NULL, 0), EINVAL);
	FAILS(futex((char *)&word + 2, FUTEX_WAKE, 1, NULL, NULL, 0), EINVAL);
	FAILS(futex((void *)8, FUTEX_WAIT, 0, NULL, NULL, 0), EFAULT);
	FAILS(futex(&word, 77, 0, NULL, NULL, 0), ENOSYS);
	FAILS(futex(&word, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0), EINVAL);
	FAILS(futex(&word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0), EINVAL);
	struct timespec bad = { 0, 1000000000 };
	FAILS(futex(&word, FUTEX_WAIT, 0, &bad, NULL, 0), EINVAL);
	bad = (struct timespec){ -1, 0 };
	FAILS(futex(&word, FUTEX_WAIT, 0, &bad, NULL, 0), EINVAL);
	FAILS(futex(&word, FUTEX_WAIT, 0, BAD_POINTER, NULL, 0), EFAULT);
}

TEST(relative_time_out)
{
	struct timespec timeout = { 0, 20000000 };
	int64_t start = now_ns(CLOCK_MONOTONIC);
	FAILS(futex(&word, FUTEX_WAIT, 0, &timeout, NULL, 0), ETIMEDOUT);
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= 20000000);
}

TEST(absolute_time_out)
{
	struct timespec end = { 0, 0 };
	FAILS(futex(&word, FUTEX_WAIT_BITSET, 0, &end, NULL, FUTEX_BITSET_MATCH_ANY), ETIMEDOUT);
	int64_t end_ns = now_ns(CLOCK_MONOTONIC) + 10000000;
	end = (struct timespec){ end_ns / 1000000000, end_ns % 1000000000 };
	FAILS(futex(&word, FUTEX_WAIT_BITSET, 0, &end, NULL, FUTEX_BITSET_MATCH_ANY), ETIMEDOUT);
	CHECK(now_ns(CLOCK_MONOTONIC) >= end_ns);
	end_ns = now_ns(CLOCK_REALTIME) + 10000000;
	end = (struct timespec){ end_ns / 1000000000, end_ns % 1000000000 };
	FAILS(futex(&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &end, NULL, FUTEX_BITSET_MATCH_ANY), ETIMEDOUT);
	CHECK(now_ns(CLOCK_REALTIME) >= end_ns);
}

TEST(wake_one_by_one)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		threads[i] = start(wait_on_word);
	for (int i = 1; i <= 3; i++) {
		wake_until(&word, FUTEX_WAKE_PRIVATE, 0, 1);
		while (n_woken < i)
			sched_yield();
		EQUALS(n_woken, i);
	}
	for (int i = 0; i < 3; i++) {
		void *result;
		pthread_join(threads[i], &result);
		EQUALS((long)result, 0);
	}
}

static void *wait_for_first_bit(void *unused __attribute__((unused)))
{
	futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 1);
	n_woken |= 1;
	return NULL;
}

static void *wait_for_second_bit(void *unused __attribute__((unused)))
{
	futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 2);
	n_woken |= 2;
	return NULL;
}

TEST(bits_choose_whom_to_wake)
{
	pthread_t first = start(wait_for_first_bit), second = start(wait_for_second_bit);
	wake_until(&word, FUTEX_WAKE_BITSET_PRIVATE, 2, 1);
	pthread_join(second, NULL);
	EQUALS(n_woken, 2);
	EQUALS(futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 4), 0);
	wake_until(&word, FUTEX_WAKE_BITSET_PRIVATE, 5, 1);
	pthread_join(first, NULL);
	EQUALS(n_woken, 3);
}

TEST(requeue)
{
	pthread_t first = start(wait_on_word), second = start(wait_on_word);
	int moved = 0;
	while (moved < 2)
		moved += SUCCEEDS(futex(&word, FUTEX_REQUEUE_PRIVATE, 0, (void *)2, &other_word, 0));
	EQUALS(futex(&word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0), 0);
	EQUALS(n_woken, 0);
	EQUALS(futex(&other_word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0), 2);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
}

TEST(compare_and_requeue)
{
	FAILS(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)1, &other_word, 5), EAGAIN);
	FAILS(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, -1, (void *)1, &other_word, 0), EINVAL);
	pthread_t first = start(wait_on_word), second = start(wait_on_word);
	int touched = 0;
	while (touched < 2)
		touched += SUCCEEDS(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, n_woken ? 0 : 1, (void *)1, &other_word, 0));
	while (n_woken < 2)
		futex(&other_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
}

TEST(wake_with_operation)
{
	pthread_t thread = start(wait_on_word);
	/* Adds 3 to the second word, and wakes there only if it was above 10. */
	int woken = 0;
	while (!woken)
		woken = SUCCEEDS(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &other_word,
				       FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_GT, 1000000)));
	EQUALS(woken, 1);
	CHECK(other_word >= 3 && other_word % 3 == 0);
	pthread_join(thread, NULL);
	other_word = 6;
	EQUALS(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &other_word, FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 6)), 0);
	EQUALS(other_word, 1);
	EQUALS(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &other_word, FUTEX_OP(FUTEX_OP_OR, 6, FUTEX_OP_CMP_EQ, 6)), 0);
	EQUALS(other_word, 7);
	EQUALS(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &other_word, FUTEX_OP(FUTEX_OP_ANDN, 2, FUTEX_OP_CMP_EQ, 6)), 0);
	EQUALS(other_word, 5);
	EQUALS(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void *)1, &other_word, FUTEX_OP(FUTEX_OP_XOR, 1, FUTEX_OP_CMP_EQ, 6)), 0);
	EQUALS(other_word, 4);
}

TEST(between_processes)
{
	volatile uint32_t *shared = SUCCEEDS((volatile uint32_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
								       MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	pid_t child = FORK();
	if (child == 0)
		_exit(futex(shared, FUTEX_WAIT, 0, NULL, NULL, 0) == 0 ? 0 : 1);
	wake_until(shared, FUTEX_WAKE, 0, 1);
	EXITS(child, 0);
}

TEST(in_a_shared_file_at_different_addresses)
{
	int file = SUCCEEDS(memfd_create("futex", 0));
	SUCCEEDS(ftruncate(file, 8192));
	volatile uint32_t *here = SUCCEEDS((volatile uint32_t *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
	pid_t child = FORK();
	if (child == 0) {
		volatile uint32_t *there = SUCCEEDS((volatile uint32_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096));
		_exit(futex(there, FUTEX_WAIT, 0, NULL, NULL, 0) == 0 ? 0 : 1);
	}
	wake_until(here + 1024, FUTEX_WAKE, 0, 1);
	EXITS(child, 0);
}

TEST(private_memory_does_not_reach_the_child)
{
	pid_t child = FORK();
	if (child == 0) {
		struct timespec timeout = { 0, 30000000 };
		FAILS(futex(&word, FUTEX_WAIT, 0, &timeout, NULL, 0), ETIMEDOUT);
		_exit(0);
	}
	for (int i = 0; i < 10; i++) {
		EQUALS(futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0), 0);
		sleep_ms(1);
	}
	EXITS(child, 0);
}

static void nothing(int signal __attribute__((unused)))
{
}

static void *keep_interrupting(void *thread)
{
	while (!n_woken) {
		pthread_kill(*(pthread_t *)thread, SIGUSR1);
		sleep_ms(1);
	}
	return NULL;
}

TEST(interrupted_by_a_signal)
{
	struct sigaction action = { .sa_handler = nothing };
	sigaction(SIGUSR1, &action, NULL);
	pthread_t self = pthread_self(), thread;
	EQUALS(pthread_create(&thread, NULL, keep_interrupting, &self), 0);
	FAILS(futex(&word, FUTEX_WAIT, 0, NULL, NULL, 0), EINTR);
	struct timespec timeout = { 5, 0 };
	FAILS(futex(&word, FUTEX_WAIT, 0, &timeout, NULL, 0), EINTR);
	n_woken = 1;
	pthread_join(thread, NULL);
}

TEST(lock_with_priority_inheritance)
{
	EQUALS(futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0), 0);
	EQUALS(word & FUTEX_TID_MASK, (uint32_t)gettid());
	FAILS(futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0), EDEADLK);
	FAILS(futex(&word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0), EDEADLK);
	EQUALS(futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0), 0);
	EQUALS(word, 0);
	FAILS(futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0), EPERM);
	word = 0x3ffffff0;
	FAILS(futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0), ESRCH);
}

static void *wake_the_other_word(void *unused)
{
	while (futex(&other_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) != 1)
		sleep_ms(1);
	return unused;
}

TEST(wait_for_any_of_several)
{
	struct futex_waitv waiters[2] = {
		{ .val = 0, .uaddr = (uintptr_t)&word, .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG },
		{ .val = 0, .uaddr = (uintptr_t)&other_word, .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG },
	};
	struct timespec end = { 0, 0 };
	if (syscall(SYS_futex_waitv, waiters, 2, 0, &end, CLOCK_MONOTONIC) < 0 && errno == ENOSYS)
		SKIP("no futex_waitv");
	FAILS(syscall(SYS_futex_waitv, waiters, 2, 0, &end, CLOCK_MONOTONIC), ETIMEDOUT);
	FAILS(syscall(SYS_futex_waitv, waiters, 0, 0, &end, CLOCK_MONOTONIC), EINVAL);
	FAILS(syscall(SYS_futex_waitv, waiters, 129, 0, &end, CLOCK_MONOTONIC), EINVAL);
	other_word = 1;
	FAILS(syscall(SYS_futex_waitv, waiters, 2, 0, NULL, 0), EAGAIN);
	other_word = 0;
	pthread_t thread;
	EQUALS(pthread_create(&thread, NULL, wake_the_other_word, NULL), 0);
	EQUALS(syscall(SYS_futex_waitv, waiters, 2, 0, NULL, 0), 1);
	pthread_join(thread, NULL);
	struct sigaction action = { .sa_handler = nothing };
	sigaction(SIGUSR1, &action, NULL);
	pthread_t self = pthread_self();
	n_woken = 0;
	EQUALS(pthread_create(&thread, NULL, keep_interrupting, &self), 0);
	FAILS(syscall(SYS_futex_waitv, waiters, 2, 0, NULL, 0), EINTR);
	n_woken = 1;
	pthread_join(thread, NULL);
}

/* What is moved to a lock with priority inheritance comes back with the lock. */
static uint32_t condition, pi_lock;
static volatile int n_ready, n_in;

static void *wait_for_condition(void *unused)
{
	__sync_fetch_and_add(&n_ready, 1);
	EQUALS(futex(&condition, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, NULL, &pi_lock, 0), 0);
	EQUALS(pi_lock & FUTEX_TID_MASK, (uint32_t)gettid());
	EQUALS(__sync_fetch_and_add(&n_in, 1), 0);
	sleep_ms(2);
	EQUALS(__sync_fetch_and_sub(&n_in, 1), 1);
	__sync_fetch_and_add(&n_woken, 1);
	EQUALS(futex(&pi_lock, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0), 0);
	return unused;
}

TEST(waiters_are_moved_to_a_lock)
{
	pthread_t threads[3];
	n_woken = 0;
	for (int i = 0; i < 3; i++)
		EQUALS(pthread_create(&threads[i], NULL, wait_for_condition, NULL), 0);
	while (n_ready < 3)
		sleep_ms(1);
	sleep_ms(20);
	EQUALS(futex(&pi_lock, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0), 0);
	condition = 1;
	/* The fourth argument is how many more than one. */
	FAILS(futex(&condition, FUTEX_CMP_REQUEUE_PI_PRIVATE, 2, (void *)1, &pi_lock, 1), EINVAL);
	FAILS(futex(&condition, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, (void *)INT_MAX, &condition, 1), EINVAL);
	FAILS(futex(&condition, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, (void *)INT_MAX, &pi_lock, 7), EAGAIN);
	EQUALS(futex(&condition, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, (void *)INT_MAX, &pi_lock, 1), 3);
	CHECK(pi_lock & FUTEX_WAITERS);
	sleep_ms(5);
	EQUALS(n_woken, 0);
	EQUALS(futex(&pi_lock, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	EQUALS(n_woken, 3);
	EQUALS(pi_lock & FUTEX_TID_MASK, 0);
}

TEST(condition_refusals)
{
	struct timespec past = { 0, 0 };
	FAILS(futex(&condition, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, &past, &pi_lock, 0), ETIMEDOUT);
	FAILS(futex(&condition, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 7, NULL, &pi_lock, 0), EAGAIN);
	FAILS(futex(&condition, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, NULL, &condition, 0), EINVAL);
	EQUALS(futex(&condition, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, (void *)1, &pi_lock, 0), 0);
	FAILS(futex(&condition, 77, 0, NULL, NULL, 0), ENOSYS);
}
