/* POSIX message queues. */
#include "test.h"
#include <mqueue.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

static char name[64];

static void remove_queue(void)
{
	mq_unlink(name);
}

static mqd_t new_queue(int flags)
{
	struct mq_attr attributes = { .mq_maxmsg = 3, .mq_msgsize = 32 };
	snprintf(name, sizeof name, "/belljar-%d", getpid());
	mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | flags, 0600, &attributes);
	if (queue < 0 && errno == ENOSYS)
		SKIP("kernel without POSIX message queues");
	test_cleanup = remove_queue;
	return SUCCEEDS(queue);
}

static void expect(mqd_t queue, const char *text, unsigned priority)
{
	char got[32] = "";
	unsigned got_priority = 99;
	EQUALS(mq_receive(queue, got, sizeof got, &got_priority), strlen(text));
	SAME_TEXT(got, text);
	EQUALS(got_priority, priority);
}

TEST(highest_priority_first)
{
	mqd_t queue = new_queue(0);
	SUCCEEDS(mq_send(queue, "low", 3, 1));
	SUCCEEDS(mq_send(queue, "high", 4, 5));
	SUCCEEDS(mq_send(queue, "low2", 4, 1));
	expect(queue, "high", 5);
	expect(queue, "low", 1);
	expect(queue, "low2", 1);
}

TEST(attributes)
{
	mqd_t queue = new_queue(0);
	struct mq_attr attributes, nonblocking = { .mq_flags = O_NONBLOCK };
	SUCCEEDS(mq_send(queue, "x", 1, 0));
	SUCCEEDS(mq_getattr(queue, &attributes));
	EQUALS(attributes.mq_maxmsg, 3);
	EQUALS(attributes.mq_msgsize, 32);
	EQUALS(attributes.mq_curmsgs, 1);
	EQUALS(attributes.mq_flags, 0);
	SUCCEEDS(mq_setattr(queue, &nonblocking, NULL));
	SUCCEEDS(mq_getattr(queue, &attributes));
	EQUALS(attributes.mq_flags, O_NONBLOCK);
}

TEST(nonblocking)
{
	mqd_t queue = new_queue(O_NONBLOCK);
	char text[32];
	FAILS(mq_receive(queue, text, sizeof text, NULL), EAGAIN);
	for (int i = 0; i < 3; i++)
		SUCCEEDS(mq_send(queue, "x", 1, 0));
	FAILS(mq_send(queue, "x", 1, 0), EAGAIN);
}

TEST(time_outs)
{
	mqd_t queue = new_queue(0);
	char text[32];
	struct timespec end;
	SUCCEEDS(clock_gettime(CLOCK_REALTIME, &end));
	FAILS(mq_timedreceive(queue, text, sizeof text, NULL, &end), ETIMEDOUT);
	end.tv_nsec = -1;
	FAILS(mq_timedreceive(queue, text, sizeof text, NULL, &end), EINVAL);
}

TEST(polling)
{
	mqd_t queue = new_queue(0);
	struct pollfd one = { queue, POLLIN | POLLOUT, 0 };
	EQUALS(poll(&one, 1, 0), 1);
	EQUALS(one.revents, POLLOUT);
	for (int i = 0; i < 3; i++)
		SUCCEEDS(mq_send(queue, "x", 1, 0));
	EQUALS(poll(&one, 1, 0), 1);
	EQUALS(one.revents, POLLIN);
}

TEST(between_processes)
{
	mqd_t queue = new_queue(0);
	pid_t child = FORK();
	if (child == 0) {
		mqd_t own = SUCCEEDS(mq_open(name, O_WRONLY));
		for (int i = 0; i < 10; i++)
			SUCCEEDS(mq_send(own, "message", 7, 2));
		_exit(0);
	}
	for (int i = 0; i < 10; i++)
		expect(queue, "message", 2);
	EXITS(child, 0);
}

static volatile int value;
static void note(int signal __attribute__((unused)), siginfo_t *info, void *context __attribute__((unused)))
{
	value = info->si_code == SI_MESGQ ? info->si_value.sival_int : -1;
}

TEST(notification)
{
	mqd_t queue = new_queue(0);
	struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };
	SUCCEEDS(sigaction(SIGUSR1, &action, NULL));
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 31 };
	SUCCEEDS(mq_notify(queue, &event));
	FAILS(mq_notify(queue, &event), EBUSY);
	SUCCEEDS(mq_send(queue, "x", 1, 0));
	while (!value)
		sleep_ms(1);
	EQUALS(value, 31);
	SUCCEEDS(mq_notify(queue, &event));
	SUCCEEDS(mq_notify(queue, NULL));
}

static volatile int told;
static void in_a_thread(union sigval given)
{
	told = given.sival_int;
}

/* The C library makes a thread of what comes out of a netlink socket. */
TEST(notification_by_a_thread)
{
	mqd_t queue = new_queue(0);
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = in_a_thread, .sigev_value.sival_int = 32 };
	SUCCEEDS(mq_notify(queue, &event));
	FAILS(mq_notify(queue, &event), EBUSY);
	SUCCEEDS(mq_send(queue, "x", 1, 0));
	while (!told)
		sleep_ms(1);
	EQUALS(told, 32);
	expect(queue, "x", 0);
	event.sigev_value.sival_int = 33;
	SUCCEEDS(mq_notify(queue, &event));
	SUCCEEDS(mq_notify(queue, NULL));
	SUCCEEDS(mq_notify(queue, &event));
	SUCCEEDS(mq_send(queue, "x", 1, 0));
	while (told != 33)
		sleep_ms(1);
}

TEST(notification_by_a_socket)
{
	mqd_t queue = new_queue(0);
	int socket_fd = SUCCEEDS(socket(AF_NETLINK, SOCK_RAW, 0));
	char cookie[32] = "a cookie of the program's own", got[64];
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_signo = socket_fd, .sigev_value.sival_ptr = cookie };
	SUCCEEDS(syscall(SYS_mq_notify, queue, &event));
	SUCCEEDS(mq_send(queue, "x", 1, 0));
	EQUALS(recv(socket_fd, got, sizeof got, 0), sizeof cookie);
	CHECK(memcmp(got, cookie, 31) == 0);
	EQUALS(got[31], 1);
	expect(queue, "x", 0);
	SUCCEEDS(syscall(SYS_mq_notify, queue, &event));
	SUCCEEDS(syscall(SYS_mq_notify, queue, NULL));
	EQUALS(recv(socket_fd, got, sizeof got, 0), sizeof cookie);
	EQUALS(got[31], 2);
	SUCCEEDS(syscall(SYS_mq_notify, queue, &event));
	SUCCEEDS(mq_close(queue));
	EQUALS(recv(socket_fd, got, sizeof got, 0), sizeof cookie);
	EQUALS(got[31], 2);
	event.sigev_signo = 0;
	SUCCEEDS(close(0));
	queue = SUCCEEDS(mq_open(name, O_RDWR));
	EQUALS(queue, 0);
	FAILS(syscall(SYS_mq_notify, queue, &event), ENOTSOCK);
	event.sigev_signo = SUCCEEDS(socket(AF_UNIX, SOCK_STREAM, 0));
	FAILS(syscall(SYS_mq_notify, queue, &event), EINVAL);
	event.sigev_signo = 99;
	FAILS(syscall(SYS_mq_notify, queue, &event), EBADF);
	event.sigev_value.sival_ptr = BAD_POINTER;
	FAILS(syscall(SYS_mq_notify, queue, &event), EFAULT);
}

TEST(refusals)
{
	mqd_t queue = new_queue(0);
	char text[64] = "";
	FAILS(mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, NULL), EEXIST);
	FAILS(mq_open("/belljar-absent", O_RDWR), ENOENT);
	FAILS(mq_open("no-slash", O_RDWR), EINVAL);
	FAILS(mq_receive(queue, text, 31, NULL), EMSGSIZE);
	FAILS(mq_send(queue, text, 33, 0), EMSGSIZE);
	FAILS(mq_send(queue, text, 1, 32768), EINVAL);
	FAILS(mq_send(0, text, 1, 0), EBADF);
	FAILS(mq_unlink("/belljar-absent"), ENOENT);
	mqd_t reader = SUCCEEDS(mq_open(name, O_RDONLY));
	FAILS(mq_send(reader, text, 1, 0), EBADF);
	SUCCEEDS(mq_unlink(name));
	FAILS(mq_open(name, O_RDWR), ENOENT);
	SUCCEEDS(mq_send(queue, text, 1, 0));
	SUCCEEDS(mq_close(queue));
	FAILS(mq_close(queue), EBADF);
}
