//! `ns`, and the maps of ids of the only user namespace there is.

use kernel_files::pseudo::Listing;
use linux_abi::SysResult;

use super::Context;

/// The namespaces. All processes share each; the numbers are those of Linux's first ones.
const NAMESPACES: [(&str, &str); 10] = [
    ("cgroup", "cgroup:[4026531835]"),
    ("ipc", "ipc:[4026531839]"),
    ("mnt", "mnt:[4026531841]"),
    ("net", "net:[4026531840]"),
    ("pid", "pid:[4026531836]"),
    ("pid_for_children", "pid:[4026531836]"),
    ("time", "time:[4026531834]"),
    ("time_for_children", "time:[4026531834]"),
    ("user", "user:[4026531837]"),
    ("uts", "uts:[4026531838]"),
];

pub(super) fn listing() -> Listing {
    NAMESPACES.iter().fold(Listing::new(), |listing, &(name, target)| listing.link(name, target))
}

/// `uid_map` and `gid_map`: everything is itself.
pub(super) fn id_map(_context: &Context) -> SysResult<Vec<u8>> {
    Ok(format!("{:>10} {:>10} {:>10}\n", 0, 0, u32::MAX).into_bytes())
}
