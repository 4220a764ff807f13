//! Addresses of sockets on their way from and to a guest.

use kernel_core::memory::{UserMemory, UserPtr};
use linux_abi::sockets::SOCKADDR_MAX;
use linux_abi::{Errno, SysResult};

/// Copies an address in. `EINVAL` if its length cannot be.
pub(super) fn read(
    memory: &dyn UserMemory,
    address: UserPtr<u8>,
    length: i32,
) -> SysResult<Vec<u8>> {
    let length = usize::try_from(length).map_err(|_| Errno::EINVAL)?;
    if length > SOCKADDR_MAX {
        return Err(Errno::EINVAL);
    }
    if length == 0 {
        return Ok(Vec::new());
    }
    address.read_many(memory, length)
}

/// Copies an address out, as much as there is room for, and says how long it is.
pub(super) fn write(
    memory: &dyn UserMemory,
    name: &[u8],
    address: UserPtr<u8>,
    length: UserPtr<i32>,
) -> SysResult<()> {
    let room = usize::try_from(length.read(memory)?).map_err(|_| Errno::EINVAL)?;
    let shown = name.get(..room.min(name.len())).unwrap_or_default();
    if !shown.is_empty() {
        address.write_many(memory, shown)?;
    }
    length.write(memory, &i32::try_from(name.len()).unwrap_or(0))
}
