/* Paths that were used before lead elsewhere, or nowhere, once a directory on the way has changed. */
#include "files.h"
#include <sched.h>
#include <sys/mount.h>

#define FILE_NAME "top/middle/low/file"

static char absolute[PATH_MAX];

static void prepare(void)
{
	scratch();
	SUCCEEDS(mkdir("top", 0755));
	SUCCEEDS(mkdir("top/middle", 0755));
	SUCCEEDS(mkdir("top/middle/low", 0755));
	make_file(FILE_NAME, "old");
	CHECK(getcwd(absolute, sizeof absolute - sizeof "/" FILE_NAME));
	strcat(absolute, "/" FILE_NAME);
}

/* Whether a path leads to a file of this size, asked by opening it: that always goes the whole way. */
static int leads_to(const char *path, off_t size)
{
	struct stat status;
	int file = open(path, O_RDONLY);
	if (file < 0)
		return 0;
	SUCCEEDS(fstat(file, &status));
	SUCCEEDS(close(file));
	return status.st_size == size;
}

/* Uses both paths often enough that whoever remembers ways knows these, and makes files meanwhile. */
static void learn(off_t size)
{
	char path[64];
	for (int i = 0; i < 8; i++) {
		CHECK(leads_to(FILE_NAME, size));
		CHECK(leads_to(absolute, size));
		snprintf(path, sizeof path, "top/middle/low/new%d", i);
		make_file(path, "");
		SUCCEEDS(unlink(path));
	}
}

TEST(a_directory_is_renamed)
{
	prepare();
	learn(3);
	SUCCEEDS(rename("top/middle", "top/other"));
	FAILS(open(FILE_NAME, O_RDONLY), ENOENT);
	FAILS(open(absolute, O_RDONLY), ENOENT);
	CHECK(leads_to("top/other/low/file", 3));
	SUCCEEDS(rename("top/other", "top/middle"));
	learn(3);
}

TEST(directories_change_places)
{
	prepare();
	SUCCEEDS(mkdir("top/second", 0755));
	SUCCEEDS(mkdir("top/second/low", 0755));
	make_file("top/second/low/file", "other");
	learn(3);
	SUCCEEDS(renameat2(AT_FDCWD, "top/middle", AT_FDCWD, "top/second", RENAME_EXCHANGE));
	learn(5);
	CHECK(leads_to("top/second/low/file", 3));
}

TEST(a_directory_is_removed_and_made_again)
{
	prepare();
	learn(3);
	SUCCEEDS(unlink(FILE_NAME));
	SUCCEEDS(rmdir("top/middle/low"));
	FAILS(open(FILE_NAME, O_RDONLY), ENOENT);
	make_file("top/middle/low", "");
	FAILS(open(FILE_NAME, O_RDONLY), ENOTDIR);
	FAILS(open(absolute, O_RDONLY), ENOTDIR);
	SUCCEEDS(unlink("top/middle/low"));
	SUCCEEDS(mkdir("top/middle/low", 0755));
	make_file(FILE_NAME, "longer");
	learn(6);
}

TEST(a_directory_becomes_a_link)
{
	prepare();
	SUCCEEDS(mkdir("other", 0755));
	make_file("other/file", "another");
	learn(3);
	SUCCEEDS(rename("top/middle/low", "top/middle/away"));
	SUCCEEDS(symlink("../../other", "top/middle/low"));
	learn(7);
	SUCCEEDS(unlink("top/middle/low"));
	SUCCEEDS(symlink("away", "top/middle/low"));
	learn(3);
}

TEST(the_working_directory_changes)
{
	prepare();
	SUCCEEDS(mkdir("elsewhere", 0755));
	SUCCEEDS(mkdir("elsewhere/top", 0755));
	SUCCEEDS(mkdir("elsewhere/top/middle", 0755));
	SUCCEEDS(mkdir("elsewhere/top/middle/low", 0755));
	make_file("elsewhere/" FILE_NAME, "four");
	learn(3);
	SUCCEEDS(chdir("elsewhere"));
	CHECK(leads_to(FILE_NAME, 4));
	CHECK(leads_to(absolute, 3));
	SUCCEEDS(chdir(".."));
	learn(3);
	int directory = open("elsewhere", O_PATH | O_DIRECTORY);
	CHECK(directory >= 0);
	SUCCEEDS(faccessat(directory, FILE_NAME, R_OK, 0));
	SUCCEEDS(unlink("elsewhere/" FILE_NAME));
	FAILS(faccessat(directory, FILE_NAME, R_OK, 0), ENOENT);
	learn(3);
}

TEST(rights_are_taken_away)
{
	prepare();
	if (geteuid() == 0) {
		SUCCEEDS(chown("top/middle", 1000, 1000));
		SUCCEEDS(chmod(".", 0755));
	}
	pid_t child = FORK();
	if (child == 0) {
		if (geteuid() == 0)
			SUCCEEDS(setresuid(1000, 1000, 1000));
		for (int i = 0; i < 4; i++)
			CHECK(leads_to(absolute, 3));
		SUCCEEDS(chmod("top/middle", 0600));
		FAILS(open(absolute, O_RDONLY), EACCES);
		FAILS(open(FILE_NAME, O_RDONLY), EACCES);
		SUCCEEDS(chmod("top/middle", 0700));
		CHECK(leads_to(absolute, 3));
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(something_is_mounted_on_the_way)
{
	prepare();
	learn(3);
	if (unshare(CLONE_NEWNS) != 0)
		SKIP("no mounts of one's own");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		SKIP("no private mounts");
	learn(3);
	SUCCEEDS(mount("none", "top/middle", "tmpfs", 0, NULL));
	FAILS(open(FILE_NAME, O_RDONLY), ENOENT);
	FAILS(open(absolute, O_RDONLY), ENOENT);
	SUCCEEDS(mkdir("top/middle/low", 0755));
	make_file(FILE_NAME, "hides");
	learn(5);
	SUCCEEDS(umount("top/middle"));
	learn(3);
}
