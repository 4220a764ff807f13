/* Going through a tree while its names change: every listing shows what is there when the directory is opened. */
#include "files.h"

#define DIRECTORIES 8
#define FILES 10

/* Long enough that a change after it has another time than the one before. */
static void let_time_pass(void) { usleep(150000); }

static void prepare(void)
{
	scratch();
	char path[64];
	for (int i = 0; i < DIRECTORIES; i++) {
		snprintf(path, sizeof path, "d%d", i);
		SUCCEEDS(mkdir(path, 0755));
		for (int j = 0; j < FILES; j++) {
			snprintf(path, sizeof path, "d%d/f%d", i, j);
			make_file(path, "");
		}
	}
	SUCCEEDS(mkdir("d3/below", 0755));
	make_file("d3/below/f0", "");
	let_time_pass();
}

/* The subdirectories of a directory, in the order of the list. */
static int subdirectories(const char *path, char names[][32], int max)
{
	int n = 0;
	DIR *directory = opendir(path);
	CHECK(directory);
	for (struct dirent *entry; (entry = readdir(directory));)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
			CHECK(n < max);
			strcpy(names[n++], entry->d_name);
		}
	closedir(directory);
	return n;
}

/* How many names a directory has, without dots. */
static int count(const char *path)
{
	int n = 0;
	DIR *directory = opendir(path);
	CHECK(directory);
	for (struct dirent *entry; (entry = readdir(directory));)
		n += entry->d_name[0] != '.';
	closedir(directory);
	return n;
}

static int has(const char *path, const char *name)
{
	int is_there = 0;
	DIR *directory = opendir(path);
	CHECK(directory);
	for (struct dirent *entry; (entry = readdir(directory));)
		is_there |= strcmp(entry->d_name, name) == 0;
	closedir(directory);
	return is_there;
}

static int expected_in(const char *name) { return strcmp(name, "d3") == 0 ? FILES + 1 : FILES; }

TEST(the_same_again)
{
	prepare();
	char names[DIRECTORIES][32];
	for (int round = 0; round < 3; round++) {
		EQUALS(subdirectories(".", names, DIRECTORIES), DIRECTORIES);
		for (int i = 0; i < DIRECTORIES; i++) {
			EQUALS(count(names[i]), expected_in(names[i]));
			if (strcmp(names[i], "d3") == 0)
				EQUALS(count("d3/below"), 1);
		}
	}
}

TEST(the_next_directory_changes)
{
	prepare();
	char names[DIRECTORIES][32], path[64], other[64];
	for (int round = 0; round < 3; round++) {
		EQUALS(subdirectories(".", names, DIRECTORIES), DIRECTORIES);
		for (int i = 0; i < DIRECTORIES; i++) {
			EQUALS(count(names[i]), expected_in(names[i]));
			const char *next = names[(i + 1) % DIRECTORIES];
			snprintf(path, sizeof path, "%s/new", next);
			make_file(path, "");
			CHECK(has(next, "new"));
			snprintf(other, sizeof other, "%s/other", next);
			SUCCEEDS(rename(path, other));
			CHECK(!has(next, "new") && has(next, "other"));
			SUCCEEDS(unlink(other));
			EQUALS(count(next), expected_in(next));
		}
		let_time_pass();
	}
}

TEST(the_next_directory_goes_or_is_another)
{
	prepare();
	char names[DIRECTORIES][32], path[64];
	EQUALS(subdirectories(".", names, DIRECTORIES), DIRECTORIES);
	for (int i = 0; i < 4; i++)
		EQUALS(count(names[i]), expected_in(names[i]));
	SUCCEEDS(rename(names[4], "moved"));
	SUCCEEDS(mkdir(names[4], 0755));
	EQUALS(count(names[4]), 0);
	EQUALS(count("moved"), expected_in(names[4]));
	SUCCEEDS(renameat2(AT_FDCWD, names[4], AT_FDCWD, "moved", RENAME_EXCHANGE));
	EQUALS(count(names[4]), expected_in(names[4]));
	EQUALS(count("moved"), 0);
	for (int j = 0; j < FILES; j++) {
		snprintf(path, sizeof path, "%s/f%d", names[5], j);
		SUCCEEDS(unlink(path));
	}
	if (strcmp(names[5], "d3") != 0) {
		SUCCEEDS(rmdir(names[5]));
		EQUALS(opendir(names[5]) == NULL, 1);
		EQUALS(errno, ENOENT);
	}
	EQUALS(count(names[6]), expected_in(names[6]));
}

TEST(rights_are_those_of_who_opens)
{
	prepare();
	char names[DIRECTORIES][32];
	EQUALS(subdirectories(".", names, DIRECTORIES), DIRECTORIES);
	SUCCEEDS(chmod(names[5], 0));
	become_ordinary();
	for (int i = 0; i < DIRECTORIES; i++)
		if (i == 5)
			FAILS(open(names[i], O_RDONLY | O_DIRECTORY), EACCES);
		else
			EQUALS(count(names[i]), expected_in(names[i]));
}

TEST(two_open_files_have_two_positions)
{
	prepare();
	for (int round = 0; round < 2; round++) {
		DIR *one = opendir("d1"), *other = opendir("d1");
		CHECK(one && other);
		char first[FILES + 2][32];
		long places[FILES + 2];
		for (int i = 0; i < FILES + 2; i++) {
			places[i] = telldir(one);
			strcpy(first[i], readdir(one)->d_name);
		}
		CHECK(!readdir(one));
		for (int i = 0; i < FILES + 2; i++)
			SAME_TEXT(readdir(other)->d_name, first[i]);
		for (int i = FILES + 1; i >= 0; i--) {
			seekdir(other, places[i]);
			SAME_TEXT(readdir(other)->d_name, first[i]);
		}
		make_file("d1/late", "");
		rewinddir(one);
		int n = 0;
		while (readdir(one))
			n++;
		EQUALS(n, FILES + 3);
		SUCCEEDS(unlink("d1/late"));
		closedir(one);
		closedir(other);
		let_time_pass();
	}
}

TEST(little_room)
{
	prepare();
	char buffer[64];
	for (int round = 0; round < 2; round++) {
		int directory = SUCCEEDS(open("d1", O_RDONLY | O_DIRECTORY)), n = 0;
		FAILS(syscall(SYS_getdents64, directory, buffer, 8), EINVAL);
		while (SUCCEEDS(syscall(SYS_getdents64, directory, buffer, 32)) > 0)
			n++;
		EQUALS(n, FILES + 2);
		EQUALS(syscall(SYS_getdents64, directory, buffer, 32), 0);
		SUCCEEDS(close(directory));
		EQUALS(count("d1"), FILES);
	}
}

TEST(empty_directories)
{
	scratch();
	char path[16];
	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof path, "e%d", i);
		SUCCEEDS(mkdir(path, 0755));
	}
	let_time_pass();
	char names[8][32], buffer[256];
	for (int round = 0; round < 3; round++) {
		EQUALS(subdirectories(".", names, 8), 8);
		for (int i = 0; i < 8; i++) {
			EQUALS(count(names[i]), 0);
			int directory = SUCCEEDS(open(names[i], O_RDONLY | O_DIRECTORY));
			EQUALS(syscall(SYS_getdents64, directory, buffer, sizeof buffer), 48);
			for (int again = 0; again < 3; again++)
				EQUALS(syscall(SYS_getdents64, directory, buffer, sizeof buffer), 0);
			SUCCEEDS(close(directory));
		}
	}
}
