/* inotify(7). */
#include "files.h"
#include <poll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>

static int watcher;

static void watch(const char *path, uint32_t mask)
{
	watcher = SUCCEEDS(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
	SUCCEEDS(inotify_add_watch(watcher, path, mask));
}

static char events[8192];
static size_t n_bytes, at;

/* The next event; its mask must be `mask` and its name `name` (empty for none). */
static struct inotify_event *expect(uint32_t mask, const char *name)
{
	if (at == n_bytes) {
		n_bytes = SUCCEEDS(read(watcher, events, sizeof events));
		at = 0;
	}
	struct inotify_event *event = (struct inotify_event *)(events + at);
	at += sizeof *event + event->len;
	EQUALS(event->mask, mask);
	SAME_TEXT(event->len ? event->name : "", name);
	return event;
}

static void expect_nothing(void)
{
	EQUALS(at, n_bytes);
	FAILS(read(watcher, events, sizeof events), EAGAIN);
}

TEST(life_of_a_file)
{
	scratch();
	watch(".", IN_ALL_EVENTS);
	int file = SUCCEEDS(open("file", O_RDWR | O_CREAT, 0644));
	expect(IN_CREATE, "file");
	expect(IN_OPEN, "file");
	EQUALS(write(file, "text", 4), 4);
	expect(IN_MODIFY, "file");
	char text[8];
	EQUALS(pread(file, text, 4, 0), 4);
	expect(IN_ACCESS, "file");
	SUCCEEDS(fchmod(file, 0600));
	expect(IN_ATTRIB, "file");
	SUCCEEDS(close(file));
	expect(IN_CLOSE_WRITE, "file");
	SUCCEEDS(close(SUCCEEDS(open("file", O_RDONLY))));
	expect(IN_OPEN, "file");
	expect(IN_CLOSE_NOWRITE, "file");
	SUCCEEDS(truncate("file", 0));
	expect(IN_MODIFY, "file");
	SUCCEEDS(unlink("file"));
	expect(IN_DELETE, "file");
	expect_nothing();
}

TEST(moves_have_a_cookie)
{
	scratch();
	make_file("a", "");
	SUCCEEDS(mkdir("directory", 0755));
	watch(".", IN_MOVE | IN_CREATE | IN_DELETE);
	SUCCEEDS(rename("a", "b"));
	uint32_t cookie = expect(IN_MOVED_FROM, "a")->cookie;
	CHECK(cookie != 0);
	EQUALS(expect(IN_MOVED_TO, "b")->cookie, cookie);
	SUCCEEDS(rename("b", "directory/b"));
	expect(IN_MOVED_FROM, "b");
	SUCCEEDS(rename("directory", "renamed"));
	expect(IN_MOVED_FROM | IN_ISDIR, "directory");
	expect(IN_MOVED_TO | IN_ISDIR, "renamed");
	SUCCEEDS(mkdir("new", 0755));
	expect(IN_CREATE | IN_ISDIR, "new");
	SUCCEEDS(rmdir("new"));
	expect(IN_DELETE | IN_ISDIR, "new");
	expect_nothing();
}

TEST(the_watched_file_itself)
{
	scratch();
	make_file("file", "");
	watch("file", IN_ALL_EVENTS);
	SUCCEEDS(rename("file", "other"));
	expect(IN_MOVE_SELF, "");
	SUCCEEDS(unlink("other"));
	expect(IN_ATTRIB, "");
	expect(IN_DELETE_SELF, "");
	expect(IN_IGNORED, "");
	expect_nothing();
}

TEST(links)
{
	scratch();
	make_file("file", "");
	watch(".", IN_CREATE | IN_ATTRIB);
	SUCCEEDS(link("file", "hard"));
	expect(IN_CREATE, "hard");
	SUCCEEDS(symlink("file", "soft"));
	expect(IN_CREATE, "soft");
	expect_nothing();
}

TEST(remove_a_watch)
{
	scratch();
	watcher = SUCCEEDS(inotify_init1(IN_NONBLOCK));
	int number = SUCCEEDS(inotify_add_watch(watcher, ".", IN_CREATE));
	SUCCEEDS(inotify_rm_watch(watcher, number));
	EQUALS(expect(IN_IGNORED, "")->wd, number);
	make_file("file", "");
	expect_nothing();
	FAILS(inotify_rm_watch(watcher, number), EINVAL);
}

TEST(change_a_watch)
{
	scratch();
	watcher = SUCCEEDS(inotify_init1(IN_NONBLOCK));
	int number = SUCCEEDS(inotify_add_watch(watcher, ".", IN_CREATE));
	EQUALS(inotify_add_watch(watcher, ".", IN_DELETE), number);
	make_file("file", "");
	SUCCEEDS(unlink("file"));
	expect(IN_DELETE, "file");
	EQUALS(inotify_add_watch(watcher, ".", IN_CREATE | IN_MASK_ADD), number);
	make_file("file", "");
	SUCCEEDS(unlink("file"));
	expect(IN_CREATE, "file");
	expect(IN_DELETE, "file");
	FAILS(inotify_add_watch(watcher, ".", IN_CREATE | IN_MASK_CREATE), EEXIST);
}

TEST(only_once)
{
	scratch();
	watch(".", IN_CREATE | IN_ONESHOT);
	make_file("a", "");
	make_file("b", "");
	expect(IN_CREATE, "a");
	expect(IN_IGNORED, "");
	expect_nothing();
}

TEST(equal_events_are_merged)
{
	scratch();
	make_file("file", "");
	watch(".", IN_MODIFY);
	int file = SUCCEEDS(open("file", O_WRONLY));
	for (int i = 0; i < 5; i++)
		EQUALS(write(file, "x", 1), 1);
	expect(IN_MODIFY, "file");
	expect_nothing();
}

TEST(polling_and_counting)
{
	scratch();
	watch(".", IN_CREATE);
	struct pollfd one = { watcher, POLLIN, 0 };
	int n = -1;
	EQUALS(poll(&one, 1, 0), 0);
	SUCCEEDS(ioctl(watcher, FIONREAD, &n));
	EQUALS(n, 0);
	make_file("file", "");
	EQUALS(poll(&one, 1, 0), 1);
	SUCCEEDS(ioctl(watcher, FIONREAD, &n));
	EQUALS(n, sizeof(struct inotify_event) + 16);
	FAILS(read(watcher, events, 8), EINVAL);
}

TEST(refusals)
{
	scratch();
	make_file("file", "");
	watcher = SUCCEEDS(inotify_init());
	FAILS(inotify_init1(0x100), EINVAL);
	FAILS(inotify_add_watch(watcher, "absent", IN_CREATE), ENOENT);
	FAILS(inotify_add_watch(watcher, ".", 0), EINVAL);
	FAILS(inotify_add_watch(9999, ".", IN_CREATE), EBADF);
	FAILS(inotify_add_watch(0, ".", IN_CREATE), EINVAL);
	FAILS(inotify_add_watch(watcher, "file", IN_CREATE | IN_ONLYDIR), ENOTDIR);
	FAILS(inotify_rm_watch(watcher, 77), EINVAL);
	FAILS(inotify_rm_watch(9999, 1), EBADF);
	FAILS(write(watcher, "x", 1), EBADF);
}

TEST(blocking_read_is_woken)
{
	scratch();
	watcher = SUCCEEDS(inotify_init());
	SUCCEEDS(inotify_add_watch(watcher, ".", IN_CREATE));
	pid_t child = FORK();
	if (child == 0) {
		sleep_ms(5);
		make_file("by-child", "");
		_exit(0);
	}
	expect(IN_CREATE, "by-child");
	EXITS(child, 0);
}
