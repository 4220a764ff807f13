//! Pseudo terminals as a whole, with processes that are only numbers.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::io::{SliceSource, VecSink};
use kernel_core::memory::UserMemory;
use kernel_core::timers::{Timers, now};
use kernel_core::wait::PollEvents;
use kernel_files::{FileOps, Intent, Ioctl, OpenFile};
use linux_abi::files::OpenFlags;
use linux_abi::signals::Signal;
use linux_abi::terminals::{LocalModes, Termios, WindowSize, cc, request};
use linux_abi::{Errno, Fd, Interrupted, Pid, Restart, SysResult};
use zerocopy::{FromBytes, IntoBytes};

use crate::{Caller, JobControl, Terminal, Terminals};

/// A process: session, group, and whether the group is an orphan.
#[derive(Clone, Copy)]
struct Who {
    session: u32,
    group: u32,
    pid: u32,
}

#[derive(Default)]
struct Jobs {
    sent: RefCell<Vec<(u32, Signal)>>,
    controlling: RefCell<Option<(Pid, Rc<Terminal>)>>,
    ignored: RefCell<Option<Signal>>,
    orphan: RefCell<Option<u32>>,
}

impl JobControl for Jobs {
    fn caller(&self, caller: &dyn Any) -> SysResult<Caller> {
        let who = caller.downcast_ref::<Who>().ok_or(Errno::EIO)?;
        let controlling = self.controlling.borrow();
        let own = controlling.as_ref().filter(|(session, _)| session.0 == who.session);
        Ok(Caller {
            session: Pid(who.session),
            group: Pid(who.group),
            is_session_leader: who.session == who.pid,
            controlling: own.map(|(_, terminal)| Rc::clone(terminal)),
            credentials: Rc::new(Credentials::of_user(1000, 1000)),
        })
    }

    fn ignores(&self, _caller: &dyn Any, signal: Signal) -> bool {
        *self.ignored.borrow() == Some(signal)
    }

    fn is_orphaned(&self, group: Pid) -> bool {
        *self.orphan.borrow() == Some(group.0)
    }

    fn session_of_group(&self, group: Pid) -> Option<Pid> {
        (group.0 < 1000).then_some(Pid(10))
    }

    fn signal_group(&self, group: Pid, signal: Signal) {
        self.sent.borrow_mut().push((group.0, signal));
    }

    fn signal_session_leader(&self, session: Pid, signal: Signal) {
        self.sent.borrow_mut().push((session.0, signal));
    }

    fn set_controlling_terminal(&self, session: Pid, terminal: Option<Rc<Terminal>>) {
        *self.controlling.borrow_mut() = terminal.map(|terminal| (session, terminal));
    }

    fn leave_controlling_terminal(&self, _caller: &dyn Any) {}

    fn add_file(&self, _caller: &dyn Any, _file: Rc<OpenFile>, _close: bool) -> SysResult<Fd> {
        Ok(Fd(7))
    }
}

/// Guest memory that is one buffer at address 0.
struct Memory(RefCell<[u8; 64]>);

impl UserMemory for Memory {
    fn read_some(&self, address: u64, buffer: &mut [u8]) -> SysResult<usize> {
        let start = usize::try_from(address).unwrap();
        buffer.copy_from_slice(&self.0.borrow()[start..start + buffer.len()]);
        Ok(buffer.len())
    }

    fn write_some(&self, address: u64, bytes: &[u8]) -> SysResult<usize> {
        let start = usize::try_from(address).unwrap();
        self.0.borrow_mut()[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }
}

struct Pair {
    jobs: Rc<Jobs>,
    timers: Timers,
    terminals: Terminals,
    memory: Memory,
    master: Rc<OpenFile>,
    slave: Rc<OpenFile>,
}

/// The leader of session 10, which is also what opens the slave.
const LEADER: Who = Who { session: 10, group: 10, pid: 10 };
const BACKGROUND: Who = Who { session: 10, group: 11, pid: 11 };

fn open(ops: Rc<dyn FileOps>) -> Rc<OpenFile> {
    OpenFile::new(ops, OpenFlags::RDWR)
}

impl Pair {
    fn new() -> Self {
        let jobs = Rc::new(Jobs::default());
        let timers = Timers::new();
        let terminals = Terminals::new(Rc::clone(&jobs) as Rc<_>, timers.clone());
        let master = open(terminals.open_master(&LEADER).unwrap());
        let memory = Memory(RefCell::new([0; 64]));
        let refused = terminals.open_slave(0, OpenFlags::RDWR, &LEADER).map(|_| ());
        assert_eq!(refused, Err(Errno::EIO), "locked");
        let mut pair = Self { jobs, timers, terminals, memory, slave: Rc::clone(&master), master };
        assert_eq!(pair.ioctl(&pair.master, &LEADER, request::TIOCSPTLCK, 0), Ok(0));
        pair.slave = open(pair.terminals.open_slave(0, OpenFlags::RDWR, &LEADER).unwrap());
        pair
    }

    fn ioctl(&self, file: &OpenFile, who: &Who, command: u32, argument: u64) -> SysResult<u64> {
        let ioctl = Ioctl { command, argument, memory: &self.memory, caller: who };
        file.ops().ioctl(file, &ioctl)
    }

    fn set(&self, change: impl FnOnce(&mut Termios)) {
        self.ioctl(&self.slave, &LEADER, request::TCGETS2, 0).unwrap();
        let mut termios = Termios::read_from_bytes(&self.memory.0.borrow()[..44]).unwrap();
        change(&mut termios);
        self.memory.0.borrow_mut()[..44].copy_from_slice(termios.as_bytes());
        self.ioctl(&self.slave, &LEADER, request::TCSETS2, 0).unwrap();
    }

    fn raw(&self, min: u8, time: u8) {
        self.set(|termios| {
            termios.lflag = 0;
            termios.cc[cc::VMIN] = min;
            termios.cc[cc::VTIME] = time;
        });
    }

    fn type_in(&self, keys: &[u8]) -> SysResult<usize> {
        self.master.write(&mut SliceSource::new(keys))
    }

    fn show(&self, text: &[u8]) -> SysResult<usize> {
        self.slave.write(&mut SliceSource::new(text))
    }
}

fn read(file: &OpenFile) -> SysResult<Vec<u8>> {
    let mut sink = VecSink::new(100_000);
    file.read(&mut sink)?;
    Ok(sink.bytes)
}

fn poll(file: &OpenFile) -> PollEvents {
    file.ops().poll(file)
}

#[test]
fn what_is_typed_arrives_and_is_echoed() {
    let pair = Pair::new();
    assert_eq!(read(&pair.slave), Err(Errno::EAGAIN));
    assert_eq!(pair.type_in(b"hi\r"), Ok(3));
    assert_eq!(read(&pair.slave), Ok(b"hi\n".to_vec()));
    assert_eq!(read(&pair.master), Ok(b"hi\r\n".to_vec()));
    assert_eq!(read(&pair.master), Err(Errno::EAGAIN));
}

#[test]
fn opening_gives_a_session_leader_its_controlling_terminal() {
    let pair = Pair::new();
    let terminal = pair.terminals.terminal(0).unwrap();
    assert_eq!(terminal.session(), Some(Pid(10)));
    assert_eq!(terminal.foreground(), Some(Pid(10)));
    assert!(pair.terminals.open_controlling(&BACKGROUND).is_ok());
}

#[test]
fn an_interrupt_goes_to_the_foreground_group() {
    let pair = Pair::new();
    pair.type_in(b"\x03").unwrap();
    assert_eq!(*pair.jobs.sent.borrow(), [(10, Signal::SIGINT)]);
    assert_eq!(read(&pair.master), Ok(b"^C".to_vec()));
}

#[test]
fn a_background_reader_is_stopped() {
    let pair = Pair::new();
    let ops = pair.slave.ops();
    let stopped = Err(Interrupted::Signal(Restart::IfAsked));
    assert_eq!(ops.admit(&pair.slave, &BACKGROUND, Intent::Read), stopped);
    assert_eq!(*pair.jobs.sent.borrow(), [(11, Signal::SIGTTIN)]);
    assert_eq!(ops.admit(&pair.slave, &LEADER, Intent::Read), Ok(()));
}

#[test]
fn a_background_reader_that_cannot_stop_fails() {
    let pair = Pair::new();
    *pair.jobs.ignored.borrow_mut() = Some(Signal::SIGTTIN);
    let failed = Err(Interrupted::Errno(Errno::EIO));
    assert_eq!(pair.slave.ops().admit(&pair.slave, &BACKGROUND, Intent::Read), failed);
    *pair.jobs.ignored.borrow_mut() = None;
    *pair.jobs.orphan.borrow_mut() = Some(11);
    assert_eq!(pair.slave.ops().admit(&pair.slave, &BACKGROUND, Intent::Read), failed);
}

#[test]
fn a_background_writer_is_stopped_only_with_tostop() {
    let pair = Pair::new();
    let ops = pair.slave.ops();
    assert_eq!(ops.admit(&pair.slave, &BACKGROUND, Intent::Write), Ok(()));
    pair.set(|termios| termios.lflag |= LocalModes::TOSTOP.bits());
    assert!(ops.admit(&pair.slave, &BACKGROUND, Intent::Write).is_err());
    *pair.jobs.ignored.borrow_mut() = Some(Signal::SIGTTOU);
    assert_eq!(ops.admit(&pair.slave, &BACKGROUND, Intent::Write), Ok(()));
}

#[test]
fn changing_modes_in_the_background_is_stopped() {
    let pair = Pair::new();
    let admit =
        |command| pair.slave.ops().admit(&pair.slave, &BACKGROUND, Intent::Control(command));
    assert!(admit(request::TCSETS).is_err());
    assert!(admit(request::TIOCSPGRP).is_err());
    assert_eq!(admit(request::TCGETS), Ok(()));
}

#[test]
fn the_foreground_group_can_be_changed_within_the_session() {
    let pair = Pair::new();
    pair.memory.0.borrow_mut()[..4].copy_from_slice(&11_u32.to_le_bytes());
    assert_eq!(pair.ioctl(&pair.slave, &LEADER, request::TIOCSPGRP, 0), Ok(0));
    assert_eq!(pair.terminals.terminal(0).unwrap().foreground(), Some(Pid(11)));
    pair.memory.0.borrow_mut()[..4].copy_from_slice(&5000_u32.to_le_bytes());
    assert_eq!(pair.ioctl(&pair.slave, &LEADER, request::TIOCSPGRP, 0), Err(Errno::ESRCH));
}

#[test]
fn a_resize_tells_the_foreground_group_once() {
    let pair = Pair::new();
    let size = WindowSize { rows: 24, columns: 80, width: 0, height: 0 };
    pair.memory.0.borrow_mut()[..8].copy_from_slice(size.as_bytes());
    for _ in 0..2 {
        assert_eq!(pair.ioctl(&pair.master, &LEADER, request::TIOCSWINSZ, 0), Ok(0));
    }
    assert_eq!(*pair.jobs.sent.borrow(), [(10, Signal::SIGWINCH)]);
}

#[test]
fn output_waits_when_the_master_does_not_read() {
    let pair = Pair::new();
    pair.set(|termios| termios.oflag = 0);
    let n = pair.show(&[b'x'; 50_000]).unwrap();
    assert!((4096..50_000).contains(&n));
    assert_eq!(pair.show(b"x"), Err(Errno::EAGAIN));
    assert!(!poll(&pair.slave).contains(PollEvents::OUT));
    assert_eq!(read(&pair.master).unwrap().len(), 4095);
    assert!(poll(&pair.slave).contains(PollEvents::OUT));
}

#[test]
fn input_waits_when_the_slave_does_not_read() {
    let pair = Pair::new();
    pair.raw(1, 0);
    let n = pair.type_in(&[b'x'; 50_000]).unwrap();
    assert_eq!(pair.type_in(b"x"), Err(Errno::EAGAIN));
    let mut got = 0;
    while let Ok(bytes) = read(&pair.slave) {
        assert!(bytes.len() < crate::discipline::INPUT_LIMIT);
        got += bytes.len();
    }
    assert_eq!(got, n);
}

#[test]
fn held_output_waits_and_the_master_in_packet_mode_is_told() {
    let pair = Pair::new();
    pair.memory.0.borrow_mut()[..4].copy_from_slice(&1_u32.to_le_bytes());
    assert_eq!(pair.ioctl(&pair.master, &LEADER, request::TIOCPKT, 0), Ok(0));
    pair.type_in(b"\x13").unwrap();
    assert!(poll(&pair.master).contains(PollEvents::PRI));
    assert_eq!(read(&pair.master), Ok(vec![4]));
    assert_eq!(pair.show(b"x"), Err(Errno::EAGAIN));
    pair.type_in(b"\x11").unwrap();
    assert_eq!(read(&pair.master), Ok(vec![8]));
    assert_eq!(pair.show(b"x"), Ok(1));
    assert_eq!(read(&pair.master), Ok(b"\0x".to_vec()));
}

#[test]
fn a_master_without_slaves_reads_the_rest_and_then_an_error() {
    let mut pair = Pair::new();
    pair.show(b"bye").unwrap();
    pair.slave = Rc::clone(&pair.master);
    assert_eq!(read(&pair.master), Ok(b"bye".to_vec()));
    assert_eq!(read(&pair.master), Err(Errno::EIO));
    assert!(poll(&pair.master).contains(PollEvents::HUP));
    let again = open(pair.terminals.open_slave(0, OpenFlags::RDWR, &LEADER).unwrap());
    assert_eq!(read(&pair.master), Err(Errno::EAGAIN));
    drop(again);
}

#[test]
fn closing_the_master_hangs_up() {
    let pair = Pair::new();
    let Pair { jobs, terminals, master, slave, .. } = pair;
    drop(master);
    assert_eq!(*jobs.sent.borrow(), [(10, Signal::SIGHUP), (10, Signal::SIGCONT)]);
    assert_eq!(read(&slave), Ok(Vec::new()));
    assert_eq!(slave.write(&mut SliceSource::new(b"x")), Err(Errno::EIO));
    assert!(poll(&slave).contains(PollEvents::HUP | PollEvents::IN | PollEvents::ERR));
    assert!(terminals.terminal(0).is_none());
}

#[test]
fn vmin_collects_bytes() {
    let pair = Pair::new();
    pair.raw(3, 0);
    pair.type_in(b"ab").unwrap();
    assert_eq!(read(&pair.slave), Err(Errno::EAGAIN));
    pair.type_in(b"c").unwrap();
    assert_eq!(read(&pair.slave), Ok(b"abc".to_vec()));
}

#[test]
fn no_vmin_and_no_vtime_never_waits() {
    let pair = Pair::new();
    pair.raw(0, 0);
    assert_eq!(read(&pair.slave), Ok(Vec::new()));
}

#[test]
fn vtime_ends_a_wait_with_what_there_is() {
    let pair = Pair::new();
    pair.raw(0, 1);
    pair.slave.ops().admit(&pair.slave, &LEADER, Intent::Read).unwrap();
    assert_eq!(read(&pair.slave), Err(Errno::EAGAIN));
    let deadline = pair.timers.next_deadline().unwrap();
    while now() < deadline {
        std::hint::spin_loop();
    }
    assert_eq!(read(&pair.slave), Ok(Vec::new()));
}

#[test]
fn a_request_through_the_slave_needs_control() {
    let pair = Pair::new();
    let stranger = Who { session: 99, group: 99, pid: 99 };
    assert_eq!(pair.ioctl(&pair.slave, &stranger, request::TIOCGPGRP, 0), Err(Errno::ENOTTY));
    assert_eq!(pair.ioctl(&pair.master, &stranger, request::TIOCGPGRP, 0), Ok(0));
    assert_eq!(pair.ioctl(&pair.slave, &stranger, request::TIOCSCTTY, 0), Err(Errno::EPERM));
}

#[test]
fn typing_for_others_is_refused() {
    let pair = Pair::new();
    assert_eq!(pair.ioctl(&pair.slave, &LEADER, request::TIOCSTI, 0), Err(Errno::EIO));
}
