//! The text options of memory file systems.

use kernel_files::tmpfs::Limits;
use linux_abi::{Errno, SysResult};

/// `size=64m,mode=1777` and the like.
pub(super) struct Tmpfs {
    pub limits: Limits,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
}

/// What a memory file system may hold if nobody says.
const DEFAULT_BYTES: u64 = 1 << 30;
const DEFAULT_INODES: u64 = 1 << 20;

impl Tmpfs {
    pub(super) fn parse(data: &[u8]) -> SysResult<Self> {
        let text = std::str::from_utf8(data).map_err(|_| Errno::EINVAL)?;
        let limits = Limits { max_bytes: Some(DEFAULT_BYTES), max_inodes: Some(DEFAULT_INODES) };
        let mut options = Self { limits, mode: 0o1777, uid: 0, gid: 0 };
        for option in text.split(',').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let number = || value.parse::<u32>().map_err(|_| Errno::EINVAL);
            match name {
                // Guests may ask for less than the default, and not for more.
                "size" => options.limits.max_bytes = Some(size(value)?.clamp(1, DEFAULT_BYTES)),
                "nr_blocks" => {
                    let bytes = size(value)?.saturating_mul(4096);
                    options.limits.max_bytes = Some(bytes.clamp(1, DEFAULT_BYTES));
                }
                "nr_inodes" => {
                    options.limits.max_inodes = Some(size(value)?.clamp(1, DEFAULT_INODES));
                }
                "mode" => {
                    options.mode =
                        u32::from_str_radix(value, 8).map_err(|_| Errno::EINVAL)? & 0o7777;
                }
                "uid" => options.uid = number()?,
                "gid" => options.gid = number()?,
                "huge" | "mpol" | "inode32" | "inode64" | "noswap" => {}
                _ => return Err(Errno::EINVAL),
            }
        }
        Ok(options)
    }
}

/// A number with a unit; in percent, of the default.
fn size(text: &str) -> SysResult<u64> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let number: u64 = digits.parse().map_err(|_| Errno::EINVAL)?;
    let unit = match text.get(digits.len()..).unwrap_or_default() {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        "%" => DEFAULT_BYTES / 100,
        _ => return Err(Errno::EINVAL),
    };
    Ok(number.saturating_mul(unit))
}
