//! Device numbers for file systems that are on no device.

use std::cell::Cell;

use crate::metadata::DeviceNumber;

/// A number that no other file system has: major 0, as Linux gives to those without a device.
pub fn allocate_device() -> DeviceNumber {
    // 15 is what anonymous files say of themselves.
    thread_local!(static NEXT: Cell<u32> = const { Cell::new(20) });
    let minor = NEXT.get();
    NEXT.set(minor.wrapping_add(1));
    DeviceNumber::new(0, minor)
}
