//! What a process runs and how it wants to be treated.

use kernel_tasks::process::Flags;
use linux_abi::{Errno, SysResult};

use super::{Context, parse_number};
use crate::cgroup::memory_used;

/// The bounds of `oom_score_adj`.
const OOM_SCORE_ADJ_MAX: i32 = 1000;
/// The bounds of `oom_adj`, its predecessor: from -17, which exempts, to 15.
const OOM_DISABLE: i32 = -17;
const OOM_ADJ_MAX: i32 = 15;

/// The auxiliary vector, with the address of the vDSO, which only the host knows.
pub(super) fn auxv(context: &Context) -> SysResult<Vec<u8>> {
    const AT_SYSINFO_EHDR: u64 = 33;
    let mut bytes = context.subject.process()?.program().auxiliary_vector.clone();
    let Some(vdso) = vdso_address(&context.host_maps()) else { return Ok(bytes) };
    for pair in bytes.chunks_exact_mut(16) {
        let (key, value) = pair.split_at_mut(8);
        if key == AT_SYSINFO_EHDR.to_le_bytes() {
            value.copy_from_slice(&vdso.to_le_bytes());
        }
    }
    Ok(bytes)
}

fn vdso_address(maps: &str) -> Option<u64> {
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    u64::from_str_radix(line.split('-').next()?, 16).ok()
}

/// The children of a thread.
pub(super) fn children(context: &Context) -> SysResult<Vec<u8>> {
    let thread = context.subject.thread()?;
    let ids = context.subject.process()?.children_of(thread.tid());
    Ok(ids.iter().map(|pid| format!("{} ", pid.0)).collect::<String>().into_bytes())
}

/// Empty for a process that has ended.
pub(super) fn command_line(context: &Context) -> SysResult<Vec<u8>> {
    let process = context.subject.process()?;
    if process.has_flag(Flags::INIT) {
        return Ok(b"init\0".to_vec());
    }
    Ok(if process.is_dead() { Vec::new() } else { process.program().command_line.clone() })
}

pub(super) fn environment(context: &Context) -> SysResult<Vec<u8>> {
    let process = context.subject.process()?;
    Ok(if process.is_dead() { Vec::new() } else { process.program().environment.clone() })
}

/// The name of the thread; that of the program when no thread is left.
pub(super) fn plain_name(context: &Context) -> SysResult<Vec<u8>> {
    if let Ok(thread) = context.subject.thread() {
        return Ok(thread.name());
    }
    let process = context.subject.process()?;
    if process.has_flag(Flags::INIT) {
        return Ok(b"init".to_vec());
    }
    let program = process.program();
    let file = program.executable.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    Ok(file.iter().copied().take(15).collect())
}

pub(super) fn name(context: &Context) -> SysResult<Vec<u8>> {
    let mut name = plain_name(context)?;
    name.push(b'\n');
    Ok(name)
}

pub(super) fn set_name(context: &Context, text: &[u8]) -> SysResult<()> {
    let end = text.iter().position(|&byte| byte == b'\n' || byte == 0).unwrap_or(text.len());
    context.subject.thread()?.set_name(text.get(..end).unwrap_or_default());
    Ok(())
}

pub(super) fn personality(context: &Context) -> SysResult<Vec<u8>> {
    let personality = context.subject.thread()?.attributes().personality;
    Ok(format!("{personality:08x}\n").into_bytes())
}

pub(super) fn timer_slack(context: &Context) -> SysResult<Vec<u8>> {
    Ok(format!("{}\n", context.subject.thread()?.attributes().timer_slack).into_bytes())
}

pub(super) fn core_filter(context: &Context) -> SysResult<Vec<u8>> {
    Ok(format!("{:08x}\n", context.subject.process()?.core_filter.get()).into_bytes())
}

pub(super) fn set_core_filter(context: &Context, text: &[u8]) -> SysResult<()> {
    let text = std::str::from_utf8(text).map_err(|_| Errno::EINVAL)?;
    let text = text.trim_end_matches('\0').trim();
    let filter = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    context.subject.process()?.core_filter.set(filter.map_err(|_| Errno::EINVAL)?);
    Ok(())
}

pub(super) fn oom_score_adj(context: &Context) -> SysResult<Vec<u8>> {
    Ok(format!("{}\n", context.subject.process()?.oom_score_adj.get()).into_bytes())
}

pub(super) fn set_oom_score_adj(context: &Context, text: &[u8]) -> SysResult<()> {
    let value: i32 = parse_number(text)?;
    if !(-OOM_SCORE_ADJ_MAX..=OOM_SCORE_ADJ_MAX).contains(&value) {
        return Err(Errno::EINVAL);
    }
    context.subject.process()?.oom_score_adj.set(value);
    Ok(())
}

pub(super) fn oom_adj(context: &Context) -> SysResult<Vec<u8>> {
    let adjusted = context.subject.process()?.oom_score_adj.get();
    let old = if adjusted == OOM_SCORE_ADJ_MAX {
        OOM_ADJ_MAX
    } else {
        adjusted * -OOM_DISABLE / OOM_SCORE_ADJ_MAX
    };
    Ok(format!("{old}\n").into_bytes())
}

pub(super) fn set_oom_adj(context: &Context, text: &[u8]) -> SysResult<()> {
    let old: i32 = parse_number(text)?;
    if !(OOM_DISABLE..=OOM_ADJ_MAX).contains(&old) {
        return Err(Errno::EINVAL);
    }
    let adjusted =
        if old == OOM_ADJ_MAX { OOM_SCORE_ADJ_MAX } else { old * OOM_SCORE_ADJ_MAX / -OOM_DISABLE };
    context.subject.process()?.oom_score_adj.set(adjusted);
    Ok(())
}

/// How bad the process is, from 0 to 2000: its share of the memory in use, and what it asked for.
pub(super) fn oom_score(context: &Context) -> SysResult<Vec<u8>> {
    let process = context.subject.process()?;
    let adjust = i64::from(process.oom_score_adj.get());
    let resident = context.subject.thread().map_or(0, |thread| thread.machine().resident_bytes());
    let total = context.sources.facts.memory_total().max(memory_used(process.kernel())).max(1);
    let share = i64::try_from(resident.saturating_mul(1000) / total).unwrap_or(1000);
    let score = (1000 + share + adjust).max(0) * 2 / 3;
    Ok(format!("{score}\n").into_bytes())
}
