/* The stat family, statx(2), access(2), faccessat2(2), statfs(2). */
#include "files.h"
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

TEST(regular_file)
{
	scratch();
	make_file("file", "12345");
	SUCCEEDS(link("file", "second"));
	struct stat status, other;
	SUCCEEDS(stat("file", &status));
	CHECK(S_ISREG(status.st_mode));
	EQUALS(status.st_mode & 07777, 0644);
	EQUALS(status.st_size, 5);
	EQUALS(status.st_nlink, 2);
	EQUALS(status.st_uid, geteuid());
	EQUALS(status.st_gid, getegid());
	CHECK(status.st_ino != 0);
	CHECK(status.st_blksize >= 512);
	SUCCEEDS(stat("second", &other));
	EQUALS(status.st_ino, other.st_ino);
	EQUALS(status.st_dev, other.st_dev);
	int file = SUCCEEDS(open("file", O_RDONLY));
	SUCCEEDS(fstat(file, &other));
	EQUALS(memcmp(&status, &other, sizeof status), 0);
}

TEST(directory)
{
	scratch();
	struct stat status, inner;
	SUCCEEDS(mkdir("directory", 0750));
	SUCCEEDS(stat("directory", &status));
	CHECK(S_ISDIR(status.st_mode));
	EQUALS(status.st_mode & 07777, 0750);
	EQUALS(status.st_nlink, 2);
	SUCCEEDS(mkdir("directory/sub", 0755));
	SUCCEEDS(stat("directory", &status));
	EQUALS(status.st_nlink, 3);
	SUCCEEDS(stat("directory/sub/..", &inner));
	EQUALS(status.st_ino, inner.st_ino);
	SUCCEEDS(rmdir("directory/sub"));
	SUCCEEDS(stat("directory", &status));
	EQUALS(status.st_nlink, 2);
}

TEST(symbolic_link)
{
	scratch();
	struct stat status;
	SUCCEEDS(symlink("target", "link"));
	SUCCEEDS(lstat("link", &status));
	CHECK(S_ISLNK(status.st_mode));
	EQUALS(status.st_size, 6);
	EQUALS(status.st_mode & 07777, 0777);
	FAILS(stat("link", &status), ENOENT);
	SUCCEEDS(mkdir("target", 0755));
	SUCCEEDS(lstat("link/", &status));
	CHECK(S_ISDIR(status.st_mode));
}

TEST(other_types)
{
	scratch();
	struct stat status;
	SUCCEEDS(mkfifo("fifo", 0600));
	SUCCEEDS(stat("fifo", &status));
	CHECK(S_ISFIFO(status.st_mode));
	SUCCEEDS(stat("/dev/null", &status));
	CHECK(S_ISCHR(status.st_mode));
	EQUALS(status.st_rdev, makedev(1, 3));
	int ends[2];
	SUCCEEDS(pipe(ends));
	SUCCEEDS(fstat(ends[0], &status));
	CHECK(S_ISFIFO(status.st_mode));
}

TEST(at_calls)
{
	scratch();
	struct stat status;
	make_file("file", "123");
	SUCCEEDS(symlink("file", "link"));
	int here = SUCCEEDS(open(".", O_PATH)), file = SUCCEEDS(open("file", O_RDONLY));
	SUCCEEDS(fstatat(here, "file", &status, 0));
	EQUALS(status.st_size, 3);
	SUCCEEDS(fstatat(here, "link", &status, AT_SYMLINK_NOFOLLOW));
	CHECK(S_ISLNK(status.st_mode));
	SUCCEEDS(fstatat(file, "", &status, AT_EMPTY_PATH));
	EQUALS(status.st_size, 3);
	SUCCEEDS(fstatat(AT_FDCWD, "", &status, AT_EMPTY_PATH));
	CHECK(S_ISDIR(status.st_mode));
	FAILS(fstatat(here, "", &status, 0), ENOENT);
	FAILS(fstatat(file, "x", &status, 0), ENOTDIR);
	FAILS(fstatat(9999, "x", &status, 0), EBADF);
	FAILS(fstatat(here, "file", &status, 0x8000000), EINVAL);
}

TEST(refusals)
{
	scratch();
	struct stat status;
	make_file("file", "");
	FAILS(stat("absent", &status), ENOENT);
	FAILS(stat("", &status), ENOENT);
	FAILS(stat("file/x", &status), ENOTDIR);
	FAILS(stat("file/", &status), ENOTDIR);
	FAILS(stat(BAD_POINTER, &status), EFAULT);
	FAILS(syscall(SYS_stat, "file", BAD_POINTER), EFAULT);
	FAILS(syscall(SYS_fstat, 0, BAD_POINTER), EFAULT);
	FAILS(fstat(9999, &status), EBADF);
	FAILS(fstat(-1, &status), EBADF);
}

static int64_t ns(struct timespec time)
{
	return time.tv_sec * 1000000000ll + time.tv_nsec;
}

TEST(times)
{
	scratch();
	struct stat before, after;
	int64_t start = now_ns(CLOCK_REALTIME_COARSE);
	make_file("file", "x");
	SUCCEEDS(stat("file", &before));
	CHECK(ns(before.st_mtim) >= start && ns(before.st_ctim) >= start && ns(before.st_atim) >= start);
	CHECK(ns(before.st_mtim) <= now_ns(CLOCK_REALTIME));
	sleep_ms(12);
	SUCCEEDS(chmod("file", 0600));
	SUCCEEDS(stat("file", &after));
	EQUALS(ns(after.st_mtim), ns(before.st_mtim));
	CHECK(ns(after.st_ctim) > ns(before.st_ctim));
	sleep_ms(12);
	int file = SUCCEEDS(open("file", O_WRONLY | O_APPEND));
	EQUALS(write(file, "y", 1), 1);
	SUCCEEDS(stat("file", &before));
	CHECK(ns(before.st_mtim) > ns(after.st_mtim));
	SUCCEEDS(stat(".", &before));
	sleep_ms(12);
	make_file("another", "");
	SUCCEEDS(stat(".", &after));
	CHECK(ns(after.st_mtim) > ns(before.st_mtim));
}

TEST(extended)
{
	scratch();
	make_file("file", "12345");
	struct statx status;
	struct stat old;
	SUCCEEDS(stat("file", &old));
	SUCCEEDS(statx(AT_FDCWD, "file", 0, STATX_BASIC_STATS | STATX_BTIME, &status));
	EQUALS(status.stx_mask & STATX_BASIC_STATS, STATX_BASIC_STATS);
	EQUALS(status.stx_mode, old.st_mode);
	EQUALS(status.stx_size, 5);
	EQUALS(status.stx_ino, old.st_ino);
	EQUALS(status.stx_nlink, 1);
	EQUALS(makedev(status.stx_dev_major, status.stx_dev_minor), old.st_dev);
	EQUALS(status.stx_mtime.tv_sec, old.st_mtim.tv_sec);
	if (status.stx_mask & STATX_BTIME)
		CHECK(status.stx_btime.tv_sec > 0 && status.stx_btime.tv_sec <= status.stx_ctime.tv_sec);
	int file = SUCCEEDS(open("file", O_RDONLY));
	SUCCEEDS(statx(file, "", AT_EMPTY_PATH, STATX_SIZE, &status));
	EQUALS(status.stx_size, 5);
	SUCCEEDS(statx(AT_FDCWD, "file", AT_STATX_FORCE_SYNC, STATX_SIZE, &status));
	FAILS(statx(AT_FDCWD, "file", 0, STATX__RESERVED, &status), EINVAL);
	FAILS(statx(AT_FDCWD, "file", AT_STATX_SYNC_TYPE, STATX_SIZE, &status), EINVAL);
	FAILS(statx(AT_FDCWD, "absent", 0, STATX_SIZE, &status), ENOENT);
	FAILS(statx(AT_FDCWD, "file", 0x8000000, STATX_SIZE, &status), EINVAL);
}

TEST(access_of_the_owner)
{
	scratch();
	become_ordinary();
	make_file("file", "");
	SUCCEEDS(chmod("file", 0500));
	SUCCEEDS(access("file", F_OK));
	SUCCEEDS(access("file", R_OK | X_OK));
	FAILS(access("file", W_OK), EACCES);
	FAILS(access("absent", F_OK), ENOENT);
	FAILS(access("file", 8), EINVAL);
	FAILS(access("file/", F_OK), ENOTDIR);
	FAILS(access(BAD_POINTER, F_OK), EFAULT);
}

TEST(access_of_root)
{
	need_root();
	scratch();
	make_file("file", "");
	SUCCEEDS(chmod("file", 0));
	SUCCEEDS(access("file", R_OK | W_OK));
	FAILS(access("file", X_OK), EACCES);
	SUCCEEDS(chmod("file", 0001));
	SUCCEEDS(access("file", X_OK));
}

TEST(access_asks_for_the_real_user)
{
	need_root();
	scratch();
	make_file("file", "");
	SUCCEEDS(chmod("file", 0600));
	SUCCEEDS(setresuid(ORDINARY_USER, 0, 0));
	FAILS(access("file", R_OK), EACCES);
	SUCCEEDS(faccessat(AT_FDCWD, "file", R_OK, AT_EACCESS));
	SUCCEEDS(open("file", O_RDONLY));
}

TEST(access_version_two)
{
	scratch();
	make_file("file", "");
	SUCCEEDS(symlink("absent", "link"));
	SUCCEEDS(syscall(SYS_faccessat2, AT_FDCWD, "link", F_OK, AT_SYMLINK_NOFOLLOW));
	FAILS(syscall(SYS_faccessat2, AT_FDCWD, "link", F_OK, 0), ENOENT);
	int file = SUCCEEDS(open("file", O_PATH));
	SUCCEEDS(syscall(SYS_faccessat2, file, "", R_OK, AT_EMPTY_PATH));
	FAILS(syscall(SYS_faccessat2, AT_FDCWD, "file", R_OK, 0x8000000), EINVAL);
	FAILS(syscall(SYS_faccessat2, AT_FDCWD, "file", 8, 0), EINVAL);
}

TEST(group_and_other_bits)
{
	need_root();
	scratch();
	make_file("file", "");
	SUCCEEDS(chown("file", 1, ORDINARY_USER));
	SUCCEEDS(chmod("file", 0604));
	/* The group's bits count even though those of the others would allow it. */
	become_ordinary();
	FAILS(open("file", O_RDONLY), EACCES);
}

TEST(file_systems)
{
	scratch();
	struct statfs status;
	SUCCEEDS(statfs(".", &status));
	CHECK(status.f_bsize > 0 && status.f_blocks > 0 && status.f_bfree <= status.f_blocks);
	CHECK(status.f_namelen >= 255);
	int here = SUCCEEDS(open(".", O_RDONLY));
	struct statfs same;
	SUCCEEDS(fstatfs(here, &same));
	EQUALS(same.f_type, status.f_type);
	SUCCEEDS(statfs("/proc", &status));
	EQUALS(status.f_type, PROC_SUPER_MAGIC);
	FAILS(statfs("absent", &status), ENOENT);
	FAILS(fstatfs(9999, &status), EBADF);
	FAILS(statfs(".", BAD_POINTER), EFAULT);
	int ends[2];
	SUCCEEDS(pipe(ends));
	SUCCEEDS(fstatfs(ends[0], &status));
	EQUALS(status.f_type, PIPEFS_MAGIC);
	struct statvfs portable;
	SUCCEEDS(statvfs("/", &portable));
	EQUALS(portable.f_namemax, 255);
}
