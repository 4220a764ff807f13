/* unshare(2), setns(2), user_namespaces(7): who one is, and how far one's capabilities reach. */
#include "namespaces.h"
#include <arpa/inet.h>
#include <grp.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/utsname.h>

TEST(nobody_until_mapped)
{
	uid_t user = getuid();
	if (unshare(CLONE_NEWUSER) < 0)
		SKIP("user namespaces are not allowed here");
	EQUALS(getuid(), 65534u);
	char line[64];
	snprintf(line, sizeof line, "7 %u 1", user);
	put_text("/proc/self/uid_map", line);
	EQUALS(getuid(), 7u);
	EQUALS(geteuid(), 7u);
	int map = SUCCEEDS(open("/proc/self/uid_map", O_WRONLY));
	FAILS(write(map, line, strlen(line)), EPERM); /* once is enough */
}

TEST(only_own_ids_without_privilege)
{
	uid_t user = getuid();
	if (unshare(CLONE_NEWUSER) < 0)
		SKIP("user namespaces are not allowed here");
	char line[64];
	snprintf(line, sizeof line, "0 %u 1", user + 1);
	int map = SUCCEEDS(open("/proc/self/uid_map", O_WRONLY));
	FAILS(write(map, line, strlen(line)), EPERM);
	int groups = SUCCEEDS(open("/proc/self/gid_map", O_WRONLY));
	snprintf(line, sizeof line, "0 %u 1", getgid());
	FAILS(write(groups, line, strlen(line)), EPERM); /* setgroups(2) is still allowed */
	FAILS(setgroups(0, NULL), EPERM);
	put_text("/proc/self/setgroups", "deny");
}

TEST(ids_that_mean_nobody)
{
	scratch();
	make_file("mine", "");
	enter_namespaces(0);
	FAILS(setuid(5), EINVAL);
	FAILS(chown("mine", 5, -1), EINVAL);
	SUCCEEDS(setuid(0));
	struct stat mine;
	SUCCEEDS(stat("mine", &mine));
	EQUALS(mine.st_uid, 0u);
}

TEST(capabilities_end_at_the_border)
{
	struct utsname before, after;
	SUCCEEDS(uname(&before));
	pid_t child = FORK();
	if (child == 0) {
		enter_namespaces(0);
		FAILS(sethostname("inside", 6), EPERM); /* the name belongs to those outside */
		SUCCEEDS(unshare(CLONE_NEWUTS));
		SUCCEEDS(sethostname("inside", 6));
		SUCCEEDS(uname(&after));
		SAME_TEXT(after.nodename, "inside");
		_exit(0);
	}
	int status = test_wait(child);
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		SKIP("user namespaces are not allowed here");
	SUCCEEDS(uname(&after));
	SAME_TEXT(after.nodename, before.nodename);
}

TEST(queues_of_others_are_not_seen)
{
	key_t key = 0x6a617200 + getpid();
	int queue = SUCCEEDS(msgget(key, IPC_CREAT | IPC_EXCL | 0600));
	pid_t child = FORK();
	if (child == 0) {
		enter_namespaces(CLONE_NEWIPC);
		FAILS(msgget(key, 0600), ENOENT);
		_exit(0);
	}
	int status = test_wait(child);
	msgctl(queue, IPC_RMID, NULL);
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		SKIP("user namespaces are not allowed here");
}

TEST(an_empty_network)
{
	int listener = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	SUCCEEDS(bind(listener, (struct sockaddr *)&address, sizeof address));
	SUCCEEDS(listen(listener, 1));
	socklen_t length = sizeof address;
	SUCCEEDS(getsockname(listener, (struct sockaddr *)&address, &length));
	enter_namespaces(CLONE_NEWNET);
	int other = SUCCEEDS(socket(AF_INET, SOCK_STREAM, 0));
	FAILS(connect(other, (struct sockaddr *)&address, sizeof address), ENETUNREACH);
	struct ifreq loopback = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	SUCCEEDS(ioctl(other, SIOCSIFFLAGS, &loopback));
	FAILS(connect(other, (struct sockaddr *)&address, sizeof address), ECONNREFUSED); /* the listener is elsewhere */
}

TEST(back_by_descriptor)
{
	enter_namespaces(CLONE_NEWUTS);
	SUCCEEDS(sethostname("first", 5));
	int first = SUCCEEDS(open("/proc/self/ns/uts", O_RDONLY));
	SUCCEEDS(unshare(CLONE_NEWUTS));
	SUCCEEDS(sethostname("second", 6));
	FAILS(setns(first, CLONE_NEWIPC), EINVAL);
	SUCCEEDS(setns(first, CLONE_NEWUTS));
	struct utsname names;
	SUCCEEDS(uname(&names));
	SAME_TEXT(names.nodename, "first");
	int own = SUCCEEDS(open("/proc/self/ns/user", O_RDONLY));
	FAILS(setns(own, CLONE_NEWUSER), EINVAL);
}
