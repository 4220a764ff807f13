use linux_abi::events::sysv::{IPC_CREAT, IPC_NOWAIT, SEM_UNDO};

use super::*;

const ME: Pid = Pid(10);
const OTHER: Pid = Pid(11);

fn op(number: u16, op: i16, flags: u32) -> SemBuf {
    SemBuf { number, op, flags: u16::try_from(flags).unwrap() }
}

fn setup(n: usize) -> (Semaphores, u32, Credentials) {
    let all = Semaphores::default();
    let who = Credentials::of_user(0, 0);
    let id = all.get(7, n, IPC_CREAT | 0o600, &who).unwrap();
    (all, id, who)
}

fn value(all: &Semaphores, id: u32, number: usize) -> i32 {
    all.table().find(id).unwrap().get(number).unwrap().0
}

#[test]
fn operations_are_all_or_nothing() {
    let (all, id, who) = setup(2);
    let both = vec![op(0, 3, 0), op(1, -1, IPC_NOWAIT)];
    assert_eq!(all.operate(id, both, &who, ME).err(), Some(Errno::EAGAIN));
    assert_eq!(value(&all, id, 0), 0);
    assert!(all.operate(id, vec![op(0, 3, 0), op(1, 1, 0)], &who, ME).unwrap().is_none());
    assert_eq!((value(&all, id, 0), value(&all, id, 1)), (3, 1));
    let high = all.operate(id, vec![op(0, i16::MAX, 0)], &who, ME);
    assert_eq!(high.err(), Some(Errno::ERANGE));
    assert_eq!(all.operate(id, vec![op(2, 1, 0)], &who, ME).err(), Some(Errno::EFBIG));
}

#[test]
fn who_waits_first_is_served_first() {
    let (all, id, who) = setup(1);
    let first = all.operate(id, vec![op(0, -2, 0)], &who, ME).unwrap().unwrap();
    let second = all.operate(id, vec![op(0, -1, 0)], &who, OTHER).unwrap().unwrap();
    let zero = all.operate(id, vec![op(0, 1, 0), op(0, 0, 0)], &who, OTHER).unwrap().unwrap();
    let set = all.table().find(id).unwrap();
    assert_eq!(set.n_waiting(0), (2, 1));
    assert!(all.operate(id, vec![op(0, 2, 0)], &who, ME).unwrap().is_none());
    assert_eq!(first.result(), Some(Ok(())));
    assert_eq!(second.result(), None);
    assert_eq!(value(&all, id, 0), 0);
    drop(second);
    assert_eq!(set.n_waiting(0), (0, 1));
    all.remove(id, &who).unwrap();
    assert_eq!(zero.result(), Some(Err(Errno::EIDRM)));
}

#[test]
fn the_end_of_a_process_takes_its_operations_back() {
    let (all, id, who) = setup(2);
    all.operate(id, vec![op(0, 5, 0)], &who, ME).unwrap();
    all.operate(id, vec![op(0, -3, SEM_UNDO), op(1, 2, SEM_UNDO)], &who, ME).unwrap();
    let waits = all.operate(id, vec![op(0, -5, 0)], &who, OTHER).unwrap().unwrap();
    all.undo(OTHER);
    assert_eq!(waits.result(), None);
    all.undo(ME);
    assert_eq!(waits.result(), Some(Ok(())));
    assert_eq!((value(&all, id, 0), value(&all, id, 1)), (0, 0));
}

#[test]
fn setting_a_value_forgets_what_was_to_be_taken_back() {
    let (all, id, who) = setup(1);
    all.operate(id, vec![op(0, 5, SEM_UNDO)], &who, ME).unwrap();
    let set = all.table().find(id).unwrap();
    set.set(0, 9, ME).unwrap();
    assert_eq!(set.set(0, SEMVMX + 1, ME), Err(Errno::ERANGE));
    all.undo(ME);
    assert_eq!(set.get(0), Ok((9, ME.0)));
}

#[test]
fn keys_ids_and_permissions() {
    let (all, id, root) = setup(3);
    let user = Credentials::of_user(1000, 1000);
    assert_eq!(all.get(7, 3, 0, &root), Ok(id));
    assert_eq!(all.get(7, 4, 0, &root), Err(Errno::EINVAL));
    assert_eq!(all.get(7, 0, IPC_CREAT | 0o2000, &root), Err(Errno::EEXIST));
    assert_eq!(all.get(8, 1, 0, &root), Err(Errno::ENOENT));
    assert_eq!(all.get(7, 0, 0o600, &user), Err(Errno::EACCES));
    assert_eq!(all.operate(id, vec![op(0, 1, 0)], &user, ME).err(), Some(Errno::EACCES));
    assert_eq!(all.remove(id, &user), Err(Errno::EPERM));
    all.remove(id, &root).unwrap();
    let again = all.get(7, 3, IPC_CREAT, &root).unwrap();
    assert_ne!(again, id);
    assert_eq!(all.table().find(id).err(), Some(Errno::EINVAL));
}
