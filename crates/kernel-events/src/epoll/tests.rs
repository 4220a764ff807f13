use kernel_core::io::{SliceSource, VecSink};

use super::*;
use crate::pipe::{Owner, pipe};

const IN: u32 = PollEvents::IN.bits();

fn event(events: u32, data: u64) -> EpollEvent {
    EpollEvent { events, data }
}

fn epoll_of(file: &OpenFile) -> &Epoll {
    file.ops_as().unwrap()
}

fn wait(file: &OpenFile, max: usize) -> Vec<(u32, u64)> {
    let epoll = epoll_of(file);
    let harvest = epoll.harvest(max);
    let events = harvest.events.iter().map(|event| (event.events, event.data)).collect();
    let n = harvest.events.len();
    epoll.settle(harvest, n);
    events
}

fn put(file: &OpenFile) {
    file.write(&mut SliceSource::new(b"x")).unwrap();
}

fn take(file: &OpenFile) {
    file.read(&mut VecSink::new(1)).unwrap();
}

#[test]
fn level_triggered_items_come_again_and_edge_triggered_ones_do_not() {
    let (reader, writer) = pipe(OpenFlags::empty(), Owner::default());
    for (extra, again) in [(0, true), (epoll::EDGE, false)] {
        let file = Epoll::open();
        epoll_of(&file).add(Fd(3), &reader, event(IN | extra, 7)).unwrap();
        assert_eq!(wait(&file, 8), []);
        put(&writer);
        assert_eq!(wait(&file, 8), [(IN, 7)]);
        assert_eq!(!wait(&file, 8).is_empty(), again);
        put(&writer);
        assert_eq!(wait(&file, 8), [(IN, 7)]);
        take(&reader);
        take(&reader);
        assert_eq!(wait(&file, 8), []);
    }
}

#[test]
fn one_shot_items_wait_to_be_set_again() {
    let (reader, writer) = pipe(OpenFlags::empty(), Owner::default());
    let file = Epoll::open();
    let epoll = epoll_of(&file);
    epoll.add(Fd(3), &reader, event(IN | epoll::ONESHOT, 1)).unwrap();
    put(&writer);
    assert_eq!(wait(&file, 8), [(IN, 1)]);
    put(&writer);
    assert_eq!(wait(&file, 8), []);
    epoll.modify(Fd(3), &reader, event(IN | epoll::ONESHOT, 2)).unwrap();
    assert_eq!(wait(&file, 8), [(IN, 2)]);
    drop(writer);
    assert_eq!(wait(&file, 8), [], "not even a hang-up");
}

#[test]
fn ready_files_take_turns() {
    let pipes: Vec<_> = (0..3).map(|_| pipe(OpenFlags::empty(), Owner::default())).collect();
    let file = Epoll::open();
    for (fd, (reader, writer)) in (0..).zip(&pipes) {
        let data = u64::try_from(fd).unwrap();
        epoll_of(&file).add(Fd(fd), reader, event(IN, data)).unwrap();
        put(writer);
    }
    let order: Vec<u64> = (0..6).flat_map(|_| wait(&file, 1)).map(|(_, data)| data).collect();
    assert_eq!(order, [0, 1, 2, 0, 1, 2]);
}

#[test]
fn what_did_not_reach_the_guest_stays_first() {
    let pipes: Vec<_> = (0..2).map(|_| pipe(OpenFlags::empty(), Owner::default())).collect();
    let file = Epoll::open();
    let epoll = epoll_of(&file);
    for (fd, (reader, writer)) in (0..).zip(&pipes) {
        let data = u64::try_from(fd).unwrap();
        epoll.add(Fd(fd), reader, event(IN | epoll::EDGE, data)).unwrap();
        put(writer);
    }
    let harvest = epoll.harvest(8);
    assert_eq!(harvest.events.len(), 2);
    epoll.settle(harvest, 1);
    assert_eq!(wait(&file, 8), [(IN, 1)]);
}

#[test]
fn an_item_goes_with_its_open_file_and_not_with_its_number() {
    let (reader, writer) = pipe(OpenFlags::empty(), Owner::default());
    let file = Epoll::open();
    let epoll = epoll_of(&file);
    epoll.add(Fd(3), &reader, event(IN, 1)).unwrap();
    assert_eq!(epoll.add(Fd(3), &reader, event(IN, 1)), Err(Errno::EEXIST));
    epoll.add(Fd(4), &reader, event(IN, 2)).unwrap();
    assert_eq!(epoll.delete(Fd(5), &reader), Err(Errno::ENOENT));
    put(&writer);
    assert_eq!(wait(&file, 8), [(IN, 1), (IN, 2)]);
    drop(reader);
    assert!(epoll.items.borrow().is_empty());
    assert!(!epoll.may_be_ready());
}

#[test]
fn adding_and_deleting_leaves_nothing_behind() {
    let (reader, writer) = pipe(OpenFlags::empty(), Owner::default());
    put(&writer);
    let file = Epoll::open();
    let epoll = epoll_of(&file);
    epoll.add(Fd(3), &reader, event(IN, 1)).unwrap();
    epoll.delete(Fd(3), &reader).unwrap();
    assert!(!epoll.may_be_ready());
    assert!(reader.ops().queue().unwrap().is_empty());
    epoll.add(Fd(3), &reader, event(IN, 1)).unwrap();
    drop(file);
    assert!(reader.ops().queue().unwrap().is_empty());
}

#[test]
fn nested_epolls_pass_readiness_up() {
    let (reader, writer) = pipe(OpenFlags::empty(), Owner::default());
    let (inner, outer) = (Epoll::open(), Epoll::open());
    epoll_of(&inner).add(Fd(3), &reader, event(IN, 1)).unwrap();
    epoll_of(&outer).add(Fd(4), &inner, event(IN, 2)).unwrap();
    assert_eq!(wait(&outer, 8), []);
    put(&writer);
    assert_eq!(wait(&outer, 8), [(IN, 2)]);
    assert_eq!(wait(&inner, 8), [(IN, 1)]);
    take(&reader);
    assert_eq!(wait(&outer, 8), []);
}

#[test]
fn loops_and_deep_nests_are_refused() {
    let chain: Vec<_> = (0..6).map(|_| Epoll::open()).collect();
    for pair in chain[..5].windows(2) {
        epoll_of(&pair[1]).add(Fd(3), &pair[0], event(IN, 0)).unwrap();
    }
    let add = |above: usize, below: usize| {
        epoll_of(&chain[above]).add(Fd(9), &chain[below], event(IN, 0))
    };
    assert_eq!(add(5, 4), Err(Errno::ELOOP), "too deep");
    assert_eq!(add(0, 4), Err(Errno::ELOOP), "a loop");
    assert_eq!(add(5, 3), Ok(()));
    assert_eq!(add(5, 5), Err(Errno::ELOOP));
    drop(chain);
}

#[test]
fn too_many_ways_up_are_refused() {
    let low = Epoll::open();
    let high: Vec<_> = (0..501).map(|_| Epoll::open()).collect();
    let added = high.iter().map(|file| epoll_of(file).add(Fd(3), &low, event(IN, 0)));
    assert_eq!(added.filter(Result::is_ok).count(), 500);
}

#[test]
fn exclusive_items_are_restricted() {
    let (reader, _writer) = pipe(OpenFlags::empty(), Owner::default());
    let (file, other) = (Epoll::open(), Epoll::open());
    let epoll = epoll_of(&file);
    let exclusive = event(IN | epoll::EXCLUSIVE, 0);
    assert_eq!(epoll.add(Fd(4), &other, exclusive), Err(Errno::EINVAL));
    let with_one_shot = event(IN | epoll::EXCLUSIVE | epoll::ONESHOT, 0);
    assert_eq!(epoll.add(Fd(3), &reader, with_one_shot), Err(Errno::EINVAL));
    assert_eq!(epoll.add(Fd(3), &reader, exclusive), Ok(()));
    assert_eq!(epoll.modify(Fd(3), &reader, event(IN, 0)), Err(Errno::EINVAL));
}

/// Whether the answer to a wait may be kept.
fn is_kept(file: &OpenFile, max: usize) -> bool {
    kernel_core::kept_events::begin();
    if wait(file, max).is_empty() {
        epoll_of(file).told_of_nothing();
    }
    kernel_core::kept_events::holds_at().is_some()
}

#[test]
fn what_is_told_twice_may_be_kept_until_it_changes() {
    let (reader, writer) = pipe(OpenFlags::empty(), Owner::default());
    let file = Epoll::open();
    epoll_of(&file).add(Fd(3), &reader, event(IN, 1)).unwrap();
    assert!(!is_kept(&file, 8));
    assert!(is_kept(&file, 8));
    put(&writer);
    assert!(!is_kept(&file, 8));
    assert!(is_kept(&file, 8));
    kernel_core::kept_events::may_be_taken();
    assert!(!is_kept(&file, 8));
    assert!(is_kept(&file, 8));
    epoll_of(&file).modify(Fd(3), &reader, event(IN, 2)).unwrap();
    assert!(!is_kept(&file, 8));
}

#[test]
fn what_is_told_once_or_in_parts_is_never_kept() {
    let (reader, writer) = pipe(OpenFlags::empty(), Owner::default());
    put(&writer);
    let edges = Epoll::open();
    epoll_of(&edges).add(Fd(3), &reader, event(IN | epoll::EDGE, 1)).unwrap();
    let parts = Epoll::open();
    for number in 3..5 {
        epoll_of(&parts).add(Fd(number), &reader, event(IN, 1)).unwrap();
    }
    let nested = Epoll::open();
    epoll_of(&nested).add(Fd(3), &parts, event(IN, 1)).unwrap();
    assert!(!is_kept(&edges, 8));
    for _ in 0..3 {
        assert!(!is_kept(&parts, 1));
        assert!(!is_kept(&nested, 8));
    }
}
