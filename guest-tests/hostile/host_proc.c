/* Ways to the host's files that a sloppy sandbox leaves open. run: --timeout 1h */
#include "hostile.h"

#include <dirent.h>

static void look(const char *path)
{
	static char text[1 << 16];
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return;
	long n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return;
	text[n] = 0;
	for (long at = 0; at < n; at++)
		if (text[at] == 'b' && strncmp(text + at, "belljar-canary", 14) == 0) {
			printf("%s\n", path);
			escaped("the canary was read");
		}
}

int main(int argc, char **argv)
{
	char path[512];
	const char *canary = argc > 1 ? argv[1] : "/nothing";
	static const char *prefixes[] = { "", "/proc/1/root", "/proc/self/root", "/proc/self/root/..", "/proc/self/cwd/../..", "/proc/1/cwd",
		"/usr/../..", "/dev/fd/3", "/dev/fd/4", "/proc/self/fd/3/..", "/proc/2/root", "/proc/self/task/1/root", "/sys/../" };
	for (size_t n = 0; n < sizeof prefixes / sizeof *prefixes; n++) {
		snprintf(path, sizeof path, "%s%s", prefixes[n], canary);
		look(path);
	}
	static const char *files[] = { "/proc/kcore", "/proc/kmem", "/dev/mem", "/dev/kmem", "/dev/port", "/dev/sda", "/dev/vda", "/dev/kvm",
		"/proc/sysrq-trigger", "/etc/shadow", "/root/.ssh/id_rsa", "/proc/1/environ", "/proc/1/mem", "/proc/keys", "/run/docker.sock",
		"/proc/sys/kernel/core_pattern", "/sys/kernel/security/lsm", "/proc/timer_list" };
	for (size_t n = 0; n < sizeof files / sizeof *files; n++)
		look(files[n]);
	for (int pid = 1; pid < 300; pid++) {
		static const char *names[] = { "environ", "mem", "cmdline", "maps", "root/etc/shadow", "fd/0", "fd/1", "fd/7", "cwd/x" };
		for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
			snprintf(path, sizeof path, "/proc/%d/%s", pid, names[n]);
			look(path);
		}
	}
	int fd = open("/proc/sysrq-trigger", O_WRONLY);
	if (fd >= 0 && write(fd, "h", 1) == 1)
		escaped("sysrq");
	fd = open("/proc/sys/kernel/hostname", O_WRONLY);
	if (fd >= 0)
		write(fd, "escaped", 7);
	if (mknod("/tmp/disk", S_IFBLK | 0666, 0xfe00) == 0 && open("/tmp/disk", O_RDONLY) >= 0)
		escaped("a device of the host's was opened");
	/* The shim as /proc/self/mem shows it. */
	fd = open("/proc/self/mem", O_RDWR);
	if (fd >= 0 && pwrite(fd, "\x90", 1, 0x600000003000) == 1)
		puts("the shim can be written by /proc/self/mem: harms itself only");
	puts("held");
	return 0;
}
