/* The same question, asked before and after a change by every means: the answer is never the old one. */
#include "files.h"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

static struct stat status;

/* Asks often enough for any answer to be remembered. */
static struct stat *ask(const char *path)
{
	for (int i = 0; i < 5; i++)
		SUCCEEDS(stat(path, &status));
	return &status;
}

static struct stat *ask_open(int file)
{
	for (int i = 0; i < 5; i++)
		SUCCEEDS(fstat(file, &status));
	return &status;
}

static bool is_there(const char *path)
{
	bool there = false;
	for (int i = 0; i < 5; i++)
		there = exists(path);
	return there;
}

TEST(length)
{
	scratch();
	make_file("f", "");
	int file = SUCCEEDS(open("f", O_RDWR)), length = 0;
	struct iovec piece = {"abc", 3};
	EQUALS(ask("f")->st_size, length);
#define GROWS(expression)                                                                          \
	do {                                                                                       \
		EQUALS(expression, 3);                                                             \
		EQUALS(ask("f")->st_size, length += 3);                                            \
		EQUALS(ask_open(file)->st_size, length);                                           \
	} while (0)
	GROWS(write(file, "abc", 3));
	GROWS(pwrite(file, "abc", 3, length));
	SUCCEEDS(lseek(file, 0, SEEK_END));
	GROWS(writev(file, &piece, 1));
	GROWS(pwritev(file, &piece, 1, length));
	SUCCEEDS(lseek(file, 0, SEEK_END));
	make_file("g", "abc");
	int other = SUCCEEDS(open("g", O_RDONLY));
	GROWS(sendfile(file, other, NULL, 3));
	SUCCEEDS(lseek(other, 0, SEEK_SET));
	GROWS(copy_file_range(other, NULL, file, NULL, 3, 0));
	int pipes[2];
	SUCCEEDS(pipe(pipes));
	EQUALS(write(pipes[1], "abc", 3), 3);
	GROWS(splice(pipes[0], NULL, file, NULL, 3, 0));
	SUCCEEDS(ftruncate(file, 100));
	EQUALS(ask("f")->st_size, 100);
	SUCCEEDS(truncate("f", 50));
	EQUALS(ask("f")->st_size, 50);
	EQUALS(ask_open(file)->st_size, 50);
	SUCCEEDS(fallocate(file, 0, 0, 200));
	EQUALS(ask("f")->st_size, 200);
	close(SUCCEEDS(open("f", O_WRONLY | O_TRUNC)));
	EQUALS(ask("f")->st_size, 0);
	EQUALS(ask_open(file)->st_size, 0);
	close(SUCCEEDS(creat("g", 0600)));
	EQUALS(ask("g")->st_size, 0);
}

TEST(attributes)
{
	scratch();
	make_file("f", "x");
	int file = SUCCEEDS(open("f", O_RDWR));
	EQUALS(ask("f")->st_mode & 07777, 0644);
	SUCCEEDS(chmod("f", 0600));
	EQUALS(ask("f")->st_mode & 07777, 0600);
	EQUALS(ask_open(file)->st_mode & 07777, 0600);
	SUCCEEDS(fchmod(file, 0640));
	EQUALS(ask("f")->st_mode & 07777, 0640);
	struct timespec times[2] = {{1000, 5}, {2000, 6}};
	SUCCEEDS(utimensat(AT_FDCWD, "f", times, 0));
	EQUALS(ask("f")->st_mtim.tv_sec, 2000);
	EQUALS(status.st_atim.tv_nsec, 5);
	times[1].tv_sec = 3000;
	SUCCEEDS(futimens(file, times));
	EQUALS(ask("f")->st_mtim.tv_sec, 3000);
	EQUALS(ask_open(file)->st_mtim.tv_sec, 3000);
	struct timespec before = ask("f")->st_mtim;
	EQUALS(write(file, "y", 1), 1);
	CHECK(ask("f")->st_mtim.tv_sec != before.tv_sec);
	char byte;
	SUCCEEDS(utimensat(AT_FDCWD, "f", times, 0)); /* accessed before it was modified */
	ask("f");
	EQUALS(pread(file, &byte, 1, 0), 1);
	struct statvfs where;
	SUCCEEDS(statvfs("f", &where));
	if (!(where.f_flag & ST_NOATIME))
		CHECK(ask("f")->st_atim.tv_sec != 1000);
	if (getuid() == 0) {
		SUCCEEDS(chown("f", 7, 8));
		EQUALS(ask("f")->st_uid, 7);
		EQUALS(status.st_gid, 8);
	}
}

TEST(names)
{
	scratch();
	CHECK(!is_there("f"));
	make_file("f", "1");
	CHECK(is_there("f"));
	EQUALS(ask("f")->st_nlink, 1);
	SUCCEEDS(link("f", "g"));
	EQUALS(ask("f")->st_nlink, 2);
	EQUALS(ask("g")->st_ino, ask("f")->st_ino);
	SUCCEEDS(unlink("g"));
	EQUALS(ask("f")->st_nlink, 1);
	CHECK(!is_there("g"));
	make_file("g", "22");
	EQUALS(ask("g")->st_size, 2);
	SUCCEEDS(rename("f", "g"));
	EQUALS(ask("g")->st_size, 1);
	CHECK(!is_there("f"));
	make_file("f", "333");
	SUCCEEDS(renameat2(AT_FDCWD, "f", AT_FDCWD, "g", RENAME_EXCHANGE));
	EQUALS(ask("f")->st_size, 1);
	EQUALS(ask("g")->st_size, 3);
	SUCCEEDS(symlink("f", "l"));
	EQUALS(ask("l")->st_size, 1);
	SUCCEEDS(unlink("l"));
	SUCCEEDS(symlink("g", "l"));
	EQUALS(ask("l")->st_size, 3);
	char target[8];
	for (int i = 0; i < 5; i++)
		EQUALS(readlink("l", target, sizeof target), 1);
	EQUALS(target[0], 'g');
	SUCCEEDS(symlink("longer", "m"));
	SUCCEEDS(rename("m", "l"));
	EQUALS(readlink("l", target, sizeof target), 6);
	SUCCEEDS(mkdir("d", 0755));
	nlink_t links = ask(".")->st_nlink;
	SUCCEEDS(mkdir("e", 0755));
	if (links > 1) /* some file systems do not count */
		EQUALS(ask(".")->st_nlink, links + 1);
	CHECK(is_there("e"));
	SUCCEEDS(rmdir("e"));
	CHECK(!is_there("e"));
	make_file("d/f", "inside");
	EQUALS(ask("d/f")->st_size, 6);
	SUCCEEDS(rename("d", "e"));
	CHECK(!is_there("d/f"));
	EQUALS(ask("e/f")->st_size, 6);
	CHECK(!is_there("p"));
	SUCCEEDS(mkfifo("p", 0600));
	CHECK(is_there("p"));
	CHECK(!is_there("s"));
	int socket_fd = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	struct sockaddr_un address = {AF_UNIX, "s"};
	SUCCEEDS(bind(socket_fd, (struct sockaddr *)&address, sizeof address));
	CHECK(is_there("s"));
}

TEST(working_directory_and_root)
{
	scratch();
	SUCCEEDS(mkdir("d", 0755));
	make_file("f", "1");
	make_file("d/f", "22");
	EQUALS(ask("f")->st_size, 1);
	SUCCEEDS(chdir("d"));
	EQUALS(ask("f")->st_size, 2);
	int up = SUCCEEDS(open("..", O_RDONLY | O_DIRECTORY));
	SUCCEEDS(fchdir(up));
	EQUALS(ask("f")->st_size, 1);
	if (getuid() != 0)
		return;
	make_file("/tmp/belljar-test-f", "4444");
	EQUALS(ask("/tmp/belljar-test-f")->st_size, 4);
	SUCCEEDS(unlink("/tmp/belljar-test-f"));
	SUCCEEDS(mkdir("d/tmp", 0755));
	make_file("d/tmp/belljar-test-f", "55555");
	SUCCEEDS(chroot("d"));
	EQUALS(ask("/tmp/belljar-test-f")->st_size, 5);
}

TEST(descriptors)
{
	scratch();
	make_file("f", "1");
	make_file("g", "22");
	int first = SUCCEEDS(open("f", O_RDONLY)), second = SUCCEEDS(open("g", O_RDONLY));
	EQUALS(ask_open(first)->st_size, 1);
	SUCCEEDS(dup2(second, first));
	EQUALS(ask_open(first)->st_size, 2);
	SUCCEEDS(close(first));
	FAILS(fstat(first, &status), EBADF);
	EQUALS(SUCCEEDS(open("f", O_RDONLY)), first);
	EQUALS(ask_open(first)->st_size, 1);
	SUCCEEDS(dup3(second, first, O_CLOEXEC));
	EQUALS(ask_open(first)->st_size, 2);
	SUCCEEDS(close_range(first, first, 0));
	FAILS(fstat(first, &status), EBADF);
	SUCCEEDS(mkdir("d", 0755));
	make_file("d/f", "4444");
	int here = SUCCEEDS(open(".", O_RDONLY)), there = SUCCEEDS(open("d", O_RDONLY));
	for (int i = 0; i < 5; i++)
		SUCCEEDS(fstatat(here, "f", &status, 0));
	EQUALS(status.st_size, 1);
	SUCCEEDS(dup2(there, here));
	SUCCEEDS(fstatat(here, "f", &status, 0));
	EQUALS(status.st_size, 4);
	for (int i = 0; i < 5; i++)
		SUCCEEDS(fstatat(second, "", &status, AT_EMPTY_PATH));
	EQUALS(status.st_size, 2);
	SUCCEEDS(dup2(there, second));
	SUCCEEDS(fstatat(second, "", &status, AT_EMPTY_PATH));
	CHECK(S_ISDIR(status.st_mode));
}

TEST(flags_make_another_question)
{
	scratch();
	make_file("f", "1");
	SUCCEEDS(symlink("f", "l"));
	for (int i = 0; i < 5; i++) {
		SUCCEEDS(stat("l", &status));
		CHECK(S_ISREG(status.st_mode));
		SUCCEEDS(lstat("l", &status));
		CHECK(S_ISLNK(status.st_mode));
		EQUALS(access("f", R_OK), 0);
		SUCCEEDS(chmod("f", i % 2 ? 0644 : 0755));
		EQUALS(access("f", X_OK), i % 2 ? -1 : 0);
		EQUALS(access("f", X_OK), i % 2 ? -1 : 0);
		struct statx more;
		SUCCEEDS(statx(AT_FDCWD, "l", 0, STATX_BASIC_STATS, &more));
		EQUALS(more.stx_mode & S_IFMT, S_IFREG);
		SUCCEEDS(statx(AT_FDCWD, "l", AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &more));
		EQUALS(more.stx_mode & S_IFMT, S_IFLNK);
	}
	FAILS(stat("f", BAD_POINTER), EFAULT);
	FAILS(stat(BAD_POINTER, &status), EFAULT);
	SUCCEEDS(stat("f", &status));
}

/* Long paths, and paths that differ only at their ends or by a zero. */
TEST(paths_are_told_apart)
{
	scratch();
	char path[300], other[300];
	for (int length = 1; length < 250; length += 7) {
		memset(path, 'a', length);
		path[length] = 0;
		memcpy(other, path, length + 1);
		other[length - 1] = 'b';
		make_file(path, "1");
		make_file(other, "22");
		EQUALS(ask(path)->st_size, 1);
		EQUALS(ask(other)->st_size, 2);
		EQUALS(ask(path)->st_size, 1);
		path[length] = 'a';
		path[length + 1] = 0;
		CHECK(!is_there(path));
		path[length] = 0;
		SUCCEEDS(unlink(path));
		SUCCEEDS(unlink(other));
	}
}

TEST(another_process_changes_it)
{
	scratch();
	make_file("f", "");
	int pipes[2], back[2];
	SUCCEEDS(pipe(pipes));
	SUCCEEDS(pipe(back));
	char byte = 0;
	pid_t child = FORK();
	if (child == 0) {
		int file = SUCCEEDS(open("f", O_WRONLY));
		for (int i = 0; i < 200; i++) {
			EQUALS(read(pipes[0], &byte, 1), 1);
			EQUALS(write(file, "x", 1), 1);
			EQUALS(write(back[1], "x", 1), 1);
		}
		_exit(0);
	}
	for (int i = 0; i < 200; i++) {
		EQUALS(ask("f")->st_size, i);
		EQUALS(write(pipes[1], "x", 1), 1);
		EQUALS(read(back[0], &byte, 1), 1);
		EQUALS(ask("f")->st_size, i + 1);
	}
	EXITS(child, 0);
}

static void *grows(void *word)
{
	_Atomic int *turn = word;
	int file = SUCCEEDS(open("f", O_WRONLY));
	for (int i = 0; i < 200; i++) {
		while (*turn != 2 * i + 1)
			usleep(1);
		EQUALS(write(file, "x", 1), 1);
		*turn = 2 * i + 2;
	}
	return NULL;
}

/* The other thread tells through memory, without a call. */
TEST(another_thread_changes_it)
{
	scratch();
	make_file("f", "");
	_Atomic int turn = 0;
	pthread_t thread;
	EQUALS(pthread_create(&thread, NULL, grows, &turn), 0);
	for (int i = 0; i < 200; i++) {
		EQUALS(ask("f")->st_size, i);
		turn = 2 * i + 1;
		while (turn != 2 * i + 2)
			usleep(1);
		EQUALS(ask("f")->st_size, i + 1);
	}
	EQUALS(pthread_join(thread, NULL), 0);
}

TEST(a_child_of_vfork_is_elsewhere)
{
	scratch();
	SUCCEEDS(mkdir("d", 0755));
	make_file("f", "1");
	make_file("d/f", "22");
	EQUALS(ask("f")->st_size, 1);
	pid_t child = vfork();
	if (child == 0) {
		if (chdir("d") < 0 || ask("f")->st_size != 2)
			_exit(1);
		_exit(0);
	}
	EXITS(child, 0);
	EQUALS(ask("f")->st_size, 1);
}

TEST(who_asks)
{
	scratch();
	SUCCEEDS(mkdir("d", 0700));
	make_file("d/f", "1");
	if (getuid() != 0) {
		SUCCEEDS(chmod("d", 0));
		FAILS(stat("d/f", &status), EACCES);
		SUCCEEDS(chmod("d", 0700));
		EQUALS(ask("d/f")->st_size, 1);
		return;
	}
	EQUALS(ask("d/f")->st_size, 1);
	pid_t child = FORK();
	if (child == 0) {
		EQUALS(ask("d/f")->st_size, 1);
		SUCCEEDS(setresuid(1000, 1000, 1000));
		FAILS(stat("d/f", &status), EACCES);
		_exit(0);
	}
	EXITS(child, 0);
	EQUALS(ask("d/f")->st_size, 1);
}

/* Bytes that come through memory. */
TEST(mapped)
{
	scratch();
	make_file("f", "");
	int file = SUCCEEDS(open("f", O_RDWR));
	SUCCEEDS(ftruncate(file, 1 << 20));
	char *map = SUCCEEDS(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
	blkcnt_t before = ask("f")->st_blocks;
	memset(map, 1, 1 << 20);
	SUCCEEDS(msync(map, 1 << 20, MS_SYNC));
	CHECK(ask("f")->st_blocks > before);
}

/* What is known of a file that was just opened, in every order of asking and setting. */
static void check_flags(const char *path, int with)
{
	int file = SUCCEEDS(open(path, O_RDONLY | with));
	int access = SUCCEEDS(fcntl(file, F_GETFL));
	EQUALS(access & O_ACCMODE, O_RDONLY);
	EQUALS(access & O_NONBLOCK, with & O_NONBLOCK);
	EQUALS(access & O_CLOEXEC, 0);
	EQUALS(fcntl(file, F_GETFD), with & O_CLOEXEC ? FD_CLOEXEC : 0);
	EQUALS(fcntl(file, F_SETFD, with & O_CLOEXEC ? FD_CLOEXEC : 0), 0);
	EQUALS(fcntl(file, F_GETFD), with & O_CLOEXEC ? FD_CLOEXEC : 0);
	EQUALS(fcntl(file, F_SETFD, with & O_CLOEXEC ? 0 : FD_CLOEXEC), 0);
	EQUALS(fcntl(file, F_GETFD), with & O_CLOEXEC ? 0 : FD_CLOEXEC);
	SUCCEEDS(fcntl(file, F_SETFL, O_NONBLOCK));
	EQUALS(fcntl(file, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	EQUALS(fcntl(file, F_GETFL) & ~O_NONBLOCK, access & ~O_NONBLOCK);
	SUCCEEDS(close(file));
	FAILS(fcntl(file, F_GETFL), EBADF);
	FAILS(fcntl(file, F_SETFD, 0), EBADF);
}

TEST(flags)
{
	scratch();
	SUCCEEDS(mkdir("d", 0700));
	make_file("f", "x");
	for (int i = 0; i < 4; i++) {
		int with = (i & 1 ? O_CLOEXEC : 0) | (i & 2 ? O_NONBLOCK : 0);
		check_flags("d", with);
		check_flags("d", with | O_DIRECTORY);
		check_flags("f", with);
		check_flags("/etc/passwd", with);
		check_flags("/usr", with);
	}
}
