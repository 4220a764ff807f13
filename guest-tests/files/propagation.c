/* Mounts in a namespace of one's own: who hears of what is mounted where (mount_namespaces(7)). */
#include "namespaces.h"
#include <sys/mount.h>

/* A fresh file system as the working directory, which nobody else hears of. */
static void own_tree(void)
{
	enter_own_file_system();
	SUCCEEDS(mkdir("a", 0700));
	SUCCEEDS(mkdir("b", 0700));
	SUCCEEDS(mount("a", "a", "tmpfs", 0, NULL));
	SUCCEEDS(mkdir("a/in", 0700));
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

TEST(peers_see_what_is_mounted)
{
	own_tree();
	SUCCEEDS(mount(NULL, "a", NULL, MS_SHARED, NULL));
	SUCCEEDS(mount("a", "b", NULL, MS_BIND, NULL));
	SUCCEEDS(mount("x", "b/in", "tmpfs", 0, NULL));
	make_file("b/in/file", "");
	CHECK(is_there("a/in/file"));
	SUCCEEDS(umount("a/in"));
	CHECK(!is_there("b/in/file"));
}

TEST(slaves_only_listen)
{
	own_tree();
	SUCCEEDS(mount(NULL, "a", NULL, MS_SHARED, NULL));
	SUCCEEDS(mount("a", "b", NULL, MS_BIND, NULL));
	SUCCEEDS(mount(NULL, "b", NULL, MS_SLAVE, NULL));
	SUCCEEDS(mount("x", "a/in", "tmpfs", 0, NULL));
	make_file("a/in/file", "");
	CHECK(is_there("b/in/file"));
	SUCCEEDS(mkdir("a/other", 0700));
	SUCCEEDS(mount("y", "b/other", "tmpfs", 0, NULL));
	make_file("b/other/file", "");
	CHECK(!is_there("a/other/file"));
}

TEST(private_mounts_keep_to_themselves)
{
	own_tree();
	SUCCEEDS(mount("a", "b", NULL, MS_BIND, NULL));
	SUCCEEDS(mount("x", "a/in", "tmpfs", 0, NULL));
	make_file("a/in/file", "");
	CHECK(!is_there("b/in/file"));
	SUCCEEDS(mount(NULL, "a", NULL, MS_UNBINDABLE, NULL));
	FAILS(mount("a", "b", NULL, MS_BIND, NULL), EINVAL);
	FAILS(mount(NULL, "a", NULL, MS_SHARED | MS_PRIVATE, NULL), EINVAL);
	FAILS(mount(NULL, "a/in/nothing", NULL, MS_SHARED, NULL), ENOENT);
}

TEST(copies_of_a_namespace_listen)
{
	own_tree();
	SUCCEEDS(mount(NULL, "a", NULL, MS_SHARED, NULL));
	int ready[2], go[2];
	SUCCEEDS(pipe(ready));
	SUCCEEDS(pipe(go));
	pid_t child = FORK();
	char byte;
	if (child == 0) {
		SUCCEEDS(unshare(CLONE_NEWNS));
		EQUALS(write(ready[1], "r", 1), 1);
		EQUALS(read(go[0], &byte, 1), 1);
		CHECK(is_there("a/in/file"));
		_exit(0);
	}
	EQUALS(read(ready[0], &byte, 1), 1);
	SUCCEEDS(mount("x", "a/in", "tmpfs", 0, NULL));
	make_file("a/in/file", "");
	EQUALS(write(go[1], "g", 1), 1);
	EXITS(child, 0);
}

TEST(flags_of_those_outside_stay)
{
	own_tree();
	SUCCEEDS(mount(NULL, "a", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOEXEC, NULL));
	SUCCEEDS(unshare(CLONE_NEWUSER | CLONE_NEWNS)); /* fewer rights from here on */
	FAILS(mount(NULL, "a", NULL, MS_REMOUNT | MS_BIND, NULL), EPERM);
	FAILS(umount("a"), EINVAL);
	FAILS(open("a/file", O_CREAT | O_WRONLY, 0600), EROFS);
}

TEST(busy_mounts_stay)
{
	own_tree();
	int file = SUCCEEDS(open("a/in", O_RDONLY | O_DIRECTORY));
	FAILS(umount("a"), EBUSY);
	SUCCEEDS(umount2("a", MNT_DETACH));
	CHECK(!is_there("a/in"));
	SUCCEEDS(faccessat(file, ".", R_OK, 0)); /* those who have it keep it */
}

TEST(another_root)
{
	own_tree();
	SUCCEEDS(mkdir("a/old", 0700));
	FAILS(syscall(SYS_pivot_root, "b", "b"), EINVAL); /* no mount */
	SUCCEEDS(syscall(SYS_pivot_root, "a", "a/old"));
	SUCCEEDS(chdir("/"));
	CHECK(is_there("/in") && is_there("/old/tmp"));
	SUCCEEDS(umount2("/old", MNT_DETACH));
	CHECK(!is_there("/old/tmp"));
}

TEST(a_small_file_system)
{
	own_tree();
	SUCCEEDS(mount("small", "b", "tmpfs", 0, "size=8k,nr_inodes=3,mode=700"));
	struct stat root;
	SUCCEEDS(stat("b", &root));
	EQUALS(root.st_mode & 07777, 0700u);
	char pages[12288] = "";
	int file = SUCCEEDS(open("b/file", O_CREAT | O_WRONLY, 0600));
	EQUALS(write(file, pages, sizeof pages), 8192);
	FAILS(write(file, pages, 1), ENOSPC);
	SUCCEEDS(mkdir("b/one", 0700));
	FAILS(mkdir("b/two", 0700), ENOSPC);
	SUCCEEDS(mount(NULL, "b", NULL, MS_REMOUNT, "size=16k"));
	EQUALS(write(file, pages, 4096), 4096);
	FAILS(mount(NULL, "b", NULL, MS_REMOUNT, "size=4k"), EINVAL);
}
