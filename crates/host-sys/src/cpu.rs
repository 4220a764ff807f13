//! The CPU this thread runs on, its clock, and how long it had to wait for one.

#![expect(unsafe_code, reason = "reads processor registers")]

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The time stamp counter.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// How many ticks a microsecond has, measured against the monotonic clock in a millisecond at
/// most; once per process.
pub fn ticks_per_microsecond() -> u64 {
    static MEASURED: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *MEASURED.get_or_init(|| {
        const SAMPLE_MICROS: u128 = 200;
        let (start, from) = (std::time::Instant::now(), ticks());
        while start.elapsed().as_micros() < SAMPLE_MICROS {
            std::hint::spin_loop();
        }
        let (nanos, n) = (start.elapsed().as_nanos(), ticks() - from);
        u64::try_from(u128::from(n) * 1000 / nanos.max(1)).unwrap_or(1).max(1)
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
}
