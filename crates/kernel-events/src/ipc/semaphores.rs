//! System V semaphores. See semop(2).
//!
//! Operations that cannot proceed queue up with their set, and whoever changes the set carries out
//! what has become possible, in the order of arrival. So nobody who comes later slips in between.

mod operation;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_core::ledger::{ALLOCATION, Charge, Kind};
use kernel_core::timers::real_time;
use linux_abi::events::sysv::{SemBuf, SemidDs};
use linux_abi::time::NANOS_PER_SEC;
use linux_abi::{Errno, Pid, SysResult};

use super::permission::{Guarded, Permission, Want};
use super::table::IpcTable;
pub use operation::SemWait;
use operation::{Outcome, Pending};

/// How many sets there may be.
pub const SEMMNI: usize = 32_000;
/// How many semaphores a set may have.
pub const SEMMSL: usize = 32_000;
/// How many semaphores there may be in all sets. Linux allows more than anybody has memory for.
pub const SEMMNS: usize = 1_024_000;
/// How many operations one call may have.
pub const SEMOPM: usize = 500;
/// The highest value of a semaphore.
pub const SEMVMX: i32 = 32_767;
/// How many operations may wait at a set.
const MAX_PENDING: usize = 1 << 16;

/// Seconds since 1970, as the times in `semid_ds` and its like.
pub(super) fn seconds() -> i64 {
    i64::try_from(real_time() / NANOS_PER_SEC).unwrap_or(i64::MAX)
}

/// One semaphore.
#[derive(Clone, Copy, Debug, Default)]
struct Semaphore {
    value: i32,
    last_pid: u32,
}

/// What a process wants taken back at its end, per semaphore.
type Adjustments = Vec<i32>;

/// A semaphore set.
pub struct SemSet {
    permission: Cell<Permission>,
    semaphores: RefCell<Vec<Semaphore>>,
    undo: RefCell<HashMap<Pid, Adjustments>>,
    pending: RefCell<VecDeque<Rc<Pending>>>,
    otime: Cell<i64>,
    ctime: Cell<i64>,
    _charge: Charge,
}

impl Guarded for SemSet {
    fn permission(&self) -> &Cell<Permission> {
        &self.permission
    }
}

impl SemSet {
    fn new(permission: Permission, n: usize) -> SysResult<Self> {
        let memory = (size_of::<Self>() + n * size_of::<Semaphore>()) as u64 + ALLOCATION;
        let charge = Charge::new(Kind::Queues, memory).map_err(|_| Errno::ENOMEM)?;
        Ok(Self {
            _charge: charge,
            permission: Cell::new(permission),
            semaphores: RefCell::new(vec![Semaphore::default(); n]),
            undo: RefCell::default(),
            pending: RefCell::default(),
            otime: Cell::new(0),
            ctime: Cell::new(seconds()),
        })
    }

    /// How many semaphores it has.
    pub fn len(&self) -> usize {
        self.semaphores.borrow().len()
    }

    /// Whether it has none, which does not happen.
    pub fn is_empty(&self) -> bool {
        self.semaphores.borrow().is_empty()
    }

    /// Value and last user of a semaphore; `EINVAL` if there is no such.
    pub fn get(&self, number: usize) -> SysResult<(i32, u32)> {
        let semaphores = self.semaphores.borrow();
        let semaphore = semaphores.get(number).ok_or(Errno::EINVAL)?;
        Ok((semaphore.value, semaphore.last_pid))
    }

    /// All values.
    pub fn values(&self) -> Vec<u16> {
        let semaphores = self.semaphores.borrow();
        semaphores.iter().map(|semaphore| u16::try_from(semaphore.value).unwrap_or(0)).collect()
    }

    /// Sets a value, and forgets what processes wanted taken back from it.
    pub fn set(&self, number: usize, value: i32, pid: Pid) -> SysResult<()> {
        if !(0..=SEMVMX).contains(&value) {
            return Err(Errno::ERANGE);
        }
        {
            let mut semaphores = self.semaphores.borrow_mut();
            let semaphore = semaphores.get_mut(number).ok_or(Errno::EINVAL)?;
            *semaphore = Semaphore { value, last_pid: pid.0 };
        }
        for adjustments in self.undo.borrow_mut().values_mut() {
            if let Some(adjustment) = adjustments.get_mut(number) {
                *adjustment = 0;
            }
        }
        self.ctime.set(seconds());
        self.carry_out_pending();
        Ok(())
    }

    /// Sets all values.
    pub fn set_all(&self, values: &[u16], pid: Pid) -> SysResult<()> {
        if values.iter().any(|&value| i32::from(value) > SEMVMX) {
            return Err(Errno::ERANGE);
        }
        for (semaphore, &value) in self.semaphores.borrow_mut().iter_mut().zip(values) {
            *semaphore = Semaphore { value: value.into(), last_pid: pid.0 };
        }
        for adjustments in self.undo.borrow_mut().values_mut() {
            adjustments.fill(0);
        }
        self.ctime.set(seconds());
        self.carry_out_pending();
        Ok(())
    }

    /// How many wait for the semaphore to grow, and how many for it to be zero.
    pub fn n_waiting(&self, number: usize) -> (u32, u32) {
        let (mut to_grow, mut for_zero) = (0, 0);
        for pending in self.pending.borrow().iter() {
            let blocking = pending.blocking.get();
            if usize::from(blocking.number) == number {
                *(if blocking.op == 0 { &mut for_zero } else { &mut to_grow }) += 1;
            }
        }
        (to_grow, for_zero)
    }

    /// Owner, times and size, as `IPC_STAT` shows them.
    pub fn show(&self, id: u32) -> SemidDs {
        SemidDs {
            perm: self.permission.get().show(id),
            otime: self.otime.get(),
            ctime: self.ctime.get(),
            nsems: self.len() as u64,
            ..SemidDs::default()
        }
    }

    /// Tries the operations of one call, all or none. `None` if they have to wait: then they are
    /// in the queue, and what is returned tells when they are done.
    pub fn operate(
        self: &Rc<Self>,
        operations: Vec<SemBuf>,
        pid: Pid,
    ) -> SysResult<Option<SemWait>> {
        let highest = operations.iter().map(|operation| operation.number).max().unwrap_or(0);
        if usize::from(highest) >= self.len() {
            return Err(Errno::EFBIG);
        }
        match self.attempt(&operations, pid) {
            Outcome::Done => {
                if operations.iter().any(|operation| operation.op != 0) {
                    self.carry_out_pending();
                }
                Ok(None)
            }
            Outcome::Failed(errno) => Err(errno),
            Outcome::Waits(blocking) => {
                if self.pending.borrow().len() >= MAX_PENDING {
                    return Err(Errno::ENOMEM);
                }
                let pending = Pending::new(operations, pid, blocking);
                self.pending.borrow_mut().push_back(Rc::clone(&pending));
                Ok(Some(SemWait::new(self, pending)))
            }
        }
    }

    fn undo_of(&self, pid: Pid) {
        let Some(adjustments) = self.undo.borrow_mut().remove(&pid) else { return };
        for (semaphore, adjustment) in self.semaphores.borrow_mut().iter_mut().zip(adjustments) {
            if adjustment != 0 {
                semaphore.value = (semaphore.value + adjustment).clamp(0, SEMVMX);
                semaphore.last_pid = pid.0;
            }
        }
        self.otime.set(seconds());
        self.carry_out_pending();
    }
}

/// All semaphore sets.
pub struct Semaphores {
    table: IpcTable<SemSet>,
    n_semaphores: Cell<usize>,
    /// In which sets a process may have something to take back.
    undo: RefCell<HashMap<Pid, Vec<u32>>>,
}

impl Default for Semaphores {
    fn default() -> Self {
        Self { table: IpcTable::new(SEMMNI), n_semaphores: Cell::new(0), undo: RefCell::default() }
    }
}

impl Semaphores {
    /// The sets by id.
    pub fn table(&self) -> &IpcTable<SemSet> {
        &self.table
    }

    /// How many semaphores there are in all sets.
    pub fn n_semaphores(&self) -> usize {
        self.n_semaphores.get()
    }

    /// Finds or makes a set of `n` semaphores (`semget`).
    pub fn get(&self, key: i32, n: usize, flags: u32, who: &Credentials) -> SysResult<u32> {
        if n > SEMMSL {
            return Err(Errno::EINVAL);
        }
        let fits = |set: &SemSet| if n > set.len() { Err(Errno::EINVAL) } else { Ok(()) };
        self.table.get_or_make(key, flags, who, fits, || {
            if n == 0 {
                return Err(Errno::EINVAL);
            }
            if self.n_semaphores.get() + n > SEMMNS {
                return Err(Errno::ENOSPC);
            }
            let set = SemSet::new(Permission::new(key, flags, who), n)?;
            self.n_semaphores.set(self.n_semaphores.get() + n);
            Ok(set)
        })
    }

    /// Tries the operations of one call (`semop`). See [`SemSet::operate`].
    pub fn operate(
        &self,
        id: u32,
        operations: Vec<SemBuf>,
        who: &Credentials,
        pid: Pid,
    ) -> SysResult<Option<SemWait>> {
        let set = self.table.find(id)?;
        let highest = operations.iter().map(|operation| operation.number).max().unwrap_or(0);
        if usize::from(highest) >= set.len() {
            return Err(Errno::EFBIG);
        }
        let changes = operations.iter().any(|operation| operation.op != 0);
        set.permission.get().check(who, if changes { Want::WRITE } else { Want::READ })?;
        if operations.iter().any(operation::is_undone) {
            let mut undo = self.undo.borrow_mut();
            let sets = undo.entry(pid).or_default();
            if !sets.contains(&id) {
                sets.push(id);
            }
        }
        set.operate(operations, pid)
    }

    /// Changes owner and mode (`IPC_SET`).
    pub fn change(&self, id: u32, from: &SemidDs, who: &Credentials) -> SysResult<()> {
        let set = self.table.find(id)?;
        let mut permission = set.permission.get();
        permission.check_control(who)?;
        permission.update(&from.perm)?;
        set.permission.set(permission);
        set.ctime.set(seconds());
        Ok(())
    }

    /// Removes a set (`IPC_RMID`). Whoever waits gets `EIDRM`.
    pub fn remove(&self, id: u32, who: &Credentials) -> SysResult<()> {
        let set = self.table.find(id)?;
        set.permission.get().check_control(who)?;
        self.table.remove(id)?;
        self.n_semaphores.set(self.n_semaphores.get().saturating_sub(set.len()));
        for pending in set.pending.take() {
            pending.finish(Err(Errno::EIDRM));
        }
        Ok(())
    }

    /// A process has ended: takes back what it wanted taken back.
    pub fn undo(&self, pid: Pid) {
        for id in self.undo.borrow_mut().remove(&pid).unwrap_or_default() {
            // The set may be gone, and another in its place has another id.
            if let Ok(set) = self.table.find(id) {
                set.undo_of(pid);
            }
        }
    }
}
