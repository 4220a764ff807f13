/* Calls that move or describe data of files in other ways, each with its errors. */
#include "files.h"
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

static int file_with(const char *text)
{
	make_file("file", text);
	return SUCCEEDS(open("file", O_RDWR));
}

TEST(synchronise_a_range)
{
	scratch();
	int file = file_with("text"), ends[2];
	SUCCEEDS(pipe(ends));
	SUCCEEDS(sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE));
	SUCCEEDS(sync_file_range(file, 1, 2, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER));
	SUCCEEDS(sync_file_range(file, 0, 0, 0));
	FAILS(sync_file_range(file, 0, 0, 8), EINVAL);
	FAILS(sync_file_range(file, -1, 0, SYNC_FILE_RANGE_WRITE), EINVAL);
	FAILS(sync_file_range(file, 0, -1, SYNC_FILE_RANGE_WRITE), EINVAL);
	FAILS(sync_file_range(file, LONG_MAX, LONG_MAX, SYNC_FILE_RANGE_WRITE), EINVAL);
	FAILS(sync_file_range(ends[0], 0, 0, SYNC_FILE_RANGE_WRITE), ESPIPE);
	FAILS(sync_file_range(9999, 0, 0, 0), EBADF);
}

TEST(synchronise_whole_files)
{
	scratch();
	int file = file_with("text"), folder = SUCCEEDS(open(".", O_RDONLY)), ends[2];
	SUCCEEDS(pipe(ends));
	SUCCEEDS(fsync(file));
	SUCCEEDS(fdatasync(file));
	SUCCEEDS(fsync(folder));
	SUCCEEDS(fdatasync(SUCCEEDS(open("file", O_RDONLY))));
	SUCCEEDS(syncfs(folder));
	sync();
	FAILS(fsync(ends[1]), EINVAL);
	FAILS(fdatasync(ends[1]), EINVAL);
	FAILS(fsync(9999), EBADF);
	FAILS(syncfs(9999), EBADF);
	FAILS(fsync(SUCCEEDS(open("file", O_PATH))), EBADF);
}

TEST(advice)
{
	scratch();
	int file = file_with("text"), ends[2];
	SUCCEEDS(pipe(ends));
	for (int advice = 0; advice <= 5; advice++)
		EQUALS(posix_fadvise(file, 0, 0, advice), 0);
	EQUALS(posix_fadvise(file, 1000, 1000, POSIX_FADV_DONTNEED), 0);
	EQUALS(posix_fadvise(file, 0, 0, 6), EINVAL);
	EQUALS(posix_fadvise(file, 0, -1, POSIX_FADV_NORMAL), EINVAL);
	EQUALS(posix_fadvise(ends[0], 0, 0, POSIX_FADV_NORMAL), ESPIPE);
	EQUALS(posix_fadvise(9999, 0, 0, POSIX_FADV_NORMAL), EBADF);
	EQUALS(posix_fadvise(SUCCEEDS(open("file", O_PATH)), 0, 0, POSIX_FADV_NORMAL), EBADF);
}

TEST(read_ahead)
{
	scratch();
	int file = file_with("text"), ends[2];
	SUCCEEDS(pipe(ends));
	SUCCEEDS(readahead(file, 0, 4096));
	SUCCEEDS(readahead(file, 100000, 4096));
	FAILS(readahead(SUCCEEDS(open("file", O_WRONLY)), 0, 4096), EBADF);
	FAILS(readahead(ends[0], 0, 4096), EINVAL);
	FAILS(readahead(9999, 0, 4096), EBADF);
}

TEST(flags_of_one_read_or_write)
{
	scratch();
	int file = file_with("0123456789");
	char text[16] = "";
	struct iovec in = { text, 4 }, out = { "xy", 2 };
	EQUALS(preadv2(file, &in, 1, 2, RWF_HIPRI), 4);
	SAME_TEXT(text, "2345");
	/* The position, for an offset of -1. */
	EQUALS(preadv2(file, &in, 1, -1, 0), 4);
	EQUALS(lseek(file, 0, SEEK_CUR), 4);
	FAILS(preadv2(file, &in, 1, -2, 0), EINVAL);
	FAILS(preadv2(file, &in, 1, 0, 0x40000000), EOPNOTSUPP);
	FAILS(pwritev2(file, &out, 1, 0, 0x40000000), EOPNOTSUPP);
	EQUALS(pwritev2(file, &out, 1, 0, RWF_DSYNC), 2);
	EQUALS(pwritev2(file, &out, 1, 0, RWF_SYNC), 2);
	EQUALS(pwritev2(file, &out, 1, 0, RWF_APPEND), 2);
	SAME_TEXT(text_of("file"), "xy23456789xy");
	/* With the position: it moves to the end. */
	EQUALS(pwritev2(file, &out, 1, -1, RWF_APPEND), 2);
	EQUALS(lseek(file, 0, SEEK_CUR), 14);
	EQUALS(preadv2(file, &in, 1, 0, RWF_NOWAIT), 4);
	int ends[2];
	SUCCEEDS(pipe(ends));
	FAILS(preadv2(ends[0], &in, 1, -1, RWF_NOWAIT), EAGAIN);
	FAILS(preadv2(ends[0], &in, 1, 0, 0), ESPIPE);
	FAILS((int)syscall(SYS_preadv2, file, &in, -1l, 0, 0, 0), EINVAL);
	FAILS((int)syscall(SYS_preadv2, file, &in, 1025, 0, 0, 0), EINVAL);
	FAILS(preadv2(SUCCEEDS(open("file", O_WRONLY)), &in, 1, 0, 0), EBADF);
	FAILS(pwritev2(SUCCEEDS(open("file", O_RDONLY)), &out, 1, 0, 0), EBADF);
}

TEST(past_the_cache)
{
	scratch();
	int file = open("direct", O_RDWR | O_CREAT | O_DIRECT, 0644);
	if (file < 0 && errno == EINVAL)
		SKIP("this file system knows no O_DIRECT");
	CHECK(file >= 0);
	CHECK(fcntl(file, F_GETFL) & O_DIRECT);
	char *pages = SUCCEEDS(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	memset(pages, 'd', 4096);
	EQUALS(pwrite(file, pages, 4096, 4096), 4096);
	EQUALS(pread(file, pages + 4096, 4096, 4096), 4096);
	CHECK(memcmp(pages, pages + 4096, 4096) == 0);
	struct stat status;
	SUCCEEDS(fstat(file, &status));
	EQUALS(status.st_size, 8192);
	SUCCEEDS(fcntl(file, F_SETFL, 0));
	CHECK(!(fcntl(file, F_GETFL) & O_DIRECT));
}

TEST(written_at_once)
{
	scratch();
	int file = SUCCEEDS(open("file", O_RDWR | O_CREAT | O_SYNC, 0644));
	EQUALS(fcntl(file, F_GETFL) & O_SYNC, O_SYNC);
	EQUALS(write(file, "text", 4), 4);
	int other = SUCCEEDS(open("file", O_WRONLY | O_DSYNC | O_APPEND));
	EQUALS(fcntl(other, F_GETFL) & O_SYNC, O_DSYNC);
	EQUALS(write(other, "more", 4), 4);
	/* F_SETFL cannot change it, and says nothing. */
	SUCCEEDS(fcntl(file, F_SETFL, 0));
	EQUALS(fcntl(file, F_GETFL) & O_SYNC, O_SYNC);
	SAME_TEXT(text_of("file"), "textmore");
}

TEST(ranges_that_are_allocated)
{
	scratch();
	int file = file_with("0123456789");
	struct stat status;
	SUCCEEDS(fallocate(file, FALLOC_FL_KEEP_SIZE, 0, 100000));
	SUCCEEDS(fstat(file, &status));
	EQUALS(status.st_size, 10);
	SUCCEEDS(fallocate(file, 0, 0, 100000));
	SUCCEEDS(fstat(file, &status));
	EQUALS(status.st_size, 100000);
	SUCCEEDS(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2, 3));
	char text[11] = "";
	EQUALS(pread(file, text, 10, 0), 10);
	EQUALS(memcmp(text, "01\0\0\0" "56789", 10), 0);
	FAILS(fallocate(file, FALLOC_FL_PUNCH_HOLE, 0, 4096), EOPNOTSUPP);
	FAILS(fallocate(file, 0x1000, 0, 4096), EOPNOTSUPP);
	FAILS(fallocate(file, 0, -1, 4096), EINVAL);
	FAILS(fallocate(file, 0, 0, 0), EINVAL);
	FAILS(fallocate(file, 0, LONG_MAX, 10), EFBIG);
	FAILS(fallocate(SUCCEEDS(open("file", O_RDONLY)), 0, 0, 1), EBADF);
	int ends[2];
	SUCCEEDS(pipe(ends));
	FAILS(fallocate(ends[1], 0, 0, 1), ESPIPE);
	FAILS(fallocate(SUCCEEDS(open(".", O_RDONLY)), 0, 0, 1), EBADF);
}

TEST(data_and_holes)
{
	scratch();
	int file = SUCCEEDS(open("file", O_RDWR | O_CREAT, 0644));
	SUCCEEDS(ftruncate(file, 1 << 20));
	EQUALS(pwrite(file, "x", 1, 512 << 10), 1);
	off_t data = SUCCEEDS(lseek(file, 0, SEEK_DATA));
	CHECK(data <= 512 << 10);
	off_t hole = SUCCEEDS(lseek(file, 512 << 10, SEEK_HOLE));
	CHECK(hole > 512 << 10 && hole <= 1 << 20);
	FAILS(lseek(file, 1 << 20, SEEK_DATA), ENXIO);
	FAILS(lseek(file, 1 << 20, SEEK_HOLE), ENXIO);
	FAILS(lseek(file, -1, SEEK_DATA), ENXIO);
	FAILS(lseek(file, 0, 7), EINVAL);
	int ends[2];
	SUCCEEDS(pipe(ends));
	FAILS(lseek(ends[0], 0, SEEK_HOLE), ESPIPE);
}

TEST(link_of_an_open_file)
{
	scratch();
	int file = file_with("text");
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	SUCCEEDS(linkat(AT_FDCWD, path, AT_FDCWD, "second", AT_SYMLINK_FOLLOW));
	SAME_TEXT(text_of("second"), "text");
	FAILS(linkat(AT_FDCWD, path, AT_FDCWD, "second", AT_SYMLINK_FOLLOW), EEXIST);
	/* A file without any name left cannot get one back. */
	SUCCEEDS(unlink("file"));
	SUCCEEDS(unlink("second"));
	FAILS(linkat(AT_FDCWD, path, AT_FDCWD, "third", AT_SYMLINK_FOLLOW), ENOENT);
	/* The link of another file system is one of its own. */
	FAILS(linkat(AT_FDCWD, path, AT_FDCWD, "fourth", 0), EXDEV);
	FAILS(linkat(AT_FDCWD, "missing", AT_FDCWD, "fifth", 0x8000), EINVAL);
}

TEST(handles_are_given_or_refused_cleanly)
{
	scratch();
	make_file("file", "");
	struct {
		struct file_handle head;
		unsigned char bytes[MAX_HANDLE_SZ];
	} handle = { .head = { .handle_bytes = 0 } };
	int mount;
	CHECK(name_to_handle_at(AT_FDCWD, "file", &handle.head, &mount, 0) == -1);
	CHECK(errno == EOVERFLOW || errno == EOPNOTSUPP);
	FAILS(name_to_handle_at(AT_FDCWD, "file", &handle.head, &mount, 0x800000), EINVAL);
}

TEST(close_a_range_of_descriptors)
{
	int low = SUCCEEDS(dup2(0, 100));
	SUCCEEDS(dup2(0, 101));
	SUCCEEDS(dup2(0, 103));
	SUCCEEDS(close_range(101, 102, 0));
	FAILS(fcntl(101, F_GETFD), EBADF);
	EQUALS(fcntl(103, F_GETFD), 0);
	SUCCEEDS(close_range(100, 103, CLOSE_RANGE_CLOEXEC));
	EQUALS(fcntl(low, F_GETFD), FD_CLOEXEC);
	EQUALS(fcntl(103, F_GETFD), FD_CLOEXEC);
	SUCCEEDS(close_range(100, ~0u, CLOSE_RANGE_UNSHARE));
	FAILS(fcntl(100, F_GETFD), EBADF);
	FAILS(close_range(5, 4, 0), EINVAL);
	FAILS(close_range(5, 6, 8), EINVAL);
}

TEST(queries_of_descriptors)
{
	scratch();
	int file = SUCCEEDS(open("new", O_RDWR | O_CREAT, 0644)), copy = SUCCEEDS(dup(file)), again = SUCCEEDS(open("new", O_RDWR | O_CREAT));
	int same = fcntl(file, 1027 /* F_DUPFD_QUERY */, copy);
	if (same >= 0) {
		EQUALS(same, 1);
		EQUALS(fcntl(file, 1027, again), 0);
		FAILS(fcntl(file, 1027, 9999), EBADF);
	}
	int created = fcntl(file, 1028 /* F_CREATED_QUERY */);
	if (created >= 0) {
		EQUALS(created, 1);
		EQUALS(fcntl(copy, 1028), 1);
		EQUALS(fcntl(again, 1028), 0);
		EQUALS(fcntl(0, 1028), 0);
	}
	EQUALS(fcntl(file, F_DUPFD_CLOEXEC, 50), 50);
	EQUALS(fcntl(50, F_GETFD), FD_CLOEXEC);
	FAILS(fcntl(file, F_DUPFD, -1), EINVAL);
	FAILS(fcntl(file, F_DUPFD, INT_MAX), EINVAL);
}

static volatile int n_told;
static void told(int number __attribute__((unused)))
{
	n_told++;
}

TEST(changes_of_a_directory_by_signal)
{
	scratch();
	SUCCEEDS(mkdir("folder", 0755));
	int folder = SUCCEEDS(open("folder", O_RDONLY)), file = file_with("");
	signal(SIGIO, told);
	FAILS(fcntl(file, F_NOTIFY, DN_CREATE), ENOTDIR);
	SUCCEEDS(fcntl(folder, F_NOTIFY, DN_CREATE | DN_MULTISHOT));
	make_file("folder/one", "");
	while (n_told == 0)
		sleep_ms(1);
	SUCCEEDS(fcntl(folder, F_NOTIFY, 0));
	n_told = 0;
	make_file("folder/two", "");
	EQUALS(n_told, 0);
}

TEST(requests_that_every_descriptor_knows)
{
	scratch();
	int file = file_with("12345"), n = 7, on = 1, off = 0;
	SUCCEEDS(ioctl(file, FIOCLEX));
	EQUALS(fcntl(file, F_GETFD), FD_CLOEXEC);
	SUCCEEDS(ioctl(file, FIONCLEX));
	EQUALS(fcntl(file, F_GETFD), 0);
	SUCCEEDS(ioctl(file, FIONBIO, &on));
	CHECK(fcntl(file, F_GETFL) & O_NONBLOCK);
	SUCCEEDS(ioctl(file, FIONBIO, &off));
	CHECK(!(fcntl(file, F_GETFL) & O_NONBLOCK));
	FAILS(ioctl(file, FIONBIO, BAD_POINTER), EFAULT);
	loff_t size = -1;
	FAILS(ioctl(0x7fff, FIOQSIZE, &size), EBADF);
	SUCCEEDS(fsync(file));
	SUCCEEDS(ioctl(file, FIOQSIZE, &size));
	CHECK(size >= 5 && size <= 65536); /* what it takes, not its length */
	SUCCEEDS(ioctl(file, FIONREAD, &n));
	EQUALS(n, 5);
	int block = 0;
	SUCCEEDS(ioctl(file, 2 /* FIGETBSZ */, &block));
	CHECK(block >= 512);
	FAILS(ioctl(file, TCGETS, &n), ENOTTY);
}

TEST(from_memory_to_a_pipe_and_back)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	char text[8] = "";
	struct iovec out = { "pipe", 4 }, in = { text, 8 };
	EQUALS(vmsplice(ends[1], &out, 1, 0), 4);
	EQUALS(vmsplice(ends[0], &in, 1, 0), 4);
	SAME_TEXT(text, "pipe");
	FAILS(vmsplice(ends[0], &in, 1, SPLICE_F_NONBLOCK), EAGAIN);
	static char many[1 << 17] __attribute__((aligned(4096)));
	struct iovec all = { many, sizeof many };
	EQUALS(vmsplice(ends[1], &all, 1, SPLICE_F_NONBLOCK), 65536);
	FAILS(vmsplice(ends[1], &all, 1, SPLICE_F_NONBLOCK), EAGAIN);
	while (read(ends[0], many, sizeof many) == sizeof many)
		;
	/* Without the flag it waits for room, but not until everything fits. */
	EQUALS(vmsplice(ends[1], &all, 1, 0), 65536);
	FAILS(vmsplice(ends[1], &out, 1, 0x80), EINVAL);
	FAILS(vmsplice(9999, &out, 1, 0), EBADF);
	scratch();
	FAILS(vmsplice(file_with(""), &out, 1, 0), EBADF);
}

TEST(between_pipes)
{
	int from[2], to[2];
	SUCCEEDS(pipe(from));
	SUCCEEDS(pipe(to));
	FAILS(tee(from[0], to[1], 10, SPLICE_F_NONBLOCK), EAGAIN);
	EQUALS(write(from[1], "text", 4), 4);
	EQUALS(tee(from[0], to[1], 3, 0), 3);
	EQUALS(tee(from[0], to[1], 0, 0), 0);
	char text[8] = "";
	EQUALS(read(to[0], text, 8), 3);
	SAME_TEXT(text, "tex");
	EQUALS(splice(from[0], NULL, to[1], NULL, 10, 0), 4);
	FAILS(splice(from[0], NULL, to[1], NULL, 10, SPLICE_F_NONBLOCK), EAGAIN);
	FAILS(tee(from[0], from[1], 10, 0), EINVAL);
	FAILS(tee(from[1], to[1], 10, 0), EBADF);
	FAILS(tee(from[0], to[1], 10, 0x80), EINVAL);
	scratch();
	int file = file_with("text");
	FAILS(tee(file, to[1], 10, 0), EINVAL);
	loff_t offset = 0;
	FAILS(splice(from[0], &offset, to[1], NULL, 10, 0), ESPIPE);
	FAILS(splice(file, NULL, file, NULL, 10, 0), EINVAL);
	SUCCEEDS(close(from[1]));
	EQUALS(splice(from[0], NULL, to[1], NULL, 10, 0), 0);
	SUCCEEDS(close(to[0]));
	signal(SIGPIPE, SIG_IGN);
	FAILS(splice(file, NULL, to[1], NULL, 4, 0), EPIPE);
}

TEST(numbers_run_out_and_come_back)
{
	struct { unsigned long now, most; } limit = { 40, 40 };
	SUCCEEDS(syscall(SYS_setrlimit, 7 /* RLIMIT_NOFILE */, &limit));
	int ends[2], n = 0, last = -1;
	for (int file; (file = dup(0)) >= 0; n++)
		last = file;
	EQUALS(errno, EMFILE);
	EQUALS(last, 39);
	FAILS(open("/", O_RDONLY), EMFILE);
	FAILS(open("/missing/file", O_RDONLY), EMFILE);
	FAILS(pipe(ends), EMFILE);
	FAILS(fcntl(0, F_DUPFD, 3), EMFILE);
	FAILS(fcntl(0, F_DUPFD, 40), EINVAL);
	FAILS(dup2(0, 40), EBADF);
	FAILS((int)syscall(SYS_memfd_create, "name", 0), EMFILE);
	SUCCEEDS(dup2(0, 39));
	SUCCEEDS(close(38));
	FAILS(pipe(ends), EMFILE);
	EQUALS(open("/", O_RDONLY), 38);
	SUCCEEDS(close(37));
	SUCCEEDS(close(38));
	SUCCEEDS(pipe(ends));
	CHECK(n > 30);
}
