/* rename(2), renameat2(2). */
#include "files.h"

#ifndef RENAME_WHITEOUT
#define RENAME_WHITEOUT 4
#endif

static void prepare(void)
{
	scratch();
	make_file("a", "text of a");
	make_file("b", "text of b");
	SUCCEEDS(mkdir("directory", 0755));
	SUCCEEDS(mkdir("empty", 0755));
	make_file("directory/inner", "inner");
}

static ino_t inode_of(const char *path)
{
	struct stat status;
	SUCCEEDS(lstat(path, &status));
	return status.st_ino;
}

TEST(to_a_new_name)
{
	prepare();
	ino_t inode = inode_of("a");
	SUCCEEDS(rename("a", "new"));
	CHECK(!exists("a"));
	EQUALS(inode_of("new"), inode);
	SUCCEEDS(rename("new", "directory/moved"));
	SAME_TEXT(text_of("directory/moved"), "text of a");
}

TEST(over_a_file)
{
	prepare();
	int old = SUCCEEDS(open("b", O_RDONLY));
	SUCCEEDS(rename("a", "b"));
	SAME_TEXT(text_of("b"), "text of a");
	char text[16] = "";
	EQUALS(read(old, text, sizeof text), 9);
	SAME_TEXT(text, "text of b");
	struct stat status;
	SUCCEEDS(fstat(old, &status));
	EQUALS(status.st_nlink, 0);
}

TEST(to_the_same_file)
{
	prepare();
	SUCCEEDS(rename("a", "a"));
	SUCCEEDS(link("a", "second"));
	SUCCEEDS(rename("a", "second"));
	CHECK(exists("a") && exists("second"));
}

TEST(directories)
{
	prepare();
	SUCCEEDS(rename("directory", "empty"));
	SAME_TEXT(text_of("empty/inner"), "inner");
	CHECK(!exists("directory"));
	SUCCEEDS(mkdir("other", 0755));
	SUCCEEDS(rename("empty", "other/sub"));
	struct stat parent, up;
	SUCCEEDS(stat("other", &parent));
	SUCCEEDS(stat("other/sub/..", &up));
	EQUALS(parent.st_ino, up.st_ino);
	EQUALS(parent.st_nlink, 3);
	SUCCEEDS(rename("other/", "again/"));
}

TEST(refusals)
{
	prepare();
	FAILS(rename("absent", "new"), ENOENT);
	FAILS(rename("a", "absent/new"), ENOENT);
	FAILS(rename("a", "b/new"), ENOTDIR);
	FAILS(rename("a/x", "new"), ENOTDIR);
	FAILS(rename("a", "directory"), EISDIR);
	FAILS(rename("directory", "a"), ENOTDIR);
	FAILS(rename("empty", "directory"), ENOTEMPTY);
	FAILS(rename("directory", "directory/sub"), EINVAL);
	FAILS(rename("directory", "directory/inner/x"), ENOTDIR);
	FAILS(rename("directory/inner", "directory"), ENOTEMPTY);
	FAILS(rename("a", "new/"), ENOTDIR);
	FAILS(rename("a/", "new"), ENOTDIR);
	FAILS(rename(".", "new"), EBUSY);
	FAILS(rename("a", "."), EBUSY);
	FAILS(rename("..", "new"), EBUSY);
	FAILS(rename("", "new"), ENOENT);
	FAILS(rename("a", "/proc/new"), EXDEV);
	FAILS(rename(BAD_POINTER, "new"), EFAULT);
	FAILS(renameat(9999, "a", AT_FDCWD, "new"), EBADF);
}

TEST(symbolic_links_are_not_followed)
{
	prepare();
	SUCCEEDS(symlink("a", "link"));
	SUCCEEDS(rename("link", "renamed"));
	CHECK(exists("a"));
	SUCCEEDS(rename("b", "renamed"));
	SAME_TEXT(text_of("a"), "text of a");
	SAME_TEXT(text_of("renamed"), "text of b");
}

TEST(without_replacing)
{
	prepare();
	FAILS(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE), EEXIST);
	SUCCEEDS(renameat2(AT_FDCWD, "a", AT_FDCWD, "new", RENAME_NOREPLACE));
	CHECK(exists("new") && !exists("a"));
}

TEST(exchange)
{
	prepare();
	SUCCEEDS(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE));
	SAME_TEXT(text_of("a"), "text of b");
	SAME_TEXT(text_of("b"), "text of a");
	SUCCEEDS(renameat2(AT_FDCWD, "a", AT_FDCWD, "directory", RENAME_EXCHANGE));
	SAME_TEXT(text_of("a/inner"), "inner");
	FAILS(renameat2(AT_FDCWD, "a", AT_FDCWD, "absent", RENAME_EXCHANGE), ENOENT);
	FAILS(renameat2(AT_FDCWD, "a", AT_FDCWD, "a/inner", RENAME_EXCHANGE), EINVAL);
	FAILS(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_EXCHANGE | RENAME_NOREPLACE), EINVAL);
	FAILS(renameat2(AT_FDCWD, "a", AT_FDCWD, "b", 0x100), EINVAL);
}

TEST(permission)
{
	prepare();
	SUCCEEDS(chmod("directory", 0555));
	become_ordinary();
	FAILS(rename("directory/inner", "new"), EACCES);
	FAILS(rename("a", "directory/new"), EACCES);
}

TEST(change_time_and_directory_times)
{
	prepare();
	struct stat before, after;
	SUCCEEDS(stat("directory", &before));
	sleep_ms(12);
	SUCCEEDS(rename("a", "directory/a"));
	SUCCEEDS(stat("directory", &after));
	CHECK(after.st_mtim.tv_sec > before.st_mtim.tv_sec || after.st_mtim.tv_nsec > before.st_mtim.tv_nsec);
}

TEST(many_racing_renames)
{
	prepare();
	pid_t children[3];
	for (int i = 0; i < 3; i++) {
		children[i] = FORK();
		if (children[i] == 0) {
			char name[16];
			snprintf(name, sizeof name, "temp%d", i);
			for (int j = 0; j < 50; j++) {
				make_file(name, "complete");
				SUCCEEDS(rename(name, "target"));
				SAME_TEXT(text_of("target"), "complete");
			}
			_exit(0);
		}
	}
	for (int i = 0; i < 3; i++)
		EXITS(children[i], 0);
}
