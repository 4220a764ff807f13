//! `limits`.

use linux_abi::SysResult;
use linux_abi::tasks::{RLIM_INFINITY, rlimit};

use super::Context;

const LIMITS: [(usize, &str, &str); rlimit::COUNT] = [
    (rlimit::CPU, "Max cpu time", "seconds"),
    (rlimit::FSIZE, "Max file size", "bytes"),
    (rlimit::DATA, "Max data size", "bytes"),
    (rlimit::STACK, "Max stack size", "bytes"),
    (rlimit::CORE, "Max core file size", "bytes"),
    (rlimit::RSS, "Max resident set", "bytes"),
    (rlimit::NPROC, "Max processes", "processes"),
    (rlimit::NOFILE, "Max open files", "files"),
    (rlimit::MEMLOCK, "Max locked memory", "bytes"),
    (rlimit::AS, "Max address space", "bytes"),
    (rlimit::LOCKS, "Max file locks", "locks"),
    (rlimit::SIGPENDING, "Max pending signals", "signals"),
    (rlimit::MSGQUEUE, "Max msgqueue size", "bytes"),
    (rlimit::NICE, "Max nice priority", ""),
    (rlimit::RTPRIO, "Max realtime priority", ""),
    (rlimit::RTTIME, "Max realtime timeout", "us"),
];

pub(super) fn text(context: &Context) -> SysResult<Vec<u8>> {
    let process = context.subject.process()?;
    let mut text =
        format!("{:<25} {:<20} {:<20} {:<10}\n", "Limit", "Soft Limit", "Hard Limit", "Units");
    let show = |value: u64| match value {
        RLIM_INFINITY => String::from("unlimited"),
        value => value.to_string(),
    };
    for (resource, name, unit) in LIMITS {
        let limit = process.limit(resource)?;
        let (soft, hard) = (show(limit.current), show(limit.maximum));
        text.push_str(&format!("{name:<25} {soft:<20} {hard:<20} {unit:<10}\n"));
    }
    Ok(text.into_bytes())
}
