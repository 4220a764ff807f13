//! `landlock_create_ruleset(2)`, `landlock_add_rule(2)`, `landlock_restrict_self(2)`.
//!
//! A task gives up rights for itself and its children, without any privilege. The rules hold
//! within the sandbox, beneath the sandbox's own.

use std::any::Any;
use std::rc::Rc;

use kernel_core::credentials::{Credentials, cap};
use kernel_core::landlock::{ABI_VERSION, Domain, Ruleset, fs};
use kernel_core::memory::{UserMemory, UserPtr};
use kernel_files::landlock::key_of;
use kernel_files::{FileKind, FileOps, OpenFile};
use kernel_tasks::Thread;
use linux_abi::files::OpenFlags;
use linux_abi::{Errno, Fd, SysResult};

use super::caller::real_file;

const CREATE_VERSION: u32 = 1;
const CREATE_ERRATA: u32 = 2;
const RULE_PATH_BENEATH: u32 = 1;
const RULE_NET_PORT: u32 = 2;
/// The attributes take at most a page.
const MAX_SIZE: usize = 4096;

/// Rules in the making, as a descriptor.
struct RulesetFile(Ruleset);

impl FileOps for RulesetFile {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn describe(&self) -> String {
        String::from("anon_inode:[landlock-ruleset]")
    }
}

/// Makes a set of rules, or tells which version of the interface this is.
pub(crate) fn landlock_create_ruleset(
    thread: &Rc<Thread>,
    attributes: u64,
    size: usize,
    flags: u32,
) -> SysResult<u64> {
    if flags != 0 {
        return match flags {
            CREATE_VERSION if attributes == 0 && size == 0 => Ok(ABI_VERSION),
            CREATE_ERRATA if attributes == 0 && size == 0 => Ok(0),
            _ => Err(Errno::EINVAL),
        };
    }
    if size < size_of::<u64>() {
        return Err(Errno::EINVAL);
    }
    if size > MAX_SIZE {
        return Err(Errno::E2BIG);
    }
    let mut bytes = vec![0; size];
    thread.memory().read(attributes, &mut bytes)?;
    let word = |index: usize| {
        let start = index * size_of::<u64>();
        let bytes = bytes.get(start..start + size_of::<u64>()).unwrap_or_default();
        bytes.try_into().map_or(0, u64::from_ne_bytes)
    };
    let known = 3 * size_of::<u64>();
    if bytes.iter().skip(known).any(|&byte| byte != 0) {
        return Err(Errno::E2BIG);
    }
    let ruleset = Ruleset::new(word(0), word(1), word(2))?;
    let file = OpenFile::new(Rc::new(RulesetFile(ruleset)), OpenFlags::RDWR);
    let fd = thread.add_file(file, true)?;
    u64::try_from(fd.0).map_err(|_| Errno::EBADF)
}

fn ruleset_of(thread: &Thread, fd: Fd) -> SysResult<Rc<OpenFile>> {
    let file = real_file(thread, fd)?;
    if file.ops_as::<RulesetFile>().is_some() { Ok(file) } else { Err(Errno::EBADFD) }
}

/// Adds a rule to a set.
pub(crate) fn landlock_add_rule(
    thread: &Rc<Thread>,
    fd: Fd,
    kind: u32,
    rule: u64,
    flags: u32,
) -> SysResult<()> {
    if flags != 0 {
        return Err(Errno::EINVAL);
    }
    let file = ruleset_of(thread, fd)?;
    let ruleset = &file.ops_as::<RulesetFile>().ok_or(Errno::EBADFD)?.0;
    let memory = thread.memory();
    match kind {
        RULE_PATH_BENEATH => {
            let rights: u64 = UserPtr::new(rule).read(&memory)?;
            let parent: i32 = UserPtr::new(rule.wrapping_add(8)).read(&memory)?;
            let place = thread.file(Fd(parent))?;
            let place = place.location().ok_or(Errno::EBADFD)?;
            let inode = place.inode()?;
            if rights & !fs::OF_FILES != 0 && inode.kind() != FileKind::Directory {
                return Err(Errno::EINVAL);
            }
            ruleset.allow_beneath(key_of(inode), Rc::clone(inode) as Rc<dyn Any>, rights)
        }
        RULE_NET_PORT => {
            let [rights, port]: [u64; 2] = UserPtr::new(rule).read(&memory)?;
            ruleset.allow_port(port, rights)
        }
        _ => Err(Errno::EINVAL),
    }
}

/// Puts the caller, and all its children to come, under a set of rules.
pub(crate) fn landlock_restrict_self(thread: &Rc<Thread>, fd: Fd, flags: u32) -> SysResult<()> {
    let who = thread.credentials();
    if !thread.attributes().no_new_privs && !who.has_own(cap::SYS_ADMIN) {
        return Err(Errno::EPERM);
    }
    if flags != 0 {
        return Err(Errno::EINVAL);
    }
    let file = ruleset_of(thread, fd)?;
    let ruleset = &file.ops_as::<RulesetFile>().ok_or(Errno::EBADFD)?.0;
    let domain = Domain::new(who.landlock.as_ref(), ruleset)?;
    thread.set_credentials(Rc::new(Credentials { landlock: Some(domain), ..(*who).clone() }));
    Ok(())
}
