use super::*;

fn lock(owner: u64, kind: LockKind, first: u64, last: u64) -> RecordLock {
    let owner = LockOwner::Table(owner);
    RecordLock { range: RangeLock { first, last }, kind, owner, pid: 1 }
}

#[test]
fn readers_share_and_writers_do_not() {
    let locks = FileLocks::default();
    locks.lock(&lock(1, LockKind::Shared, 0, 9)).unwrap();
    locks.lock(&lock(2, LockKind::Shared, 5, 15)).unwrap();
    assert_eq!(locks.lock(&lock(2, LockKind::Exclusive, 9, 9)), Err(Errno::EAGAIN));
    locks.lock(&lock(2, LockKind::Exclusive, 10, 15)).unwrap();
    let conflict = locks.find_conflict(&lock(1, LockKind::Shared, 0, 100)).unwrap();
    assert_eq!(conflict.range, RangeLock { first: 10, last: 15 });
}

#[test]
fn unlocking_the_middle_leaves_two_ends() {
    let locks = FileLocks::default();
    locks.lock(&lock(1, LockKind::Exclusive, 0, 99)).unwrap();
    locks.unlock(LockOwner::Table(1), RangeLock { first: 10, last: 19 });
    let mut ranges: Vec<_> = locks.records().iter().map(|lock| lock.range).collect();
    ranges.sort_by_key(|range| range.first);
    assert_eq!(ranges, [RangeLock { first: 0, last: 9 }, RangeLock { first: 20, last: 99 }]);
    locks.lock(&lock(1, LockKind::Exclusive, 10, 19)).unwrap();
    assert_eq!(locks.records().len(), 1);
}

#[test]
fn a_circle_of_waiters_is_found() {
    let [one, two, three] = [1, 2, 3].map(LockOwner::Table);
    let _first = wait_for(one, two).unwrap();
    let second = wait_for(two, three).unwrap();
    assert!(matches!(wait_for(three, one), Err(Errno::EDEADLK)));
    drop(second);
    assert!(wait_for(three, one).is_ok());
}

#[test]
fn whole_file_locks_exclude_each_other() {
    let locks = FileLocks::default();
    locks.set_whole(1, Some(LockKind::Shared)).unwrap();
    locks.set_whole(2, Some(LockKind::Shared)).unwrap();
    assert_eq!(locks.set_whole(3, Some(LockKind::Exclusive)), Err(Errno::EAGAIN));
    locks.set_whole(1, None).unwrap();
    locks.set_whole(2, None).unwrap();
    locks.set_whole(3, Some(LockKind::Exclusive)).unwrap();
}
