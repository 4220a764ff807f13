//! The zygote: forks a fresh host process for every guest program.

#![expect(unsafe_code, reason = "reads the initial stack and the image; enters the guest")]

use core::arch::x86_64::__cpuid_count;
use core::sync::atomic::Ordering::Relaxed;

use channel_abi::image::{Image, NO_FILE};
use channel_abi::layout::{BELL_ADDRESS, BELL_SIZE, SOCKET_FD, STAGING_ADDRESS, STAGING_SIZE};

use crate::entry::{Registers, shim_enter_guest};
use crate::host::{self, map, nr};
use crate::inbox::receive;
use crate::process::{HEAP, VDSO, XSAVE_MASK, XSAVE_SIZE};
use crate::signals::install_handlers;
use crate::spawn::{adopt_channel, map_area};
use crate::thread::{Tcb, set_signal_stack, tcb, tcb_of};
use crate::usermem::{self, address_of, copy, get, put};
use crate::{birth, cpuid, rewrite};

/// The first code of the program. Never returns.
#[unsafe(no_mangle)]
extern "C" fn shim_zygote(stack: u64) -> ! {
    find_vdso(stack);
    measure_extended_state();
    let (bell, table, [filter_length, cpuid_is_dear]) = {
        let mut words = [0; 2];
        let mut fds = [-1; 2];
        receive(&mut words, &mut fds);
        (fds[0], fds[1], core::hint::black_box(words))
    };
    let shared = map::SHARED | map::FIXED;
    host::mmap(BELL_ADDRESS, BELL_SIZE as u64, map::READ_WRITE, shared, bell.into(), 0);
    host::mmap(STAGING_ADDRESS, STAGING_SIZE as u64, map::READ, shared, table.into(), 0);
    host::close(bell);
    host::close(table);
    if map_area(0).is_err() {
        host::exit_group(host::SETUP_FAILED);
    }
    let thread = tcb_of(0);
    thread.initialise(0);
    host::set_gs_base(address_of(thread));
    set_signal_stack(0);
    install_handlers();
    birth::learn_policy();
    install_filter(filter_length);
    if cpuid_is_dear != 0 {
        cpuid::learn();
    }
    serve()
}

/// Forks a process for each order of the kernel's: a channel and a socket.
fn serve() -> ! {
    const CLONE_PARENT: u64 = 0x8000;
    const SIGCHLD: u64 = 17;
    loop {
        let mut words = [0; 2];
        let mut fds = [-1; 2];
        receive(&mut words, &mut fds);
        if host::call6(nr::CLONE, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0, 0) == 0 {
            adopt_channel(fds[0], fds[1]);
            run_program();
        }
        host::close(fds[0]);
        host::close(fds[1]);
    }
}

/// The seccomp filter was made by the kernel and lies behind the staging table.
fn install_filter(length: u64) {
    const PR_SET_NO_NEW_PRIVS: u64 = 38;
    const SET_MODE_FILTER: u64 = 1;
    const SPEC_ALLOW: u64 = 4;
    let program = [length, STAGING_ADDRESS + channel_abi::layout::FILTER_OFFSET as u64];
    host::call6(nr::PRCTL, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
    if host::call3(nr::SECCOMP, SET_MODE_FILTER, SPEC_ALLOW, address_of(&program)) != 0 {
        host::exit_group(host::SETUP_FAILED);
    }
}

/// Where the auxiliary vector of an initial stack starts.
fn auxiliary_vector(stack: u64) -> u64 {
    let word = |at: u64| get(at, 0u64).unwrap_or(0);
    let mut at = stack + 8 * (2 + word(stack));
    while word(at) != 0 {
        at += 8;
    }
    at + 8
}

const AT_SYSINFO_EHDR: u64 = 33;

/// Calls `found` with the address of the vDSO's entry in an auxiliary vector.
fn with_vdso_entry(stack: u64, found: impl FnOnce(u64)) {
    let mut at = auxiliary_vector(stack);
    while let Ok([key, _]) = get(at, [0u64; 2]) {
        if key == AT_SYSINFO_EHDR {
            return found(at + 8);
        }
        if key == 0 {
            return;
        }
        at += 16;
    }
}

fn find_vdso(stack: u64) {
    with_vdso_entry(stack, |at| VDSO.store(get(at, 0u64).unwrap_or(0), Relaxed));
}

/// Which extended state the processor has, and how large it is, without the tile registers: these
/// need a permission that the guest cannot ask for.
fn measure_extended_state() {
    const TILES: u64 = 3 << 17;
    const LEAF: u32 = 0xd;
    const LEGACY_AND_HEADER: u64 = 576;
    let mask: u64;
    // SAFETY: the kernel process checks that the host has XSAVE before it starts a zygote.
    unsafe {
        core::arch::asm!("xgetbv", "shl rdx, 32", "or rax, rdx", in("ecx") 0, out("rax") mask,
                         out("rdx") _, options(nomem, nostack));
    }
    let mask = mask & !TILES;
    let mut size = LEGACY_AND_HEADER;
    for component in 2..63 {
        if mask >> component & 1 == 1 {
            let leaf = __cpuid_count(LEAF, component);
            size = size.max(u64::from(leaf.ebx) + u64::from(leaf.eax));
        }
    }
    if size + 64 > Tcb::XSAVE_ROOM {
        host::exit_group(host::SETUP_FAILED);
    }
    XSAVE_MASK.store(mask, Relaxed);
    XSAVE_SIZE.store(size, Relaxed);
}

/// Waits for a program from the kernel, then becomes it.
fn run_program() -> ! {
    let mut words = [0; 2];
    let mut fds = [-1; channel_abi::image::MAX_FILES];
    let n_files = receive(&mut words, &mut fds); // ends the process if the kernel is gone
    let thread = tcb();
    // SAFETY: the data area is mapped and aligned; any bytes make an `Image`. The kernel wrote it
    // before it sent the message.
    let image: &Image = unsafe { &*core::ptr::with_exposed_provenance(thread.data() as usize) };
    for segment in image.segments.iter().take(image.n_segments as usize) {
        let (fd, flags) = match segment.file {
            NO_FILE => (-1, map::ANONYMOUS | map::NORESERVE),
            file => (i64::from(fds.get(file as usize).copied().unwrap_or(-1)), 0),
        };
        let flags = flags | map::PRIVATE | map::FIXED;
        let protection = u64::from(segment.protection);
        if host::mmap(segment.address, segment.length, protection, flags, fd, segment.offset) < 0 {
            host::exit_group(host::SETUP_FAILED);
        }
        if segment.zero_from != 0 {
            clear_to_page_end(segment.zero_from);
        }
    }
    place_stack(thread, image, fds.get(n_files.wrapping_sub(1)).copied().unwrap_or(-1));
    for fd in fds {
        host::close(fd);
    }
    cpuid::expect_breakpoints(image.prepared_code);
    rewrite::adopt(image.trampolines);
    HEAP.start.store(image.brk, Relaxed);
    HEAP.end.store(image.brk, Relaxed);
    // Only this side knows where the host put the vDSO.
    with_vdso_entry(image.stack_pointer, |at| {
        let _ = put(at, &VDSO.load(Relaxed));
    });
    let frame = thread.registers();
    *frame = Registers { rip: image.entry, rsp: image.stack_pointer, ..Registers::ZERO };
    let _ = usermem::restore_extended_state(thread.initial_state(), XSAVE_MASK.load(Relaxed));
    thread.is_main.set(true);
    // A tracer hears of the program before its first instruction.
    crate::watched::begin(thread, frame);
    // SAFETY: the frame is at the top of this thread's stack, complete.
    unsafe { shim_enter_guest(frame) }
}

fn place_stack(thread: &Tcb, image: &Image, last_file: i32) {
    let (to, n) = (image.stack_pointer, image.stack_length as usize);
    if image.stack_in_file == 0 {
        let _ = copy(to, thread.data() + size_of::<Image>() as u64, n);
        return;
    }
    let mut done = 0;
    while done < n {
        let fd = last_file.cast_unsigned().into();
        let got = host::call4(nr::PREAD64, fd, to + done as u64, (n - done) as u64, done as u64);
        if got <= 0 {
            host::exit_group(host::SETUP_FAILED);
        }
        done += got as usize;
    }
}

fn clear_to_page_end(from: u64) {
    const PAGE: u64 = 4096;
    const ZEROES: [u64; 64] = [0; 64];
    let mut at = from;
    let end = (from + PAGE - 1) & !(PAGE - 1);
    while at < end {
        let n = (end - at).min(size_of_val(&ZEROES) as u64);
        if copy(at, address_of(&ZEROES), n as usize).is_err() {
            return; // a read-only segment has nothing to clear that matters
        }
        at += n;
    }
}

const _: () = assert!(SOCKET_FD == 3);
