/* set_robust_list(2), get_robust_list(2), set_tid_address(2), membarrier(2), rseq(2), restart_syscall(2). */
#include "test.h"
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/mman.h>

struct lock {
	struct robust_list link;
	volatile uint32_t word;
};

struct shared {
	struct robust_list_head head;
	struct lock first, second, pending, not_mine;
};

static struct shared *new_shared(void)
{
	struct shared *shared = SUCCEEDS((struct shared *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	shared->head.list.next = &shared->head.list;
	shared->head.futex_offset = offsetof(struct lock, word) - offsetof(struct lock, link);
	return shared;
}

TEST(list_of_the_caller)
{
	struct robust_list_head *head = NULL;
	size_t length = 0;
	struct shared *shared = new_shared();
	SUCCEEDS(syscall(SYS_set_robust_list, &shared->head, sizeof shared->head));
	SUCCEEDS(syscall(SYS_get_robust_list, 0, &head, &length));
	CHECK(head == &shared->head);
	EQUALS(length, sizeof shared->head);
	FAILS(syscall(SYS_set_robust_list, &shared->head, sizeof shared->head + 1), EINVAL);
	FAILS(syscall(SYS_get_robust_list, INT_MAX, &head, &length), ESRCH);
	FAILS(syscall(SYS_get_robust_list, 0, BAD_POINTER, &length), EFAULT);
}

TEST(death_marks_the_locks)
{
	struct shared *shared = new_shared();
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(syscall(SYS_set_robust_list, &shared->head, sizeof shared->head));
		shared->first.word = gettid();
		shared->second.word = gettid() | FUTEX_WAITERS;
		shared->pending.word = gettid();
		shared->not_mine.word = 1;
		shared->head.list.next = &shared->first.link;
		shared->first.link.next = &shared->second.link;
		shared->second.link.next = &shared->not_mine.link;
		shared->not_mine.link.next = &shared->head.list;
		shared->head.list_op_pending = &shared->pending.link;
		raise(SIGKILL);
	}
	DIES(child, SIGKILL);
	EQUALS(shared->first.word, FUTEX_OWNER_DIED);
	EQUALS(shared->second.word, FUTEX_OWNER_DIED | FUTEX_WAITERS);
	EQUALS(shared->pending.word, FUTEX_OWNER_DIED);
	EQUALS(shared->not_mine.word, 1);
}

/* The calling thread holds the first lock, and somebody waits for it. */
static void hold_first(struct shared *shared)
{
	SUCCEEDS(syscall(SYS_set_robust_list, &shared->head, sizeof shared->head));
	shared->first.word = gettid() | FUTEX_WAITERS;
	shared->head.list.next = &shared->first.link;
	shared->first.link.next = &shared->head.list;
}

TEST(death_wakes_a_waiter)
{
	struct shared *shared = new_shared();
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		hold_first(shared);
		EQUALS(write(ends[1], "l", 1), 1);
		sleep_ms(10);
		_exit(0);
	}
	char byte;
	EQUALS(read(ends[0], &byte, 1), 1);
	uint32_t held = child | FUTEX_WAITERS;
	while (shared->first.word == held)
		syscall(SYS_futex, &shared->first.word, FUTEX_WAIT, held, NULL, NULL, 0);
	EQUALS(shared->first.word, FUTEX_OWNER_DIED | FUTEX_WAITERS);
	EXITS(child, 0);
}

TEST(killed_owner_wakes_a_waiter)
{
	struct shared *shared = new_shared();
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t owner = FORK();
	if (owner == 0) {
		hold_first(shared);
		EQUALS(write(ends[1], "l", 1), 1);
		for (;;)
			pause();
	}
	char byte;
	EQUALS(read(ends[0], &byte, 1), 1);
	pid_t waiter = FORK();
	if (waiter == 0) {
		uint32_t held = owner | FUTEX_WAITERS;
		while (shared->first.word == held)
			syscall(SYS_futex, &shared->first.word, FUTEX_WAIT, held, NULL, NULL, 0);
		_exit(shared->first.word == (FUTEX_OWNER_DIED | FUTEX_WAITERS) ? 0 : 1);
	}
	sleep_ms(20);
	SUCCEEDS(kill(owner, SIGKILL));
	DIES(owner, SIGKILL);
	EXITS(waiter, 0);
}

/* The same with the C library's mutexes. */
TEST(killed_owner_of_a_robust_mutex)
{
	pthread_mutex_t *mutex = SUCCEEDS((pthread_mutex_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	EQUALS(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
	EQUALS(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), 0);
	EQUALS(pthread_mutex_init(mutex, &attributes), 0);
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t owner = FORK();
	if (owner == 0) {
		EQUALS(pthread_mutex_lock(mutex), 0);
		EQUALS(write(ends[1], "l", 1), 1);
		for (;;)
			pause();
	}
	char byte;
	EQUALS(read(ends[0], &byte, 1), 1);
	pid_t killer = FORK();
	if (killer == 0) {
		sleep_ms(20);
		SUCCEEDS(kill(owner, SIGKILL));
		_exit(0);
	}
	EQUALS(pthread_mutex_lock(mutex), EOWNERDEAD);
	EQUALS(pthread_mutex_consistent(mutex), 0);
	EQUALS(pthread_mutex_unlock(mutex), 0);
	DIES(owner, SIGKILL);
	EXITS(killer, 0);
}

TEST(list_of_another_process)
{
	struct shared *shared = new_shared();
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(syscall(SYS_set_robust_list, &shared->head, sizeof shared->head));
		EQUALS(write(ends[1], "l", 1), 1);
		for (;;)
			pause();
	}
	char byte;
	EQUALS(read(ends[0], &byte, 1), 1);
	struct robust_list_head *head = NULL;
	size_t length = 0;
	SUCCEEDS(syscall(SYS_get_robust_list, child, &head, &length));
	CHECK(head == &shared->head);
	EQUALS(length, sizeof shared->head);
	FAILS(syscall(SYS_get_robust_list, child, BAD_POINTER, &length), EFAULT);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(endless_and_broken_lists_do_no_harm)
{
	struct shared *shared = new_shared();
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(syscall(SYS_set_robust_list, &shared->head, sizeof shared->head));
		shared->head.list.next = &shared->first.link;
		shared->first.link.next = &shared->first.link;
		_exit(0);
	}
	EXITS(child, 0);
	child = FORK();
	if (child == 0) {
		SUCCEEDS(syscall(SYS_set_robust_list, 8, sizeof shared->head));
		_exit(3);
	}
	EXITS(child, 3);
}

TEST(tid_address_is_cleared_at_the_end)
{
	struct shared *shared = new_shared();
	shared->first.word = 77;
	pid_t child = SUCCEEDS(syscall(SYS_clone, SIGCHLD, 0, NULL, NULL, 0));
	if (child == 0) {
		EQUALS(syscall(SYS_set_tid_address, &shared->first.word), gettid());
		_exit(0);
	}
	EXITS(child, 0);
	/* Only memory that somebody else still uses is cleared; a forked child has its own. */
	EQUALS(shared->first.word, 77);
}

TEST(membarrier_commands)
{
	long known = SUCCEEDS(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0));
	CHECK(known & MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	FAILS(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), EPERM);
	SUCCEEDS(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
	SUCCEEDS(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
	if (known & MEMBARRIER_CMD_GLOBAL)
		SUCCEEDS(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0));
	FAILS(syscall(SYS_membarrier, 1 << 30, 0, 0), EINVAL);
	FAILS(syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 1, 0), EINVAL);
}

TEST(restart_without_an_interrupted_call)
{
	FAILS(syscall(SYS_restart_syscall), EINTR);
}

TEST(unknown_calls)
{
	FAILS(syscall(999), ENOSYS);
	FAILS(syscall(-1), ENOSYS);
	FAILS(syscall(100000), ENOSYS);
}
