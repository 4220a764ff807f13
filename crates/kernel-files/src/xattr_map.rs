//! Extended attributes in memory.

use std::cell::RefCell;
use std::collections::BTreeMap;

use kernel_core::ledger::{ALLOCATION, Charge, Kind};
use linux_abi::{Errno, SysResult};

use crate::inode::{XattrMode, Xattrs};

/// How many bytes of names and values one file may have here.
const MAX_BYTES: usize = 128 << 10;

/// The extended attributes of a file that lives in memory.
pub struct XattrMap {
    values: RefCell<BTreeMap<Vec<u8>, Vec<u8>>>,
    charge: RefCell<Charge>,
}

impl Default for XattrMap {
    fn default() -> Self {
        let charge = RefCell::new(Charge::none(Kind::Inodes));
        Self { values: RefCell::default(), charge }
    }
}

/// What a map takes.
fn memory_of(n_values: usize, n_bytes: usize) -> u64 {
    n_bytes as u64 + n_values as u64 * 3 * ALLOCATION
}

impl XattrMap {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.borrow().is_empty()
    }
}

impl Xattrs for XattrMap {
    fn get(&self, name: &[u8]) -> SysResult<Vec<u8>> {
        self.values.borrow().get(name).cloned().ok_or(Errno::ENODATA)
    }

    fn set(&self, name: &[u8], value: &[u8], mode: XattrMode) -> SysResult<()> {
        let mut values = self.values.borrow_mut();
        match (mode, values.contains_key(name)) {
            (XattrMode::Create, true) => return Err(Errno::EEXIST),
            (XattrMode::Replace, false) => return Err(Errno::ENODATA),
            _ => {}
        }
        let used: usize = values
            .iter()
            .filter(|(other, _)| other.as_slice() != name)
            .map(|(name, value)| name.len() + value.len())
            .sum();
        if used + name.len() + value.len() > MAX_BYTES {
            return Err(Errno::ENOSPC);
        }
        let memory = memory_of(values.len() + 1, used + name.len() + value.len());
        self.charge.borrow_mut().resize(memory).map_err(|_| Errno::ENOSPC)?;
        values.insert(name.to_vec(), value.to_vec());
        Ok(())
    }

    fn remove(&self, name: &[u8]) -> SysResult<()> {
        let mut values = self.values.borrow_mut();
        values.remove(name).ok_or(Errno::ENODATA)?;
        let n_bytes = values.iter().map(|(name, value)| name.len() + value.len()).sum();
        let memory = if values.is_empty() { 0 } else { memory_of(values.len(), n_bytes) };
        self.charge.borrow_mut().force(memory);
        Ok(())
    }

    fn list(&self) -> SysResult<Vec<Vec<u8>>> {
        Ok(self.values.borrow().keys().cloned().collect())
    }
}
