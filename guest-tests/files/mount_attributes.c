/* mount_setattr(2), fspick(2), open_tree_attr(2): attributes of mounts and of file systems, in a namespace of one's own. */
#include "namespaces.h"
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

enum { MOUNT_SETATTR = 442, FSPICK = 433, OPEN_TREE_ATTR = 467, OPEN_TREE_CALL = 428, MOVE_MOUNT_CALL = 429, FSCONFIG_CALL = 431 };
enum { RDONLY = 1, NOSUID = 2, NODEV = 4, NOEXEC = 8, ATIME = 0x70, NOATIME = 0x10, STRICTATIME = 0x20, NODIRATIME = 0x80 };
enum { RECURSIVE = 0x8000, CLONE = 1 };
enum { SET_FLAG = 0, SET_STRING = 1, CMD_CREATE = 6, CMD_RECONFIGURE = 7 };

struct attributes {
	uint64_t set, clear, propagation, userns;
};

static int change(const char *path, unsigned flags, struct attributes attributes)
{
	return syscall(MOUNT_SETATTR, AT_FDCWD, path, flags, &attributes, sizeof attributes);
}

/* A fresh file system as the working directory, which nobody else hears of, with two more on it. */
static void own_tree(void)
{
	enter_own_file_system();
	SUCCEEDS(mkdir("a", 0700));
	SUCCEEDS(mkdir("b", 0700));
	SUCCEEDS(mount("a", "a", "tmpfs", 0, NULL));
	SUCCEEDS(mkdir("a/in", 0700));
	SUCCEEDS(mount("in", "a/in", "tmpfs", 0, NULL));
}

static unsigned long flags_of(const char *path)
{
	struct statvfs status;
	SUCCEEDS(statvfs(path, &status));
	return status.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC | ST_NOATIME | ST_NODIRATIME | ST_RELATIME);
}

/* The fields of a line of mountinfo after the mount point, for a path beneath the scratch directory. */
static const char *line_of(const char *name)
{
	static char text[1 << 16], place[128];
	int file = SUCCEEDS(open("/proc/self/mountinfo", O_RDONLY));
	size_t length = 0;
	for (ssize_t n; (n = SUCCEEDS(read(file, text + length, sizeof text - length - 1))) > 0;)
		length += n;
	text[length] = 0;
	close(file);
	snprintf(place, sizeof place, " %s/%s ", scratch_path, name);
	char *at = strstr(text, place);
	CHECK(at);
	at += strlen(place);
	at[strcspn(at, "\n")] = 0;
	return at;
}

/* Linux has it from 6.15 on. */
static bool has_open_tree_attr(void)
{
	return syscall(OPEN_TREE_ATTR, -1, NULL, 0, NULL, 1) == -1 && errno != ENOSYS;
}

TEST(set_and_clear)
{
	own_tree();
	EQUALS(flags_of("a"), ST_RELATIME);
	SUCCEEDS(change("a", 0, (struct attributes){.set = NOSUID | NODEV | RDONLY}));
	EQUALS(flags_of("a"), ST_RELATIME | ST_NOSUID | ST_NODEV | ST_RDONLY);
	EQUALS(flags_of("a/in"), ST_RELATIME);
	FAILS(open("a/file", O_WRONLY | O_CREAT, 0600), EROFS);
	SUCCEEDS(change("a", 0, (struct attributes){.set = NOEXEC, .clear = NOSUID | RDONLY}));
	EQUALS(flags_of("a"), ST_RELATIME | ST_NODEV | ST_NOEXEC);
	/* What is in both is set. */
	SUCCEEDS(change("a", 0, (struct attributes){.set = NODEV, .clear = NODEV | NOEXEC}));
	EQUALS(flags_of("a"), ST_RELATIME | ST_NODEV);
	SUCCEEDS(change("a", 0, (struct attributes){.set = NODIRATIME}));
	EQUALS(flags_of("a"), ST_RELATIME | ST_NODEV | ST_NODIRATIME);
}

TEST(access_times_are_one_of_three)
{
	own_tree();
	FAILS(change("a", 0, (struct attributes){.set = NOATIME}), EINVAL);
	FAILS(change("a", 0, (struct attributes){.set = NOATIME, .clear = NOATIME}), EINVAL);
	FAILS(change("a", 0, (struct attributes){.set = NOATIME | STRICTATIME, .clear = ATIME}), EINVAL);
	SUCCEEDS(change("a", 0, (struct attributes){.set = NOATIME, .clear = ATIME}));
	EQUALS(flags_of("a"), ST_NOATIME);
	SUCCEEDS(change("a", 0, (struct attributes){.set = STRICTATIME, .clear = ATIME}));
	EQUALS(flags_of("a"), 0);
	SUCCEEDS(change("a", 0, (struct attributes){.clear = ATIME}));
	EQUALS(flags_of("a"), ST_RELATIME);
}

TEST(everything_beneath)
{
	own_tree();
	SUCCEEDS(change("a", RECURSIVE, (struct attributes){.set = RDONLY}));
	EQUALS(flags_of("a"), ST_RELATIME | ST_RDONLY);
	EQUALS(flags_of("a/in"), ST_RELATIME | ST_RDONLY);
	EQUALS(flags_of("."), ST_RELATIME);
	SUCCEEDS(change("a", RECURSIVE, (struct attributes){.clear = RDONLY, .propagation = MS_SHARED}));
	CHECK(strstr(line_of("a"), "shared:"));
	CHECK(strstr(line_of("a/in"), "shared:"));
	SUCCEEDS(change("a", 0, (struct attributes){.propagation = MS_PRIVATE}));
	CHECK(!strstr(line_of("a"), "shared:"));
	CHECK(strstr(line_of("a/in"), "shared:"));
	FAILS(change("a", 0, (struct attributes){.propagation = MS_PRIVATE | MS_SHARED}), EINVAL);
	FAILS(change("a", 0, (struct attributes){.propagation = MS_REC}), EINVAL);
}

TEST(refusals_of_mount_setattr)
{
	own_tree();
	struct attributes set = {.set = RDONLY};
	FAILS(change("a", 0x10, set), EINVAL);
	FAILS(change("missing", 0, set), ENOENT);
	SUCCEEDS(mkdir("a/plain", 0700));
	FAILS(change("a/plain", 0, set), EINVAL);
	FAILS(change("b", 0, set), EINVAL);
	FAILS(change("a", 0, (struct attributes){.set = 0x40000000}), EINVAL);
	FAILS(change("a", 0, (struct attributes){.clear = 0x100}), EINVAL);
	/* Nothing to do is done before anything is looked for. */
	SUCCEEDS(change("missing", 0, (struct attributes){0}));
	FAILS(syscall(MOUNT_SETATTR, AT_FDCWD, "a", 0, &set, 8), EINVAL);
	FAILS(syscall(MOUNT_SETATTR, AT_FDCWD, "a", 0, &set, 5000), E2BIG);
	FAILS(syscall(MOUNT_SETATTR, AT_FDCWD, "a", 0, NULL, 32), EFAULT);
	struct { struct attributes known; uint64_t more; } longer = {set, 1};
	FAILS(syscall(MOUNT_SETATTR, AT_FDCWD, "a", 0, &longer, sizeof longer), E2BIG);
	longer.more = 0;
	SUCCEEDS(syscall(MOUNT_SETATTR, AT_FDCWD, "a", 0, &longer, sizeof longer));
	EQUALS(flags_of("a"), ST_RELATIME | ST_RDONLY);
}

TEST(not_while_somebody_writes)
{
	own_tree();
	int file = SUCCEEDS(open("a/file", O_WRONLY | O_CREAT, 0600));
	FAILS(change("a", 0, (struct attributes){.set = RDONLY}), EBUSY);
	FAILS(mount(NULL, "a", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), EBUSY);
	FAILS(change(".", RECURSIVE, (struct attributes){.set = RDONLY}), EBUSY);
	EQUALS(flags_of("."), ST_RELATIME);
	SUCCEEDS(change("a", 0, (struct attributes){.set = NOEXEC}));
	SUCCEEDS(close(file));
	SUCCEEDS(change("a", 0, (struct attributes){.set = RDONLY}));
}

TEST(ordinary_user_may_not)
{
	scratch();
	become_ordinary();
	struct attributes set = {.set = RDONLY};
	FAILS(change("/", 0, set), EPERM);
	FAILS(change("/", 0, (struct attributes){0}), EPERM);
	FAILS(change("/", 0x10, set), EINVAL);
	FAILS(syscall(FSPICK, AT_FDCWD, "/", 0), EPERM);
	if (has_open_tree_attr())
		FAILS(syscall(OPEN_TREE_ATTR, AT_FDCWD, "/", 0, &set, sizeof set), EPERM);
}

TEST(what_was_handed_down_stays)
{
	own_tree();
	SUCCEEDS(change("a", 0, (struct attributes){.set = RDONLY | NOSUID}));
	enter_namespaces(CLONE_NEWNS);
	FAILS(change("a", 0, (struct attributes){.clear = RDONLY}), EPERM);
	FAILS(change("a", 0, (struct attributes){.set = NOATIME, .clear = ATIME}), EPERM);
	SUCCEEDS(change("a", 0, (struct attributes){.set = NODEV}));
	EQUALS(flags_of("a"), ST_RELATIME | ST_RDONLY | ST_NOSUID | ST_NODEV);
}

TEST(open_a_tree_with_attributes)
{
	if (!has_open_tree_attr())
		SKIP("no open_tree_attr here");
	own_tree();
	struct attributes set = {.set = RDONLY | NODEV};
	FAILS(syscall(OPEN_TREE_ATTR, AT_FDCWD, "a", CLONE, NULL, 32), EINVAL);
	int tree = SUCCEEDS(syscall(OPEN_TREE_ATTR, AT_FDCWD, "a", CLONE | RECURSIVE, &set, sizeof set));
	SUCCEEDS(syscall(MOVE_MOUNT_CALL, tree, "", AT_FDCWD, "b", 4));
	EQUALS(flags_of("b"), ST_RELATIME | ST_RDONLY | ST_NODEV);
	EQUALS(flags_of("b/in"), ST_RELATIME | ST_RDONLY | ST_NODEV);
	EQUALS(flags_of("a"), ST_RELATIME);
	/* A copy that is at no place yet can be changed too. */
	tree = SUCCEEDS(syscall(OPEN_TREE_CALL, AT_FDCWD, "a", CLONE));
	SUCCEEDS(syscall(MOUNT_SETATTR, tree, "", AT_EMPTY_PATH, &set, sizeof set));
	struct statvfs status;
	SUCCEEDS(fstatvfs(tree, &status));
	CHECK(status.f_flag & ST_RDONLY);
	/* Without a copy, the mount itself. */
	SUCCEEDS(close(SUCCEEDS(syscall(OPEN_TREE_ATTR, AT_FDCWD, "a", 0, &set, sizeof set))));
	EQUALS(flags_of("a"), ST_RELATIME | ST_RDONLY | ST_NODEV);
	SUCCEEDS(close(SUCCEEDS(syscall(OPEN_TREE_ATTR, AT_FDCWD, "b", 0, NULL, 0))));
}

static int configure(int context, int command, const char *key, const char *value)
{
	return syscall(FSCONFIG_CALL, context, command, key, value, 0);
}

TEST(pick_and_reconfigure)
{
	own_tree();
	FAILS(syscall(FSPICK, AT_FDCWD, "a", 0x10), EINVAL);
	FAILS(syscall(FSPICK, AT_FDCWD, "b", 0), EINVAL);
	FAILS(syscall(FSPICK, AT_FDCWD, "missing", 0), ENOENT);
	SUCCEEDS(mount("a", "b", NULL, MS_BIND, NULL));
	int context = SUCCEEDS(syscall(FSPICK, AT_FDCWD, "a", 1));
	CHECK(fcntl(context, F_GETFD) & FD_CLOEXEC);
	FAILS(configure(context, CMD_CREATE, NULL, NULL), EBUSY);
	SUCCEEDS(configure(context, SET_STRING, "size", "64k"));
	SUCCEEDS(configure(context, SET_FLAG, "ro", NULL));
	SUCCEEDS(configure(context, CMD_RECONFIGURE, NULL, NULL));
	/* The file system itself: all its mounts. */
	FAILS(open("a/file", O_WRONLY | O_CREAT, 0600), EROFS);
	FAILS(open("b/file", O_WRONLY | O_CREAT, 0600), EROFS);
	CHECK(strncmp(line_of("a"), "rw", 2) == 0);
	CHECK(strstr(line_of("a"), " ro,size=64k"));
	SUCCEEDS(configure(context, SET_FLAG, "rw", NULL));
	SUCCEEDS(configure(context, CMD_RECONFIGURE, NULL, NULL));
	SUCCEEDS(close(SUCCEEDS(open("b/file", O_WRONLY | O_CREAT, 0600))));
	struct statvfs status;
	SUCCEEDS(statvfs("a", &status));
	EQUALS(status.f_blocks * status.f_bsize, 65536);
	context = SUCCEEDS(syscall(FSPICK, AT_FDCWD, "a", 0));
	CHECK(!(fcntl(context, F_GETFD) & FD_CLOEXEC));
	FAILS(configure(context, SET_STRING, "nonsense", "1"), EINVAL);
}

TEST(remount_is_of_the_file_system)
{
	own_tree();
	SUCCEEDS(mount("a", "b", NULL, MS_BIND, NULL));
	SUCCEEDS(mount(NULL, "a", NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID, NULL));
	CHECK(strncmp(line_of("a"), "ro,nosuid", 9) == 0);
	CHECK(strstr(line_of("a"), " - tmpfs a ro"));
	CHECK(strncmp(line_of("b"), "rw,relatime", 11) == 0);
	FAILS(open("b/file", O_WRONLY | O_CREAT, 0600), EROFS);
	CHECK(flags_of("b") & ST_RDONLY);
	SUCCEEDS(mount(NULL, "a", NULL, MS_REMOUNT, NULL));
	int file = SUCCEEDS(open("b/file", O_WRONLY | O_CREAT, 0600));
	FAILS(mount(NULL, "a", NULL, MS_REMOUNT | MS_RDONLY, NULL), EBUSY);
	SUCCEEDS(close(file));
	/* Of the mount alone. */
	SUCCEEDS(mount(NULL, "a", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL));
	SUCCEEDS(close(SUCCEEDS(open("b/file", O_WRONLY))));
	FAILS(open("a/file", O_WRONLY), EROFS);
}
