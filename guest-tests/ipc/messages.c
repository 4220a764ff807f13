/* System V message queues. */
#include "test.h"
#include <sys/ipc.h>
#include <sys/msg.h>

struct message {
	long type;
	char text[64];
};

static int queue = -1;

static void remove_queue(void)
{
	if (queue >= 0)
		msgctl(queue, IPC_RMID, NULL);
}

static void new_queue(void)
{
	queue = SUCCEEDS(msgget(IPC_PRIVATE, 0600));
	test_cleanup = remove_queue;
}

static void put(long type, const char *text)
{
	struct message message = { .type = type };
	strcpy(message.text, text);
	SUCCEEDS(msgsnd(queue, &message, strlen(text), 0));
}

static const char *take(long type, int flags)
{
	static struct message message;
	memset(&message, 0, sizeof message);
	SUCCEEDS(msgrcv(queue, &message, sizeof message.text, type, flags));
	return message.text;
}

TEST(first_in_first_out)
{
	new_queue();
	put(1, "one");
	put(2, "two");
	put(1, "three");
	SAME_TEXT(take(0, 0), "one");
	SAME_TEXT(take(0, 0), "two");
	SAME_TEXT(take(0, 0), "three");
}

TEST(by_type)
{
	new_queue();
	put(3, "c");
	put(1, "a");
	put(2, "b");
	put(1, "a2");
	SAME_TEXT(take(2, 0), "b");
	/* A negative number takes the smallest type up to it. */
	SAME_TEXT(take(-2, 0), "a");
	SAME_TEXT(take(1, MSG_EXCEPT), "c");
	struct message message;
	FAILS(msgrcv(queue, &message, 64, 9, IPC_NOWAIT), ENOMSG);
	SAME_TEXT(take(1, 0), "a2");
}

TEST(too_long)
{
	new_queue();
	put(1, "longer than that");
	struct message message = { 0 };
	FAILS(msgrcv(queue, &message, 4, 0, 0), E2BIG);
	EQUALS(msgrcv(queue, &message, 4, 0, MSG_NOERROR), 4);
	EQUALS(memcmp(message.text, "long", 4), 0);
	FAILS(msgrcv(queue, &message, 64, 0, IPC_NOWAIT), ENOMSG);
}

TEST(copy_and_status)
{
	new_queue();
	put(1, "abc");
	put(1, "de");
	struct msqid_ds status;
	SUCCEEDS(msgctl(queue, IPC_STAT, &status));
	EQUALS(status.msg_qnum, 2);
	EQUALS(status.__msg_cbytes, 5);
	EQUALS(status.msg_lspid, getpid());
	CHECK(status.msg_qbytes >= 1024);
}

TEST(full_queue)
{
	new_queue();
	struct msqid_ds status;
	SUCCEEDS(msgctl(queue, IPC_STAT, &status));
	status.msg_qbytes = 10;
	SUCCEEDS(msgctl(queue, IPC_SET, &status));
	put(1, "12345678");
	struct message message = { .type = 1 };
	FAILS(msgsnd(queue, &message, 3, IPC_NOWAIT), EAGAIN);
	pid_t child = FORK();
	if (child == 0)
		_exit(msgsnd(queue, &message, 3, 0));
	sleep_ms(5);
	EQUALS(waitpid(child, NULL, WNOHANG), 0);
	SAME_TEXT(take(0, 0), "12345678");
	EXITS(child, 0);
}

TEST(blocked_receiver)
{
	new_queue();
	pid_t child = FORK();
	if (child == 0)
		_exit(strcmp(take(5, 0), "for five"));
	put(4, "for nobody");
	put(5, "for five");
	EXITS(child, 0);
}

TEST(removal_wakes)
{
	new_queue();
	pid_t child = FORK();
	if (child == 0) {
		struct message message;
		CHECK(msgrcv(queue, &message, 64, 0, 0) == -1);
		_exit(errno == EIDRM || errno == EINVAL ? 0 : 1);
	}
	sleep_ms(5);
	SUCCEEDS(msgctl(queue, IPC_RMID, NULL));
	EXITS(child, 0);
	queue = -1;
}

TEST(refusals)
{
	new_queue();
	struct message message = { .type = 0 };
	FAILS(msgsnd(queue, &message, 1, 0), EINVAL);
	message.type = -1;
	FAILS(msgsnd(queue, &message, 1, 0), EINVAL);
	message.type = 1;
	FAILS(msgsnd(queue, &message, 1 << 20, 0), EINVAL);
	FAILS(msgsnd(-1, &message, 1, 0), EINVAL);
	FAILS(syscall(SYS_msgsnd, queue, BAD_POINTER, 1l, 0), EFAULT);
	FAILS(syscall(SYS_msgrcv, queue, &message, -1l, 0l, 0), EINVAL);
	FAILS(msgctl(queue, 99, NULL), EINVAL);
	FAILS(msgget(0x42000000 + getpid(), 0), ENOENT);
}
