/* landlock(7): rights that one gives up. */
#include "files.h"
#include <sys/prctl.h>

#define READ_FILE (1 << 2)
#define READ_DIR (1 << 3)
#define WRITE_FILE (1 << 1)
#define MAKE_DIR (1 << 7)
#define EXECUTE (1 << 0)
#define CREATE_VERSION 1

struct beneath {
	uint64_t rights;
	int32_t parent;
} __attribute__((packed));

static int ruleset(uint64_t handled)
{
	int version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
	if (version < 1)
		SKIP("no Landlock here");
	return SUCCEEDS(syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0));
}

static void allow(int rules, const char *path, uint64_t rights)
{
	struct beneath rule = { rights, SUCCEEDS(open(path, O_PATH | O_CLOEXEC)) };
	SUCCEEDS(syscall(SYS_landlock_add_rule, rules, 1, &rule, 0));
	close(rule.parent);
}

static void restrict_self(int rules)
{
	SUCCEEDS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	SUCCEEDS(syscall(SYS_landlock_restrict_self, rules, 0));
}

TEST(bad_rules)
{
	int rules = ruleset(READ_FILE);
	uint64_t unknown = UINT64_C(1) << 63, nothing = 0;
	FAILS(syscall(SYS_landlock_create_ruleset, &unknown, sizeof unknown, 0), EINVAL);
	FAILS(syscall(SYS_landlock_create_ruleset, &nothing, sizeof nothing, 0), ENOMSG);
	FAILS(syscall(SYS_landlock_create_ruleset, &nothing, 4, 0), EINVAL);
	struct beneath rule = { WRITE_FILE, SUCCEEDS(open("/", O_PATH)) };
	FAILS(syscall(SYS_landlock_add_rule, rules, 1, &rule, 0), EINVAL);
	FAILS(syscall(SYS_landlock_add_rule, rules, 77, &rule, 0), EINVAL);
	FAILS(syscall(SYS_landlock_add_rule, rule.parent, 1, &rule, 0), EBADF);
	FAILS(syscall(SYS_landlock_add_rule, SUCCEEDS(open("/", O_RDONLY)), 1, &rule, 0), EBADFD);
	FAILS(syscall(SYS_landlock_add_rule, -1, 1, &rule, 0), EBADF);
}

TEST(only_what_is_beneath)
{
	scratch();
	SUCCEEDS(mkdir("in", 0700));
	make_file("in/file", "x");
	make_file("out", "x");
	int before = SUCCEEDS(open("out", O_RDONLY));
	int rules = ruleset(READ_FILE | READ_DIR | MAKE_DIR);
	allow(rules, "in", READ_FILE | READ_DIR | MAKE_DIR);
	restrict_self(rules);
	SUCCEEDS(open("in/file", O_RDONLY));
	SUCCEEDS(open("in", O_RDONLY | O_DIRECTORY));
	FAILS(open("out", O_RDONLY), EACCES);
	FAILS(open(".", O_RDONLY | O_DIRECTORY), EACCES);
	FAILS(open("in/../out", O_RDONLY), EACCES);
	SUCCEEDS(open("out", O_WRONLY)); /* writing is not handled */
	SUCCEEDS(open("out", O_PATH));
	char byte;
	EQUALS(read(before, &byte, 1), 1); /* what is open stays open */
	SUCCEEDS(mkdir("in/new", 0700));
	FAILS(mkdir("new", 0700), EACCES);
	FAILS(rename("in/file", "file"), EXDEV); /* files do not change folders */
}

TEST(children_and_layers)
{
	scratch();
	SUCCEEDS(mkdir("in", 0700));
	make_file("in/file", "x");
	int rules = ruleset(READ_FILE);
	allow(rules, "in", READ_FILE);
	restrict_self(rules);
	pid_t child = FORK();
	if (child == 0) {
		FAILS(open("/proc/self/status", O_RDONLY), EACCES);
		restrict_self(ruleset(READ_FILE));
		FAILS(open("in/file", O_RDONLY), EACCES); /* a layer takes away, never gives */
		_exit(0);
	}
	EXITS(child, 0);
	SUCCEEDS(open("in/file", O_RDONLY));
}

TEST(programs)
{
	int rules = ruleset(EXECUTE);
	restrict_self(rules);
	char *arguments[] = { "true", NULL };
	FAILS(execv("/bin/true", arguments), EACCES);
}
