/* statmount(2), listmount(2): what mounts there are, by numbers that are never used again. */
#include "namespaces.h"
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

enum { STATMOUNT = 457, LISTMOUNT = 458, REVERSE = 1 };
enum {
	SB_BASIC = 1, MNT_BASIC = 2, PROPAGATE_FROM = 4, MNT_ROOT = 8, MNT_POINT = 0x10, FS_TYPE = 0x20, MNT_NS_ID = 0x40, MNT_OPTS = 0x80,
	FS_SUBTYPE = 0x100, SB_SOURCE = 0x200, OPT_ARRAY = 0x400, SUPPORTED_MASK = 0x1000,
};
enum { UNIQUE = 0x4000, LEAST = 1u << 31 };
static const uint64_t ROOT = ~0ull;

struct request {
	uint32_t size, namespace_fd;
	uint64_t id, param, namespace_id;
};

struct status {
	uint32_t size, options;
	uint64_t mask;
	uint32_t major, minor;
	uint64_t magic;
	uint32_t sb_flags, type;
	uint64_t id, parent;
	uint32_t old_id, old_parent;
	uint64_t attributes, propagation, group, master, propagate_from;
	uint32_t root, place;
	uint64_t namespace_id;
	uint32_t subtype, source, n_options, option_array, n_security, security_array;
	uint64_t supported;
	uint64_t spare[45];
	char text[];
};

static union {
	struct status status;
	char bytes[4096];
} found;

static int ask(struct request request, size_t size)
{
	memset(&found, 0xee, sizeof found);
	return syscall(STATMOUNT, &request, &found, size, 0);
}

static int look(uint64_t id, uint64_t mask)
{
	return ask((struct request){.size = 24, .id = id, .param = mask}, sizeof found);
}

static const char *text(uint32_t offset)
{
	return found.status.text + offset;
}

static uint64_t id_of(const char *path)
{
	struct statx status;
	SUCCEEDS(statx(AT_FDCWD, path, 0, UNIQUE, &status));
	CHECK(status.stx_mask & UNIQUE);
	CHECK(status.stx_mnt_id > LEAST);
	return status.stx_mnt_id;
}

static uint64_t old_id_of(const char *path)
{
	struct statx status;
	SUCCEEDS(statx(AT_FDCWD, path, 0, STATX_MNT_ID, &status));
	CHECK(status.stx_mask & STATX_MNT_ID);
	return status.stx_mnt_id;
}

static void own_tree(void)
{
	EQUALS(sizeof(struct status), 512);
	if (syscall(STATMOUNT, NULL, NULL, 0, 0) < 0 && errno == ENOSYS)
		SKIP("no statmount here");
	enter_own_file_system();
	SUCCEEDS(mkdir("a", 0700));
	SUCCEEDS(mkdir("b c", 0700));
	SUCCEEDS(mount("some source", "a", "tmpfs", MS_NOSUID | MS_NOATIME, "size=64k,mode=755"));
	SUCCEEDS(mkdir("a/in", 0700));
	SUCCEEDS(mount("in", "a/in", "tmpfs", 0, NULL));
	SUCCEEDS(mkdir("a/sub", 0700));
	SUCCEEDS(mount("a/sub", "b c", NULL, MS_BIND, NULL));
}

TEST(basics)
{
	own_tree();
	SUCCEEDS(look(id_of("a"), SB_BASIC | MNT_BASIC | PROPAGATE_FROM));
	EQUALS(found.status.size, 512);
	EQUALS(found.status.mask, SB_BASIC | MNT_BASIC | PROPAGATE_FROM);
	EQUALS(found.status.id, id_of("a"));
	EQUALS(found.status.parent, id_of("."));
	EQUALS(found.status.old_id, old_id_of("a"));
	EQUALS(found.status.old_parent, old_id_of("."));
	EQUALS(found.status.magic, 0x01021994);
	EQUALS(found.status.sb_flags, 0);
	EQUALS(found.status.attributes, 2 | 0x10);
	EQUALS(found.status.propagation, MS_PRIVATE);
	EQUALS(found.status.group, 0);
	EQUALS(found.status.master, 0);
	EQUALS(found.status.propagate_from, 0);
	EQUALS(found.status.type, 0);
	EQUALS(found.status.spare[44], 0);
	struct stat status;
	SUCCEEDS(stat("a", &status));
	EQUALS(found.status.major, major(status.st_dev));
	EQUALS(found.status.minor, minor(status.st_dev));
	SUCCEEDS(look(id_of("a"), 0));
	EQUALS(found.status.mask, 0);
	EQUALS(found.status.size, 512);
	EQUALS(found.status.id, 0);
}

TEST(texts)
{
	own_tree();
	SUCCEEDS(look(id_of("b c"), MNT_ROOT | MNT_POINT | FS_TYPE | FS_SUBTYPE));
	EQUALS(found.status.mask, MNT_ROOT | MNT_POINT | FS_TYPE);
	SAME_TEXT(text(found.status.root), "/sub");
	char expected[100];
	snprintf(expected, sizeof expected, "%s/b c", scratch_path);
	SAME_TEXT(text(found.status.place), expected);
	SAME_TEXT(text(found.status.type), "tmpfs");
	/* What is not there is empty. */
	EQUALS(found.status.subtype, 0);
	SAME_TEXT(text(0), "");
	EQUALS(found.status.size, 512 + 1 + strlen("/sub") + 1 + strlen(expected) + 1 + strlen("tmpfs") + 1);
	/* One byte too few. */
	struct request request = {.size = 24, .id = id_of("b c"), .param = FS_TYPE};
	FAILS(ask(request, 512 + 6), EOVERFLOW);
	FAILS(ask(request, 512), EOVERFLOW);
	SUCCEEDS(ask(request, 512 + 8));
}

TEST(options_and_source)
{
	own_tree();
	SUCCEEDS(look(id_of("a"), SUPPORTED_MASK));
	if (!(found.status.mask & SUPPORTED_MASK))
		SKIP("this Linux does not say what it can");
	SUCCEEDS(look(id_of("a"), MNT_OPTS | SB_SOURCE | OPT_ARRAY));
	EQUALS(found.status.mask, MNT_OPTS | SB_SOURCE | OPT_ARRAY);
	SAME_TEXT(text(found.status.source), "some source");
	CHECK(strncmp(text(found.status.options), "size=64k", 8) == 0);
	CHECK(strstr(text(found.status.options), "mode=755"));
	CHECK(found.status.n_options >= 2);
	SAME_TEXT(text(found.status.option_array), "size=64k");
}

TEST(groups)
{
	own_tree();
	SUCCEEDS(mount(NULL, "a", NULL, MS_SHARED, NULL));
	SUCCEEDS(look(id_of("a"), MNT_BASIC));
	EQUALS(found.status.propagation, MS_SHARED);
	uint64_t group = found.status.group;
	CHECK(group > 0);
	SUCCEEDS(mount("a", "b c", NULL, MS_BIND, NULL));
	SUCCEEDS(mount(NULL, "b c", NULL, MS_SLAVE, NULL));
	SUCCEEDS(look(id_of("b c"), MNT_BASIC | PROPAGATE_FROM));
	EQUALS(found.status.propagation, MS_SLAVE);
	EQUALS(found.status.group, 0);
	EQUALS(found.status.master, group);
	EQUALS(found.status.propagate_from, group);
	SUCCEEDS(mount(NULL, "b c", NULL, MS_UNBINDABLE, NULL));
	SUCCEEDS(look(id_of("b c"), MNT_BASIC));
	EQUALS(found.status.propagation, MS_UNBINDABLE);
}

TEST(refusals_of_statmount)
{
	own_tree();
	struct request request = {.size = 24, .id = id_of("a"), .param = MNT_BASIC};
	FAILS(syscall(STATMOUNT, &request, &found, sizeof found, 1), EINVAL);
	FAILS(syscall(STATMOUNT, NULL, &found, sizeof found, 0), EFAULT);
	FAILS(syscall(STATMOUNT, &request, NULL, 512, 0), EFAULT);
	request.size = 23;
	FAILS(ask(request, sizeof found), EINVAL);
	request.size = 5000;
	FAILS(ask(request, sizeof found), E2BIG);
	request = (struct request){.size = 24, .id = old_id_of("a")};
	FAILS(ask(request, sizeof found), EINVAL);
	FAILS(look(id_of("a") + 1000000, MNT_BASIC), ENOENT);
	uint64_t old = id_of("a/in");
	SUCCEEDS(umount("a/in"));
	FAILS(look(old, MNT_BASIC), ENOENT);
	/* As much as there is room for. */
	request = (struct request){.size = 24, .id = id_of("a"), .param = MNT_BASIC};
	SUCCEEDS(ask(request, 16));
	EQUALS(found.status.size, 16);
	EQUALS(found.status.mask, MNT_BASIC);
	EQUALS(found.status.major, 0xeeeeeeee);
}

static long list(uint64_t id, uint64_t after, uint64_t *ids, size_t n, unsigned flags)
{
	struct request request = {.size = 24, .id = id, .param = after};
	return syscall(LISTMOUNT, &request, ids, n, flags);
}

TEST(lists)
{
	own_tree();
	uint64_t ids[1000], here[10];
	long n = SUCCEEDS(list(ROOT, 0, ids, 1000, 0));
	CHECK(n >= 5);
	for (long i = 1; i < n; i++)
		CHECK(ids[i] > ids[i - 1]);
	EQUALS(ids[n - 1], id_of("b c"));
	EQUALS(ids[n - 2], id_of("a/in"));
	EQUALS(ids[n - 3], id_of("a"));
	EQUALS(ids[n - 4], id_of("."));
	uint64_t first;
	EQUALS(list(ROOT, 0, &first, 1, 0), 1);
	EQUALS(first, ids[0]);
	EQUALS(list(ROOT, ids[0], &first, 1, 0), 1);
	EQUALS(first, ids[1]);
	EQUALS(list(ROOT, ids[n - 1], &first, 1, 0), 0);
	/* Beneath one, without itself. */
	EQUALS(list(id_of("."), 0, here, 10, 0), 3);
	EQUALS(here[0], id_of("a"));
	EQUALS(here[1], id_of("a/in"));
	EQUALS(here[2], id_of("b c"));
	EQUALS(list(id_of("a"), 0, here, 10, 0), 1);
	EQUALS(here[0], id_of("a/in"));
	EQUALS(list(id_of("a/in"), 0, here, 10, 0), 0);
}

TEST(lists_backwards)
{
	own_tree();
	uint64_t here[10];
	if (list(ROOT, 0, here, 1, REVERSE) < 0 && errno == EINVAL)
		SKIP("this Linux lists only forwards");
	EQUALS(list(id_of("."), 0, here, 10, REVERSE), 3);
	EQUALS(here[0], id_of("b c"));
	EQUALS(here[2], id_of("a"));
	EQUALS(list(id_of("."), id_of("b c"), here, 1, REVERSE), 1);
	EQUALS(here[0], id_of("a/in"));
}

TEST(refusals_of_listmount)
{
	own_tree();
	uint64_t ids[10];
	FAILS(list(ROOT, 0, ids, 10, 2), EINVAL);
	FAILS(list(ROOT, 5, ids, 10, 0), EINVAL);
	FAILS(list(5, 0, ids, 10, 0), EINVAL);
	FAILS(list(ROOT, 0, ids, 1000001, 0), EOVERFLOW);
	FAILS(list(id_of("a") + 1000000, 0, ids, 10, 0), ENOENT);
	EQUALS(list(ROOT, 0, ids, 0, 0), 0);
}

TEST(other_namespaces)
{
	own_tree();
	SUCCEEDS(look(id_of("a"), MNT_NS_ID));
	if (!(found.status.mask & MNT_NS_ID))
		SKIP("this Linux does not number namespaces");
	uint64_t number = found.status.namespace_id;
	struct request request = {.size = 32, .id = id_of("a"), .param = MNT_BASIC, .namespace_id = number};
	SUCCEEDS(ask(request, sizeof found));
	EQUALS(found.status.id, request.id);
	uint64_t ids[10];
	SUCCEEDS(unshare(CLONE_NEWNS));
	CHECK(id_of("a") != request.id);
	FAILS(look(request.id, MNT_BASIC), ENOENT);
	request.namespace_id = number + 100000;
	FAILS(ask(request, sizeof found), ENOENT);
	request.param = 0;
	FAILS(syscall(LISTMOUNT, &request, ids, 10, 0), ENOENT);
}

TEST(whoever_has_another_root)
{
	own_tree();
	uint64_t above = id_of("."), here = id_of("a"), beneath = id_of("a/in");
	SUCCEEDS(chroot("a"));
	SUCCEEDS(chdir("/"));
	uint64_t ids[10];
	EQUALS(list(ROOT, 0, ids, 10, 0), 2);
	EQUALS(ids[0], here);
	EQUALS(ids[1], beneath);
	SUCCEEDS(look(beneath, MNT_POINT));
	SAME_TEXT(text(found.status.place), "/in");
	/* Its administrator sees it all the same, but at no place. */
	SUCCEEDS(look(above, MNT_POINT | MNT_BASIC));
	EQUALS(found.status.mask, MNT_BASIC);
}
