use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use kernel_core::io::{SliceSource, VecSink};

use super::*;

fn pipe(flags: OpenFlags) -> (Rc<OpenFile>, Rc<OpenFile>) {
    super::pipe(flags, Owner::default())
}

fn write(file: &OpenFile, bytes: &[u8]) -> SysResult<usize> {
    file.write(&mut SliceSource::new(bytes))
}

fn read(file: &OpenFile, n: usize) -> SysResult<Vec<u8>> {
    let mut sink = VecSink::new(n);
    file.read(&mut sink)?;
    Ok(sink.bytes)
}

fn pattern(n: usize) -> Vec<u8> {
    (0..n).map(|i| u8::try_from(i % 251).unwrap()).collect()
}

#[test]
fn what_goes_in_comes_out() {
    let (reader, writer) = pipe(OpenFlags::empty());
    assert_eq!(read(&reader, 10), Err(Errno::EAGAIN));
    assert_eq!(write(&writer, b"hello "), Ok(6));
    assert_eq!(write(&writer, b"world"), Ok(5));
    assert_eq!(read(&reader, 8), Ok(b"hello wo".to_vec()));
    assert_eq!(read(&reader, 8), Ok(b"rld".to_vec()));
    assert_eq!(read(&reader, 8), Err(Errno::EAGAIN));
}

#[test]
fn order_survives_many_sizes_and_wraps() {
    let (reader, writer) = pipe(OpenFlags::empty());
    let data = pattern(1 << 20);
    let (mut sent, mut received, mut step) = (0, Vec::new(), 1);
    while received.len() < data.len() {
        step = (step * 7 + 13) % 20_011;
        let end = (sent + step).min(data.len());
        match write(&writer, &data[sent..end]) {
            Ok(n) => sent += n,
            Err(errno) => assert_eq!(errno, Errno::EAGAIN),
        }
        if step % 3 == 0 || sent == data.len() || end - sent == step {
            received.extend(read(&reader, step * 2 + 1).unwrap_or_default());
        }
    }
    assert!(received == data);
}

#[test]
fn a_pipe_takes_64_kib_and_then_no_more() {
    let (reader, writer) = pipe(OpenFlags::empty());
    assert_eq!(write(&writer, &pattern(100_000)), Ok(65536));
    assert_eq!(write(&writer, b"x"), Err(Errno::EAGAIN));
    assert!(!writer.ops().poll(&writer).contains(PollEvents::OUT));
    // A page is free only when all of it was read.
    assert_eq!(read(&reader, 4095).unwrap().len(), 4095);
    assert_eq!(write(&writer, b"x"), Err(Errno::EAGAIN));
    assert_eq!(read(&reader, 1).unwrap().len(), 1);
    assert_eq!(write(&writer, b"x"), Ok(1));
}

#[test]
fn small_writes_are_whole_or_not_at_all() {
    let (_reader, writer) = pipe(OpenFlags::empty());
    for _ in 0..16 {
        assert_eq!(write(&writer, &pattern(3000)), Ok(3000));
    }
    assert_eq!(write(&writer, &pattern(3000)), Err(Errno::EAGAIN));
    assert_eq!(write(&writer, &pattern(1000)), Ok(1000), "fits into the last page");
}

#[test]
fn packets_keep_their_borders_and_lose_their_rest() {
    let (reader, writer) = pipe(OpenFlags::DIRECT);
    assert_eq!(write(&writer, b"first"), Ok(5));
    assert_eq!(write(&writer, b"second"), Ok(6));
    assert_eq!(write(&writer, b"third"), Ok(5));
    assert_eq!(read(&reader, 100), Ok(b"first".to_vec()));
    assert_eq!(read(&reader, 3), Ok(b"sec".to_vec()));
    assert_eq!(read(&reader, 5), Ok(b"third".to_vec()));
    assert_eq!(write(&writer, &pattern(5000)), Ok(5000));
    assert_eq!(read(&reader, 9000).unwrap().len(), 4096);
    assert_eq!(read(&reader, 9000).unwrap().len(), 904);
}

#[test]
fn closing_one_side_ends_the_other() {
    let (reader, writer) = pipe(OpenFlags::empty());
    assert_eq!(write(&writer, b"last"), Ok(4));
    drop(writer);
    assert_eq!(reader.ops().poll(&reader), PollEvents::READABLE | PollEvents::HUP);
    assert_eq!(read(&reader, 10), Ok(b"last".to_vec()));
    assert_eq!(reader.ops().poll(&reader), PollEvents::HUP);
    assert_eq!(read(&reader, 10), Ok(Vec::new()));

    let (reader, writer) = pipe(OpenFlags::empty());
    drop(reader);
    assert_eq!(writer.ops().poll(&writer), PollEvents::WRITABLE | PollEvents::ERR);
    assert_eq!(write(&writer, b""), Ok(0));
    assert_eq!(write(&writer, b"x"), Err(Errno::EPIPE));
}

#[test]
fn resizing_keeps_the_contents() {
    let (reader, writer) = pipe(OpenFlags::empty());
    let data = pattern(60_000);
    assert_eq!(write(&writer, &data), Ok(60_000));
    assert_eq!(read(&reader, 30_000).unwrap().len(), 30_000);
    assert_eq!(write(&writer, &data[..20_000]), Ok(20_000));
    let end: &PipeEnd = writer.ops_as().unwrap();
    assert_eq!(end.pipe().set_size(4096, false), Err(Errno::EBUSY));
    assert_eq!(end.pipe().set_size(100_000, false), Ok(131_072));
    assert_eq!(end.pipe().set_size(2 << 20, false), Err(Errno::EPERM));
    assert_eq!(end.pipe().size(), 131_072);
    let rest = read(&reader, 100_000).unwrap();
    assert!(rest == [&data[30_000..], &data[..20_000]].concat());
    assert_eq!(end.pipe().set_size(1, false), Ok(4096));
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Opens a FIFO that does not make its opener wait.
fn open(fifo: &Fifo, flags: OpenFlags) -> SysResult<Rc<OpenFile>> {
    match poll_once(pin!(fifo.open(flags))) {
        Poll::Ready(end) => Ok(OpenFile::new(end?, flags)),
        Poll::Pending => panic!("waits"),
    }
}

#[test]
fn opening_a_fifo_waits_for_a_partner() {
    let fifo = Fifo::new();
    let mut reading = pin!(fifo.open(OpenFlags::empty()));
    assert!(poll_once(reading.as_mut()).is_pending());
    let writer = open(&fifo, OpenFlags::WRONLY).unwrap();
    drop(writer);
    let Poll::Ready(Ok(end)) = poll_once(reading.as_mut()) else { panic!("a writer was there") };
    let reader = OpenFile::new(end, OpenFlags::empty());
    assert_eq!(reader.ops().poll(&reader), PollEvents::HUP);
}

#[test]
fn a_fifo_open_that_is_given_up_leaves_no_reader() {
    let fifo = Fifo::new();
    {
        let mut reading = pin!(fifo.open(OpenFlags::empty()));
        assert!(poll_once(reading.as_mut()).is_pending());
    }
    let flags = OpenFlags::WRONLY | OpenFlags::NONBLOCK;
    assert_eq!(open(&fifo, flags).err(), Some(Errno::ENXIO));
}

#[test]
fn a_fifo_hangs_up_only_after_a_writer_was_there() {
    let fifo = Fifo::new();
    let reader = open(&fifo, OpenFlags::NONBLOCK).unwrap();
    assert_eq!(reader.ops().poll(&reader), PollEvents::empty());
    assert_eq!(read(&reader, 1), Ok(Vec::new()));
    let writer = open(&fifo, OpenFlags::WRONLY).unwrap();
    assert_eq!(read(&reader, 1), Err(Errno::EAGAIN));
    drop(writer);
    assert_eq!(reader.ops().poll(&reader), PollEvents::HUP);
}

#[test]
fn nothing_is_kept_in_a_fifo_that_nobody_has_open() {
    let fifo = Fifo::new();
    let both = open(&fifo, OpenFlags::RDWR).unwrap();
    assert_eq!(write(&both, b"lost"), Ok(4));
    drop(both);
    let both = open(&fifo, OpenFlags::RDWR).unwrap();
    assert_eq!(read(&both, 4), Err(Errno::EAGAIN));
}
