/* open(2), openat(2), creat(2), openat2(2): flags and which error wins. */
#include "files.h"
#include <linux/openat2.h>
#include <sys/resource.h>

static mode_t mode_of(const char *path)
{
	struct stat status;
	SUCCEEDS(lstat(path, &status));
	return status.st_mode & 07777;
}

TEST(lowest_free_number)
{
	int first = SUCCEEDS(open("/", O_RDONLY)), second = SUCCEEDS(open("/", O_RDONLY));
	SUCCEEDS(close(first));
	EQUALS(open("/", O_RDONLY), first);
	CHECK(second > first);
}

TEST(create)
{
	scratch();
	FAILS(open("new", O_RDWR), ENOENT);
	int file = SUCCEEDS(open("new", O_RDWR | O_CREAT, 0666));
	EQUALS(mode_of("new"), 0644);
	EQUALS(write(file, "text", 4), 4);
	SUCCEEDS(open("new", O_RDWR | O_CREAT, 0));
	EQUALS(mode_of("new"), 0644);
	SAME_TEXT(text_of("new"), "text");
	FAILS(open("new", O_RDWR | O_CREAT | O_EXCL, 0666), EEXIST);
}

TEST(create_with_mask)
{
	scratch();
	EQUALS(umask(077), 022);
	SUCCEEDS(open("private", O_RDWR | O_CREAT, 0777));
	EQUALS(mode_of("private"), 0700);
	EQUALS(umask(0), 077);
	SUCCEEDS(open("all", O_RDWR | O_CREAT, 0777));
	EQUALS(mode_of("all"), 0777);
	EQUALS(umask(0177777), 0);
	EQUALS(umask(0), 0777);
	SUCCEEDS(open("special", O_RDWR | O_CREAT, 06755));
	EQUALS(mode_of("special"), 06755);
}

/* The mode counts for later opens, not for the descriptor that created the file. */
TEST(create_unwritable_for_writing)
{
	scratch();
	become_ordinary();
	int file = SUCCEEDS(open("locked", O_RDWR | O_CREAT, 0));
	EQUALS(write(file, "x", 1), 1);
	FAILS(open("locked", O_RDONLY), EACCES);
}

TEST(exclusive_does_not_follow)
{
	scratch();
	SUCCEEDS(symlink("target", "dangling"));
	FAILS(open("dangling", O_RDWR | O_CREAT | O_EXCL, 0666), EEXIST);
	SUCCEEDS(open("dangling", O_RDWR | O_CREAT, 0666));
	CHECK(exists("target"));
}

TEST(truncate)
{
	scratch();
	make_file("file", "long text");
	SUCCEEDS(open("file", O_WRONLY | O_TRUNC));
	SAME_TEXT(text_of("file"), "");
	make_file("file", "again");
	SUCCEEDS(creat("file", 0600));
	SAME_TEXT(text_of("file"), "");
}

TEST(append)
{
	scratch();
	make_file("file", "abc");
	int file = SUCCEEDS(open("file", O_RDWR | O_APPEND));
	EQUALS(lseek(file, 0, SEEK_CUR), 0);
	EQUALS(write(file, "d", 1), 1);
	EQUALS(lseek(file, 0, SEEK_CUR), 4);
	SUCCEEDS(lseek(file, 0, SEEK_SET));
	EQUALS(write(file, "e", 1), 1);
	/* Linux appends even here. */
	EQUALS(pwrite(file, "f", 1, 0), 1);
	SAME_TEXT(text_of("file"), "abcdef");
}

TEST(access_modes)
{
	scratch();
	make_file("file", "text");
	char byte;
	int reader = SUCCEEDS(open("file", O_RDONLY)), writer = SUCCEEDS(open("file", O_WRONLY));
	FAILS(write(reader, "x", 1), EBADF);
	FAILS(read(writer, &byte, 1), EBADF);
	EQUALS(fcntl(reader, F_GETFL) & O_ACCMODE, O_RDONLY);
	EQUALS(fcntl(writer, F_GETFL) & O_ACCMODE, O_WRONLY);
}

TEST(directories)
{
	scratch();
	char byte;
	SUCCEEDS(mkdir("directory", 0755));
	int directory = SUCCEEDS(open("directory", O_RDONLY | O_DIRECTORY));
	FAILS(read(directory, &byte, 1), EISDIR);
	FAILS(write(directory, &byte, 1), EBADF);
	FAILS(open("directory", O_WRONLY), EISDIR);
	FAILS(open("directory", O_RDWR), EISDIR);
	FAILS(open("directory", O_RDONLY | O_CREAT, 0666), EISDIR);
	make_file("file", "");
	FAILS(open("file", O_RDONLY | O_DIRECTORY), ENOTDIR);
	FAILS(open("file/", O_RDONLY), ENOTDIR);
	FAILS(open("file/below", O_RDONLY), ENOTDIR);
	FAILS(open("absent/", O_RDWR | O_CREAT, 0666), EISDIR);
	FAILS(open("absent/file", O_RDWR | O_CREAT, 0666), ENOENT);
}

TEST(symbolic_links)
{
	scratch();
	make_file("file", "text");
	SUCCEEDS(symlink("file", "link"));
	SUCCEEDS(symlink("loop", "loop"));
	SUCCEEDS(symlink(".", "here"));
	SUCCEEDS(open("link", O_RDONLY));
	FAILS(open("link", O_RDONLY | O_NOFOLLOW), ELOOP);
	FAILS(open("loop", O_RDONLY), ELOOP);
	FAILS(open("here", O_RDONLY | O_DIRECTORY | O_NOFOLLOW), ENOTDIR);
	/* Only the last component counts. */
	SUCCEEDS(open("here/file", O_RDONLY | O_NOFOLLOW));
}

TEST(relative_to_a_descriptor)
{
	scratch();
	SUCCEEDS(mkdir("directory", 0755));
	make_file("directory/file", "text");
	int directory = SUCCEEDS(open("directory", O_PATH));
	SUCCEEDS(openat(directory, "file", O_RDONLY));
	SUCCEEDS(openat(-1, "/", O_RDONLY));
	FAILS(openat(-1, "file", O_RDONLY), EBADF);
	FAILS(openat(9999, "file", O_RDONLY), EBADF);
	int file = SUCCEEDS(openat(directory, "file", O_RDONLY));
	FAILS(openat(file, "x", O_RDONLY), ENOTDIR);
	SUCCEEDS(unlink("directory/file"));
	SUCCEEDS(rmdir("directory"));
	FAILS(openat(directory, "new", O_RDWR | O_CREAT, 0666), ENOENT);
}

TEST(path_descriptors)
{
	scratch();
	make_file("file", "text");
	SUCCEEDS(symlink("file", "link"));
	char byte;
	int path = SUCCEEDS(open("file", O_PATH));
	EQUALS(fcntl(path, F_GETFL), O_PATH);
	FAILS(read(path, &byte, 1), EBADF);
	FAILS(fchmod(path, 0600), EBADF);
	FAILS(ftruncate(path, 0), EBADF);
	FAILS(lseek(path, 0, SEEK_SET), EBADF);
	struct stat status;
	SUCCEEDS(fstat(path, &status));
	CHECK(S_ISREG(status.st_mode));
	int link = SUCCEEDS(open("link", O_PATH | O_NOFOLLOW));
	SUCCEEDS(fstat(link, &status));
	CHECK(S_ISLNK(status.st_mode));
	char target[16] = "";
	EQUALS(readlinkat(link, "", target, sizeof target), 4);
	char again[64];
	snprintf(again, sizeof again, "/proc/self/fd/%d", path);
	EQUALS(read(SUCCEEDS(open(again, O_RDONLY)), &byte, 1), 1);
	SUCCEEDS(close(dup(path)));
}

TEST(permissions)
{
	scratch();
	make_file("none", "");
	SUCCEEDS(chmod("none", 0));
	make_file("read", "");
	SUCCEEDS(chmod("read", 0444));
	SUCCEEDS(mkdir("closed", 0755));
	make_file("closed/file", "");
	SUCCEEDS(chmod("closed", 0));
	SUCCEEDS(mkdir("fixed", 0755));
	SUCCEEDS(chmod("fixed", 0555));
	pid_t child = FORK();
	if (child == 0) {
		become_ordinary();
		FAILS(open("none", O_RDONLY), EACCES);
		SUCCEEDS(open("read", O_RDONLY));
		FAILS(open("read", O_WRONLY), EACCES);
		FAILS(open("read", O_RDONLY | O_TRUNC), EACCES);
		FAILS(open("closed/file", O_RDONLY), EACCES);
		FAILS(open("closed/absent", O_RDONLY), EACCES);
		FAILS(open("closed", O_RDONLY), EACCES);
		SUCCEEDS(open("closed", O_PATH));
		FAILS(open("fixed/new", O_WRONLY | O_CREAT, 0666), EACCES);
		_exit(0);
	}
	EXITS(child, 0);
	SUCCEEDS(chmod("closed", 0755));
	SUCCEEDS(chmod("fixed", 0755));
}

TEST(root_overrides)
{
	need_root();
	scratch();
	make_file("none", "text");
	SUCCEEDS(chmod("none", 0));
	SUCCEEDS(open("none", O_RDWR));
}

TEST(access_time_needs_the_owner)
{
	need_root();
	scratch();
	make_file("file", "");
	SUCCEEDS(open("file", O_RDONLY | O_NOATIME));
	become_ordinary();
	FAILS(open("file", O_RDONLY | O_NOATIME), EPERM);
}

TEST(devices_and_fifos)
{
	scratch();
	SUCCEEDS(mkfifo("fifo", 0666));
	FAILS(open("fifo", O_WRONLY | O_NONBLOCK), ENXIO);
	int reader = SUCCEEDS(open("fifo", O_RDONLY | O_NONBLOCK));
	SUCCEEDS(open("fifo", O_WRONLY | O_NONBLOCK));
	SUCCEEDS(close(reader));
	SUCCEEDS(open("/dev/null", O_RDWR | O_TRUNC | O_CREAT, 0666));
}

TEST(running_program_cannot_be_written)
{
	FAILS(open(test_program, O_WRONLY), geteuid() == 0 || access(test_program, W_OK) == 0 ? ETXTBSY : EACCES);
}

TEST(bad_arguments)
{
	FAILS(open(BAD_POINTER, O_RDONLY), EFAULT);
	FAILS(open("", O_RDONLY), ENOENT);
	FAILS(open("/tmp", O_RDWR | (O_TMPFILE & ~O_DIRECTORY), 0600), EINVAL);
	/* Unknown flags are ignored by the old calls. */
	SUCCEEDS(open("/", O_RDONLY | 0x40000000));
}

TEST(large_file)
{
	scratch();
	int file = SUCCEEDS(open("large", O_RDWR | O_CREAT, 0600));
	EQUALS(pwrite(file, "x", 1, 5ll << 30), 1);
	struct stat status;
	SUCCEEDS(fstat(file, &status));
	EQUALS(status.st_size, (5ll << 30) + 1);
	CHECK(status.st_blocks < 1000);
}

static int open2(int directory, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
	struct open_how how = { flags, mode, resolve };
	return syscall(SYS_openat2, directory, path, &how, sizeof how);
}

TEST(second_version_checks_everything)
{
	scratch();
	make_file("file", "");
	SUCCEEDS(open2(AT_FDCWD, "file", O_RDONLY, 0, 0));
	FAILS(open2(AT_FDCWD, "file", 0x40000000, 0, 0), EINVAL);
	FAILS(open2(AT_FDCWD, "file", O_RDONLY, 0600, 0), EINVAL);
	FAILS(open2(AT_FDCWD, "new", O_RDWR | O_CREAT, 010000, 0), EINVAL);
	FAILS(open2(AT_FDCWD, "file", O_RDONLY, 0, 1ull << 40), EINVAL);
	FAILS(open2(AT_FDCWD, "file", O_PATH | O_RDWR, 0, 0), EINVAL);
	FAILS(open2(AT_FDCWD, "file", O_RDONLY, 0, RESOLVE_BENEATH | RESOLVE_IN_ROOT), EINVAL);
	SUCCEEDS(open2(AT_FDCWD, "new", O_RDWR | O_CREAT, 0600, 0));
	struct { struct open_how how; uint64_t more; } larger = { { O_RDONLY, 0, 0 }, 0 };
	SUCCEEDS(syscall(SYS_openat2, AT_FDCWD, "file", &larger, sizeof larger));
	larger.more = 1;
	FAILS(syscall(SYS_openat2, AT_FDCWD, "file", &larger, sizeof larger), E2BIG);
	FAILS(syscall(SYS_openat2, AT_FDCWD, "file", &larger, 8), EINVAL);
	FAILS(syscall(SYS_openat2, AT_FDCWD, "file", BAD_POINTER, sizeof larger.how), EFAULT);
}

TEST(resolve_beneath)
{
	scratch();
	SUCCEEDS(mkdir("top", 0755));
	SUCCEEDS(mkdir("top/sub", 0755));
	make_file("top/file", "inside");
	make_file("outside", "");
	SUCCEEDS(symlink("../outside", "top/out"));
	SUCCEEDS(symlink("/tmp", "top/absolute"));
	SUCCEEDS(symlink("sub/../file", "top/in"));
	int top = SUCCEEDS(open("top", O_PATH));
	SUCCEEDS(open2(top, "file", O_RDONLY, 0, RESOLVE_BENEATH));
	SUCCEEDS(open2(top, "in", O_RDONLY, 0, RESOLVE_BENEATH));
	FAILS(open2(top, "out", O_RDONLY, 0, RESOLVE_BENEATH), EXDEV);
	FAILS(open2(top, "absolute", O_RDONLY, 0, RESOLVE_BENEATH), EXDEV);
	FAILS(open2(top, "/tmp", O_RDONLY, 0, RESOLVE_BENEATH), EXDEV);
	FAILS(open2(top, "..", O_RDONLY, 0, RESOLVE_BENEATH), EXDEV);
	FAILS(open2(top, "sub/../..", O_RDONLY, 0, RESOLVE_BENEATH), EXDEV);
}

TEST(resolve_in_root)
{
	scratch();
	SUCCEEDS(mkdir("top", 0755));
	make_file("top/file", "inside");
	SUCCEEDS(symlink("/file", "top/absolute"));
	SUCCEEDS(symlink("../../../file", "top/up"));
	int top = SUCCEEDS(open("top", O_PATH));
	SUCCEEDS(open2(top, "/file", O_RDONLY, 0, RESOLVE_IN_ROOT));
	SUCCEEDS(open2(top, "absolute", O_RDONLY, 0, RESOLVE_IN_ROOT));
	SUCCEEDS(open2(top, "up", O_RDONLY, 0, RESOLVE_IN_ROOT));
	FAILS(open2(top, "/tmp", O_RDONLY, 0, RESOLVE_IN_ROOT), ENOENT);
}

TEST(resolve_without_links_or_mounts)
{
	scratch();
	make_file("file", "");
	SUCCEEDS(symlink("file", "link"));
	FAILS(open2(AT_FDCWD, "link", O_RDONLY, 0, RESOLVE_NO_SYMLINKS), ELOOP);
	SUCCEEDS(open2(AT_FDCWD, "file", O_RDONLY, 0, RESOLVE_NO_SYMLINKS));
	SUCCEEDS(open2(AT_FDCWD, "link", O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS));
	FAILS(open2(AT_FDCWD, "/proc/self/exe", O_RDONLY, 0, RESOLVE_NO_MAGICLINKS), ELOOP);
	SUCCEEDS(open2(AT_FDCWD, "link", O_RDONLY, 0, RESOLVE_NO_MAGICLINKS));
	FAILS(open2(AT_FDCWD, "/proc/self/stat", O_RDONLY, 0, RESOLVE_NO_XDEV), EXDEV);
	SUCCEEDS(open2(AT_FDCWD, "file", O_RDONLY, 0, RESOLVE_NO_XDEV));
}

TEST(temporary_file_without_a_name)
{
	scratch();
	int file = open(".", O_RDWR | O_TMPFILE, 0600);
	if (file < 0 && errno == EOPNOTSUPP)
		SKIP("file system without O_TMPFILE");
	SUCCEEDS(file);
	EQUALS(write(file, "secret", 6), 6);
	struct stat status;
	SUCCEEDS(fstat(file, &status));
	EQUALS(status.st_nlink, 0);
	EQUALS(status.st_mode & 07777, 0600);
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	SUCCEEDS(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
	SAME_TEXT(text_of("named"), "secret");
	FAILS(open(".", O_RDONLY | O_TMPFILE, 0600), EINVAL);
	FAILS(open("absent", O_RDWR | O_TMPFILE, 0600), ENOENT);
	FAILS(open("named", O_RDWR | O_TMPFILE, 0600), ENOTDIR);
	int hidden = SUCCEEDS(open(".", O_RDWR | O_TMPFILE | O_EXCL, 0600));
	snprintf(path, sizeof path, "/proc/self/fd/%d", hidden);
	FAILS(linkat(AT_FDCWD, path, AT_FDCWD, "other", AT_SYMLINK_FOLLOW), ENOENT);
}

TEST(unlinked_but_open)
{
	scratch();
	int file = SUCCEEDS(open("file", O_RDWR | O_CREAT, 0600));
	EQUALS(write(file, "still", 5), 5);
	SUCCEEDS(unlink("file"));
	CHECK(!exists("file"));
	char text[8] = "";
	EQUALS(pread(file, text, 8, 0), 5);
	SAME_TEXT(text, "still");
	struct stat status;
	SUCCEEDS(fstat(file, &status));
	EQUALS(status.st_nlink, 0);
	EQUALS(status.st_size, 5);
	make_file("file", "another");
	EQUALS(pread(file, text, 8, 0), 5);
	char path[64], target[PATH_MAX] = "", expected[PATH_MAX];
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	SUCCEEDS(readlink(path, target, sizeof target - 1));
	snprintf(expected, sizeof expected, "%s/file (deleted)", scratch_path);
	SAME_TEXT(target, expected);
}
