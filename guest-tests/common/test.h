/*
 * The test framework: write TEST(name) { ... } in one .c file and get a TAP program.
 *
 *   program                 runs each case in a forked child with a time-out
 *   program NAME...         runs only these cases
 *   program --in-process X  runs cases without fork(2), one after the other in one process
 *   program --list          prints the names
 *   program @HELPER ...     runs a HELPER(name); for tests that execute themselves
 *
 * For one case it makes these calls only: fork, alarm, getpid, wait4, write and exit_group.
 */
#ifndef GUEST_TEST_H
#define GUEST_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef TEST_SECONDS
#define TEST_SECONDS 10
#endif

enum { TEST_PASSED = 0, TEST_FAILED = 1, TEST_SKIPPED = 77, TEST_FAILED_IN_A_CHILD = 101, TEST_CASES_MAX = 128 };

struct test_case {
	const char *name;
	void (*body)(void);
	int line;
};

struct test_helper {
	const char *name;
	int (*body)(int argc, char **argv);
};

static struct test_case test_cases[TEST_CASES_MAX];
static struct test_helper test_helpers[TEST_CASES_MAX];
static int test_n_cases, test_n_helpers;

/* An address where nothing is mapped; the compiler does not know it. */
__attribute__((unused)) static void *volatile BAD_POINTER = (void *)1;

static const char *test_program;  /* how this program was started; execute it to run a helper */
static void (*test_cleanup)(void);       /* runs when a case ends in its own process */
static void (*test_cleanup_after)(void); /* runs in the parent when a case has ended */
static const char *test_name;
static int test_number;
static pid_t test_process;
static bool test_in_process;
static jmp_buf test_end;

/* Cases run in the order of the file, whatever order the constructors run in. */
static inline void test_add(const char *name, void (*body)(void), int line)
{
	int at = test_n_cases++;
	for (; at > 0 && test_cases[at - 1].line > line; at--)
		test_cases[at] = test_cases[at - 1];
	test_cases[at] = (struct test_case){ name, body, line };
}

static inline void test_add_helper(const char *name, int (*body)(int, char **))
{
	test_helpers[test_n_helpers++] = (struct test_helper){ name, body };
}

#define TEST(name)                                                                                 \
	static void case_##name(void);                                                             \
	__attribute__((constructor)) static void case_register_##name(void)                        \
	{                                                                                          \
		test_add(#name, case_##name, __LINE__);                                            \
	}                                                                                          \
	static void case_##name(void)

#define HELPER(name)                                                                               \
	static int helper_##name(int argc, char **argv);                                      \
	__attribute__((constructor)) static void helper_register_##name(void)                        \
	{                                                                                          \
		test_add_helper("@" #name, helper_##name);                                    \
	}                                                                                          \
	static int helper_##name(int argc __attribute__((unused)), char **argv __attribute__((unused)))

/* Prints one line with one write(2), so that lines of several processes do not mix. */
__attribute__((format(printf, 1, 2))) static inline void test_print(const char *format, ...)
{
	char line[1024];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof line - 1, format, arguments);
	va_end(arguments);
	if (length > (int)sizeof line - 2)
		length = sizeof line - 2;
	line[length++] = '\n';
	if (write(STDOUT_FILENO, line, length) != length)
		_exit(TEST_FAILED_IN_A_CHILD);
}

static inline _Noreturn void test_stop(int outcome)
{
	if (test_in_process)
		longjmp(test_end, outcome);
	if (test_cleanup)
		test_cleanup();
	_exit(outcome);
}

__attribute__((format(printf, 3, 4))) static inline _Noreturn void
test_fail(const char *file, int line, const char *format, ...)
{
	char what[700];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	if (strrchr(file, '/'))
		file = strrchr(file, '/') + 1;
	if (getpid() != test_process) {
		test_print("# %s, in a child: %s:%d: %s", test_name, file, line, what);
		_exit(TEST_FAILED_IN_A_CHILD);
	}
	test_print("not ok %d - %s # %s:%d: %s", test_number, test_name, file, line, what);
	test_stop(TEST_FAILED);
}

static inline _Noreturn void test_skip(const char *reason)
{
	test_print("ok %d - %s # SKIP %s", test_number, test_name, reason);
	test_stop(TEST_SKIPPED);
}

static inline const char *test_error_name(int error)
{
	const char *name = strerrorname_np(error);
	return name ? name : "an unknown error";
}

/* The value of `expression`, which must not be -1. */
#define SUCCEEDS(expression)                                                                       \
	({                                                                                         \
		__typeof__(expression) value_ = (expression);                                      \
		if ((intptr_t)value_ == -1)                                                        \
			test_fail(__FILE__, __LINE__, "%s failed with %s", #expression,            \
				  test_error_name(errno));                                         \
		value_;                                                                            \
	})

/* `expression` is -1 and errno is `error`. */
#define FAILS(expression, error)                                                                   \
	do {                                                                                       \
		errno = 0;                                                                         \
		intptr_t value_ = (intptr_t)(expression);                                          \
		int errno_ = errno;                                                                \
		if (value_ != -1)                                                                  \
			test_fail(__FILE__, __LINE__, "%s is %ld, expected %s", #expression,       \
				  (long)value_, #error);                                           \
		if (errno_ != (error))                                                             \
			test_fail(__FILE__, __LINE__, "%s failed with %s, expected %s",            \
				  #expression, test_error_name(errno_), #error);                   \
	} while (0)

/* Two integers or pointers are equal. */
#define EQUALS(actual, expected)                                                                   \
	do {                                                                                       \
		long long actual_ = (long long)(actual);                                           \
		int errno_ = errno;                                                                \
		long long expected_ = (long long)(expected);                                       \
		if (actual_ != expected_)                                                          \
			test_fail(__FILE__, __LINE__, "%s is %lld, expected %s = %lld%s%s",        \
				  #actual, actual_, #expected, expected_,                          \
				  actual_ == -1 ? ", errno " : "",                                 \
				  actual_ == -1 ? test_error_name(errno_) : "");                   \
	} while (0)

/* Two strings are equal. */
#define SAME_TEXT(actual, expected)                                                                \
	do {                                                                                       \
		const char *actual_ = (actual), *expected_ = (expected);                           \
		if (strcmp(actual_, expected_) != 0)                                               \
			test_fail(__FILE__, __LINE__, "%s is \"%.200s\", expected \"%.200s\"",     \
				  #actual, actual_, expected_);                                    \
	} while (0)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			test_fail(__FILE__, __LINE__, "%s does not hold", #condition);             \
	} while (0)

#define SKIP(reason) test_skip(reason)

/* Children of a case: they have a time-out of their own, since alarms are not inherited. */
static inline pid_t test_fork(void)
{
	pid_t child = fork();
	if (child == 0)
		alarm(TEST_SECONDS);
	return child;
}
#define FORK() SUCCEEDS(test_fork())

static inline int test_wait(pid_t child)
{
	int status = -1;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

/* Waits for a child, which must exit with `code` or be ended by `signal`. */
#define EXITS(child, code)                                                                         \
	do {                                                                                       \
		int status_ = SUCCEEDS(test_wait(child));                                          \
		if (!WIFEXITED(status_) || WEXITSTATUS(status_) != (code))                         \
			test_fail(__FILE__, __LINE__, "wait status of %s is %#x, expected exit %s", \
				  #child, status_, #code);                                         \
	} while (0)
#define DIES(child, signal)                                                                        \
	do {                                                                                       \
		int status_ = SUCCEEDS(test_wait(child));                                          \
		if (!WIFSIGNALED(status_) || WTERMSIG(status_) != (signal))                        \
			test_fail(__FILE__, __LINE__, "wait status of %s is %#x, expected %s",      \
				  #child, status_, #signal);                                       \
	} while (0)

static inline int64_t now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static inline int64_t now_ms(void)
{
	return now_ns(CLOCK_MONOTONIC) / 1000000;
}

static inline void sleep_ms(int milliseconds)
{
	struct timespec rest = { milliseconds / 1000, milliseconds % 1000 * 1000000l };
	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		;
}

static inline void need_root(void)
{
	if (geteuid() != 0)
		SKIP("needs root");
}

enum { ORDINARY_USER = 1234 };

/* Gives up root for good, so that permission checks apply; an ordinary user stays what it is. */
static inline void become_ordinary(void)
{
	if (geteuid() != 0)
		return;
	if (syscall(SYS_setgroups, 0, NULL) < 0 || setresgid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER) < 0 ||
	    setresuid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER) < 0)
		test_fail(__FILE__, __LINE__, "cannot give up root: %s", test_error_name(errno));
}

static inline bool test_run_here(const struct test_case *test)
{
	test_process = getpid();
	alarm(TEST_SECONDS);
	int outcome = setjmp(test_end);
	if (outcome == 0) {
		test->body();
		test_print("ok %d - %s", test_number, test->name);
	}
	if (test_cleanup)
		test_cleanup();
	return outcome != TEST_FAILED;
}

static inline bool test_run_forked(const struct test_case *test)
{
	pid_t child = fork();
	if (child == 0) {
		test_process = getpid();
		alarm(TEST_SECONDS);
		test->body();
		test_stop(TEST_PASSED);
	}
	int status = child < 0 ? -1 : test_wait(child);
	if (status == TEST_PASSED)
		test_print("ok %d - %s", test_number, test->name);
	else if (status == -1)
		test_print("not ok %d - %s # cannot fork or wait: %s", test_number, test->name,
			   test_error_name(errno));
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		test_print("not ok %d - %s # no end after %d seconds", test_number, test->name, TEST_SECONDS);
	else if (WIFSIGNALED(status))
		test_print("not ok %d - %s # ended by signal %d", test_number, test->name, WTERMSIG(status));
	else if (WEXITSTATUS(status) != TEST_FAILED && WEXITSTATUS(status) != TEST_SKIPPED)
		test_print("not ok %d - %s # exit code %d", test_number, test->name, WEXITSTATUS(status));
	return status == TEST_PASSED || status == TEST_SKIPPED << 8;
}

static inline int test_run_helper(int argc, char **argv)
{
	for (int i = 0; i < test_n_helpers; i++)
		if (strcmp(test_helpers[i].name, argv[1]) == 0)
			return test_helpers[i].body(argc - 1, argv + 1);
	return TEST_FAILED_IN_A_CHILD;
}

static inline bool test_is_chosen(const char *name, char **names, int n_names)
{
	for (int i = 0; i < n_names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return n_names == 0;
}

int main(int argc, char **argv)
{
	test_program = argv[0];
	if (argc > 1 && argv[1][0] == '@')
		return test_run_helper(argc, argv);
	bool only_list = argc > 1 && strcmp(argv[1], "--list") == 0;
	test_in_process = argc > 1 && strcmp(argv[1], "--in-process") == 0;
	int first = 1 + (only_list || test_in_process);
	int n_chosen = 0, n_failed = 0;
	for (int i = 0; i < test_n_cases; i++)
		n_chosen += test_is_chosen(test_cases[i].name, argv + first, argc - first);
	if (!only_list)
		test_print("1..%d", n_chosen);
	for (int i = 0; i < test_n_cases; i++) {
		test_name = test_cases[i].name;
		if (!test_is_chosen(test_name, argv + first, argc - first))
			continue;
		test_number++;
		if (only_list) {
			test_print("%s", test_name);
			continue;
		}
		n_failed += !(test_in_process ? test_run_here : test_run_forked)(&test_cases[i]);
		if (test_cleanup_after)
			test_cleanup_after();
	}
	return n_failed > 0 || n_chosen == 0;
}

#endif
