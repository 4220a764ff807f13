//! All terminals of a sandbox.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};

use kernel_core::credentials::cap;
use kernel_core::host_events::HostEvents;
use kernel_core::ledger::{Charge, Kind};
use kernel_core::timers::{Timers, real_time};
use kernel_files::FileOps;
use kernel_files::inode::{FileSystem, Inode};
use kernel_files::pseudo::{PseudoFs, PseudoInode};
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, SysResult};

use crate::devpts;
use crate::host::HostLine;
use crate::job_control::JobControl;
use crate::keyboard::Keyboard;
use crate::pty::{MasterFile, MasterSide};
use crate::terminal::{Terminal, TerminalFile};

/// The most pseudo terminals at a time (Linux: `kernel.pty.max`).
pub const MAX_TERMINALS: usize = 4096;

/// What a terminal takes when all that it may hold is in its buffers.
const TERMINAL_BYTES: u64 = 36 << 10;

/// What `/dev/pts` shows of a slave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlaveInfo {
    /// Its number, which is its name.
    pub index: u32,
    /// The user that opened the master.
    pub uid: u32,
    /// When it was made, in nanoseconds since 1970.
    pub created: u64,
}

struct Entry {
    terminal: Rc<Terminal>,
    is_locked: Rc<Cell<bool>>,
    info: SlaveInfo,
    node: Rc<PseudoInode>,
    _charge: Charge,
}

pub(crate) struct Registry {
    pub(crate) jobs: Rc<dyn JobControl>,
    timers: Timers,
    entries: RefCell<BTreeMap<u32, Entry>>,
    devpts: Rc<PseudoFs>,
}

impl Registry {
    pub(crate) fn open_slave(
        &self,
        index: u32,
        flags: OpenFlags,
        caller: &dyn Any,
    ) -> SysResult<Rc<dyn FileOps>> {
        let terminal = {
            let entries = self.entries.borrow();
            let entry = entries.get(&index).ok_or(Errno::EIO)?;
            if entry.is_locked.get() {
                return Err(Errno::EIO);
            }
            Rc::clone(&entry.terminal)
        };
        self.open(&terminal, flags, caller)
    }

    fn open(
        &self,
        terminal: &Rc<Terminal>,
        flags: OpenFlags,
        caller: &dyn Any,
    ) -> SysResult<Rc<dyn FileOps>> {
        let who = self.jobs.caller(caller)?;
        if terminal.is_exclusive() && !who.credentials.has(cap::SYS_ADMIN) {
            return Err(Errno::EBUSY);
        }
        let file = TerminalFile::new(terminal);
        if !flags.contains(OpenFlags::NOCTTY) {
            terminal.adopt_on_open(&who, flags.can_read());
        }
        Ok(file)
    }

    /// The node of a slave in `/dev/pts`.
    pub(crate) fn node(&self, index: u32) -> Option<Rc<PseudoInode>> {
        self.entries.borrow().get(&index).map(|entry| Rc::clone(&entry.node))
    }

    /// The slaves from number `from` on, in order.
    pub(crate) fn slaves(&self, from: u32) -> Vec<SlaveInfo> {
        self.entries.borrow().range(from..).map(|(_, entry)| entry.info).collect()
    }

    pub(crate) fn remove(&self, index: u32) {
        self.entries.borrow_mut().remove(&index);
    }

    /// The lowest number that no terminal has; `ENOSPC` if there are too many.
    fn free_index(&self) -> SysResult<u32> {
        let entries = self.entries.borrow();
        if entries.len() >= MAX_TERMINALS {
            return Err(Errno::ENOSPC);
        }
        let free = entries.keys().zip(0..).find(|&(&used, index)| used != index);
        match free {
            Some((_, index)) => Ok(index),
            None => u32::try_from(entries.len()).map_err(|_| Errno::ENOSPC),
        }
    }
}

/// The terminals of a sandbox. Cloning makes another handle to the same set.
#[derive(Clone)]
pub struct Terminals {
    registry: Rc<Registry>,
}

impl Terminals {
    /// No terminals; `jobs` is what they ask about processes.
    pub fn new(jobs: Rc<dyn JobControl>, timers: Timers) -> Self {
        let registry = Rc::new_cyclic(|registry: &Weak<Registry>| Registry {
            jobs,
            timers,
            entries: RefCell::default(),
            devpts: devpts::new_file_system(registry),
        });
        Self { registry }
    }

    /// Opens `/dev/ptmx`: makes a new pair and gives its master.
    pub fn open_master(&self, caller: &dyn Any) -> SysResult<Rc<dyn FileOps>> {
        let registry = &self.registry;
        let credentials = registry.jobs.caller(caller)?.credentials;
        let index = registry.free_index()?;
        let charge = Charge::new(Kind::Terminals, TERMINAL_BYTES).map_err(|_| Errno::ENOMEM)?;
        let side = MasterSide::new();
        let driver = Rc::clone(&side);
        let terminal =
            Terminal::new(index, driver, Rc::clone(&registry.jobs), registry.timers.clone());
        let is_locked = Rc::new(Cell::new(true));
        self.add(&terminal, &is_locked, credentials.fsuid, charge);
        Ok(MasterFile::new(side, terminal, is_locked, Rc::downgrade(registry)))
    }

    /// Opens `/dev/pts/<index>`. Without `O_NOCTTY` it may become the caller's controlling
    /// terminal.
    pub fn open_slave(
        &self,
        index: u32,
        flags: OpenFlags,
        caller: &dyn Any,
    ) -> SysResult<Rc<dyn FileOps>> {
        self.registry.open_slave(index, flags, caller)
    }

    /// Opens `/dev/tty`, the caller's controlling terminal; `ENXIO` if it has none.
    pub fn open_controlling(&self, caller: &dyn Any) -> SysResult<Rc<dyn FileOps>> {
        let terminal = self.registry.jobs.caller(caller)?.controlling.ok_or(Errno::ENXIO)?;
        self.registry.open(&terminal, OpenFlags::NOCTTY, caller)
    }

    /// Makes the terminal that the sandbox was started on one of its own. Whoever starts the
    /// sandbox puts it into raw mode when the keyboard asks for that, calls [`Terminal::resize`]
    /// when the host says that its window has another size, and puts it back at the end.
    pub fn add_host(
        &self,
        host: OwnedFd,
        keyboard: Keyboard,
        events: &HostEvents,
        uid: u32,
    ) -> SysResult<Rc<Terminal>> {
        let registry = &self.registry;
        let line = HostLine::new(host, keyboard);
        let index = registry.free_index()?;
        let terminal = Terminal::new(
            index,
            Rc::clone(&line) as Rc<_>,
            Rc::clone(&registry.jobs),
            registry.timers.clone(),
        );
        line.connect(&terminal, events)?;
        // The host's own terminal is no guest's.
        let charge = Charge::none(Kind::Terminals);
        self.add(&terminal, &Rc::new(Cell::new(false)), uid, charge);
        Ok(terminal)
    }

    /// A new open file of a terminal, for a program that is started on it.
    pub fn open_file(&self, terminal: &Rc<Terminal>) -> Rc<dyn FileOps> {
        TerminalFile::new(terminal)
    }

    fn add(&self, terminal: &Rc<Terminal>, is_locked: &Rc<Cell<bool>>, uid: u32, charge: Charge) {
        let info = SlaveInfo { index: terminal.index(), uid, created: real_time() };
        let root = self.registry.devpts.root();
        let Some(root) = root.as_any().downcast_ref::<PseudoInode>() else { return };
        let node = devpts::new_node(root, &info);
        terminal.set_node(Rc::clone(&node) as Rc<dyn Inode>);
        let entry = Entry {
            terminal: Rc::clone(terminal),
            is_locked: Rc::clone(is_locked),
            info,
            node,
            _charge: charge,
        };
        self.registry.entries.borrow_mut().insert(terminal.index(), entry);
    }

    /// The file system of `/dev/pts`.
    pub fn devpts(&self) -> Rc<PseudoFs> {
        Rc::clone(&self.registry.devpts)
    }

    /// The terminal of this number.
    pub fn terminal(&self, index: u32) -> Option<Rc<Terminal>> {
        self.registry.entries.borrow().get(&index).map(|entry| Rc::clone(&entry.terminal))
    }
}
