//! Rounds of calls, each from a seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fastrand::Rng;
use kernel_syscalls::{Registers, Syscall};

use crate::arguments::registers;
use crate::chooser::{Choice, Chooser, Reach, body};
use crate::memory::Arena;
use crate::tally::Tally;
use crate::world::World;

/// How many calls one world sees.
pub const CALLS_PER_ROUND: u64 = 3000;
/// A call that takes more CPU time stops everybody else for too long. Not by the clock on the
/// wall: the machine may be busy.
const MAX_TIME: Duration = Duration::from_secs(3);

/// Fills a folder that is the root of all worlds.
pub fn fill_root(folder: &Path) -> Result<()> {
    let names = ["tmp", "dev", "proc", "sys", "etc", "home", "dir"];
    for name in names {
        std::fs::create_dir_all(folder.join(name))?;
    }
    std::fs::write(folder.join("script"), b"#!/program -x\n")?;
    std::fs::write(folder.join("program"), tiny_program())?;
    std::fs::write(folder.join("dir/file"), vec![b'x'; 10_000])?;
    for name in ["script", "program"] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.join(name), mode)?;
    }
    Ok(())
}

/// A 64-bit program with one segment and no instruction.
fn tiny_program() -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    for (value, size) in [
        (2_u64, 2),
        (62, 2),
        (1, 4),
        (0x40_0000, 8),
        (64, 8),
        (0, 8),
        (0, 4),
        (64, 2),
        (56, 2),
        (1, 2),
        (64, 2),
        (0, 2),
        (0, 2),
        (1, 4),
        (5, 4),
        (0, 8),
        (0x40_0000, 8),
        (0x40_0000, 8),
        (120, 8),
        (120, 8),
        (4096, 8),
    ] {
        bytes.extend(value.to_le_bytes().iter().take(size));
    }
    bytes
}

/// Makes `n` calls from `seed`. An error names the call that did what no call may do.
/// `before` is told of each call before it is made.
///
/// A thread of its own makes them: what a kernel counts for itself, it counts by thread, and a kernel
/// process has one.
pub fn round(
    root: &Path,
    seed: u64,
    n: u64,
    tally: &mut Tally,
    before: &mut (dyn FnMut(&Syscall, &Registers) + Send),
) -> Result<()> {
    std::thread::scope(|scope| {
        let made = scope.spawn(|| round_here(root, seed, n, tally, before)).join();
        made.unwrap_or_else(|_| bail!("seed {seed}: panicked outside of a call"))
    })
}

fn round_here(
    root: &Path,
    seed: u64,
    n: u64,
    tally: &mut Tally,
    before: &mut dyn FnMut(&Syscall, &Registers),
) -> Result<()> {
    let mut rng = Rng::with_seed(seed);
    let mut chooser = Chooser::new(Reach::Kernel);
    let uid = if rng.bool() { 0 } else { 1000 };
    let mut world = World::new(root, uid)?;
    for number in 0..n {
        if number % 16 == 0 {
            guarded(|| world.go_on(&mut rng))
                .with_context(|| format!("seed {seed}, call {number}: while others went on"))?;
        }
        if world.is_over() {
            // A kernel that is over may keep what it has counted in this thread: enough of it.
            let Ok(next) = World::new(root, uid) else { return Ok(()) };
            world = next;
            chooser.begin();
        }
        let Some((index, thread)) = world.choose(&mut rng) else {
            let Ok(next) = World::new(root, uid) else { return Ok(()) };
            world = next;
            chooser.begin();
            continue;
        };
        let Some(Choice { call, focus }) = chooser.next(&mut rng) else { continue };
        let Some(body) = body(call) else { bail!("{} has no body", call.name) };
        let registers = {
            let memory = thread.memory();
            registers(call, focus, &mut Arena::new(&memory, &mut rng), &mut rng)
        };
        drop(thread);
        before(call, &registers);
        let started = cpu_time();
        let answer = guarded(|| world.call(index, body, registers))
            .with_context(|| describe(seed, number, call, &registers))?;
        let took = cpu_time().saturating_sub(started);
        if took > MAX_TIME {
            bail!("{} took {took:?}", describe(seed, number, call, &registers));
        }
        tally.count(call.name, answer, took);
    }
    guarded(|| drop(world)).with_context(|| format!("seed {seed}: at the end"))
}

/// The CPU time of this thread.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

fn describe(seed: u64, number: u64, call: &Syscall, registers: &Registers) -> String {
    format!("seed {seed}, call {number}: {}({registers:#x?})", call.name)
}

/// Runs something that must not panic. The panic itself has been printed.
fn guarded<T>(what: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(what)).map_err(|_| anyhow::anyhow!("the kernel panicked"))
}
