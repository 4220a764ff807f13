/*
 * forbid NUMBER... -- PROGRAM...: runs a program for which the host's kernel does not know these calls. A namespace flag of clone
 * is refused with "namespaces" as a number, as containers do.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NEW_NAMESPACE = 0x7e020000, NOT_PERMITTED = 1, NO_SUCH_CALL = 38 };

static struct sock_filter rules[256];
static unsigned short n_rules;

static void rule(unsigned short code, unsigned char if_true, unsigned char if_false, unsigned value)
{
	rules[n_rules++] = (struct sock_filter){ code, if_true, if_false, value };
}

static void refuse(unsigned call, unsigned error)
{
	rule(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call);
	rule(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error);
}

int main(int argc, char **argv)
{
	int at = 1;
	rule(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	for (; at < argc && strcmp(argv[at], "--"); at++) {
		if (!strcmp(argv[at], "namespaces")) {
			refuse(SYS_unshare, NOT_PERMITTED);
			refuse(SYS_setns, NOT_PERMITTED);
			refuse(SYS_mount, NOT_PERMITTED);
			refuse(SYS_clone3, NO_SUCH_CALL);
			rule(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, SYS_clone);
			rule(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args[0]));
			rule(BPF_JMP | BPF_JSET | BPF_K, 0, 1, NEW_NAMESPACE);
			rule(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | NOT_PERMITTED);
			rule(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
		} else {
			refuse((unsigned)atoi(argv[at]), NO_SUCH_CALL);
		}
	}
	rule(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { n_rules, rules };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("seccomp");
		return 1;
	}
	execvp(argv[at + 1], argv + at + 1);
	perror("exec");
	return 1;
}
