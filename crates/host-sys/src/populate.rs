//! Memory that the host brings in at once, instead of page by page when it is touched.

#![expect(unsafe_code, reason = "rustix cannot know what advice does to memory")]

use std::mem::MaybeUninit;

use rustix::mm::{Advice, madvise};

const PAGE: usize = 4096;

/// Has the host bring in the pages of memory that is about to be written. Hosts before Linux 5.14 do
/// not, and bring them in one by one.
pub fn populate(memory: &mut [MaybeUninit<u8>]) {
    let to_page = memory.as_ptr().align_offset(PAGE);
    let Some(pages) = memory.get_mut(to_page..) else { return };
    let length = pages.len() / PAGE * PAGE;
    if length == 0 {
        return;
    }
    let start = pages.as_mut_ptr().cast();
    // SAFETY: the range is inside of `memory`, which is borrowed alone, and the advice changes no byte
    // of it.
    let _ = unsafe { madvise(start, length, Advice::LinuxPopulateWrite) };
}

/// Gives memory that the allocator has free, but not at the end of its heap, back to the host.
pub fn trim_heap() {
    // SAFETY: touches only memory that nobody has allocated.
    unsafe { libc::malloc_trim(0) };
}
