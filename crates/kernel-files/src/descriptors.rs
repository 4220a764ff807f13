//! The descriptor table of a process.

use std::cell::Cell;
use std::rc::{Rc, Weak};

use kernel_core::ledger::{self, Charge, Kind};
use linux_abi::{Errno, Fd, SysResult};

use crate::lending::Lender;
use crate::{OpenFile, locks};

/// The highest number of descriptors that any limit may allow (Linux: `fs.nr_open`).
pub const NR_OPEN: u32 = 1 << 20;

#[derive(Clone)]
struct Descriptor {
    file: Rc<OpenFile>,
    close_on_exec: bool,
}

/// Which open file each descriptor names. Cloning copies the table, as `fork` does; the copy has
/// an id of its own.
pub struct FdTable {
    entries: Vec<Option<Descriptor>>,
    /// No free number is below this one.
    lowest_free: usize,
    /// Owns the record locks that were set through this table.
    id: u64,
    /// Who lends files of this table to the guest process.
    lender: Option<Weak<dyn Lender>>,
    /// For the entries.
    charge: Charge,
}

/// What so many entries take.
fn memory_of(n_entries: usize) -> u64 {
    n_entries as u64 * size_of::<Option<Descriptor>>() as u64
}

impl Default for FdTable {
    fn default() -> Self {
        thread_local!(static NEXT: Cell<u64> = const { Cell::new(1) });
        let id = NEXT.get();
        NEXT.set(id + 1);
        let charge = Charge::none(Kind::OpenFiles);
        Self { entries: Vec::new(), lowest_free: 0, id, lender: None, charge }
    }
}

impl Clone for FdTable {
    fn clone(&self) -> Self {
        let charge = Charge::forced(Kind::OpenFiles, memory_of(self.entries.len()));
        let (entries, lowest_free) = (self.entries.clone(), self.lowest_free);
        Self { entries, lowest_free, charge, ..Self::default() }
    }
}

/// What happens to an open file when a descriptor of it is taken out of table `id`: it is flushed,
/// and the record locks that were set through that table are gone.
pub fn close(file: &Rc<OpenFile>, id: u64) -> SysResult<()> {
    let flushed = file.ops().flush(file);
    locks::descriptor_closed(file, id);
    flushed
}

impl FdTable {
    /// A number that no other table of the sandbox has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The open file behind `fd`; `EBADF` if there is none.
    pub fn get(&self, fd: Fd) -> SysResult<&Rc<OpenFile>> {
        Ok(&self.entry(fd)?.file)
    }

    fn entry(&self, fd: Fd) -> SysResult<&Descriptor> {
        let index = usize::try_from(fd.0).map_err(|_| Errno::EBADF)?;
        self.entries.get(index).and_then(Option::as_ref).ok_or(Errno::EBADF)
    }

    fn entry_mut(&mut self, fd: Fd) -> SysResult<&mut Descriptor> {
        let index = usize::try_from(fd.0).map_err(|_| Errno::EBADF)?;
        self.entries.get_mut(index).and_then(Option::as_mut).ok_or(Errno::EBADF)
    }

    /// `ENOMEM` if there is no room for a copy.
    pub fn check_room_for_copy(&self) -> SysResult<()> {
        let fits = ledger::has_room_to_go_on(memory_of(self.entries.len()));
        if fits { Ok(()) } else { Err(Errno::ENOMEM) }
    }

    /// Gives `file` the lowest free number from `lowest` on and below `limit`; `EMFILE` if there
    /// is none.
    pub fn add(
        &mut self,
        file: Rc<OpenFile>,
        lowest: u32,
        limit: u32,
        close_on_exec: bool,
    ) -> SysResult<Fd> {
        let index = self.find_free(lowest, limit)?;
        // As when the system's table of files is full.
        if !ledger::has_room_to_go_on(1) {
            return Err(Errno::ENFILE);
        }
        if lowest as usize <= self.lowest_free {
            self.lowest_free = index + 1;
        }
        self.put(index, Descriptor { file, close_on_exec })?;
        i32::try_from(index).map(Fd).map_err(|_| Errno::EMFILE)
    }

    /// The lowest free number from `lowest` on and below `limit`; `EMFILE` if there is none. For
    /// those who must know before they begin something that cannot be taken back.
    pub fn find_free(&self, lowest: u32, limit: u32) -> SysResult<usize> {
        let mut index = (lowest as usize).max(self.lowest_free);
        while matches!(self.entries.get(index), Some(Some(_))) {
            index += 1;
        }
        if index < limit.min(NR_OPEN) as usize { Ok(index) } else { Err(Errno::EMFILE) }
    }

    /// Makes `fd` name `file`. Returns what it named before, for the caller to close.
    pub fn replace(
        &mut self,
        fd: Fd,
        file: Rc<OpenFile>,
        limit: u32,
        close_on_exec: bool,
    ) -> SysResult<Option<Rc<OpenFile>>> {
        let index = usize::try_from(fd.0).map_err(|_| Errno::EBADF)?;
        if index >= limit.min(NR_OPEN) as usize {
            return Err(Errno::EBADF);
        }
        let old = self.entries.get_mut(index).and_then(Option::take);
        self.take_back(index);
        self.put(index, Descriptor { file, close_on_exec })?;
        Ok(old.map(|old| old.file))
    }

    fn put(&mut self, index: usize, descriptor: Descriptor) -> SysResult<()> {
        if index >= self.entries.len() {
            self.charge.resize(memory_of(index + 1)).map_err(|_| Errno::ENOMEM)?;
            self.entries.try_reserve(index + 1 - self.entries.len()).map_err(|_| Errno::ENOMEM)?;
            self.entries.resize_with(index + 1, || None);
        }
        if let Some(entry) = self.entries.get_mut(index) {
            *entry = Some(descriptor);
        }
        Ok(())
    }

    /// Takes `fd` out of the table. The caller flushes and drops what it named.
    pub fn remove(&mut self, fd: Fd) -> SysResult<Rc<OpenFile>> {
        let index = usize::try_from(fd.0).map_err(|_| Errno::EBADF)?;
        let entry = self.entries.get_mut(index).and_then(Option::take).ok_or(Errno::EBADF)?;
        self.lowest_free = self.lowest_free.min(index);
        self.take_back(index);
        Ok(entry.file)
    }

    /// Has `lender` told when descriptors are closed. Returns whether it may lend: not if another
    /// process has this table too, or this process has another table.
    pub fn serve(&mut self, lender: &Rc<dyn Lender>) -> bool {
        let before = self.lender.as_ref().and_then(Weak::upgrade);
        if before.is_some_and(|before| !before.is_over() && !Rc::ptr_eq(&before, lender)) {
            return false;
        }
        self.lender = Some(Rc::downgrade(lender));
        lender.serves(self.id)
    }

    /// The guest process must not use this descriptor by itself any more.
    fn take_back(&self, index: usize) {
        let lender = self.lender.as_ref().and_then(Weak::upgrade);
        if let (Some(lender), Ok(fd)) = (lender, u32::try_from(index)) {
            lender.take_back(fd);
        }
    }

    /// Whether `fd` is closed on `execve`.
    pub fn is_close_on_exec(&self, fd: Fd) -> SysResult<bool> {
        Ok(self.entry(fd)?.close_on_exec)
    }

    /// Sets whether `fd` is closed on `execve`.
    pub fn set_close_on_exec(&mut self, fd: Fd, close_on_exec: bool) -> SysResult<()> {
        self.entry_mut(fd)?.close_on_exec = close_on_exec;
        Ok(())
    }

    /// Takes every descriptor out that `execve` closes.
    pub fn remove_close_on_exec(&mut self) -> Vec<Rc<OpenFile>> {
        let fds: Vec<Fd> =
            self.numbers().filter(|&fd| self.is_close_on_exec(fd) == Ok(true)).collect();
        fds.into_iter().filter_map(|fd| self.remove(fd).ok()).collect()
    }

    /// Takes every descriptor out.
    pub fn remove_all(&mut self) -> Vec<Rc<OpenFile>> {
        self.lowest_free = 0;
        self.charge.force(0);
        if let Some(lender) = self.lender.as_ref().and_then(Weak::upgrade) {
            lender.take_all_back();
        }
        std::mem::take(&mut self.entries).into_iter().flatten().map(|entry| entry.file).collect()
    }

    /// The numbers in use, in order.
    pub fn numbers(&self) -> impl Iterator<Item = Fd> + '_ {
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.is_some())
            .filter_map(|(index, _)| i32::try_from(index).ok().map(Fd))
    }
}
