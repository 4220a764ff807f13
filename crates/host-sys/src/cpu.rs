//! The CPU this thread runs on, its clock, and how long it had to wait for one.

#![expect(unsafe_code, reason = "reads processor registers")]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::Instant;

/// The time stamp counter.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// When counting began, by both clocks.
static BEGUN: OnceLock<(Instant, u64)> = OnceLock::new();

fn begun() -> (Instant, u64) {
    *BEGUN.get_or_init(|| (Instant::now(), ticks()))
}

/// Begins to measure how many ticks a microsecond has: whoever asks for it some time later need not
/// wait. Children of this process count on.
pub fn begin_to_count_ticks() {
    begun();
}

/// How many ticks a microsecond has, measured against the monotonic clock; once per process. Waits a
/// fifth of a millisecond if counting has not begun before.
pub fn ticks_per_microsecond() -> u64 {
    static MEASURED: OnceLock<u64> = OnceLock::new();
    *MEASURED.get_or_init(|| {
        const SAMPLE_MICROS: u128 = 200;
        let (start, from) = begun();
        while start.elapsed().as_micros() < SAMPLE_MICROS {
            std::hint::spin_loop();
        }
        let (nanos, n) = (start.elapsed().as_nanos(), ticks() - from);
        u64::try_from(u128::from(n) * 1000 / nanos.max(1)).unwrap_or(1).max(1)
    })
}

/// How much of a stack the delivery of a signal takes at most: what the host tells every program from
/// Linux 5.14 on, and the same for an older one, from the processor's own word for its state.
pub fn signal_frame_size() -> u64 {
    static SIZE: OnceLock<u64> = OnceLock::new();
    *SIZE.get_or_init(|| {
        // SAFETY: takes a number, and reads the vector that the host gave to this process.
        match unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } {
            0 => signal_frame_size_here(),
            told => told,
        }
    })
}

/// The same, without asking the host: the state that is enabled in the processor, and what Linux
/// adds to it for registers, the information about the signal and alignment.
fn signal_frame_size_here() -> u64 {
    const EXTENDED_STATE: u32 = 0xd;
    const ALL_BUT_STATE: u64 = 944;
    let state = std::arch::x86_64::__cpuid_count(EXTENDED_STATE, 0).ebx;
    (u64::from(state) + ALL_BUT_STATE).next_multiple_of(16)
}

/// Whether `cpuid` takes longer than a signal to the own process, because it leaves a virtual
/// machine.
pub fn cpuid_is_dear() -> bool {
    static IS_DEAR: OnceLock<bool> = OnceLock::new();
    *IS_DEAR.get_or_init(|| {
        const DEAR_MICROS: u64 = 3;
        // The second time the way there is warm.
        let times = [(); 2].map(|()| {
            let from = ticks();
            std::hint::black_box(std::arch::x86_64::__cpuid(0));
            ticks() - from
        });
        times.iter().all(|&taken| taken > DEAR_MICROS * ticks_per_microsecond())
    })
}

/// The CPU this thread runs on.
#[inline(always)]
pub fn current_cpu() -> u32 {
    /// The segment whose limit Linux sets to the node and CPU number. `rdpid` reads the same, but
    /// many processors do not have it.
    const CPU_NODE: u64 = 0x7b;
    let value: u64;
    // SAFETY: reads the limit of a segment; touches no memory of ours.
    unsafe {
        std::arch::asm!("lsl {}, {}", out(reg) value, in(reg) CPU_NODE, options(nostack));
    }
    u32::try_from(value & 0xfff).unwrap_or(0)
}

/// How long the thread that opened it was ready to run and did not.
#[derive(Debug)]
pub struct RunDelay(Option<File>);

impl RunDelay {
    /// Opens the host's statistics for the calling thread. Where there are none, no delay is seen.
    pub fn open() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Nanoseconds so far.
    pub fn nanos(&self) -> u64 {
        let mut text = [0; 96];
        let n = self.0.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
        let text = std::str::from_utf8(text.get(..n).unwrap_or_default()).unwrap_or_default();
        text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_the_one_that_the_host_names() {
        // A thread may be moved between the two: once in a few times they agree.
        let agrees = |_| u32::try_from(rustix::thread::sched_getcpu()) == Ok(current_cpu());
        assert!((0..100).any(agrees));
    }

    #[test]
    fn our_own_frame_size_is_enough_for_what_the_host_would_write() {
        assert!(signal_frame_size_here() >= signal_frame_size());
        assert!(signal_frame_size() >= 1 << 10);
    }
}
