//! The text options of memory file systems.

use std::rc::Rc;

use kernel_core::credentials::Credentials;
use kernel_files::tmpfs::Limits;
use linux_abi::{Errno, SysResult};

/// `size=64m,mode=1777` and the like; what was not said is `None`.
#[derive(Default)]
pub(super) struct Tmpfs {
    max_bytes: Option<u64>,
    max_inodes: Option<u64>,
    mode: Option<u32>,
    uid: Option<u32>,
    gid: Option<u32>,
}

/// What a memory file system may hold if nobody says.
const DEFAULT_BYTES: u64 = 1 << 30;
const DEFAULT_INODES: u64 = 1 << 20;
const DEFAULT_MODE: u32 = 0o1777;

impl Tmpfs {
    /// Reads options. Ids are those of `who`'s user namespace.
    pub(super) fn parse(data: &[u8], who: &Credentials) -> SysResult<Self> {
        let text = std::str::from_utf8(data).map_err(|_| Errno::EINVAL)?;
        let mut options = Self::default();
        for option in text.split(',').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let number = || value.parse::<u32>().map_err(|_| Errno::EINVAL);
            let namespace = &who.user_namespace;
            match name {
                // Guests may ask for less than the default, and not for more.
                "size" => options.max_bytes = Some(size(value)?),
                "nr_blocks" => options.max_bytes = Some(size(value)?.saturating_mul(4096)),
                "nr_inodes" => options.max_inodes = Some(size(value)?),
                "mode" => {
                    let mode = u32::from_str_radix(value, 8).map_err(|_| Errno::EINVAL)?;
                    options.mode = Some(mode & 0o7777);
                }
                "uid" => {
                    options.uid = Some(namespace.kernel_uid(number()?).ok_or(Errno::EINVAL)?);
                }
                "gid" => {
                    options.gid = Some(namespace.kernel_gid(number()?).ok_or(Errno::EINVAL)?);
                }
                "huge" | "mpol" | "inode32" | "inode64" | "noswap" => {}
                _ => return Err(Errno::EINVAL),
            }
        }
        if options.uid.is_none() {
            options.uid = Some(who.fsuid);
        }
        if options.gid.is_none() {
            options.gid = Some(who.fsgid);
        }
        Ok(options)
    }

    fn limits(&self) -> Limits {
        // No size, and size 0, mean no limit of its own: then ours.
        let within = |given: Option<u64>, most: u64| match given {
            None | Some(0) => most,
            Some(given) => given.min(most),
        };
        Limits {
            max_bytes: Some(within(self.max_bytes, DEFAULT_BYTES)),
            max_inodes: Some(within(self.max_inodes, DEFAULT_INODES)),
        }
    }

    /// A file system as described.
    pub(super) fn make(&self) -> Rc<kernel_files::tmpfs::Tmpfs> {
        let (uid, gid) = (self.uid.unwrap_or(0), self.gid.unwrap_or(0));
        let made = kernel_files::tmpfs::Tmpfs::new(
            self.limits(),
            self.mode.unwrap_or(DEFAULT_MODE),
            uid,
            gid,
        );
        if let Some(mode) = self.mode {
            made.add_option(&format!("mode={mode:o}"));
        }
        made
    }

    /// Changes the limits of a file system to those that were said; `EINVAL` if it holds more.
    pub(super) fn change(&self, fs: &kernel_files::tmpfs::Tmpfs) -> SysResult<()> {
        let new = self.limits();
        fs.change_limits(Limits {
            max_bytes: self.max_bytes.and(new.max_bytes),
            max_inodes: self.max_inodes.and(new.max_inodes),
        })
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
