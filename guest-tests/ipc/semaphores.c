/* System V semaphores. */
#include "test.h"
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/stat.h>

union semun {
	int val;
	struct semid_ds *buf;
	unsigned short *array;
};

static int set = -1;

static void remove_set(void)
{
	if (set >= 0)
		semctl(set, 0, IPC_RMID);
}

static void new_set(int n)
{
	set = SUCCEEDS(semget(IPC_PRIVATE, n, 0600));
	test_cleanup = remove_set;
}

static int change(int number, int by, int flags)
{
	struct sembuf operation = { number, by, flags };
	return semop(set, &operation, 1);
}

static int value_of(int number)
{
	return SUCCEEDS(semctl(set, number, GETVAL));
}

TEST(values)
{
	new_set(3);
	EQUALS(value_of(0), 0);
	SUCCEEDS(semctl(set, 1, SETVAL, (union semun){ .val = 5 }));
	EQUALS(value_of(1), 5);
	unsigned short values[3] = { 7, 8, 9 };
	SUCCEEDS(semctl(set, 0, SETALL, (union semun){ .array = values }));
	memset(values, 0, sizeof values);
	SUCCEEDS(semctl(set, 0, GETALL, (union semun){ .array = values }));
	EQUALS(values[2], 9);
	SUCCEEDS(change(2, -4, 0));
	EQUALS(value_of(2), 5);
	EQUALS(semctl(set, 2, GETPID), getpid());
}

TEST(without_waiting)
{
	new_set(1);
	FAILS(change(0, -1, IPC_NOWAIT), EAGAIN);
	SUCCEEDS(change(0, 2, 0));
	FAILS(change(0, 0, IPC_NOWAIT), EAGAIN);
	SUCCEEDS(change(0, -2, IPC_NOWAIT));
	SUCCEEDS(change(0, 0, IPC_NOWAIT));
}

TEST(all_or_nothing)
{
	new_set(2);
	SUCCEEDS(change(0, 1, 0));
	struct sembuf both[2] = { { 0, -1, IPC_NOWAIT }, { 1, -1, IPC_NOWAIT } };
	FAILS(semop(set, both, 2), EAGAIN);
	EQUALS(value_of(0), 1);
}

TEST(wait_and_wake)
{
	new_set(2);
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(change(0, -2, 0));
		SUCCEEDS(change(1, 1, 0));
		_exit(0);
	}
	while (semctl(set, 0, GETNCNT) != 1)
		sleep_ms(1);
	SUCCEEDS(change(0, 1, 0));
	EQUALS(semctl(set, 0, GETNCNT), 1);
	SUCCEEDS(change(0, 1, 0));
	SUCCEEDS(change(1, -1, 0));
	EQUALS(value_of(0), 0);
	EXITS(child, 0);
}

TEST(wait_for_zero)
{
	new_set(1);
	SUCCEEDS(change(0, 1, 0));
	pid_t child = FORK();
	if (child == 0)
		_exit(change(0, 0, 0));
	while (semctl(set, 0, GETZCNT) != 1)
		sleep_ms(1);
	SUCCEEDS(change(0, -1, 0));
	EXITS(child, 0);
}

TEST(time_out)
{
	new_set(1);
	struct sembuf operation = { 0, -1, 0 };
	struct timespec time = { 0, 10000000 }, bad = { 0, 1000000000 };
	int64_t start = now_ns(CLOCK_MONOTONIC);
	FAILS(semtimedop(set, &operation, 1, &time), EAGAIN);
	CHECK(now_ns(CLOCK_MONOTONIC) - start >= 10000000);
	FAILS(semtimedop(set, &operation, 1, &bad), EINVAL);
}

TEST(undone_at_the_end)
{
	new_set(1);
	SUCCEEDS(change(0, 5, 0));
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(change(0, -3, SEM_UNDO));
		EQUALS(value_of(0), 2);
		_exit(0);
	}
	EXITS(child, 0);
	EQUALS(value_of(0), 5);
}

TEST(removal_wakes)
{
	new_set(1);
	pid_t child = FORK();
	if (child == 0) {
		FAILS(change(0, -1, 0), EIDRM);
		_exit(0);
	}
	while (semctl(set, 0, GETNCNT) != 1)
		sleep_ms(1);
	SUCCEEDS(semctl(set, 0, IPC_RMID));
	EXITS(child, 0);
	FAILS(change(0, 1, 0), EINVAL);
	set = -1;
}

TEST(by_key)
{
	key_t key = 0x42000000 + getpid();
	FAILS(semget(key, 1, 0), ENOENT);
	set = SUCCEEDS(semget(key, 2, IPC_CREAT | IPC_EXCL | 0640));
	test_cleanup = remove_set;
	EQUALS(semget(key, 0, 0), set);
	FAILS(semget(key, 2, IPC_CREAT | IPC_EXCL), EEXIST);
	FAILS(semget(key, 3, 0), EINVAL);
	struct semid_ds status;
	SUCCEEDS(semctl(set, 0, IPC_STAT, (union semun){ .buf = &status }));
	EQUALS(status.sem_nsems, 2);
	EQUALS(status.sem_perm.mode & 0777, 0640);
	EQUALS(status.sem_perm.uid, geteuid());
	status.sem_perm.mode = 0600;
	SUCCEEDS(semctl(set, 0, IPC_SET, (union semun){ .buf = &status }));
}

TEST(refusals)
{
	new_set(1);
	FAILS(change(1, 1, 0), EFBIG);
	FAILS(semop(set, NULL, 0), EINVAL);
	FAILS(semctl(set, 5, GETVAL), EINVAL);
	FAILS(semctl(set, 0, 99), EINVAL);
	FAILS(semctl(set, 0, SETVAL, (union semun){ .val = 32768 }), ERANGE);
	FAILS(semctl(set, 0, SETVAL, (union semun){ .val = -1 }), ERANGE);
	SUCCEEDS(change(0, 32767, 0));
	FAILS(change(0, 1, 0), ERANGE);
	FAILS(semget(IPC_PRIVATE, -1, 0600), EINVAL);
	struct sembuf operation = { 0, 1, 0 };
	FAILS(semop(-1, &operation, 1), EINVAL);
	FAILS(semop(set, BAD_POINTER, 1), EFAULT);
}

TEST(permissions)
{
	need_root();
	new_set(1);
	pid_t child = FORK();
	if (child == 0) {
		become_ordinary();
		FAILS(change(0, 1, 0), EACCES);
		FAILS(semctl(set, 0, GETVAL), EACCES);
		FAILS(semctl(set, 0, IPC_RMID), EPERM);
		_exit(0);
	}
	EXITS(child, 0);
}
