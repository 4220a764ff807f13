/* A scratch directory that is the working directory of the case, and small files in it. */
#ifndef GUEST_FILES_H
#define GUEST_FILES_H

#include "test.h"
#include <dirent.h>
#include <sys/auxv.h>
#include <sys/stat.h>

static char scratch_path[64];

static inline void scratch_remove_all(int parent, const char *name)
{
	if (unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
		return;
	fchmodat(parent, name, 0700, 0); /* a case may have taken the permission away */
	int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	DIR *entries = directory < 0 ? NULL : fdopendir(directory);
	if (entries) {
		for (struct dirent *entry; (entry = readdir(entries));)
			if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
				scratch_remove_all(directory, entry->d_name);
		closedir(entries);
	}
	unlinkat(parent, name, AT_REMOVEDIR);
}

static inline void scratch_cleanup(void)
{
	scratch_remove_all(AT_FDCWD, scratch_path);
}

/*
 * The name is chosen before the case is forked off, so that the parent can remove the directory even if
 * the case has died or given up root. The random bytes are those that execve(2) gives to each program.
 */
__attribute__((constructor)) static void scratch_choose(void)
{
	uint64_t random;
	memcpy(&random, (void *)getauxval(AT_RANDOM), sizeof random);
	snprintf(scratch_path, sizeof scratch_path, "/tmp/belljar-test-%016llx", (unsigned long long)random);
	test_cleanup_after = scratch_cleanup;
}

/* Makes an empty directory that everyone may write and enters it. It is gone after the case. */
static inline void scratch(void)
{
	if (mkdir(scratch_path, 0700) < 0 || chmod(scratch_path, 0777) < 0 || chdir(scratch_path) < 0)
		test_fail(__FILE__, __LINE__, "no scratch directory: %s", test_error_name(errno));
	umask(022);
}

static inline void make_file(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ssize_t length = strlen(text);
	if (file < 0 || write(file, text, length) != length || close(file) < 0)
		test_fail(__FILE__, __LINE__, "cannot make %s: %s", path, test_error_name(errno));
}

/* The first bytes of a file as text; valid until the next call. */
static inline const char *text_of(const char *path)
{
	static char text[65536];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		test_fail(__FILE__, __LINE__, "cannot open %s: %s", path, test_error_name(errno));
	size_t length = 0;
	for (ssize_t n; length < sizeof text - 1 && (n = read(file, text + length, sizeof text - 1 - length)) > 0;)
		length += n;
	text[length] = 0;
	close(file);
	return text;
}

static inline bool exists(const char *path)
{
	struct stat status;
	return lstat(path, &status) == 0;
}

#endif
