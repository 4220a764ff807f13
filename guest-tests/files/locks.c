/* POSIX record locks, open-file-description locks, flock(2). */
#include "files.h"
#include <sys/file.h>

static struct flock range(int type, off_t start, off_t length)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length };
}

static int set(int file, int command, int type, off_t start, off_t length)
{
	struct flock lock = range(type, start, length);
	return fcntl(file, command, &lock);
}

static int new_file(void)
{
	scratch();
	make_file("file", "0123456789");
	return SUCCEEDS(open("file", O_RDWR));
}

/* What a child sees when it asks for a write lock on the range. */
static struct flock seen_by_child(int file, off_t start, off_t length)
{
	int ends[2];
	struct flock lock = range(F_WRLCK, start, length);
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(fcntl(file, F_GETLK, &lock));
		EQUALS(write(ends[1], &lock, sizeof lock), sizeof lock);
		_exit(0);
	}
	EXITS(child, 0);
	EQUALS(read(ends[0], &lock, sizeof lock), sizeof lock);
	return lock;
}

TEST(lock_and_ask)
{
	int file = new_file();
	SUCCEEDS(set(file, F_SETLK, F_WRLCK, 2, 3));
	struct flock seen = seen_by_child(file, 0, 0);
	EQUALS(seen.l_type, F_WRLCK);
	EQUALS(seen.l_start, 2);
	EQUALS(seen.l_len, 3);
	EQUALS(seen.l_pid, getpid());
	EQUALS(seen_by_child(file, 0, 2).l_type, F_UNLCK);
	EQUALS(seen_by_child(file, 5, 0).l_type, F_UNLCK);
	/* One's own locks are in nobody's way. */
	struct flock own = range(F_WRLCK, 0, 0);
	SUCCEEDS(fcntl(file, F_GETLK, &own));
	EQUALS(own.l_type, F_UNLCK);
}

TEST(conflicts)
{
	int file = new_file();
	SUCCEEDS(set(file, F_SETLK, F_RDLCK, 0, 5));
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(set(file, F_SETLK, F_RDLCK, 0, 5));
		FAILS(set(file, F_SETLK, F_WRLCK, 4, 1), EAGAIN);
		SUCCEEDS(set(file, F_SETLK, F_WRLCK, 5, 1));
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(split_and_merge)
{
	int file = new_file();
	SUCCEEDS(set(file, F_SETLK, F_WRLCK, 0, 10));
	SUCCEEDS(set(file, F_SETLK, F_UNLCK, 4, 2));
	EQUALS(seen_by_child(file, 0, 0).l_len, 4);
	EQUALS(seen_by_child(file, 4, 2).l_type, F_UNLCK);
	EQUALS(seen_by_child(file, 5, 0).l_start, 6);
	SUCCEEDS(set(file, F_SETLK, F_WRLCK, 4, 2));
	EQUALS(seen_by_child(file, 0, 0).l_len, 10);
	SUCCEEDS(set(file, F_SETLK, F_RDLCK, 0, 3));
	EQUALS(seen_by_child(file, 0, 0).l_type, F_RDLCK);
}

TEST(closing_any_descriptor_unlocks)
{
	int file = new_file();
	SUCCEEDS(set(file, F_SETLK, F_WRLCK, 0, 0));
	SUCCEEDS(close(SUCCEEDS(open("file", O_RDONLY))));
	EQUALS(seen_by_child(file, 0, 0).l_type, F_UNLCK);
}

TEST(not_inherited_and_gone_with_the_process)
{
	int file = new_file();
	pid_t child = FORK();
	if (child == 0)
		_exit(set(file, F_SETLK, F_WRLCK, 0, 0));
	EXITS(child, 0);
	SUCCEEDS(set(file, F_SETLK, F_WRLCK, 0, 0));
}

TEST(waiting)
{
	int file = new_file(), ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(set(file, F_SETLK, F_WRLCK, 0, 0));
		EQUALS(write(ends[1], "l", 1), 1);
		sleep_ms(10);
		_exit(0);
	}
	char byte;
	EQUALS(read(ends[0], &byte, 1), 1);
	FAILS(set(file, F_SETLK, F_WRLCK, 0, 0), EAGAIN);
	SUCCEEDS(set(file, F_SETLKW, F_WRLCK, 0, 0));
	EXITS(child, 0);
}

TEST(deadlock_is_refused)
{
	int file = new_file(), ends[2];
	SUCCEEDS(pipe(ends));
	SUCCEEDS(set(file, F_SETLK, F_WRLCK, 0, 1));
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(set(file, F_SETLK, F_WRLCK, 1, 1));
		EQUALS(write(ends[1], "l", 1), 1);
		if (set(file, F_SETLKW, F_WRLCK, 0, 1) == 0)
			_exit(0);
		_exit(errno == EDEADLK ? 5 : 1);
	}
	char byte;
	EQUALS(read(ends[0], &byte, 1), 1);
	/* Exactly one is refused, namely the one that asks last. */
	bool refused = set(file, F_SETLKW, F_WRLCK, 1, 1) < 0;
	if (refused)
		EQUALS(errno, EDEADLK);
	SUCCEEDS(set(file, F_SETLK, F_UNLCK, 0, 1));
	EXITS(child, refused ? 0 : 5);
}

TEST(refusals)
{
	int file = new_file();
	int reader = SUCCEEDS(open("file", O_RDONLY)), writer = SUCCEEDS(open("file", O_WRONLY));
	FAILS(set(reader, F_SETLK, F_WRLCK, 0, 0), EBADF);
	FAILS(set(writer, F_SETLK, F_RDLCK, 0, 0), EBADF);
	FAILS(set(file, F_SETLK, 99, 0, 0), EINVAL);
	FAILS(set(file, F_SETLK, F_RDLCK, -1, 0), EINVAL);
	FAILS(set(9999, F_SETLK, F_RDLCK, 0, 0), EBADF);
	FAILS(fcntl(file, F_SETLK, BAD_POINTER), EFAULT);
	struct flock lock = range(F_WRLCK, 0, 0);
	lock.l_whence = 9;
	FAILS(fcntl(file, F_SETLK, &lock), EINVAL);
}

TEST(relative_ranges)
{
	int file = new_file();
	SUCCEEDS(lseek(file, 5, SEEK_SET));
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = 1, .l_len = -3 };
	SUCCEEDS(fcntl(file, F_SETLK, &lock));
	struct flock seen = seen_by_child(file, 0, 0);
	EQUALS(seen.l_start, 3);
	EQUALS(seen.l_len, 3);
}

TEST(description_locks_belong_to_the_opening)
{
	int first = new_file(), second = SUCCEEDS(open("file", O_RDWR)), copy = SUCCEEDS(dup(first));
	SUCCEEDS(set(first, F_OFD_SETLK, F_WRLCK, 0, 0));
	SUCCEEDS(set(copy, F_OFD_SETLK, F_WRLCK, 0, 0));
	FAILS(set(second, F_OFD_SETLK, F_WRLCK, 0, 0), EAGAIN);
	struct flock lock = range(F_WRLCK, 0, 0);
	SUCCEEDS(fcntl(second, F_OFD_GETLK, &lock));
	EQUALS(lock.l_type, F_WRLCK);
	EQUALS(lock.l_pid, -1);
	SUCCEEDS(close(first));
	FAILS(set(second, F_OFD_SETLK, F_WRLCK, 0, 0), EAGAIN);
	SUCCEEDS(close(copy));
	SUCCEEDS(set(second, F_OFD_SETLK, F_WRLCK, 0, 0));
	lock = range(F_WRLCK, 0, 0);
	lock.l_pid = 1;
	FAILS(fcntl(second, F_OFD_SETLK, &lock), EINVAL);
}

TEST(description_locks_conflict_with_process_locks)
{
	int first = new_file(), second = SUCCEEDS(open("file", O_RDWR));
	SUCCEEDS(set(first, F_SETLK, F_WRLCK, 0, 0));
	FAILS(set(second, F_OFD_SETLK, F_WRLCK, 0, 0), EAGAIN);
}

TEST(whole_file_locks)
{
	int first = new_file(), second = SUCCEEDS(open("file", O_RDONLY));
	SUCCEEDS(flock(first, LOCK_EX));
	FAILS(flock(second, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	FAILS(flock(second, LOCK_SH | LOCK_NB), EWOULDBLOCK);
	SUCCEEDS(flock(first, LOCK_SH));
	SUCCEEDS(flock(second, LOCK_SH | LOCK_NB));
	FAILS(flock(first, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	SUCCEEDS(flock(second, LOCK_UN));
	SUCCEEDS(flock(first, LOCK_EX | LOCK_NB));
	FAILS(flock(first, 16), EINVAL);
	FAILS(flock(9999, LOCK_EX), EBADF);
	/* They do not meet the record locks. */
	SUCCEEDS(set(first, F_SETLK, F_WRLCK, 0, 0));
}

TEST(whole_file_locks_are_inherited)
{
	int first = new_file(), second = SUCCEEDS(open("file", O_RDONLY));
	SUCCEEDS(flock(first, LOCK_EX));
	pid_t child = FORK();
	if (child == 0) {
		close(first);
		FAILS(flock(second, LOCK_EX | LOCK_NB), EWOULDBLOCK);
		_exit(0);
	}
	EXITS(child, 0);
	FAILS(flock(second, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	SUCCEEDS(close(first));
	SUCCEEDS(flock(second, LOCK_EX | LOCK_NB));
}

TEST(waiting_for_a_whole_file_lock)
{
	int first = new_file();
	SUCCEEDS(flock(first, LOCK_EX));
	pid_t child = FORK();
	if (child == 0) {
		close(first);
		int own = SUCCEEDS(open("file", O_RDONLY));
		SUCCEEDS(flock(own, LOCK_EX));
		_exit(0);
	}
	sleep_ms(10);
	EQUALS(waitpid(child, NULL, WNOHANG), 0);
	SUCCEEDS(flock(first, LOCK_UN));
	EXITS(child, 0);
}
