/* mkdir, rmdir, getdents64, chdir, fchdir, getcwd, chroot; how paths are walked. */
#include "files.h"

static void prepare(void)
{
	scratch();
	make_file("file", "");
	SUCCEEDS(mkdir("directory", 0755));
	SUCCEEDS(symlink("directory", "link"));
	SUCCEEDS(symlink("loop", "loop"));
}

TEST(make)
{
	prepare();
	struct stat status;
	SUCCEEDS(mkdir("new", 0777));
	SUCCEEDS(stat("new", &status));
	EQUALS(status.st_mode, S_IFDIR | 0755);
	SUCCEEDS(mkdir("with-slash/", 0700));
	SUCCEEDS(mkdirat(SUCCEEDS(open("new", O_PATH)), "sub", 01777));
	SUCCEEDS(stat("new/sub", &status));
	EQUALS(status.st_mode, S_IFDIR | 01755);
}

TEST(make_refusals)
{
	prepare();
	FAILS(mkdir("directory", 0755), EEXIST);
	FAILS(mkdir("file", 0755), EEXIST);
	FAILS(mkdir("link", 0755), EEXIST);
	FAILS(mkdir(".", 0755), EEXIST);
	FAILS(mkdir("/", 0755), EEXIST);
	FAILS(mkdir("absent/new", 0755), ENOENT);
	FAILS(mkdir("file/new", 0755), ENOTDIR);
	FAILS(mkdir("loop/new", 0755), ELOOP);
	FAILS(mkdir("", 0755), ENOENT);
	FAILS(mkdir("new/.", 0755), ENOENT);
	FAILS(mkdir(BAD_POINTER, 0755), EFAULT);
	FAILS(mkdirat(9999, "new", 0755), EBADF);
	SUCCEEDS(chmod("directory", 0555));
	become_ordinary();
	FAILS(mkdir("directory/new", 0755), EACCES);
}

TEST(make_through_a_dangling_link)
{
	scratch();
	SUCCEEDS(symlink("target", "dangling"));
	FAILS(mkdir("dangling", 0755), EEXIST);
}

TEST(remove)
{
	prepare();
	SUCCEEDS(rmdir("directory/"));
	CHECK(!exists("directory"));
}

TEST(remove_refusals)
{
	prepare();
	make_file("directory/inner", "");
	FAILS(rmdir("directory"), ENOTEMPTY);
	FAILS(rmdir("file"), ENOTDIR);
	FAILS(rmdir("link"), ENOTDIR);
	FAILS(rmdir("absent"), ENOENT);
	FAILS(rmdir("."), EINVAL);
	FAILS(rmdir("directory/."), EINVAL);
	FAILS(rmdir(".."), ENOTEMPTY);
	FAILS(rmdir("directory/.."), ENOTEMPTY);
	FAILS(rmdir("/"), EBUSY);
	FAILS(rmdir("file/x"), ENOTDIR);
	FAILS(rmdir(""), ENOENT);
}

struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

static int list(int directory, char names[][32], unsigned char *types, int max, size_t buffer_size)
{
	char buffer[4096];
	int n = 0;
	for (long length; (length = SUCCEEDS(syscall(SYS_getdents64, directory, buffer, buffer_size))) > 0;)
		for (long at = 0; at < length;) {
			struct entry *entry = (struct entry *)(buffer + at);
			CHECK(n < max);
			CHECK(entry->inode != 0 && entry->length % 8 == 0);
			types[n] = entry->type;
			strcpy(names[n++], entry->name);
			at += entry->length;
		}
	return n;
}

static int find(char names[][32], int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

TEST(entries)
{
	prepare();
	SUCCEEDS(mkfifo("fifo", 0600));
	char names[16][32];
	unsigned char types[16];
	int directory = SUCCEEDS(open(".", O_RDONLY | O_DIRECTORY));
	int n = list(directory, names, types, 16, 4096);
	EQUALS(n, 7);
	EQUALS(types[find(names, n, ".")], DT_DIR);
	EQUALS(types[find(names, n, "..")], DT_DIR);
	EQUALS(types[find(names, n, "file")], DT_REG);
	EQUALS(types[find(names, n, "directory")], DT_DIR);
	EQUALS(types[find(names, n, "link")], DT_LNK);
	EQUALS(types[find(names, n, "fifo")], DT_FIFO);
	SUCCEEDS(lseek(directory, 0, SEEK_SET));
	EQUALS(list(directory, names, types, 16, 64), 7);
}

TEST(entry_refusals)
{
	prepare();
	char buffer[64];
	int directory = SUCCEEDS(open(".", O_RDONLY)), file = SUCCEEDS(open("file", O_RDONLY));
	FAILS(syscall(SYS_getdents64, directory, buffer, 8), EINVAL);
	FAILS(syscall(SYS_getdents64, file, buffer, 64), ENOTDIR);
	FAILS(syscall(SYS_getdents64, 9999, buffer, 64), EBADF);
	FAILS(syscall(SYS_getdents64, directory, BAD_POINTER, 4096), EFAULT);
	int removed = SUCCEEDS(open("directory", O_RDONLY));
	SUCCEEDS(rmdir("directory"));
	FAILS(syscall(SYS_getdents64, removed, buffer, 64), ENOENT);
}

TEST(a_thousand_entries_while_removing)
{
	scratch();
	char name[16];
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "%d", i);
		SUCCEEDS(mknod(name, S_IFREG | 0600, 0));
	}
	DIR *directory = opendir(".");
	int n = 0;
	for (struct dirent *entry; (entry = readdir(directory));)
		if (entry->d_name[0] != '.') {
			SUCCEEDS(unlink(entry->d_name));
			n++;
		}
	closedir(directory);
	EQUALS(n, 1000);
}

TEST(offsets_lead_back)
{
	scratch();
	char name[16];
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "%d", i);
		make_file(name, "");
	}
	DIR *directory = opendir(".");
	for (int i = 0; i < 20; i++)
		CHECK(readdir(directory));
	long place = telldir(directory);
	strcpy(name, readdir(directory)->d_name);
	while (readdir(directory))
		;
	seekdir(directory, place);
	SAME_TEXT(readdir(directory)->d_name, name);
	closedir(directory);
}

TEST(working_directory)
{
	prepare();
	char path[PATH_MAX], expected[PATH_MAX];
	SAME_TEXT(getcwd(path, sizeof path), scratch_path);
	SUCCEEDS(chdir("link"));
	snprintf(expected, sizeof expected, "%s/directory", scratch_path);
	SAME_TEXT(getcwd(path, sizeof path), expected);
	EQUALS(syscall(SYS_getcwd, path, sizeof path), strlen(expected) + 1);
	SUCCEEDS(chdir(".."));
	SUCCEEDS(fchdir(SUCCEEDS(open("directory", O_PATH))));
	SAME_TEXT(getcwd(path, sizeof path), expected);
	FAILS(syscall(SYS_getcwd, path, 3), ERANGE);
	FAILS(syscall(SYS_getcwd, BAD_POINTER, 4096), EFAULT);
}

TEST(working_directory_refusals)
{
	prepare();
	FAILS(chdir("file"), ENOTDIR);
	FAILS(chdir("absent"), ENOENT);
	FAILS(chdir("loop"), ELOOP);
	FAILS(chdir(""), ENOENT);
	FAILS(fchdir(SUCCEEDS(open("file", O_RDONLY))), ENOTDIR);
	FAILS(fchdir(9999), EBADF);
	SUCCEEDS(chmod("directory", 0600));
	if (geteuid() != 0)
		FAILS(chdir("directory"), EACCES);
}

TEST(removed_working_directory)
{
	prepare();
	char path[PATH_MAX];
	SUCCEEDS(chdir("directory"));
	SUCCEEDS(rmdir("../directory"));
	FAILS(syscall(SYS_getcwd, path, sizeof path), ENOENT);
	FAILS(open("new", O_WRONLY | O_CREAT, 0600), ENOENT);
	FAILS(mkdir("new", 0755), ENOENT);
	struct stat status;
	SUCCEEDS(stat(".", &status));
	EQUALS(status.st_nlink, 0);
	SUCCEEDS(chdir(".."));
	SAME_TEXT(getcwd(path, sizeof path), scratch_path);
}

TEST(moved_working_directory)
{
	prepare();
	char path[PATH_MAX], expected[PATH_MAX];
	SUCCEEDS(chdir("directory"));
	SUCCEEDS(rename("../directory", "../moved"));
	snprintf(expected, sizeof expected, "%s/moved", scratch_path);
	SAME_TEXT(getcwd(path, sizeof path), expected);
}

TEST(change_root)
{
	need_root();
	prepare();
	make_file("directory/inside", "here");
	FAILS(chroot("file"), ENOTDIR);
	FAILS(chroot("absent"), ENOENT);
	pid_t child = FORK();
	if (child == 0) {
		char path[PATH_MAX];
		SUCCEEDS(chroot("directory"));
		SUCCEEDS(chdir("/"));
		SAME_TEXT(text_of("/inside"), "here");
		SAME_TEXT(text_of("/../../inside"), "here");
		SAME_TEXT(getcwd(path, sizeof path), "/");
		FAILS(open("/bin/sh", O_RDONLY), ENOENT);
		_exit(0);
	}
	EXITS(child, 0);
	become_ordinary();
	FAILS(chroot("directory"), EPERM);
}

TEST(outside_of_the_root)
{
	need_root();
	prepare();
	pid_t child = FORK();
	if (child == 0) {
		char path[PATH_MAX];
		SUCCEEDS(chroot("directory"));
		/* The working directory is not below the root, which the raw call tells. */
		CHECK(syscall(SYS_getcwd, path, sizeof path) > 0);
		EQUALS(strncmp(path, "(unreachable)", 13), 0);
		_exit(0);
	}
	EXITS(child, 0);
}

TEST(path_lengths)
{
	scratch();
	char name[PATH_MAX + 10];
	struct stat status;
	memset(name, 'x', sizeof name);
	name[255] = 0;
	make_file(name, "");
	name[255] = 'x';
	name[256] = 0;
	FAILS(stat(name, &status), ENAMETOOLONG);
	FAILS(open(name, O_WRONLY | O_CREAT, 0600), ENAMETOOLONG);
	memset(name, '/', sizeof name);
	name[PATH_MAX - 1] = 0;
	SUCCEEDS(stat(name, &status));
	name[PATH_MAX - 1] = '/';
	name[PATH_MAX] = 0;
	FAILS(stat(name, &status), ENAMETOOLONG);
}

TEST(deep_trees)
{
	scratch();
	char name[201];
	memset(name, 'd', 200);
	name[200] = 0;
	for (int i = 0; i < 30; i++) {
		SUCCEEDS(mkdir(name, 0755));
		SUCCEEDS(chdir(name));
	}
	char path[8192];
	FAILS(syscall(SYS_getcwd, path, sizeof path), ENAMETOOLONG);
	make_file("file", "deep");
	SAME_TEXT(text_of("file"), "deep");
}

TEST(dots_and_slashes)
{
	prepare();
	struct stat first, second;
	SUCCEEDS(stat("directory", &first));
	const char *same[] = { "./directory", ".//directory//", "directory/.", "directory/../directory", "link/", "link/.",
			       "file/../directory" };
	for (int i = 0; i < 6; i++) {
		SUCCEEDS(stat(same[i], &second));
		EQUALS(first.st_ino, second.st_ino);
	}
	FAILS(stat(same[6], &second), ENOTDIR);
	SUCCEEDS(stat("/..", &second));
	SUCCEEDS(stat("/", &first));
	EQUALS(first.st_ino, second.st_ino);
}
