/* What programs read about the machine in /proc and /sys; uname, sysinfo, getrandom, getcpu. */
#include "files.h"
#include <sched.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

static long long number_behind(const char *path, const char *field)
{
	const char *at = strstr(text_of(path), field);
	if (!at)
		test_fail(__FILE__, __LINE__, "%s has no %s", path, field);
	return atoll(at + strlen(field));
}

TEST(memory)
{
	long long total = number_behind("/proc/meminfo", "MemTotal:"), free = number_behind("/proc/meminfo", "MemFree:");
	long long available = number_behind("/proc/meminfo", "MemAvailable:");
	CHECK(total > 0 && free > 0 && free <= total && available > 0 && available <= total);
	CHECK(number_behind("/proc/meminfo", "SwapTotal:") >= 0);
	struct sysinfo info;
	SUCCEEDS(sysinfo(&info));
	EQUALS((long long)info.totalram * info.mem_unit / 1024, total);
	CHECK(info.uptime > 0 && info.procs > 0);
	FAILS(syscall(SYS_sysinfo, BAD_POINTER), EFAULT);
}

TEST(processors)
{
	const char *text = text_of("/proc/cpuinfo");
	int n = 0;
	for (const char *at = text; (at = strstr(at, "processor\t:")); at++)
		n++;
	EQUALS(n, sysconf(_SC_NPROCESSORS_ONLN));
	CHECK(strstr(text, "model name\t:") && strstr(text, "flags\t\t:") && strstr(text, "cpu MHz\t\t:"));
}

TEST(statistics)
{
	unsigned long user;
	const char *text = text_of("/proc/stat");
	EQUALS(sscanf(text, "cpu %lu", &user), 1);
	CHECK(strstr(text, "\ncpu0 ") && strstr(text, "\nctxt ") && strstr(text, "\nprocesses "));
	long long booted = number_behind("/proc/stat", "btime ");
	double uptime, idle;
	EQUALS(sscanf(text_of("/proc/uptime"), "%lf %lf", &uptime, &idle), 2);
	CHECK(uptime > 0);
	long long difference = time(NULL) - (long long)uptime - booted;
	CHECK(difference >= -3 && difference <= 3);
}

TEST(load)
{
	double one, five, fifteen;
	int running, all, last;
	EQUALS(sscanf(text_of("/proc/loadavg"), "%lf %lf %lf %d/%d %d", &one, &five, &fifteen, &running, &all, &last), 6);
	CHECK(running >= 1 && all >= running && one >= 0);
}

TEST(version)
{
	struct utsname name;
	SUCCEEDS(uname(&name));
	SAME_TEXT(name.sysname, "Linux");
	SAME_TEXT(name.machine, "x86_64");
	char expected[128];
	snprintf(expected, sizeof expected, "Linux version %s ", name.release);
	EQUALS(strncmp(text_of("/proc/version"), expected, strlen(expected)), 0);
	snprintf(expected, sizeof expected, "%s\n", name.release);
	SAME_TEXT(text_of("/proc/sys/kernel/osrelease"), expected);
	snprintf(expected, sizeof expected, "%s\n", name.nodename);
	SAME_TEXT(text_of("/proc/sys/kernel/hostname"), expected);
	SAME_TEXT(text_of("/proc/sys/kernel/ostype"), "Linux\n");
	FAILS(syscall(SYS_uname, BAD_POINTER), EFAULT);
	int major = 0;
	EQUALS(sscanf(name.release, "%d.", &major), 1);
	CHECK(major >= 4);
}

TEST(mounts)
{
	CHECK(strstr(text_of("/proc/mounts"), " / "));
	CHECK(strstr(text_of("/proc/mounts"), " /proc proc "));
	SAME_TEXT(strrchr(text_of("/proc/self/mounts"), '\n'), "\n");
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[4096];
	bool has_root = false;
	CHECK(mounts);
	while (fgets(line, sizeof line, mounts)) {
		int id, parent, major, minor;
		char root[1024], point[1024];
		EQUALS(sscanf(line, "%d %d %d:%d %1023s %1023s", &id, &parent, &major, &minor, root, point), 6);
		CHECK(strstr(line, " - "));
		has_root |= strcmp(point, "/") == 0;
	}
	fclose(mounts);
	CHECK(has_root);
}

TEST(file_systems)
{
	CHECK(strstr(text_of("/proc/filesystems"), "nodev\tproc\n"));
	CHECK(strstr(text_of("/proc/filesystems"), "nodev\ttmpfs\n"));
}

TEST(settings)
{
	const char *numbers[] = { "/proc/sys/kernel/pid_max", "/proc/sys/fs/file-max", "/proc/sys/fs/nr_open", "/proc/sys/vm/max_map_count",
				  "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/ngroups_max", "/proc/sys/kernel/cap_last_cap",
				  "/proc/sys/fs/pipe-max-size", "/proc/sys/net/core/somaxconn" };
	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		char end;
		long long value = -1;
		EQUALS(sscanf(text_of(numbers[i]), "%lld%c", &value, &end), 2);
		CHECK(value >= 0 && end == '\n');
	}
	EQUALS(atoi(text_of("/proc/sys/kernel/ngroups_max")), 65536);
	EQUALS(strlen(text_of("/proc/sys/kernel/random/uuid")), 37);
	EQUALS(strlen(text_of("/proc/sys/kernel/random/boot_id")), 37);
}

TEST(list_of_processes)
{
	DIR *directory = opendir("/proc");
	bool found_self = false, found_one = false;
	CHECK(directory);
	for (struct dirent *entry; (entry = readdir(directory));) {
		found_self |= atoi(entry->d_name) == getpid();
		found_one |= strcmp(entry->d_name, "1") == 0;
	}
	closedir(directory);
	CHECK(found_self && found_one);
}

TEST(cpus_in_sys)
{
	struct stat status;
	SUCCEEDS(stat("/sys/devices/system/cpu/cpu0", &status));
	CHECK(strlen(text_of("/sys/devices/system/cpu/online")) >= 2);
	CHECK(strlen(text_of("/sys/devices/system/cpu/possible")) >= 2);
	EQUALS(text_of("/sys/devices/system/cpu/online")[0], '0');
	unsigned cpu, node;
	SUCCEEDS(syscall(SYS_getcpu, &cpu, &node, NULL));
	CHECK(cpu < (unsigned)sysconf(_SC_NPROCESSORS_CONF));
}

TEST(network_tables)
{
	CHECK(strstr(text_of("/proc/net/dev"), "lo:"));
	CHECK(strstr(text_of("/proc/net/tcp"), "local_address"));
	CHECK(strstr(text_of("/proc/net/udp"), "local_address"));
	CHECK(strstr(text_of("/proc/net/snmp"), "Tcp: RtoAlgorithm RtoMin"));
	CHECK(strstr(text_of("/proc/net/unix"), "RefCount"));
	CHECK(strlen(text_of("/proc/net/route")) > 0);
}

TEST(random_bytes)
{
	unsigned char first[64] = { 0 }, second[64] = { 0 };
	EQUALS(getrandom(first, sizeof first, 0), sizeof first);
	EQUALS(getrandom(second, sizeof second, GRND_NONBLOCK), sizeof second);
	CHECK(memcmp(first, second, sizeof first) != 0);
	EQUALS(getrandom(first, 16, GRND_RANDOM), 16);
	EQUALS(getrandom(first, 0, 0), 0);
	FAILS(getrandom(first, 1, 0x100), EINVAL);
	FAILS(syscall(SYS_getrandom, BAD_POINTER, 1l, 0), EFAULT);
}

TEST(writing_is_refused)
{
	become_ordinary();
	FAILS(open("/proc/sys/kernel/hostname", O_WRONLY), EACCES);
	FAILS(open("/proc/meminfo", O_WRONLY), EACCES);
	FAILS(unlink("/proc/meminfo"), EACCES);
	FAILS(open("/proc/new", O_WRONLY | O_CREAT, 0644), ENOENT);
}

/* Files of /proc are read in pieces like any other. */
TEST(small_reads)
{
	char whole[256], pieces[256] = "";
	int file = SUCCEEDS(open("/proc/version", O_RDONLY));
	ssize_t length = SUCCEEDS(read(file, whole, sizeof whole));
	SUCCEEDS(lseek(file, 0, SEEK_SET));
	for (ssize_t at = 0; at < length; at++)
		EQUALS(read(file, pieces + at, 1), 1);
	EQUALS(read(file, pieces, 1), 0);
	EQUALS(memcmp(whole, pieces, length), 0);
	EQUALS(pread(file, pieces, 5, 6), 5);
	EQUALS(memcmp(pieces, "versi", 5), 0);
}
