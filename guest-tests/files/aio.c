/* Asynchronous input and output: io_setup, io_submit, io_getevents, io_cancel, io_destroy. */
#include "files.h"
#include <linux/aio_abi.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

static aio_context_t context;

static long setup(unsigned n)
{
	context = 0;
	return syscall(SYS_io_setup, n, &context);
}

static long submit(struct iocb *request)
{
	return syscall(SYS_io_submit, context, 1, &request);
}

static struct io_event wait_for_one(void)
{
	struct io_event event;
	EQUALS(syscall(SYS_io_getevents, context, 1, 1, &event, NULL), 1);
	return event;
}

static int new_file(void)
{
	scratch();
	make_file("file", "0123456789");
	return SUCCEEDS(open("file", O_RDWR));
}

TEST(read_and_write)
{
	int file = new_file();
	char text[16] = "";
	SUCCEEDS(setup(8));
	struct iocb request = { .aio_data = 77, .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = file, .aio_buf = (uintptr_t)text,
				.aio_nbytes = 4, .aio_offset = 3 };
	EQUALS(submit(&request), 1);
	struct io_event event = wait_for_one();
	EQUALS(event.data, 77);
	EQUALS(event.obj, (uintptr_t)&request);
	EQUALS(event.res, 4);
	SAME_TEXT(text, "3456");
	request.aio_lio_opcode = IOCB_CMD_PWRITE;
	request.aio_buf = (uintptr_t)"XY";
	request.aio_nbytes = 2;
	request.aio_offset = 0;
	EQUALS(submit(&request), 1);
	EQUALS(wait_for_one().res, 2);
	SAME_TEXT(text_of("file"), "XY23456789");
	SUCCEEDS(syscall(SYS_io_destroy, context));
}

TEST(several_and_vectors)
{
	int file = new_file();
	char first[4] = "", second[4] = "";
	struct iovec pieces[2] = { { first, 2 }, { second, 3 } };
	SUCCEEDS(setup(8));
	struct iocb vector = { .aio_data = 1, .aio_lio_opcode = IOCB_CMD_PREADV, .aio_fildes = file, .aio_buf = (uintptr_t)pieces, .aio_nbytes = 2 };
	struct iocb sync = { .aio_data = 2, .aio_lio_opcode = IOCB_CMD_FSYNC, .aio_fildes = file };
	struct iocb *requests[] = { &vector, &sync };
	EQUALS(syscall(SYS_io_submit, context, 2, requests), 2);
	struct io_event events[4];
	EQUALS(syscall(SYS_io_getevents, context, 2, 4, events, NULL), 2);
	EQUALS(events[0].data + events[1].data, 3);
	SAME_TEXT(first, "01");
	SAME_TEXT(second, "234");
	struct timespec zero = { 0, 0 };
	EQUALS(syscall(SYS_io_getevents, context, 1, 4, events, &zero), 0);
}

TEST(errors_are_results)
{
	int file = new_file();
	SUCCEEDS(setup(8));
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = file, .aio_buf = 1, .aio_nbytes = 4 };
	EQUALS(submit(&request), 1);
	EQUALS(wait_for_one().res, -EFAULT);
}

TEST(tells_an_eventfd)
{
	int file = new_file(), counter = SUCCEEDS(eventfd(0, 0));
	char text[16];
	SUCCEEDS(setup(8));
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = file, .aio_buf = (uintptr_t)text, .aio_nbytes = 4,
				.aio_flags = IOCB_FLAG_RESFD, .aio_resfd = counter };
	EQUALS(submit(&request), 1);
	uint64_t n = 0;
	EQUALS(read(counter, &n, 8), 8);
	EQUALS(n, 1);
	EQUALS(wait_for_one().res, 4);
}

TEST(polling_request)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	SUCCEEDS(setup(8));
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = ends[0], .aio_buf = POLLIN };
	EQUALS(submit(&request), 1);
	struct io_event event;
	struct timespec zero = { 0, 0 };
	EQUALS(syscall(SYS_io_getevents, context, 1, 1, &event, &zero), 0);
	EQUALS(write(ends[1], "x", 1), 1);
	EQUALS(wait_for_one().res & POLLIN, POLLIN);
}

TEST(polling_request_tells_without_being_asked)
{
	int ends[2], counter = SUCCEEDS(eventfd(0, 0));
	SUCCEEDS(pipe(ends));
	SUCCEEDS(setup(8));
	struct iocb request = { .aio_data = 7, .aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = ends[0], .aio_buf = POLLIN,
				.aio_flags = IOCB_FLAG_RESFD, .aio_resfd = counter };
	EQUALS(submit(&request), 1);
	pid_t child = FORK();
	if (child == 0) {
		EQUALS(write(ends[1], "x", 1), 1);
		_exit(0);
	}
	uint64_t n = 0;
	EQUALS(read(counter, &n, 8), 8);
	EQUALS(n, 1);
	EXITS(child, 0);
	struct io_event event = wait_for_one();
	EQUALS(event.data, 7);
	EQUALS(event.res & POLLIN, POLLIN);
	/* The same request can be made again; the data is still there. */
	EQUALS(submit(&request), 1);
	EQUALS(wait_for_one().res, POLLIN);
}

TEST(cancelled_request)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	SUCCEEDS(setup(8));
	struct iocb request = { .aio_data = 9, .aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = ends[0], .aio_buf = POLLIN }, other = request;
	struct io_event event;
	EQUALS(submit(&request), 1);
	FAILS(syscall(SYS_io_cancel, context, &other, &event), EINVAL);
	FAILS(syscall(SYS_io_cancel, context, &request, &event), EINPROGRESS);
	EQUALS(wait_for_one().data, 9);
	FAILS(syscall(SYS_io_cancel, context, &request, &event), EINVAL);
	FAILS(syscall(SYS_io_cancel, context, BAD_POINTER, &event), EFAULT);
	FAILS(syscall(SYS_io_cancel, context + 12345, &request, &event), EINVAL);
}

TEST(no_more_than_was_asked_for)
{
	int ends[2];
	SUCCEEDS(pipe(ends));
	SUCCEEDS(setup(1));
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = ends[0], .aio_buf = POLLIN };
	int n = 0;
	while (n < 100000 && submit(&request) == 1)
		n++;
	CHECK(n > 0 && n < 100000); /* Linux rounds up */
	EQUALS(errno, EAGAIN);
	SUCCEEDS(syscall(SYS_io_destroy, context));
}

TEST(flags_of_requests)
{
	int file = new_file();
	char text[16] = "";
	SUCCEEDS(setup(8));
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = file, .aio_buf = (uintptr_t) "end", .aio_nbytes = 3,
				.aio_rw_flags = 0x10 /* RWF_APPEND */ };
	off_t size = SUCCEEDS(lseek(file, 0, SEEK_END));
	EQUALS(submit(&request), 1);
	EQUALS(wait_for_one().res, 3);
	EQUALS(lseek(file, 0, SEEK_END), size + 3);
	EQUALS(pread(file, text, sizeof text, size), 3);
	SAME_TEXT(text, "end");
	request.aio_rw_flags = 0x40000000;
	FAILS(submit(&request), EOPNOTSUPP);
	request.aio_lio_opcode = IOCB_CMD_FSYNC;
	FAILS(submit(&request), EINVAL);
	request.aio_rw_flags = 0;
	FAILS(submit(&request), EINVAL);
	request.aio_lio_opcode = IOCB_CMD_PREAD;
	request.aio_offset = -1;
	FAILS(submit(&request), EINVAL);
	request.aio_flags = 0x100;
	FAILS(submit(&request), EINVAL);
}

TEST(refusals)
{
	int file = new_file();
	char text[16];
	FAILS(setup(0), EINVAL);
	context = 5;
	FAILS(syscall(SYS_io_setup, 8, &context), EINVAL);
	FAILS(syscall(SYS_io_setup, 8, BAD_POINTER), EFAULT);
	SUCCEEDS(setup(8));
	struct iocb request = { .aio_lio_opcode = 99, .aio_fildes = file, .aio_buf = (uintptr_t)text, .aio_nbytes = 4 };
	FAILS(submit(&request), EINVAL);
	request.aio_lio_opcode = IOCB_CMD_PREAD;
	request.aio_fildes = 9999;
	FAILS(submit(&request), EBADF);
	EQUALS(syscall(SYS_io_submit, context, 0, NULL), 0);
	FAILS(syscall(SYS_io_submit, context, -1l, NULL), EINVAL);
	FAILS(syscall(SYS_io_submit, context, 1, BAD_POINTER), EFAULT);
	struct io_event event;
	FAILS(syscall(SYS_io_getevents, context, -1l, 1, &event, NULL), EINVAL);
	FAILS(syscall(SYS_io_getevents, context, 2, 1, &event, NULL), EINVAL);
	SUCCEEDS(syscall(SYS_io_destroy, context));
	FAILS(syscall(SYS_io_destroy, context), EINVAL);
	FAILS(syscall(SYS_io_getevents, context, 0, 1, &event, NULL), EINVAL);
}
