//! Extended attributes in memory.

use std::cell::RefCell;
use std::collections::BTreeMap;

use linux_abi::{Errno, SysResult};

use crate::inode::{XattrMode, Xattrs};

/// How many bytes of names and values one file may have here.
const MAX_BYTES: usize = 128 << 10;

/// The extended attributes of a file that lives in memory.
#[derive(Default)]
pub struct XattrMap {
    values: RefCell<BTreeMap<Vec<u8>, Vec<u8>>>,
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
        values.insert(name.to_vec(), value.to_vec());
        Ok(())
    }

    fn remove(&self, name: &[u8]) -> SysResult<()> {
        self.values.borrow_mut().remove(name).map(drop).ok_or(Errno::ENODATA)
    }

    fn list(&self) -> SysResult<Vec<Vec<u8>>> {
        Ok(self.values.borrow().keys().cloned().collect())
    }
}
