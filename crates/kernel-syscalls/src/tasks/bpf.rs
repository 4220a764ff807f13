//! `bpf(2)`: programs that judge the use of devices, for control groups.

use std::rc::Rc;

use kernel_core::credentials::{Credentials, cap};
use kernel_core::memory::{CString, UserMemory, UserPtr};
use kernel_tasks::Thread;
use kernel_tasks::bpf::{Fault, MAX_INSTRUCTIONS, Program};
use kernel_tasks::cgroup::Cgroup;
use linux_abi::tasks::bpf::{
    ATTACH_CGROUP_DEVICE, AttachFlags, Instruction, OBJECT_NAME_LENGTH, PROG_TYPE_CGROUP_DEVICE,
    ProgAttach, ProgId, ProgLoad, ProgQuery, QUERY_EFFECTIVE, command, is_cgroup_attach_type,
};
use linux_abi::{Errno, Fd, SysResult};
use zerocopy::{FromBytes, IntoBytes};

/// The attributes take at most a page, and what is beyond those that are known must be zero.
const MAX_SIZE: usize = 4096;
const KNOWN_SIZE: usize = 168;
/// Flags of `PROG_LOAD` that ask for a stricter check or say how the program will be used, and
/// that change nothing here: any alignment is fine, and states are always checked in full.
const KNOWN_LOAD_FLAGS: u32 = 0b1111;
/// How long the name of a licence may be.
const MAX_LICENCE: usize = 128;

/// The attributes of a call, as the guest gave them.
struct Attributes {
    bytes: [u8; KNOWN_SIZE],
    address: u64,
    size: usize,
}

impl Attributes {
    fn read(thread: &Thread, address: u64, size: usize) -> SysResult<Self> {
        if size > MAX_SIZE {
            return Err(Errno::E2BIG);
        }
        let mut all = vec![0; size];
        thread.memory().read(address, &mut all)?;
        if all.iter().skip(KNOWN_SIZE).any(|&byte| byte != 0) {
            return Err(Errno::E2BIG);
        }
        all.resize(KNOWN_SIZE, 0);
        let bytes = <[u8; KNOWN_SIZE]>::read_from_bytes(&all).map_err(|_| Errno::EINVAL)?;
        Ok(Self { bytes, address, size })
    }

    /// The attributes of one command; `EINVAL` if there is something behind them.
    fn of<T: FromBytes>(&self) -> SysResult<T> {
        let (value, rest) = T::read_from_prefix(&self.bytes).map_err(|_| Errno::EINVAL)?;
        if rest.iter().any(|&byte| byte != 0) { Err(Errno::EINVAL) } else { Ok(value) }
    }

    /// Gives back an attribute, if the guest knows of it.
    fn give<T: IntoBytes + zerocopy::Immutable>(
        &self,
        thread: &Thread,
        offset: usize,
        value: &T,
    ) -> SysResult<()> {
        if offset + size_of::<T>() > self.size {
            return Ok(());
        }
        thread.memory().write(self.address.wrapping_add(offset as u64), value.as_bytes())
    }
}

/// Whether a capability is in force, or the one that stands for it too.
fn may(credentials: &Credentials, capability: u32) -> bool {
    credentials.has(capability) || credentials.has(cap::SYS_ADMIN)
}

fn require(thread: &Thread, capability: u32) -> SysResult<()> {
    if may(&thread.credentials(), capability) { Ok(()) } else { Err(Errno::EPERM) }
}

/// Loads, attaches and lists programs.
pub(crate) fn bpf(thread: &Rc<Thread>, wanted: i32, address: u64, size: usize) -> SysResult<u64> {
    let attributes = Attributes::read(thread, address, size)?;
    let fd = match wanted {
        command::PROG_LOAD => load(thread, &attributes)?,
        command::PROG_ATTACH => return attach(thread, &attributes.of()?).map(|()| 0),
        command::PROG_DETACH => return detach(thread, &attributes.of()?).map(|()| 0),
        command::PROG_QUERY => return query(thread, &attributes).map(|()| 0),
        command::PROG_GET_NEXT_ID => return next_id(thread, &attributes).map(|()| 0),
        command::PROG_GET_FD_BY_ID => open_by_id(thread, &attributes.of()?)?,
        _ => {
            require(thread, cap::BPF)?;
            return Err(Errno::EINVAL);
        }
    };
    u64::try_from(fd.0).map_err(|_| Errno::EBADF)
}

fn load(thread: &Rc<Thread>, attributes: &Attributes) -> SysResult<Fd> {
    let load: ProgLoad = attributes.of()?;
    if load.prog_flags & !KNOWN_LOAD_FLAGS != 0 {
        return Err(Errno::EINVAL);
    }
    require(thread, cap::BPF)?;
    let count = usize::try_from(load.insn_cnt).unwrap_or(usize::MAX);
    if count == 0 || count > MAX_INSTRUCTIONS {
        return Err(Errno::E2BIG);
    }
    require(thread, cap::NET_ADMIN)?;
    if load.attach_btf_id != 0 || load.attach_prog_fd != 0 {
        return Err(Errno::EINVAL);
    }
    let mut instructions = vec![Instruction::default(); count];
    thread.memory().read(load.insns, instructions.as_mut_bytes())?;
    UserPtr::<CString>::new(load.license).read_string(&thread.memory(), MAX_LICENCE)?;
    if load.prog_type != PROG_TYPE_CGROUP_DEVICE {
        return Err(Errno::EINVAL);
    }
    let name = checked_name(&load.prog_name)?;
    let has_log = check_log(&load)?;
    if load.prog_btf_fd != 0 || load.func_info_cnt != 0 || load.line_info_cnt != 0 {
        return Err(Errno::EBADF);
    }
    if load.fd_array_cnt != 0 || load.prog_ifindex != 0 || load.core_relo_cnt != 0 {
        return Err(Errno::EINVAL);
    }
    let loaded = thread.kernel().programs.load(instructions, name);
    if has_log {
        write_log(thread, attributes, &load, loaded.as_ref().err())?;
    }
    thread.add_file(loaded.map_err(|fault| fault.errno)?.open(), true)
}

/// A name has letters, digits, `_` and `.`, and ends with zeros.
fn checked_name(name: &[u8; OBJECT_NAME_LENGTH]) -> SysResult<&[u8]> {
    let end = name.iter().position(|&byte| byte == 0).ok_or(Errno::EINVAL)?;
    let (name, rest) = name.split_at_checked(end).ok_or(Errno::EINVAL)?;
    let is_fit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    let is_plain = name.iter().all(is_fit) && rest.iter().all(|&byte| byte == 0);
    if is_plain { Ok(name) } else { Err(Errno::EINVAL) }
}

/// Whether the guest wants to be told what is wrong.
fn check_log(load: &ProgLoad) -> SysResult<bool> {
    const LEVELS: u32 = 15;
    const MAX_LOG: u32 = u32::MAX >> 2;
    let has_room = load.log_buf != 0;
    let is_odd = has_room != (load.log_size != 0) || has_room && load.log_level == 0;
    if is_odd || load.log_level & !LEVELS != 0 || load.log_size > MAX_LOG {
        return Err(Errno::EINVAL);
    }
    Ok(has_room)
}

/// Says what is wrong with a program. `ENOSPC` if there is no room for all of it.
fn write_log(
    thread: &Thread,
    attributes: &Attributes,
    load: &ProgLoad,
    fault: Option<&Fault>,
) -> SysResult<()> {
    let mut text = match fault {
        Some(Fault { at, reason, .. }) => format!("instruction {at}: {reason}\n"),
        None => String::new(),
    };
    text.push('\0');
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    attributes.give(thread, std::mem::offset_of!(ProgLoad, log_true_size), &length)?;
    if length > load.log_size {
        return Err(Errno::ENOSPC);
    }
    thread.memory().write(load.log_buf, text.as_bytes())
}

/// The group whose folder is open as `fd`.
fn group_of(thread: &Thread, fd: i32) -> SysResult<Rc<Cgroup>> {
    let file = thread.file(Fd(fd))?;
    let inode = file.location().and_then(|place| place.inode().ok()).ok_or(Errno::EBADF)?;
    let group = inode.attachments().get::<Cgroup>().ok_or(Errno::EBADF)?;
    if group.is_removed() { Err(Errno::ENOENT) } else { Ok(group) }
}

/// The program that is open as `fd`; `EINVAL` if it cannot be attached at such a place.
fn program_of(thread: &Thread, fd: i32, attach_type: u32) -> SysResult<Rc<Program>> {
    let program = Program::of_file(&*thread.file(Fd(fd))?)?;
    if attach_type == ATTACH_CGROUP_DEVICE { Ok(program) } else { Err(Errno::EINVAL) }
}

fn attach(thread: &Thread, attach: &ProgAttach) -> SysResult<()> {
    if !is_cgroup_attach_type(attach.attach_type) || attach.relative_fd != 0 {
        return Err(Errno::EINVAL);
    }
    let flags = AttachFlags::from_bits(attach.attach_flags).ok_or(Errno::EINVAL)?;
    let program = program_of(thread, attach.attach_bpf_fd, attach.attach_type)?;
    let group = group_of(thread, attach.target_fd)?;
    let replaces = flags.contains(AttachFlags::REPLACE);
    let is_multiple = flags.contains(AttachFlags::ALLOW_MULTI);
    let replaced = if replaces && is_multiple {
        Some(program_of(thread, attach.replace_bpf_fd, attach.attach_type)?)
    } else {
        None
    };
    if is_multiple && flags.contains(AttachFlags::ALLOW_OVERRIDE) || replaces && !is_multiple {
        return Err(Errno::EINVAL);
    }
    check_revision(&group, attach.expected_revision)?;
    group.attach(&program, replaced.as_ref(), flags)
}

fn check_revision(group: &Cgroup, expected: u64) -> SysResult<()> {
    let is_expected = expected == 0 || expected == group.devices.revision();
    if is_expected { Ok(()) } else { Err(Errno::ESTALE) }
}

fn detach(thread: &Thread, attach: &ProgAttach) -> SysResult<()> {
    if !is_cgroup_attach_type(attach.attach_type)
        || attach.attach_flags != 0
        || attach.relative_fd != 0
    {
        return Err(Errno::EINVAL);
    }
    let group = group_of(thread, attach.target_fd)?;
    let program = program_of(thread, attach.attach_bpf_fd, attach.attach_type).ok();
    if attach.attach_type != ATTACH_CGROUP_DEVICE {
        return Err(Errno::ENOENT);
    }
    check_revision(&group, attach.expected_revision)?;
    group.detach(program.as_ref())
}

fn query(thread: &Thread, attributes: &Attributes) -> SysResult<()> {
    require(thread, cap::NET_ADMIN)?;
    let query: ProgQuery = attributes.of()?;
    if query.query_flags & !QUERY_EFFECTIVE != 0 || !is_cgroup_attach_type(query.attach_type) {
        return Err(Errno::EINVAL);
    }
    let group = group_of(thread, query.target_fd)?;
    let is_effective = query.query_flags == QUERY_EFFECTIVE;
    if is_effective && query.prog_attach_flags != 0 {
        return Err(Errno::EINVAL);
    }
    // At other places there is nothing ever.
    let (programs, flags, revision) = match (query.attach_type, is_effective) {
        (ATTACH_CGROUP_DEVICE, true) => (group.effective_programs(), 0, 0),
        (ATTACH_CGROUP_DEVICE, false) => {
            let devices = &group.devices;
            (devices.programs(), devices.flags().bits(), devices.revision())
        }
        (_, true) => (Vec::new(), 0, 0),
        (_, false) => (Vec::new(), 0, 1),
    };
    let count = u32::try_from(programs.len()).unwrap_or(u32::MAX);
    attributes.give(thread, std::mem::offset_of!(ProgQuery, attach_flags), &flags)?;
    attributes.give(thread, std::mem::offset_of!(ProgQuery, prog_cnt), &count)?;
    attributes.give(thread, std::mem::offset_of!(ProgQuery, revision), &revision)?;
    if query.prog_cnt == 0 || query.prog_ids == 0 || programs.is_empty() {
        return Ok(());
    }
    let room = usize::try_from(query.prog_cnt).unwrap_or(usize::MAX);
    let ids: Vec<u32> = programs.iter().take(room).map(|program| program.id).collect();
    thread.memory().write(query.prog_ids, ids.as_bytes())?;
    if query.prog_attach_flags != 0 {
        thread.memory().write(query.prog_attach_flags, vec![flags; ids.len()].as_bytes())?;
    }
    if ids.len() < programs.len() { Err(Errno::ENOSPC) } else { Ok(()) }
}

fn next_id(thread: &Thread, attributes: &Attributes) -> SysResult<()> {
    let wanted: ProgId = attributes.of()?;
    if wanted.id >= i32::MAX.cast_unsigned() || wanted.open_flags != 0 {
        return Err(Errno::EINVAL);
    }
    require(thread, cap::SYS_ADMIN)?;
    let next = thread.kernel().programs.next_id(wanted.id).ok_or(Errno::ENOENT)?;
    attributes.give(thread, std::mem::offset_of!(ProgId, next_id), &next)
}

fn open_by_id(thread: &Rc<Thread>, wanted: &ProgId) -> SysResult<Fd> {
    if wanted.next_id != 0 || wanted.open_flags != 0 {
        return Err(Errno::EINVAL);
    }
    require(thread, cap::SYS_ADMIN)?;
    let program = thread.kernel().programs.by_id(wanted.id).ok_or(Errno::ENOENT)?;
    thread.add_file(program.open(), true)
}
