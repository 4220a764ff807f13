/* System V shared memory. */
#include "test.h"
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>

enum { PAGE = 4096 };
static int segment = -1;

static void remove_segment(void)
{
	if (segment >= 0)
		shmctl(segment, IPC_RMID, NULL);
}

static void new_segment(size_t size)
{
	segment = SUCCEEDS(shmget(IPC_PRIVATE, size, 0600));
	test_cleanup = remove_segment;
}

static struct shmid_ds status_of(int id)
{
	struct shmid_ds status;
	SUCCEEDS(shmctl(id, IPC_STAT, &status));
	return status;
}

TEST(shared_with_a_child)
{
	new_segment(3 * PAGE);
	char *memory = SUCCEEDS((char *)shmat(segment, NULL, 0));
	EQUALS(memory[0], 0);
	pid_t child = FORK();
	if (child == 0) {
		strcpy(memory, "inherited");
		char *again = SUCCEEDS((char *)shmat(segment, NULL, 0));
		strcpy(again + PAGE, "attached");
		_exit(0);
	}
	EXITS(child, 0);
	SAME_TEXT(memory, "inherited");
	SAME_TEXT(memory + PAGE, "attached");
}

TEST(status)
{
	new_segment(100);
	struct shmid_ds status = status_of(segment);
	EQUALS(status.shm_segsz, 100);
	EQUALS(status.shm_nattch, 0);
	EQUALS(status.shm_cpid, getpid());
	EQUALS(status.shm_perm.mode & 0777, 0600);
	EQUALS(status.shm_perm.uid, geteuid());
	void *memory = SUCCEEDS(shmat(segment, NULL, 0));
	EQUALS(status_of(segment).shm_nattch, 1);
	EQUALS(status_of(segment).shm_lpid, getpid());
	pid_t child = FORK();
	if (child == 0)
		_exit(status_of(segment).shm_nattch);
	EXITS(child, 2);
	EQUALS(status_of(segment).shm_nattch, 1);
	SUCCEEDS(shmdt(memory));
	EQUALS(status_of(segment).shm_nattch, 0);
}

TEST(removed_when_the_last_one_leaves)
{
	new_segment(PAGE);
	char *memory = SUCCEEDS((char *)shmat(segment, NULL, 0));
	SUCCEEDS(shmctl(segment, IPC_RMID, NULL));
	memory[0] = 1;
	struct shmid_ds status = status_of(segment);
	CHECK(status.shm_perm.mode & SHM_DEST);
	SUCCEEDS(shmdt(memory));
	FAILS(shmctl(segment, IPC_STAT, &status), EINVAL);
	segment = -1;
}

TEST(places)
{
	new_segment(2 * PAGE);
	char *hole = SUCCEEDS((char *)mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	FAILS(shmat(segment, hole, 0), EINVAL);
	CHECK(shmat(segment, hole + PAGE, SHM_REMAP) == hole + PAGE);
	hole[PAGE] = 'x';
	SUCCEEDS(munmap(hole, 8 * PAGE));
	EQUALS(status_of(segment).shm_nattch, 0);
	CHECK(shmat(segment, hole + 100, SHM_RND) == hole);
	EQUALS(hole[0], 'x');
	FAILS(shmat(segment, hole + 5 * PAGE + 1, 0), EINVAL);
}

TEST(read_only)
{
	new_segment(PAGE);
	char *memory = SUCCEEDS((char *)shmat(segment, NULL, SHM_RDONLY));
	int ends[2];
	SUCCEEDS(pipe(ends));
	EQUALS(write(ends[1], memory, 1), 1);
	FAILS(read(ends[0], memory, 1), EFAULT);
}

TEST(by_key)
{
	key_t key = 0x42000000 + getpid();
	FAILS(shmget(key, PAGE, 0), ENOENT);
	segment = SUCCEEDS(shmget(key, PAGE, IPC_CREAT | IPC_EXCL | 0600));
	test_cleanup = remove_segment;
	EQUALS(shmget(key, PAGE, 0), segment);
	EQUALS(shmget(key, 0, 0), segment);
	FAILS(shmget(key, PAGE, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
	FAILS(shmget(key, 2 * PAGE, 0), EINVAL);
}

TEST(refusals)
{
	FAILS(shmget(IPC_PRIVATE, 0, 0600), EINVAL);
	FAILS(shmat(-1, NULL, 0), EINVAL);
	FAILS(shmdt(BAD_POINTER), EINVAL);
	FAILS(shmctl(-1, IPC_RMID, NULL), EINVAL);
	new_segment(PAGE);
	FAILS(shmctl(segment, 99, NULL), EINVAL);
	FAILS(shmctl(segment, IPC_STAT, BAD_POINTER), EFAULT);
}

TEST(permissions)
{
	need_root();
	new_segment(PAGE);
	pid_t child = FORK();
	if (child == 0) {
		become_ordinary();
		FAILS(shmat(segment, NULL, 0), EACCES);
		FAILS(shmctl(segment, IPC_RMID, NULL), EPERM);
		_exit(0);
	}
	EXITS(child, 0);
}
