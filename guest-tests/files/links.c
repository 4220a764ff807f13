/* link, symlink, readlink, unlink: the error matrix. */
#include "files.h"

static nlink_t links_of(const char *path)
{
	struct stat status;
	SUCCEEDS(lstat(path, &status));
	return status.st_nlink;
}

static void prepare(void)
{
	scratch();
	make_file("file", "text");
	SUCCEEDS(mkdir("directory", 0755));
	SUCCEEDS(symlink("file", "link"));
	SUCCEEDS(symlink("absent", "dangling"));
	SUCCEEDS(symlink("loop", "loop"));
}

TEST(hard_link)
{
	prepare();
	SUCCEEDS(link("file", "second"));
	EQUALS(links_of("file"), 2);
	make_file("second", "changed");
	SAME_TEXT(text_of("file"), "changed");
	SUCCEEDS(unlink("file"));
	EQUALS(links_of("second"), 1);
	SAME_TEXT(text_of("second"), "changed");
}

TEST(hard_link_refusals)
{
	prepare();
	FAILS(link("absent", "new"), ENOENT);
	FAILS(link("file", "absent/new"), ENOENT);
	FAILS(link("file", "directory"), EEXIST);
	FAILS(link("file", "file"), EEXIST);
	FAILS(link("file", "dangling"), EEXIST);
	FAILS(link("directory", "new"), EPERM);
	FAILS(link("file/x", "new"), ENOTDIR);
	FAILS(link("file", "file/new"), ENOTDIR);
	FAILS(link("file", "new/"), ENOENT);
	FAILS(link("", "new"), ENOENT);
	FAILS(link("file", ""), ENOENT);
	FAILS(link("loop/x", "new"), ELOOP);
	FAILS(link("file", "/dev/shm/new"), EXDEV);
	FAILS(link(BAD_POINTER, "new"), EFAULT);
	FAILS(linkat(AT_FDCWD, "file", AT_FDCWD, "new", 0x8000000), EINVAL);
	FAILS(linkat(9999, "file", AT_FDCWD, "new", 0), EBADF);
	FAILS(linkat(AT_FDCWD, "file", 9999, "new", 0), EBADF);
}

TEST(hard_link_of_a_symbolic_link)
{
	prepare();
	struct stat status;
	SUCCEEDS(link("link", "new"));
	SUCCEEDS(lstat("new", &status));
	CHECK(S_ISLNK(status.st_mode));
	SUCCEEDS(linkat(AT_FDCWD, "link", AT_FDCWD, "followed", AT_SYMLINK_FOLLOW));
	SUCCEEDS(lstat("followed", &status));
	CHECK(S_ISREG(status.st_mode));
	FAILS(linkat(AT_FDCWD, "dangling", AT_FDCWD, "x", AT_SYMLINK_FOLLOW), ENOENT);
}

TEST(hard_link_needs_write_permission_in_the_directory)
{
	become_ordinary();
	prepare();
	SUCCEEDS(chmod("directory", 0555));
	FAILS(link("file", "directory/new"), EACCES);
}

TEST(symbolic_link)
{
	prepare();
	char target[16];
	memset(target, '#', sizeof target);
	EQUALS(readlink("link", target, sizeof target), 4);
	EQUALS(memcmp(target, "file#", 5), 0);
	EQUALS(readlink("link", target, 2), 2);
	SUCCEEDS(symlinkat("anything at all", AT_FDCWD, "new"));
	EQUALS(readlinkat(AT_FDCWD, "new", target, sizeof target), 15);
}

TEST(symbolic_link_refusals)
{
	prepare();
	char target[5000];
	FAILS(symlink("x", "file"), EEXIST);
	FAILS(symlink("x", "dangling"), EEXIST);
	FAILS(symlink("", "new"), ENOENT);
	FAILS(symlink("x", ""), ENOENT);
	FAILS(symlink("x", "absent/new"), ENOENT);
	FAILS(symlink("x", "file/new"), ENOTDIR);
	FAILS(symlink("x", "new/"), ENOENT);
	FAILS(readlink("file", target, 10), EINVAL);
	FAILS(readlink("directory", target, 10), EINVAL);
	FAILS(readlink("absent", target, 10), ENOENT);
	FAILS(readlink("link/x", target, 10), ENOTDIR);
	FAILS(syscall(SYS_readlink, "link", target, 0), EINVAL);
	FAILS(readlink("link", BAD_POINTER, 10), EFAULT);
	memset(target, 'x', sizeof target);
	target[4096] = 0;
	FAILS(symlink(target, "new"), ENAMETOOLONG);
}

TEST(long_chains)
{
	scratch();
	make_file("l0", "end");
	char from[8], to[8];
	for (int i = 1; i <= 41; i++) {
		snprintf(from, sizeof from, "l%d", i - 1);
		snprintf(to, sizeof to, "l%d", i);
		SUCCEEDS(symlink(from, to));
	}
	SAME_TEXT(text_of("l40"), "end");
	FAILS(open("l41", O_RDONLY), ELOOP);
}

TEST(unlink_refusals)
{
	prepare();
	FAILS(unlink("absent"), ENOENT);
	FAILS(unlink("directory"), EISDIR);
	FAILS(unlink("file/"), ENOTDIR);
	FAILS(unlink("file/x"), ENOTDIR);
	FAILS(unlink("directory/"), EISDIR);
	FAILS(unlink("."), EISDIR);
	FAILS(unlink(""), ENOENT);
	FAILS(unlink("/"), EISDIR);
	FAILS(unlink("link/"), ENOTDIR);
	FAILS(unlinkat(AT_FDCWD, "file", 1), EINVAL);
	FAILS(unlinkat(AT_FDCWD, "file", AT_REMOVEDIR), ENOTDIR);
	FAILS(unlinkat(9999, "file", 0), EBADF);
	FAILS(unlink(BAD_POINTER), EFAULT);
	SUCCEEDS(unlink("link"));
	CHECK(exists("file"));
	SUCCEEDS(unlink("dangling"));
	SUCCEEDS(unlink("loop"));
}

TEST(sticky_directory)
{
	need_root();
	prepare();
	SUCCEEDS(chmod(".", 01777));
	make_file("own", "");
	SUCCEEDS(chown("own", ORDINARY_USER, -1));
	become_ordinary();
	FAILS(unlink("file"), EPERM);
	FAILS(rename("file", "renamed"), EPERM);
	FAILS(rmdir("directory"), EPERM);
	SUCCEEDS(unlink("own"));
}

TEST(nodes)
{
	scratch();
	struct stat status;
	SUCCEEDS(mknod("fifo", S_IFIFO | 0644, 0));
	SUCCEEDS(mknod("file", S_IFREG | 0600, 0));
	SUCCEEDS(mknod("socket", S_IFSOCK | 0600, 0));
	SUCCEEDS(stat("socket", &status));
	CHECK(S_ISSOCK(status.st_mode));
	SUCCEEDS(mknod("plain", 0600, 0));
	SUCCEEDS(stat("plain", &status));
	CHECK(S_ISREG(status.st_mode));
	FAILS(mknod("file", S_IFREG, 0), EEXIST);
	FAILS(mknod("x", S_IFDIR, 0), EPERM);
	FAILS(mknod("x", S_IFLNK, 0), EINVAL);
	FAILS(mknod("absent/x", S_IFREG, 0), ENOENT);
	FAILS(open("socket", O_RDWR), ENXIO);
	become_ordinary();
	FAILS(mknod("device", S_IFCHR | 0600, 0x103), EPERM);
}
