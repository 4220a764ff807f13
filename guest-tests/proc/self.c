/* What a process reads about itself in /proc. */
#include "files.h"
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* The value behind `field` in /proc/<pid>/status, without blanks in front; valid until the next call. */
static const char *status_field(const char *path, const char *field)
{
	static char value[256];
	const char *text = text_of(path), *at = text;
	size_t length = strlen(field);
	while (strncmp(at, field, length) != 0 || at[length] != ':') {
		at = strchr(at, '\n');
		if (!at || !*++at)
			test_fail(__FILE__, __LINE__, "%s has no field %s", path, field);
	}
	at += length + 1;
	at += strspn(at, " \t");
	snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\n"), at);
	return value;
}

static const char *link_of(const char *path)
{
	static char target[PATH_MAX];
	ssize_t length = SUCCEEDS(readlink(path, target, sizeof target - 1));
	target[length] = 0;
	return target;
}

TEST(self_is_the_caller)
{
	EQUALS(atoi(link_of("/proc/self")), getpid());
	char path[64];
	snprintf(path, sizeof path, "%d/task/%d", getpid(), gettid());
	SAME_TEXT(link_of("/proc/thread-self"), path);
	struct stat status;
	SUCCEEDS(stat("/proc/self", &status));
	CHECK(S_ISDIR(status.st_mode));
	EQUALS(status.st_uid, getuid());
}

TEST(executable)
{
	struct stat one, two;
	SUCCEEDS(stat("/proc/self/exe", &one));
	SUCCEEDS(stat(test_program, &two));
	EQUALS(one.st_ino, two.st_ino);
	char path[PATH_MAX];
	CHECK(realpath(test_program, path));
	SAME_TEXT(link_of("/proc/self/exe"), path);
	int file = SUCCEEDS(open("/proc/self/exe", O_RDONLY));
	char magic[4];
	EQUALS(read(file, magic, 4), 4);
	EQUALS(memcmp(magic, "\177ELF", 4), 0);
}

HELPER(print_cmdline)
{
	static char text[4096];
	int file = open(argv[1], O_RDONLY);
	ssize_t length = read(file, text, sizeof text);
	return write(1, text, length) == length ? 0 : 1;
}

static const char *output_of(char **argv, char **envp, size_t *length)
{
	static char text[4096];
	int ends[2];
	SUCCEEDS(pipe(ends));
	pid_t child = FORK();
	if (child == 0) {
		dup2(ends[1], 1);
		execve(test_program, argv, envp);
		_exit(1);
	}
	close(ends[1]);
	*length = 0;
	for (ssize_t n; (n = read(ends[0], text + *length, sizeof text - *length)) > 0;)
		*length += n;
	close(ends[0]);
	EXITS(child, 0);
	return text;
}

TEST(command_line)
{
	size_t length;
	char *argv[] = { "a name", "@print_cmdline", "/proc/self/cmdline", "", "two words", NULL }, *envp[] = { NULL };
	const char expected[] = "a name\0@print_cmdline\0/proc/self/cmdline\0\0two words";
	const char *text = output_of(argv, envp, &length);
	EQUALS(length, sizeof expected);
	EQUALS(memcmp(text, expected, length), 0);
}

TEST(environment)
{
	size_t length;
	char *argv[] = { "name", "@print_cmdline", "/proc/self/environ", NULL }, *envp[] = { "A=1", "B=two words", NULL };
	const char expected[] = "A=1\0B=two words";
	const char *text = output_of(argv, envp, &length);
	EQUALS(length, sizeof expected);
	EQUALS(memcmp(text, expected, length), 0);
}

TEST(name)
{
	SUCCEEDS(prctl(PR_SET_NAME, "new (name)"));
	SAME_TEXT(text_of("/proc/self/comm"), "new (name)\n");
	SAME_TEXT(status_field("/proc/self/status", "Name"), "new (name)");
	CHECK(strstr(text_of("/proc/self/stat"), " (new (name)) R "));
	int file = SUCCEEDS(open("/proc/self/comm", O_WRONLY));
	EQUALS(write(file, "written", 7), 7);
	char name[16];
	SUCCEEDS(prctl(PR_GET_NAME, name));
	SAME_TEXT(name, "written");
}

TEST(status)
{
	char expected[64];
	EQUALS(atoi(status_field("/proc/self/status", "Pid")), getpid());
	EQUALS(atoi(status_field("/proc/self/status", "Tgid")), getpid());
	EQUALS(atoi(status_field("/proc/self/status", "PPid")), getppid());
	EQUALS(atoi(status_field("/proc/self/status", "Threads")), 1);
	EQUALS(atoi(status_field("/proc/self/status", "TracerPid")), 0);
	snprintf(expected, sizeof expected, "%d\t%d\t%d\t%d", getuid(), geteuid(), geteuid(), geteuid());
	SAME_TEXT(status_field("/proc/self/status", "Uid"), expected);
	SAME_TEXT(status_field("/proc/self/status", "State"), "R (running)");
	CHECK(strstr(status_field("/proc/self/status", "VmRSS"), " kB"));
	CHECK(strlen(status_field("/proc/self/status", "CapEff")) == 16);
	CHECK(strlen(status_field("/proc/self/status", "Cpus_allowed_list")) > 0);
	SAME_TEXT(status_field("/proc/self/status", "NoNewPrivs"), "0");
	umask(027);
	SAME_TEXT(status_field("/proc/self/status", "Umask"), "0027");
}

TEST(signals_in_status)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	SUCCEEDS(sigprocmask(SIG_BLOCK, &set, NULL));
	SUCCEEDS(kill(getpid(), SIGUSR1));
	signal(SIGUSR2, SIG_IGN);
	EQUALS(strtoull(status_field("/proc/self/status", "SigBlk"), NULL, 16), 1 << (SIGUSR1 - 1));
	EQUALS(strtoull(status_field("/proc/self/status", "ShdPnd"), NULL, 16), 1 << (SIGUSR1 - 1));
	CHECK(strtoull(status_field("/proc/self/status", "SigIgn"), NULL, 16) & 1 << (SIGUSR2 - 1));
}

TEST(state_of_others)
{
	char path[64];
	pid_t child = FORK();
	if (child == 0)
		for (;;)
			pause();
	snprintf(path, sizeof path, "/proc/%d/status", child);
	while (strcmp(status_field(path, "State"), "S (sleeping)") != 0)
		sleep_ms(1);
	int status;
	SUCCEEDS(kill(child, SIGSTOP));
	EQUALS(waitpid(child, &status, WUNTRACED), child);
	SAME_TEXT(status_field(path, "State"), "T (stopped)");
	SUCCEEDS(kill(child, SIGKILL));
	siginfo_t info;
	SUCCEEDS(waitid(P_PID, child, &info, WEXITED | WNOWAIT));
	SAME_TEXT(status_field(path, "State"), "Z (zombie)");
	DIES(child, SIGKILL);
	FAILS(open(path, O_RDONLY), ENOENT);
}

TEST(stat_line)
{
	int pid, parent, group, session;
	char state;
	EQUALS(sscanf(strrchr(text_of("/proc/self/stat"), ')'), ") %c %d %d %d", &state, &parent, &group, &session), 4);
	EQUALS(state, 'R');
	EQUALS(parent, getppid());
	EQUALS(group, getpgrp());
	EQUALS(session, getsid(0));
	EQUALS(sscanf(text_of("/proc/self/stat"), "%d", &pid), 1);
	EQUALS(pid, getpid());
	int n_fields = 1;
	for (const char *at = strrchr(text_of("/proc/self/stat"), ')'); *at; at++)
		n_fields += *at == ' ';
	CHECK(n_fields >= 51);
}

TEST(start_time_lets_one_compute_the_age)
{
	unsigned long long ticks;
	double uptime;
	EQUALS(sscanf(strrchr(text_of("/proc/self/stat"), ')'),
		      ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &ticks), 1);
	EQUALS(sscanf(text_of("/proc/uptime"), "%lf", &uptime), 1);
	double age = uptime - (double)ticks / sysconf(_SC_CLK_TCK);
	CHECK(age >= -0.1 && age < 30);
}

TEST(descriptors)
{
	scratch();
	make_file("file", "");
	char path[64], expected[PATH_MAX];
	int file = SUCCEEDS(open("file", O_RDWR | O_APPEND | O_CLOEXEC));
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	snprintf(expected, sizeof expected, "%s/file", scratch_path);
	SAME_TEXT(link_of(path), expected);
	struct stat status;
	SUCCEEDS(lstat(path, &status));
	CHECK(S_ISLNK(status.st_mode));
	EQUALS(status.st_mode & 0700, 0700);
	SUCCEEDS(lseek(file, 5, SEEK_SET));
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", file);
	EQUALS(atoi(status_field(path, "pos")), 5);
	EQUALS(strtol(status_field(path, "flags"), NULL, 8) & ~0100000, O_RDWR | O_APPEND | O_CLOEXEC);
	SUCCEEDS(close(file));
	FAILS(open(path, O_RDONLY), ENOENT);
}

TEST(list_of_descriptors)
{
	int kept = SUCCEEDS(dup2(0, 77));
	bool seen[128] = { false };
	DIR *directory = opendir("/proc/self/fd");
	CHECK(directory);
	for (struct dirent *entry; (entry = readdir(directory));)
		if (entry->d_name[0] != '.' && atoi(entry->d_name) < 128)
			seen[atoi(entry->d_name)] = true;
	CHECK(seen[0] && seen[1] && seen[kept] && !seen[78] && seen[dirfd(directory)]);
	closedir(directory);
}

TEST(kinds_of_links)
{
	char path[64];
	int ends[2];
	SUCCEEDS(pipe(ends));
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	struct stat status;
	char expected[64];
	SUCCEEDS(fstat(ends[0], &status));
	snprintf(expected, sizeof expected, "pipe:[%lu]", (unsigned long)status.st_ino);
	SAME_TEXT(link_of(path), expected);
	SUCCEEDS(stat(path, &status));
	CHECK(S_ISFIFO(status.st_mode));
}

TEST(directories)
{
	scratch();
	char path[64];
	SAME_TEXT(link_of("/proc/self/cwd"), scratch_path);
	SAME_TEXT(link_of("/proc/self/root"), "/");
	make_file("file", "found");
	SAME_TEXT(text_of("/proc/self/cwd/file"), "found");
	pid_t child = FORK();
	if (child == 0) {
		SUCCEEDS(chdir("/"));
		for (;;)
			pause();
	}
	snprintf(path, sizeof path, "/proc/%d/cwd", child);
	while (strcmp(link_of(path), "/") != 0)
		sleep_ms(1);
	SUCCEEDS(kill(child, SIGKILL));
	DIES(child, SIGKILL);
}

TEST(limits)
{
	struct rlimit limit = { 123, 456 };
	SUCCEEDS(setrlimit(RLIMIT_NOFILE, &limit));
	const char *line = strstr(text_of("/proc/self/limits"), "Max open files");
	CHECK(line);
	int soft, hard;
	EQUALS(sscanf(line, "Max open files %d %d", &soft, &hard), 2);
	EQUALS(soft, 123);
	EQUALS(hard, 456);
}

TEST(threads)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/task/%d/status", gettid());
	EQUALS(atoi(status_field(path, "Pid")), gettid());
	struct stat status;
	SUCCEEDS(stat("/proc/self/task", &status));
	EQUALS(status.st_nlink, 3);
}

TEST(oom_score)
{
	int value = -5000;
	EQUALS(sscanf(text_of("/proc/self/oom_score_adj"), "%d", &value), 1);
	CHECK(value >= -1000 && value <= 1000);
	int file = SUCCEEDS(open("/proc/self/oom_score_adj", O_WRONLY));
	EQUALS(write(file, "500", 3), 3);
	EQUALS(atoi(text_of("/proc/self/oom_score_adj")), 500);
	FAILS(write(file, "5000", 4), EINVAL);
}

TEST(absent_processes)
{
	struct stat status;
	FAILS(stat("/proc/99999999", &status), ENOENT);
	FAILS(open("/proc/self/absent", O_RDONLY), ENOENT);
	FAILS(mkdir("/proc/self/new", 0755), ENOENT);
}

TEST(auxiliary_vector)
{
	unsigned long pairs[64] = { 0 };
	int file = SUCCEEDS(open("/proc/self/auxv", O_RDONLY));
	ssize_t n = SUCCEEDS(read(file, pairs, sizeof pairs));
	CHECK(n >= 32 && n % 16 == 0);
	bool has_page_size = false;
	for (int i = 0; i < n / 16; i++)
		has_page_size |= pairs[2 * i] == 6 && pairs[2 * i + 1] == 4096;
	CHECK(has_page_size);
}
