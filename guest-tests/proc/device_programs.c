/* bpf(2): programs that judge which devices the processes of a control group use. */
#include "cgroups.h"
#include <linux/bpf.h>
#include <sys/sysmacros.h>

static int group_fd = -1;

static int bpf(int command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

static void open_own_group(void)
{
	own_group();
	group_fd = SUCCEEDS(open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int load(const struct bpf_insn *instructions, unsigned count)
{
	union bpf_attr attributes = {
		.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE,
		.insns = (uintptr_t)instructions,
		.insn_cnt = count,
		.license = (uintptr_t)"MIT",
	};
	int program = bpf(BPF_PROG_LOAD, &attributes);
	if (program < 0 && (errno == EPERM || errno == ENOSYS))
		SKIP("no programs in the kernel here");
	return program;
}

#define LOAD(...) load((struct bpf_insn[]){ __VA_ARGS__ }, sizeof((struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn))
#define SET(register, value) { BPF_ALU64 | BPF_MOV | BPF_K, register, 0, 0, value }
#define READ(register, offset) { BPF_LDX | BPF_MEM | BPF_W, register, 1, offset, 0 }
#define UNLESS(register, value, skipped) { BPF_JMP | BPF_JNE | BPF_K, register, 0, skipped, value }
#define END { BPF_JMP | BPF_EXIT, 0, 0, 0, 0 }

/* Everything but character device 1:5, which is /dev/zero. */
static int all_but_zero(void)
{
	return LOAD(READ(2, 0), { BPF_ALU64 | BPF_AND | BPF_K, 2, 0, 0, 0xffff }, READ(3, 4), READ(4, 8),
		UNLESS(2, BPF_DEVCG_DEV_CHAR, 4), UNLESS(3, 1, 3), UNLESS(4, 5, 2), SET(0, 0), END, SET(0, 1), END);
}

static int change(int command, int program, unsigned flags)
{
	union bpf_attr attributes = {
		.target_fd = group_fd,
		.attach_bpf_fd = program,
		.attach_type = BPF_CGROUP_DEVICE,
		.attach_flags = flags,
	};
	return bpf(command, &attributes);
}

static unsigned attached(unsigned flags)
{
	union bpf_attr attributes = { .query = { .target_fd = group_fd, .attach_type = BPF_CGROUP_DEVICE, .query_flags = flags } };
	SUCCEEDS(bpf(BPF_PROG_QUERY, &attributes));
	return attributes.query.prog_cnt;
}

TEST(a_program_judges_the_use_of_devices)
{
	open_own_group();
	char procs[160];
	snprintf(procs, sizeof procs, "%s/cgroup.procs", group);
	int program = SUCCEEDS(all_but_zero());
	SUCCEEDS(change(BPF_PROG_ATTACH, program, 0));
	EQUALS(attached(0), 1);
	pid_t child = FORK();
	if (child == 0) {
		close(SUCCEEDS(open("/dev/zero", O_RDONLY)));
		put_text(procs, "0");
		FAILS(open("/dev/zero", O_RDONLY), EPERM);
		FAILS(access("/dev/zero", R_OK), EPERM);
		close(SUCCEEDS(open("/dev/null", O_RDWR)));
		FAILS(mknod("/tmp/belljar-zero", S_IFCHR | 0600, makedev(1, 5)), EPERM);
		SUCCEEDS(change(BPF_PROG_DETACH, program, 0));
		close(SUCCEEDS(open("/dev/zero", O_RDONLY)));
		_exit(0);
	}
	EXITS(child, 0);
	EQUALS(attached(0), 0);
	close(SUCCEEDS(open("/dev/zero", O_RDONLY)));
}

TEST(groups_beneath_add_to_what_is_above)
{
	open_own_group();
	int all = SUCCEEDS(LOAD(SET(0, 1), END)), some = SUCCEEDS(all_but_zero());
	SUCCEEDS(change(BPF_PROG_ATTACH, some, BPF_F_ALLOW_MULTI));
	FAILS(change(BPF_PROG_ATTACH, some, BPF_F_ALLOW_MULTI), EINVAL);
	FAILS(change(BPF_PROG_ATTACH, all, BPF_F_ALLOW_OVERRIDE), EPERM);
	SUCCEEDS(change(BPF_PROG_ATTACH, all, BPF_F_ALLOW_MULTI));
	EQUALS(attached(0), 2);
	FAILS(change(BPF_PROG_DETACH, -1, 0), EINVAL);
	SUCCEEDS(change(BPF_PROG_DETACH, all, 0));
	FAILS(change(BPF_PROG_DETACH, all, 0), ENOENT);
	char inner[160];
	snprintf(inner, sizeof inner, "%s/inner", group);
	SUCCEEDS(mkdir(inner, 0755));
	close(group_fd);
	group_fd = SUCCEEDS(open(inner, O_RDONLY | O_DIRECTORY));
	SUCCEEDS(change(BPF_PROG_ATTACH, all, BPF_F_ALLOW_MULTI));
	EQUALS(attached(0), 1);
	CHECK(attached(BPF_F_QUERY_EFFECTIVE) >= 2);
	SUCCEEDS(rmdir(inner));
	FAILS(change(BPF_PROG_ATTACH, some, BPF_F_ALLOW_MULTI), ENOENT);
}

TEST(programs_that_could_do_harm_are_not_loaded)
{
	open_own_group();
	close(SUCCEEDS(LOAD(SET(0, 1), END)));
	FAILS(LOAD(SET(0, 2), END), EINVAL);
	FAILS(LOAD(END), EACCES);
	FAILS(LOAD(SET(0, 1)), EINVAL);
	FAILS(LOAD(SET(0, 1), END, END), EINVAL);
	FAILS(LOAD(SET(0, 1), READ(2, 12), END), EACCES);
	FAILS(LOAD(SET(0, 1), { BPF_ST | BPF_MEM | BPF_W, 1, 0, 0, 1 }, END), EACCES);
	FAILS(LOAD(SET(0, 1), { BPF_ST | BPF_MEM | BPF_DW, 10, 0, -520, 1 }, END), EACCES);
	FAILS(LOAD(SET(0, 1), { BPF_LDX | BPF_MEM | BPF_W, 2, 3, 0, 0 }, END), EACCES);
	FAILS(LOAD(SET(0, 1), { BPF_JMP | BPF_JA, 0, 0, 7, 0 }, END), EINVAL);
	FAILS(LOAD(SET(0, 1), { 0xff, 0, 0, 0, 0 }, END), EINVAL);
	FAILS(LOAD(SET(10, 1), SET(0, 1), END), EACCES);
}
