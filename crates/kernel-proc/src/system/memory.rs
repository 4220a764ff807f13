//! How much memory there is and who uses it.

use linux_abi::SysResult;

use crate::Sources;
use crate::cgroup::memory_used;

/// `/proc/meminfo`: the host's, or the sandbox's limit if it has one.
pub(super) fn meminfo(sources: &Sources) -> SysResult<Vec<u8>> {
    let mut lines = sources.facts.host_memory()?;
    if sources.facts.memory_limit.is_some() {
        limit_to_sandbox(&mut lines, sources);
    }
    let mut text = String::new();
    for (name, value) in lines {
        // Counts of huge pages have no unit.
        let unit = if name.starts_with("HugePages_") { "" } else { " kB" };
        text.push_str(&format!("{:<16}{value:>8}{unit}\n", format!("{name}:")));
    }
    Ok(text.into_bytes())
}

/// Shows the limit as all there is, and no more in use than guests use.
fn limit_to_sandbox(lines: &mut [(String, u64)], sources: &Sources) {
    let total = sources.facts.memory_total() / 1024;
    let used = (memory_used(&sources.kernel) / 1024).min(total);
    let free = total - used;
    for (name, value) in lines {
        *value = match name.as_str() {
            "MemTotal" => total,
            "MemFree" | "MemAvailable" => free.min(*value),
            "AnonPages" | "Active" | "Active(anon)" => used,
            "SwapTotal" | "SwapFree" => 0,
            _ => (*value).min(total),
        };
    }
}

/// `/proc/vmstat`: the few lines that programs look for.
pub(super) fn vmstat(sources: &Sources) -> SysResult<Vec<u8>> {
    let lines = sources.facts.host_memory()?;
    let pages = |wanted: &str| {
        lines.iter().find(|(name, _)| name == wanted).map_or(0, |(_, kilobytes)| kilobytes / 4)
    };
    Ok(format!(
        "nr_free_pages {}\nnr_anon_pages {}\nnr_mapped {}\nnr_file_pages {}\nnr_dirty {}\n\
         nr_writeback {}\npgpgin 0\npgpgout 0\npswpin 0\npswpout 0\n",
        pages("MemFree"),
        pages("AnonPages"),
        pages("Mapped"),
        pages("Cached"),
        pages("Dirty"),
        pages("Writeback"),
    )
    .into_bytes())
}
