//! Open files that were sent over Unix sockets and not yet received.
//!
//! A socket may be sent over itself, or two sockets over each other. Once their last descriptors
//! are closed nobody can ever receive them, yet each keeps the other alive. [`FilesInFlight`]
//! counts sockets in flight and finds such rings.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::{Rc, Weak};

use kernel_core::credentials::cap;
use kernel_core::timers;
use kernel_files::OpenFile;
use linux_abi::{Errno, SysResult};

use super::UnixSocket;
use crate::{Caller, Network, Socket};

/// The most files in flight at a time, whoever sends them.
const MAX_IN_FLIGHT: usize = 1 << 16;

/// Open files that travel with one message.
pub(super) struct Rights {
    files: Vec<Rc<OpenFile>>,
    network: Rc<Network>,
}

impl Rights {
    /// Sends `files` on their way; `ETOOMANYREFS` if too many are on theirs.
    pub(super) fn new(
        network: &Rc<Network>,
        caller: Option<&dyn Caller>,
        files: Vec<Rc<OpenFile>>,
    ) -> SysResult<Option<Self>> {
        if files.is_empty() {
            return Ok(None);
        }
        network.in_flight.check_limit(caller, files.len())?;
        network.in_flight.add(&files);
        Ok(Some(Self { files, network: Rc::clone(network) }))
    }

    pub(super) fn files(&self) -> &[Rc<OpenFile>] {
        &self.files
    }

    /// They have arrived.
    pub(super) fn take(mut self) -> Vec<Rc<OpenFile>> {
        self.network.in_flight.subtract(&self.files);
        std::mem::take(&mut self.files)
    }
}

impl Drop for Rights {
    fn drop(&mut self) {
        self.network.in_flight.subtract(&self.files);
        self.network.in_flight.discard(std::mem::take(&mut self.files));
    }
}

struct SocketInFlight {
    file: Weak<OpenFile>,
    /// How often it is in flight.
    n: usize,
}

/// The open files that are in flight in a sandbox.
pub struct FilesInFlight {
    network: Weak<Network>,
    n_files: Cell<usize>,
    /// Unix sockets among them, by the id of their open file.
    sockets: RefCell<HashMap<u64, SocketInFlight>>,
    /// Files to be closed. They are closed one after the other and never from within each other,
    /// because a guest can nest them deeper than our stack.
    discarded: RefCell<Vec<Rc<OpenFile>>>,
    is_discarding: Cell<bool>,
    is_collection_due: Cell<bool>,
}

impl FilesInFlight {
    pub(crate) fn new(network: Weak<Network>) -> Self {
        Self {
            network,
            n_files: Cell::new(0),
            sockets: RefCell::default(),
            discarded: RefCell::default(),
            is_discarding: Cell::new(false),
            is_collection_due: Cell::new(false),
        }
    }

    /// How many files are in flight.
    pub fn n_files(&self) -> usize {
        self.n_files.get()
    }

    fn check_limit(&self, caller: Option<&dyn Caller>, more: usize) -> SysResult<()> {
        let n = self.n_files.get();
        if n + more > MAX_IN_FLIGHT {
            return Err(Errno::ETOOMANYREFS);
        }
        let Some(caller) = caller else { return Ok(()) };
        if n <= caller.descriptor_limit() as usize {
            return Ok(());
        }
        let credentials = caller.credentials();
        if credentials.has(cap::SYS_RESOURCE) || credentials.has(cap::SYS_ADMIN) {
            return Ok(());
        }
        Err(Errno::ETOOMANYREFS)
    }

    fn add(&self, files: &[Rc<OpenFile>]) {
        self.n_files.set(self.n_files.get() + files.len());
        for file in files.iter().filter(|file| unix_socket(file).is_some()) {
            let mut sockets = self.sockets.borrow_mut();
            let entry = sockets
                .entry(file.id())
                .or_insert_with(|| SocketInFlight { file: Rc::downgrade(file), n: 0 });
            entry.n += 1;
        }
    }

    fn subtract(&self, files: &[Rc<OpenFile>]) {
        self.n_files.set(self.n_files.get() - files.len());
        let mut sockets = self.sockets.borrow_mut();
        if sockets.is_empty() {
            return;
        }
        for file in files {
            if let Some(entry) = sockets.get_mut(&file.id()) {
                entry.n -= 1;
                if entry.n == 0 {
                    sockets.remove(&file.id());
                }
            }
        }
    }

    fn discard(&self, files: Vec<Rc<OpenFile>>) {
        self.discarded.borrow_mut().extend(files);
        if self.is_discarding.replace(true) {
            return;
        }
        loop {
            let Some(file) = self.discarded.borrow_mut().pop() else { break };
            drop(file);
        }
        self.is_discarding.set(false);
    }

    /// A descriptor of a socket is being closed. If sockets are in flight, a ring of them may now
    /// be out of reach; this is looked at once the call that is under way is over.
    pub fn suspect_garbage(&self) {
        if self.sockets.borrow().is_empty() || self.is_collection_due.replace(true) {
            return;
        }
        let Some(network) = self.network.upgrade() else { return };
        let weak = Weak::clone(&self.network);
        network.timers.at(timers::now(), move || {
            if let Some(network) = weak.upgrade() {
                network.in_flight.collect();
            }
        });
    }

    /// Empties every socket that can only be reached through its own queue.
    pub fn collect(&self) {
        self.is_collection_due.set(false);
        let candidates = self.unreferenced();
        let live = find_live(&candidates);
        // Emptied outside of any borrow: this closes files, and so may call back.
        for (id, file) in &candidates {
            if live.contains(id) {
                continue;
            }
            if let Some(socket) = unix_socket(file) {
                socket.empty();
            }
        }
        for (_, file) in candidates {
            self.discard(vec![file]);
        }
    }

    /// The sockets in flight that no descriptor and no running call names.
    fn unreferenced(&self) -> HashMap<u64, Rc<OpenFile>> {
        self.sockets
            .borrow()
            .iter()
            .filter(|(_, entry)| entry.file.strong_count() == entry.n)
            .filter_map(|(&id, entry)| entry.file.upgrade().map(|file| (id, file)))
            .collect()
    }
}

/// Those of `candidates` that wait in a queue of somebody who is no candidate, and what can be
/// reached through them.
fn find_live(candidates: &HashMap<u64, Rc<OpenFile>>) -> HashSet<u64> {
    let mut held_inside: HashMap<u64, usize> = HashMap::new();
    for socket in candidates.values().filter_map(|file| unix_socket(file)) {
        socket.for_each_waiting_file(&mut |file| *held_inside.entry(file.id()).or_default() += 1);
    }
    let mut live = HashSet::new();
    let mut to_visit: Vec<u64> = Vec::new();
    for (&id, file) in candidates {
        // One reference is that of `candidates`.
        if Rc::strong_count(file) - 1 > held_inside.get(&id).copied().unwrap_or(0) {
            live.insert(id);
            to_visit.push(id);
        }
    }
    while let Some(id) = to_visit.pop() {
        let Some(socket) = candidates.get(&id).and_then(|file| unix_socket(file)) else { continue };
        socket.for_each_waiting_file(&mut |file| {
            if candidates.contains_key(&file.id()) && live.insert(file.id()) {
                to_visit.push(file.id());
            }
        });
    }
    live
}

fn unix_socket(file: &OpenFile) -> Option<&UnixSocket> {
    file.ops_as::<Socket>()?.ops().as_any().downcast_ref()
}
