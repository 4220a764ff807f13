/* execve(2) and execveat(2): arguments, scripts, what survives, and every way to fail. */
#include "files.h"
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>

static char *no_environment[] = { NULL };

static void copy_program(const char *to, mode_t mode)
{
	char buffer[65536];
	int source = SUCCEEDS(open(test_program, O_RDONLY | O_CLOEXEC));
	int target = SUCCEEDS(open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
	for (ssize_t n; (n = SUCCEEDS(read(source, buffer, sizeof buffer))) > 0;)
		EQUALS(write(target, buffer, n), n);
	close(source);
	close(target);
}

static void make_script(const char *path, const char *text)
{
	make_file(path, text);
	SUCCEEDS(chmod(path, 0755));
}

/* Runs a program in a child, with its output in "out". Returns the wait status. */
static int run(const char *path, char **argv, char **envp)
{
	pid_t child = FORK();
	if (child == 0) {
		int out = SUCCEEDS(open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666));
		SUCCEEDS(dup2(out, 1));
		execve(path, argv, envp);
		_exit(200 + (errno & 31));
	}
	return test_wait(child);
}

static void print(const char *text)
{
	if (write(1, text, strlen(text)) < 0 || write(1, "\n", 1) < 0)
		_exit(1);
}

static volatile bool handler_ran;
static void note(int signal __attribute__((unused)))
{
	handler_ran = true;
}

HELPER(arguments)
{
	extern char **environ;
	for (int i = 1; i < argc; i++)
		print(argv[i]);
	for (char **variable = environ; *variable; variable++)
		print(*variable);
	return 0;
}

TEST(passes_arguments_and_environment)
{
	scratch();
	char *argv[] = { "name", "@arguments", "one", "", "two words", NULL };
	char *envp[] = { "A=1", "odd", "EMPTY=", NULL };
	EQUALS(run(test_program, argv, envp), 0);
	SAME_TEXT(text_of("out"), "one\n\ntwo words\nA=1\nodd\nEMPTY=\n");
}

TEST(passes_long_arguments)
{
	scratch();
	size_t length = 100000;
	char *argument = malloc(length + 2);
	memset(argument, 'x', length);
	argument[length] = 0;
	char *argv[] = { "name", "@arguments", argument, NULL };
	EQUALS(run(test_program, argv, no_environment), 0);
	struct stat status;
	SUCCEEDS(stat("out", &status));
	EQUALS(status.st_size, length + 1);
}

HELPER(count_arguments)
{
	return argc - 1 == atoi(argv[1]) ? 0 : 1;
}

TEST(passes_ten_thousand_arguments)
{
	enum { N = 10000 };
	scratch();
	static char *argv[N + 4];
	argv[0] = "name";
	argv[1] = "@count_arguments";
	argv[2] = "10001";
	for (int i = 0; i < N; i++)
		argv[3 + i] = "argument";
	EQUALS(run(test_program, argv, no_environment), 0);
}

HELPER(descriptors)
{
	return fcntl(atoi(argv[1]), F_GETFD) == -1 && fcntl(atoi(argv[2]), F_GETFD) == 0 ? 0 : 1;
}

TEST(closes_descriptors_marked_so)
{
	char closed[16], kept[16];
	scratch();
	snprintf(closed, sizeof closed, "%d", SUCCEEDS(open("/", O_RDONLY | O_CLOEXEC)));
	snprintf(kept, sizeof kept, "%d", SUCCEEDS(open("/", O_RDONLY)));
	char *argv[] = { "name", "@descriptors", closed, kept, NULL };
	EQUALS(run(test_program, argv, no_environment), 0);
}

HELPER(signals)
{
	sigset_t mask, pending;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	sigpending(&pending);
	return signal(SIGUSR1, SIG_DFL) == SIG_IGN && signal(SIGUSR2, SIG_DFL) == SIG_DFL &&
	       sigismember(&mask, SIGHUP) && sigismember(&pending, SIGHUP) ? 0 : 1;
}

TEST(keeps_mask_pending_and_ignored_but_no_handlers)
{
	pid_t child = FORK();
	if (child == 0) {
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, SIGHUP);
		sigprocmask(SIG_BLOCK, &set, NULL);
		raise(SIGHUP);
		signal(SIGUSR1, SIG_IGN);
		signal(SIGUSR2, note);
		execl(test_program, "name", "@signals", NULL);
	}
	EXITS(child, 0);
}

HELPER(same_process)
{
	char name[16];
	prctl(PR_GET_NAME, name);
	return getpid() == atoi(argv[1]) && alarm(0) > 0 && umask(0) == 0765 && strcmp(name, "linked-name-abc") == 0 ? 0 : 1;
}

TEST(keeps_pid_alarm_and_umask_and_takes_the_name_of_the_file)
{
	scratch();
	SUCCEEDS(symlink(test_program, "linked-name-abcdef"));
	pid_t child = FORK();
	if (child == 0) {
		char pid[16];
		snprintf(pid, sizeof pid, "%d", getpid());
		umask(0765);
		execl("linked-name-abcdef", "name", "@same_process", pid, NULL);
	}
	EXITS(child, 0);
}

TEST(script)
{
	scratch();
	make_script("script", "#!/bin/sh\necho $0 $# \"$1\"\n");
	char *argv[] = { "ignored", "an argument", NULL };
	EQUALS(run("./script", argv, no_environment), 0);
	SAME_TEXT(text_of("out"), "./script 1 an argument\n");
}

TEST(script_with_one_argument)
{
	scratch();
	char text[PATH_MAX + 40];
	snprintf(text, sizeof text, "#! \t%s   @arguments with  blanks\t \nrest\n", test_program);
	make_script("script", text);
	char *argv[] = { "name", "last", NULL };
	/* Everything after the interpreter is one argument, which no helper has as its name. */
	EQUALS(WEXITSTATUS(run("./script", argv, no_environment)), TEST_FAILED_IN_A_CHILD);
	snprintf(text, sizeof text, "#!%s @arguments", test_program);
	make_script("script", text);
	EQUALS(run("./script", argv, no_environment), 0);
	SAME_TEXT(text_of("out"), "./script\nlast\n");
}

TEST(script_of_a_script)
{
	scratch();
	make_script("inner", "#!/bin/sh\necho inner \"$@\"\n");
	char text[PATH_MAX];
	snprintf(text, sizeof text, "#!%s/inner -x\n", scratch_path);
	make_script("outer", text);
	char *argv[] = { "name", "argument", NULL };
	EQUALS(run("./outer", argv, no_environment), 0);
	SAME_TEXT(text_of("out"), "inner -x ./outer argument\n");
}

TEST(script_nested_too_deeply)
{
	scratch();
	char text[PATH_MAX], name[16];
	make_script("s0", "#!/bin/sh\nexit 0\n");
	for (int i = 1; i <= 6; i++) {
		snprintf(text, sizeof text, "#!%s/s%d\n", scratch_path, i - 1);
		snprintf(name, sizeof name, "s%d", i);
		make_script(name, text);
	}
	char *argv[] = { "name", NULL };
	EQUALS(run("./s4", argv, no_environment), 0);
	FAILS(execve("./s6", argv, no_environment), ELOOP);
}

TEST(script_without_its_interpreter)
{
	scratch();
	char *argv[] = { "name", NULL };
	make_script("missing", "#!/nonexistent/interpreter\n");
	FAILS(execve("missing", argv, no_environment), ENOENT);
	make_script("none", "#!\n");
	FAILS(execve("none", argv, no_environment), ENOEXEC);
	make_script("blank", "#!   \n");
	FAILS(execve("blank", argv, no_environment), ENOEXEC);
	make_file("data", "text");
	char text[PATH_MAX];
	snprintf(text, sizeof text, "#!%s/data\n", scratch_path);
	make_script("not-executable", text);
	FAILS(execve("not-executable", argv, no_environment), EACCES);
}

TEST(bad_paths)
{
	scratch();
	char *argv[] = { "name", NULL };
	make_file("file", "text");
	SUCCEEDS(symlink("loop", "loop"));
	char long_name[300];
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = 0;
	FAILS(execve("absent", argv, no_environment), ENOENT);
	FAILS(execve("", argv, no_environment), ENOENT);
	FAILS(execve("file/below", argv, no_environment), ENOTDIR);
	FAILS(execve("loop", argv, no_environment), ELOOP);
	FAILS(execve(long_name, argv, no_environment), ENAMETOOLONG);
	FAILS(execve(".", argv, no_environment), EACCES);
	FAILS(execve("/dev/null", argv, no_environment), EACCES);
	FAILS(execve("file", argv, no_environment), EACCES);
	FAILS(execve(BAD_POINTER, argv, no_environment), EFAULT);
}

TEST(bad_contents)
{
	scratch();
	char *argv[] = { "name", NULL };
	make_script("empty", "");
	FAILS(execve("empty", argv, no_environment), ENOEXEC);
	make_script("text", "just text\n");
	FAILS(execve("text", argv, no_environment), ENOEXEC);
	make_script("stub", "\177ELF");
	FAILS(execve("stub", argv, no_environment), ENOEXEC);
	copy_program("foreign", 0755);
	int file = SUCCEEDS(open("foreign", O_WRONLY));
	unsigned short machine = 183;
	EQUALS(pwrite(file, &machine, 2, 18), 2);
	close(file);
	FAILS(execve("foreign", argv, no_environment), ENOEXEC);
}

TEST(bad_pointers)
{
	scratch();
	char *bad[] = { "name", BAD_POINTER, NULL };
	FAILS(execve(test_program, bad, no_environment), EFAULT);
	FAILS(execve(test_program, BAD_POINTER, no_environment), EFAULT);
}

TEST(too_long_for_one_string)
{
	size_t length = 131072;
	char *argument = malloc(length + 1);
	memset(argument, 'x', length);
	argument[length] = 0;
	char *argv[] = { "name", argument, NULL };
	FAILS(execve(test_program, argv, no_environment), E2BIG);
	argument[length - 1] = 0;
	scratch();
	char *fits[] = { "name", "@arguments", argument, NULL };
	EQUALS(run(test_program, fits, no_environment), 0);
}

TEST(too_long_in_all)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	SUCCEEDS(setrlimit(RLIMIT_STACK, &limit));
	static char argument[100000], *argv[5] = { argument, argument, argument, argument, NULL };
	memset(argument, 'x', sizeof argument - 1);
	FAILS(execve(test_program, argv, no_environment), E2BIG);
}

TEST(needs_execute_permission)
{
	scratch();
	char *argv[] = { "name", NULL };
	make_script("script", "#!/bin/sh\nexit 6\n");
	SUCCEEDS(mkdir("closed", 0700));
	make_script("closed/script", "#!/bin/sh\n");
	SUCCEEDS(chmod("closed", 0));
	SUCCEEDS(chmod("script", 0644));
	pid_t child = FORK();
	if (child == 0) {
		become_ordinary();
		FAILS(execve("script", argv, no_environment), EACCES);
		FAILS(execve("closed/script", argv, no_environment), EACCES);
		_exit(0);
	}
	EXITS(child, 0);
	SUCCEEDS(chmod("closed", 0700));
}

TEST(executes_without_read_permission)
{
	scratch();
	copy_program("unreadable", 0755);
	SUCCEEDS(chmod("unreadable", 0111));
	pid_t child = FORK();
	if (child == 0) {
		become_ordinary();
		FAILS(open("unreadable", O_RDONLY), EACCES);
		execl("./unreadable", "name", "@count_arguments", "1", NULL);
	}
	EXITS(child, 0);
}

TEST(set_user_id_bit)
{
	need_root();
	scratch();
	copy_program("setuid", 0755);
	SUCCEEDS(chmod("setuid", 04755));
	make_file("out", "");
	SUCCEEDS(chmod("out", 0666));
	pid_t child = FORK();
	if (child == 0) {
		become_ordinary();
		execl("./setuid", "name", "@ids", NULL);
	}
	EXITS(child, 0);
	child = FORK();
	if (child == 0) {
		become_ordinary();
		SUCCEEDS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
		execl("./setuid", "name", "@ids", NULL);
	}
	EXITS(child, 5);
}

HELPER(ids)
{
	uid_t real, effective, saved;
	getresuid(&real, &effective, &saved);
	if (real == ORDINARY_USER && effective == ORDINARY_USER)
		return 5;
	return real == ORDINARY_USER && effective == 0 && saved == 0 ? 0 : 1;
}

TEST(set_id_bits_are_ignored_on_scripts)
{
	need_root();
	scratch();
	make_script("script", "#!/bin/sh\nexit $(id -u | cut -c1-2)\n");
	SUCCEEDS(chmod("script", 04755));
	pid_t child = FORK();
	if (child == 0) {
		become_ordinary();
		execl("./script", "script", NULL);
	}
	EXITS(child, 12);
}

TEST(busy_while_open_for_writing)
{
	scratch();
	char *argv[] = { "name", NULL };
	copy_program("busy", 0755);
	int file = SUCCEEDS(open("busy", O_WRONLY | O_CLOEXEC));
	FAILS(execve("busy", argv, no_environment), ETXTBSY);
	close(file);
}

TEST(at_a_directory_descriptor)
{
	scratch();
	make_script("script", "#!/bin/sh\nexit 8\n");
	int here = SUCCEEDS(open(".", O_RDONLY | O_DIRECTORY));
	SUCCEEDS(chdir("/"));
	char *argv[] = { "name", NULL };
	pid_t child = FORK();
	if (child == 0)
		execveat(here, "script", argv, no_environment, 0);
	EXITS(child, 8);
	FAILS(execveat(here, "absent", argv, no_environment, 0), ENOENT);
	FAILS(execveat(-1, "script", argv, no_environment, 0), EBADF);
	FAILS(execveat(0, "script", argv, no_environment, 0), ENOTDIR);
	FAILS(execveat(here, "script", argv, no_environment, 1), EINVAL);
}

TEST(of_a_descriptor)
{
	int file = SUCCEEDS(open(test_program, O_RDONLY | O_CLOEXEC));
	int path = SUCCEEDS(open(test_program, O_PATH | O_CLOEXEC));
	char *argv[] = { "name", "@count_arguments", "1", NULL };
	pid_t child = FORK();
	if (child == 0)
		execveat(file, "", argv, no_environment, AT_EMPTY_PATH);
	EXITS(child, 0);
	child = FORK();
	if (child == 0)
		execveat(path, "", argv, no_environment, AT_EMPTY_PATH);
	EXITS(child, 0);
	FAILS(execveat(file, "", argv, no_environment, 0), ENOENT);
	FAILS(execveat(-1, "", argv, no_environment, AT_EMPTY_PATH), EBADF);
	FAILS(execveat(0, "", argv, no_environment, AT_EMPTY_PATH), EACCES);
}

TEST(script_of_a_descriptor)
{
	scratch();
	make_script("script", "#!/bin/sh\ncase $0 in /dev/fd/*) exit 9;; esac\n");
	char *argv[] = { "name", NULL };
	int open_file = SUCCEEDS(open("script", O_RDONLY));
	int closed_file = SUCCEEDS(open("script", O_RDONLY | O_CLOEXEC));
	pid_t child = FORK();
	if (child == 0)
		execveat(open_file, "", argv, no_environment, AT_EMPTY_PATH);
	EXITS(child, 9);
	/* The interpreter could not open the script any more. */
	FAILS(execveat(closed_file, "", argv, no_environment, AT_EMPTY_PATH), ENOENT);
}

TEST(of_a_symlink_without_following)
{
	scratch();
	SUCCEEDS(symlink(test_program, "link"));
	char *argv[] = { "name", NULL };
	FAILS(execveat(AT_FDCWD, "link", argv, no_environment, AT_SYMLINK_NOFOLLOW), ELOOP);
}

TEST(of_a_memory_file)
{
	int memory = SUCCEEDS(memfd_create("program", MFD_CLOEXEC));
	char buffer[65536];
	int source = SUCCEEDS(open(test_program, O_RDONLY));
	for (ssize_t n; (n = SUCCEEDS(read(source, buffer, sizeof buffer))) > 0;)
		EQUALS(write(memory, buffer, n), n);
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
	int readable = SUCCEEDS(open(path, O_RDONLY | O_CLOEXEC));
	close(memory);
	char *argv[] = { "name", "@count_arguments", "1", NULL };
	pid_t child = FORK();
	if (child == 0)
		execveat(readable, "", argv, no_environment, AT_EMPTY_PATH);
	EXITS(child, 0);
}

TEST(empty_argument_list)
{
	/* Linux since 5.18 passes one empty string; before, argc was zero. */
	scratch();
	make_script("script", "#!/bin/sh\nexit 3\n");
	char *argv[] = { NULL };
	EQUALS(WEXITSTATUS(run("./script", argv, no_environment)), 3);
}

TEST(failure_leaves_the_process_as_it_was)
{
	int kept = SUCCEEDS(open("/", O_RDONLY | O_CLOEXEC));
	char *argv[] = { "name", NULL };
	signal(SIGUSR1, note);
	FAILS(execve("/nonexistent", argv, no_environment), ENOENT);
	SUCCEEDS(fcntl(kept, F_GETFD));
	raise(SIGUSR1);
	CHECK(handler_ran);
}
