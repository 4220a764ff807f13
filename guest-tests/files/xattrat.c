/* setxattrat(2), getxattrat(2), listxattrat(2), removexattrat(2): since Linux 6.13; older kernels skip. */
#include "files.h"
#include <sys/xattr.h>

struct args {
	uint64_t value;
	uint32_t size, flags;
};

static long set(int directory, const char *path, unsigned flags, const char *name, const char *value, unsigned how)
{
	struct args args = { (uintptr_t)value, strlen(value), how };
	return syscall(463, directory, path, flags, name, &args, sizeof args);
}

static long get(int directory, const char *path, unsigned flags, const char *name, char *value, unsigned size)
{
	struct args args = { (uintptr_t)value, size, 0 };
	return syscall(464, directory, path, flags, name, &args, sizeof args);
}

static long list(int directory, const char *path, unsigned flags, char *names, size_t size)
{
	return syscall(465, directory, path, flags, names, size);
}

static long take(int directory, const char *path, unsigned flags, const char *name)
{
	return syscall(466, directory, path, flags, name);
}

static int start(void)
{
	scratch();
	if (list(AT_FDCWD, ".", 0, NULL, 0) < 0 && errno == ENOSYS)
		SKIP("this kernel is older than the calls");
	make_file("file", "");
	if (setxattr("file", "user.probe", "x", 1, 0) < 0)
		SKIP("no attributes here");
	SUCCEEDS(removexattr("file", "user.probe"));
	return SUCCEEDS(open(".", O_RDONLY | O_DIRECTORY));
}

TEST(relative_to_a_directory)
{
	int here = start();
	char value[16] = "", names[64] = "";
	SUCCEEDS(set(here, "file", 0, "user.a", "one", 0));
	EQUALS(get(here, "file", 0, "user.a", value, sizeof value), 3);
	SAME_TEXT(value, "one");
	EQUALS(get(here, "file", 0, "user.a", NULL, 0), 3);
	EQUALS(list(here, "file", 0, names, sizeof names), 7);
	SAME_TEXT(names, "user.a");
	SUCCEEDS(take(here, "file", 0, "user.a"));
	FAILS(get(here, "file", 0, "user.a", value, sizeof value), ENODATA);
	FAILS(take(here, "file", 0, "user.a"), ENODATA);
}

TEST(the_descriptor_itself)
{
	start();
	int file = SUCCEEDS(open("file", O_RDONLY)), path = SUCCEEDS(open("file", O_PATH));
	char value[16] = "";
	SUCCEEDS(set(file, "", AT_EMPTY_PATH, "user.a", "one", 0));
	EQUALS(get(file, NULL, AT_EMPTY_PATH, "user.a", value, sizeof value), 3);
	FAILS(get(file, "", 0, "user.a", value, sizeof value), ENOENT);
	FAILS(get(file, NULL, 0, "user.a", value, sizeof value), EFAULT);
	FAILS(get(path, "", AT_EMPTY_PATH, "user.a", value, sizeof value), EBADF);
	FAILS(get(9999, "", AT_EMPTY_PATH, "user.a", value, sizeof value), EBADF);
	FAILS(get(file, "x", AT_EMPTY_PATH, "user.a", value, sizeof value), ENOTDIR);
}

TEST(links_are_followed_unless_not_wanted)
{
	int here = start();
	SUCCEEDS(symlink("file", "link"));
	SUCCEEDS(set(here, "link", 0, "user.a", "one", 0));
	EQUALS(getxattr("file", "user.a", NULL, 0), 3);
	FAILS(set(here, "link", AT_SYMLINK_NOFOLLOW, "user.a", "one", 0), EPERM);
	EQUALS(list(here, "link", AT_SYMLINK_NOFOLLOW, NULL, 0), 0);
}

TEST(refusals)
{
	int here = start();
	struct args args = { 0, 0, 0 };
	struct {
		struct args args;
		uint64_t more;
	} longer = { { 0, 0, 0 }, 0 };
	FAILS(syscall(464, here, "file", 0, "user.a", &args, 8), EINVAL);
	FAILS(syscall(464, here, "file", 0, "user.a", &args, 5000), E2BIG);
	FAILS(syscall(464, here, "file", 0, "user.a", &longer, sizeof longer), ENODATA);
	longer.more = 1;
	FAILS(syscall(464, here, "file", 0, "user.a", &longer, sizeof longer), E2BIG);
	args.flags = 1;
	FAILS(syscall(464, here, "file", 0, "user.a", &args, sizeof args), EINVAL);
	FAILS(syscall(464, here, "file", 0, "user.a", BAD_POINTER, sizeof args), EFAULT);
	FAILS(set(here, "file", 0, "user.a", "x", 4), EINVAL);
	FAILS(set(here, "file", 0, "user.a", "x", XATTR_REPLACE), ENODATA);
	SUCCEEDS(set(here, "file", 0, "user.a", "x", XATTR_CREATE));
	FAILS(set(here, "file", 0, "user.a", "x", XATTR_CREATE), EEXIST);
	FAILS(set(here, "file", 0x8000, "user.a", "x", 0), EINVAL);
	FAILS(list(here, "file", 0x8000, NULL, 0), EINVAL);
	FAILS(take(here, "file", 0x8000, "user.a"), EINVAL);
	FAILS(take(here, "file", 0, ""), ERANGE);
	FAILS(list(here, "missing", 0, NULL, 0), ENOENT);
	char small[3];
	FAILS(list(here, "file", 0, small, sizeof small), ERANGE);
}
