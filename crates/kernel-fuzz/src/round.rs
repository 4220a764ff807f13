//! Rounds of calls, each from a seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fastrand::Rng;
use kernel_syscalls::{Body, Registers, SYSCALLS, Status, Syscall};

use crate::arguments::registers;
use crate::memory::Arena;
use crate::tally::Tally;
use crate::world::World;

/// How many calls one world sees.
pub const CALLS_PER_ROUND: u64 = 3000;
/// A call that takes longer stops everybody else for too long.
const MAX_TIME: Duration = Duration::from_secs(3);

/// Calls after which there is something to call others on.
const MAKERS: [&str; 16] = [
    "openat",
    "open",
    "socket",
    "socketpair",
    "pipe2",
    "eventfd2",
    "epoll_create1",
    "timerfd_create",
    "signalfd4",
    "memfd_create",
    "inotify_init1",
    "mkdir",
    "dup",
    "clone",
    "bind",
    "listen",
];
/// Calls after which there is less to call others on: only now and then.
const ENDERS: [&str; 6] = ["exit", "exit_group", "kill", "close_range", "tkill", "rt_sigsuspend"];

struct Callable {
    call: &'static Syscall,
    body: Body,
}

fn callables() -> Vec<Callable> {
    let body = |call: &'static Syscall| match call.status {
        Status::Full(body) | Status::Partial(body, _) | Status::Stub(body, _) => {
            Some(Callable { call, body })
        }
        Status::Shim(_) | Status::Refused(..) | Status::Missing => None,
    };
    SYSCALLS.iter().filter_map(body).collect()
}

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
pub fn round(
    root: &Path,
    seed: u64,
    n: u64,
    tally: &mut Tally,
    before: &mut dyn FnMut(&Syscall, &Registers),
) -> Result<()> {
    let mut rng = Rng::with_seed(seed);
    let callables = callables();
    let makers: Vec<&Callable> =
        callables.iter().filter(|one| MAKERS.contains(&one.call.name)).collect();
    let uid = if rng.bool() { 0 } else { 1000 };
    let mut world = World::new(root, uid)?;
    for number in 0..n {
        if number % 16 == 0 {
            guarded(|| world.go_on(&mut rng))
                .with_context(|| format!("seed {seed}, call {number}: while others went on"))?;
        }
        if world.is_over() {
            world = World::new(root, uid)?;
        }
        let Some((index, thread)) = world.choose(&mut rng) else {
            world = World::new(root, uid)?;
            continue;
        };
        let from_makers = rng.u8(..4) == 0;
        let chosen =
            if from_makers { rng.choice(&makers).copied() } else { rng.choice(&callables) };
        let Some(Callable { call, body }) = chosen else { bail!("the table is empty") };
        if ENDERS.contains(&call.name) && rng.u8(..40) != 0 {
            continue;
        }
        let registers = {
            let memory = thread.memory();
            registers(call, &mut Arena::new(&memory, &mut rng), &mut rng)
        };
        drop(thread);
        before(call, &registers);
        let started = Instant::now();
        let answer = guarded(|| world.call(index, *body, registers))
            .with_context(|| describe(seed, number, call, &registers))?;
        let took = started.elapsed();
        if took > MAX_TIME {
            bail!("{} took {took:?}", describe(seed, number, call, &registers));
        }
        tally.count(call.name, answer, took);
    }
    guarded(|| drop(world)).with_context(|| format!("seed {seed}: at the end"))
}

fn describe(seed: u64, number: u64, call: &Syscall, registers: &Registers) -> String {
    format!("seed {seed}, call {number}: {}({registers:#x?})", call.name)
}

/// Runs something that must not panic. The panic itself has been printed.
fn guarded<T>(what: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(what)).map_err(|_| anyhow::anyhow!("the kernel panicked"))
}
