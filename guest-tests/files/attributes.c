/* chmod, chown, utimensat and relatives; extended attributes. */
#include "files.h"
#include <sys/time.h>
#include <sys/xattr.h>

static struct stat status_of(const char *path)
{
	struct stat status;
	SUCCEEDS(lstat(path, &status));
	return status;
}

static mode_t mode_of(const char *path)
{
	return status_of(path).st_mode & 07777;
}

TEST(mode)
{
	scratch();
	make_file("file", "");
	SUCCEEDS(chmod("file", 01751));
	EQUALS(mode_of("file"), 01751);
	int file = SUCCEEDS(open("file", O_RDONLY));
	SUCCEEDS(fchmod(file, 0600));
	EQUALS(mode_of("file"), 0600);
	SUCCEEDS(fchmodat(AT_FDCWD, "file", 0640, 0));
	EQUALS(mode_of("file"), 0640);
	SUCCEEDS(symlink("file", "link"));
	SUCCEEDS(chmod("link", 0644));
	EQUALS(mode_of("file"), 0644);
	EQUALS(mode_of("link"), 0777);
	FAILS(chmod("absent", 0600), ENOENT);
	FAILS(chmod("file/x", 0600), ENOTDIR);
	FAILS(fchmod(9999, 0600), EBADF);
	FAILS(chmod(BAD_POINTER, 0600), EFAULT);
}

TEST(mode_of_strangers_files)
{
	need_root();
	scratch();
	make_file("file", "");
	become_ordinary();
	FAILS(chmod("file", 0777), EPERM);
	FAILS(chown("file", ORDINARY_USER, -1), EPERM);
}

TEST(owner)
{
	need_root();
	scratch();
	make_file("file", "");
	SUCCEEDS(symlink("file", "link"));
	SUCCEEDS(chown("file", 11, 22));
	EQUALS(status_of("file").st_uid, 11);
	EQUALS(status_of("file").st_gid, 22);
	SUCCEEDS(chown("file", -1, 33));
	EQUALS(status_of("file").st_uid, 11);
	EQUALS(status_of("file").st_gid, 33);
	SUCCEEDS(lchown("link", 44, -1));
	EQUALS(status_of("link").st_uid, 44);
	EQUALS(status_of("file").st_uid, 11);
	SUCCEEDS(chown("link", 55, -1));
	EQUALS(status_of("file").st_uid, 55);
	int file = SUCCEEDS(open("file", O_RDONLY));
	SUCCEEDS(fchown(file, 66, 77));
	EQUALS(status_of("file").st_uid, 66);
	SUCCEEDS(fchownat(file, "", 88, -1, AT_EMPTY_PATH));
	EQUALS(status_of("file").st_uid, 88);
	FAILS(fchownat(AT_FDCWD, "file", 1, 1, 0x8000000), EINVAL);
	FAILS(chown("absent", 1, 1), ENOENT);
	FAILS(fchown(9999, 1, 1), EBADF);
}

TEST(owner_of_an_ordinary_user)
{
	scratch();
	become_ordinary();
	make_file("file", "");
	SUCCEEDS(chown("file", -1, -1));
	SUCCEEDS(chown("file", getuid(), getgid()));
	FAILS(chown("file", 0, -1), EPERM);
	FAILS(chown("file", -1, getgid() + 1), EPERM);
}

TEST(changing_the_owner_clears_set_id_bits)
{
	need_root();
	scratch();
	make_file("file", "");
	SUCCEEDS(chmod("file", 06755));
	SUCCEEDS(chown("file", 11, 22));
	EQUALS(mode_of("file"), 0755);
	SUCCEEDS(mkdir("directory", 0755));
	SUCCEEDS(chmod("directory", 02755));
	SUCCEEDS(chown("directory", 11, 22));
	EQUALS(mode_of("directory"), 02755);
}

TEST(writing_clears_set_id_bits)
{
	scratch();
	become_ordinary();
	make_file("file", "");
	SUCCEEDS(chmod("file", 06755));
	int file = SUCCEEDS(open("file", O_WRONLY));
	EQUALS(write(file, "x", 1), 1);
	EQUALS(mode_of("file"), 0755);
}

TEST(set_group_id_of_directories_is_inherited)
{
	need_root();
	scratch();
	SUCCEEDS(mkdir("directory", 0755));
	SUCCEEDS(chown("directory", 0, 99));
	SUCCEEDS(chmod("directory", 02755));
	make_file("directory/file", "");
	SUCCEEDS(mkdir("directory/sub", 0755));
	EQUALS(status_of("directory/file").st_gid, 99);
	EQUALS(mode_of("directory/file"), 0644);
	EQUALS(status_of("directory/sub").st_gid, 99);
	EQUALS(mode_of("directory/sub"), 02755);
}

TEST(set_group_id_needs_the_group)
{
	need_root();
	scratch();
	make_file("file", "");
	SUCCEEDS(chown("file", ORDINARY_USER, 99));
	become_ordinary();
	SUCCEEDS(chmod("file", 02755));
	EQUALS(mode_of("file"), 0755);
}

static const struct timespec past[2] = { { 1000000000, 123456789 }, { 1100000000, 987654321 } };

TEST(times)
{
	scratch();
	make_file("file", "");
	SUCCEEDS(utimensat(AT_FDCWD, "file", past, 0));
	struct stat status = status_of("file");
	EQUALS(status.st_atim.tv_sec, 1000000000);
	EQUALS(status.st_atim.tv_nsec, 123456789);
	EQUALS(status.st_mtim.tv_sec, 1100000000);
	EQUALS(status.st_mtim.tv_nsec, 987654321);
	struct timespec only_access[2] = { { 5, 6 }, { 0, UTIME_OMIT } };
	SUCCEEDS(utimensat(AT_FDCWD, "file", only_access, 0));
	status = status_of("file");
	EQUALS(status.st_atim.tv_sec, 5);
	EQUALS(status.st_mtim.tv_sec, 1100000000);
	struct timespec now_and_omit[2] = { { 0, UTIME_OMIT }, { 0, UTIME_NOW } };
	SUCCEEDS(utimensat(AT_FDCWD, "file", now_and_omit, 0));
	status = status_of("file");
	EQUALS(status.st_atim.tv_sec, 5);
	CHECK(status.st_mtim.tv_sec > 1100000000);
	SUCCEEDS(utimensat(AT_FDCWD, "file", NULL, 0));
	CHECK(status_of("file").st_atim.tv_sec > 5);
}

TEST(times_by_other_ways)
{
	scratch();
	make_file("file", "");
	SUCCEEDS(symlink("file", "link"));
	int file = SUCCEEDS(open("file", O_RDONLY));
	SUCCEEDS(futimens(file, past));
	EQUALS(status_of("file").st_mtim.tv_sec, 1100000000);
	SUCCEEDS(utimensat(AT_FDCWD, "link", past, AT_SYMLINK_NOFOLLOW));
	EQUALS(status_of("link").st_mtim.tv_sec, 1100000000);
	struct timeval micro[2] = { { 7, 8 }, { 9, 10 } };
	SUCCEEDS(utimes("file", micro));
	EQUALS(status_of("file").st_mtim.tv_nsec, 10000);
}

TEST(time_refusals)
{
	scratch();
	make_file("file", "");
	struct timespec bad[2] = { { 0, 1000000000 }, { 0, 0 } };
	FAILS(utimensat(AT_FDCWD, "file", bad, 0), EINVAL);
	FAILS(utimensat(AT_FDCWD, "absent", past, 0), ENOENT);
	FAILS(utimensat(AT_FDCWD, "file", past, 0x8000000), EINVAL);
	FAILS(utimensat(9999, "file", past, 0), EBADF);
	struct timespec omit[2] = { { 0, UTIME_OMIT }, { 0, UTIME_OMIT } };
	SUCCEEDS(utimensat(AT_FDCWD, "file", omit, 0));
	if (geteuid() != 0)
		return;
	SUCCEEDS(chmod("file", 0666));
	become_ordinary();
	/* Who may write may set the time to now, but to nothing else. */
	SUCCEEDS(utimensat(AT_FDCWD, "file", NULL, 0));
	FAILS(utimensat(AT_FDCWD, "file", past, 0), EPERM);
}

static void need_user_attributes(void)
{
	scratch();
	make_file("file", "");
	if (setxattr("file", "user.probe", "", 0, 0) < 0 && errno == EOPNOTSUPP)
		SKIP("file system without user attributes");
	SUCCEEDS(removexattr("file", "user.probe"));
}

TEST(extended_attributes)
{
	need_user_attributes();
	char value[16] = "";
	FAILS(getxattr("file", "user.a", value, sizeof value), ENODATA);
	SUCCEEDS(setxattr("file", "user.a", "first", 5, 0));
	EQUALS(getxattr("file", "user.a", value, sizeof value), 5);
	SAME_TEXT(value, "first");
	EQUALS(getxattr("file", "user.a", NULL, 0), 5);
	FAILS(getxattr("file", "user.a", value, 3), ERANGE);
	FAILS(setxattr("file", "user.a", "x", 1, XATTR_CREATE), EEXIST);
	FAILS(setxattr("file", "user.b", "x", 1, XATTR_REPLACE), ENODATA);
	SUCCEEDS(setxattr("file", "user.a", "second", 6, XATTR_REPLACE));
	SUCCEEDS(setxattr("file", "user.empty", "", 0, 0));
	EQUALS(getxattr("file", "user.empty", value, sizeof value), 0);
	char names[64];
	ssize_t length = SUCCEEDS(listxattr("file", names, sizeof names));
	EQUALS(length, sizeof "user.a" + sizeof "user.empty");
	EQUALS(listxattr("file", NULL, 0), length);
	FAILS(listxattr("file", names, 3), ERANGE);
	SUCCEEDS(removexattr("file", "user.a"));
	FAILS(removexattr("file", "user.a"), ENODATA);
}

TEST(extended_attributes_of_descriptors_and_links)
{
	need_user_attributes();
	char value[16] = "";
	int file = SUCCEEDS(open("file", O_RDONLY));
	SUCCEEDS(fsetxattr(file, "user.f", "x", 1, 0));
	EQUALS(fgetxattr(file, "user.f", value, sizeof value), 1);
	EQUALS(flistxattr(file, NULL, 0), sizeof "user.f");
	SUCCEEDS(fremovexattr(file, "user.f"));
	SUCCEEDS(symlink("file", "link"));
	SUCCEEDS(setxattr("link", "user.l", "x", 1, 0));
	EQUALS(getxattr("file", "user.l", value, sizeof value), 1);
	/* User attributes exist only on files and directories. */
	FAILS(lsetxattr("link", "user.l", "x", 1, 0), EPERM);
	FAILS(fsetxattr(9999, "user.f", "x", 1, 0), EBADF);
}

TEST(extended_attribute_refusals)
{
	need_user_attributes();
	static char large[65537];
	char name[300] = "user.";
	memset(name + 5, 'x', sizeof name - 6);
	FAILS(setxattr("file", "user.", "x", 1, 0), EINVAL);
	FAILS(setxattr("file", "unknown.x", "x", 1, 0), EOPNOTSUPP);
	FAILS(setxattr("file", "", "x", 1, 0), ERANGE);
	FAILS(setxattr("file", name, "x", 1, 0), ERANGE);
	FAILS(setxattr("file", "user.a", large, sizeof large, 0), E2BIG);
	FAILS(setxattr("file", "user.a", "x", 1, 4), EINVAL);
	FAILS(setxattr("absent", "user.a", "x", 1, 0), ENOENT);
	FAILS(getxattr("file", "user.a", NULL, 0), ENODATA);
	SUCCEEDS(chmod("file", 0444));
	become_ordinary();
	if (status_of("file").st_uid != getuid())
		FAILS(setxattr("file", "user.a", "x", 1, 0), EACCES);
	FAILS(setxattr("file", "trusted.a", "x", 1, 0), EPERM);
}
