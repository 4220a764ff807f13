//! `clone(2)`, `clone3(2)`, `fork(2)`, `vfork(2)`, `unshare(2)`.
//!
//! The child starts when the shim reads the reply, so everything that can fail is done before. A
//! `vfork` child borrows the host thread of its parent; the parent's call returns, as seen by the
//! kernel, at once, and the shim goes back to the parent when the child has left. A parent that cannot
//! lend its thread (it is traced, or shares no memory with the child) waits when it next asks for
//! signals, which is before its guest code goes on.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_core::memory::{UserMemory, UserPtr};
use kernel_files::permission::{Want, check_ownership};
use kernel_tasks::Thread;
use kernel_tasks::cgroup::Cgroup;
use kernel_tasks::machine::Start;
use kernel_tasks::pidfd::Pidfd;
use kernel_tasks::thread::CloneRequest;
use linux_abi::signals::Signal;
use linux_abi::tasks::{CLONE_ARGS_SIZE_VER0, CLONE_ARGS_SIZE_VER2, CloneArgs, CloneFlags};
use linux_abi::{Errno, Fd, Pid, SysResult, WaitResult};
use zerocopy::IntoBytes;

/// `clone3` takes no more than a page of arguments.
const MAX_ARGS_SIZE: usize = 4096;
/// The first address that no program can have.
const END_OF_USER_SPACE: u64 = 0x7fff_ffff_f000;
/// `CAP_CHECKPOINT_RESTORE`.
const CHECKPOINT_RESTORE: u32 = 40;

/// Makes a thread or a process; the old interface with everything in registers.
pub(crate) async fn clone(
    thread: Rc<Thread>,
    flags: u64,
    stack: u64,
    parent_tid: u64,
    child_tid: u64,
    tls: u64,
) -> WaitResult<Pid> {
    let bits = flags & 0xffff_ffff;
    let flags = CloneFlags::from_bits_retain(bits & !CloneFlags::EXIT_SIGNAL_BITS);
    if flags.contains(CloneFlags::PIDFD | CloneFlags::PARENT_SETTID)
        || flags.contains(CloneFlags::PIDFD | CloneFlags::DETACHED)
    {
        return Err(Errno::EINVAL.into());
    }
    let args = CloneArgs {
        flags: flags.bits(),
        // The two share an argument: only one of them can be asked for.
        pidfd: parent_tid,
        parent_tid,
        child_tid,
        exit_signal: bits & CloneFlags::EXIT_SIGNAL_BITS,
        stack,
        tls,
        ..CloneArgs::default()
    };
    start(thread, flags, args, stack).await
}

/// Makes a process.
pub(crate) async fn fork(thread: Rc<Thread>) -> WaitResult<Pid> {
    let args = CloneArgs { exit_signal: Signal::SIGCHLD.number().into(), ..CloneArgs::default() };
    start(thread, CloneFlags::empty(), args, 0).await
}

/// Makes a process that runs in the memory of its parent until `execve` or `_exit`.
pub(crate) async fn vfork(thread: Rc<Thread>) -> WaitResult<Pid> {
    let args = CloneArgs { exit_signal: Signal::SIGCHLD.number().into(), ..CloneArgs::default() };
    start(thread, CloneFlags::VM | CloneFlags::VFORK, args, 0).await
}

/// Makes a thread or a process; the new interface with everything in a structure.
pub(crate) async fn clone3(
    thread: Rc<Thread>,
    args: UserPtr<CloneArgs>,
    size: usize,
) -> WaitResult<Pid> {
    let args = read_args(&thread, args, size)?;
    let flags = CloneFlags::from_bits(args.flags).ok_or(Errno::EINVAL)?;
    check_args3(&args, flags, size)?;
    let stack = args.stack.wrapping_add(args.stack_size);
    start(thread, flags, args, stack).await
}

/// Copies the structure in. What is longer than we know must be zero beyond.
fn read_args(thread: &Thread, args: UserPtr<CloneArgs>, size: usize) -> SysResult<CloneArgs> {
    if size > MAX_ARGS_SIZE {
        return Err(Errno::E2BIG);
    }
    if size < CLONE_ARGS_SIZE_VER0 {
        return Err(Errno::EINVAL);
    }
    let mut bytes = vec![0; size];
    thread.memory().read(args.address(), &mut bytes)?;
    let known = size.min(size_of::<CloneArgs>());
    if bytes.iter().skip(known).any(|&byte| byte != 0) {
        return Err(Errno::E2BIG);
    }
    let mut args = CloneArgs::default();
    let place = args.as_mut_bytes().get_mut(..known).unwrap_or_default();
    place.copy_from_slice(bytes.get(..known).unwrap_or_default());
    Ok(args)
}

fn check_args3(args: &CloneArgs, flags: CloneFlags, size: usize) -> SysResult<()> {
    const MAX_LEVELS: u64 = 32;
    let has_ids = args.set_tid != 0;
    let cgroup_bad = flags.contains(CloneFlags::INTO_CGROUP)
        && (args.cgroup > i32::MAX as u64 || size < CLONE_ARGS_SIZE_VER2);
    let exit_signal_bad = args.exit_signal & !CloneFlags::EXIT_SIGNAL_BITS != 0
        || args.exit_signal > Signal::MAX.number().into();
    let belongs_to_parent = flags.intersects(CloneFlags::THREAD | CloneFlags::PARENT);
    if args.set_tid_size > MAX_LEVELS
        || has_ids != (args.set_tid_size > 0)
        || exit_signal_bad
        || cgroup_bad
        || flags.contains(CloneFlags::DETACHED)
        || flags.contains(CloneFlags::SIGHAND | CloneFlags::CLEAR_SIGHAND)
        || belongs_to_parent && args.exit_signal != 0
        || (args.stack == 0) != (args.stack_size == 0)
    {
        return Err(Errno::EINVAL);
    }
    Ok(())
}

/// Contradictions that both interfaces refuse.
fn check_flags(flags: CloneFlags) -> SysResult<()> {
    let has = |bits| flags.contains(bits);
    if has(CloneFlags::NEWNS | CloneFlags::FS)
        || has(CloneFlags::NEWUSER | CloneFlags::FS)
        || has(CloneFlags::THREAD) && !has(CloneFlags::SIGHAND)
        || has(CloneFlags::SIGHAND) && !has(CloneFlags::VM)
        || has(CloneFlags::THREAD) && flags.intersects(CloneFlags::NEWUSER | CloneFlags::NEWPID)
    {
        return Err(Errno::EINVAL);
    }
    Ok(())
}

async fn start(
    thread: Rc<Thread>,
    flags: CloneFlags,
    args: CloneArgs,
    stack_pointer: u64,
) -> WaitResult<Pid> {
    check_flags(flags)?;
    if flags.contains(CloneFlags::SETTLS) && args.tls >= END_OF_USER_SPACE {
        return Err(Errno::EPERM.into());
    }
    let when = |flag, value| flags.contains(flag).then_some(value);
    let request = CloneRequest {
        flags,
        exit_signal: u32::try_from(args.exit_signal).ok().and_then(Signal::new),
        wanted_id: wanted_id(&thread, &args)?,
        cgroup: wanted_cgroup(&thread, flags, &args)?,
        start: Start {
            stack_pointer: (stack_pointer != 0).then_some(stack_pointer),
            tls: when(CloneFlags::SETTLS, args.tls),
            set_child_tid: when(CloneFlags::CHILD_SETTID, args.child_tid),
            clear_child_tid: when(CloneFlags::CHILD_CLEARTID, args.child_tid),
        },
    };
    let pidfd = when(CloneFlags::PIDFD, args.pidfd).map(UserPtr::<i32>::new);
    // The number must be there before the child is, because it may not fail after.
    let reserved = pidfd.map(|place| reserve_pidfd(&thread, place)).transpose()?;
    let child = match thread.clone_with(&request) {
        Ok(child) => child,
        Err(errno) => {
            if let Some(fd) = reserved {
                thread.files().borrow_mut().remove(fd)?;
            }
            return Err(errno.into());
        }
    };
    if let Some(fd) = reserved {
        if !flags.contains(CloneFlags::FILES) {
            // The child has a copy of the table, and is not meant to have this one.
            drop(child.files().borrow_mut().remove(fd));
        }
        let file = Pidfd::open(child.process(), linux_abi::files::OpenFlags::empty());
        let limit = thread.descriptor_limit();
        thread.files().borrow_mut().replace(fd, file, limit, true)?;
    }
    let tid = child.tid();
    if flags.contains(CloneFlags::PARENT_SETTID) {
        // Linux does not care whether this address is good.
        let _ = UserPtr::<u32>::new(args.parent_tid).write(&thread.memory(), &tid.0);
    }
    Ok(tid)
}

/// Takes a descriptor and tells the guest its number.
fn reserve_pidfd(thread: &Rc<Thread>, place: UserPtr<i32>) -> SysResult<Fd> {
    let file = Pidfd::open(thread.process(), linux_abi::files::OpenFlags::empty());
    let fd = thread.add_file(file, true)?;
    if let Err(errno) = place.write(&thread.memory(), &fd.0) {
        thread.files().borrow_mut().remove(fd)?;
        return Err(errno);
    }
    Ok(fd)
}

fn wanted_id(thread: &Thread, args: &CloneArgs) -> SysResult<Option<Pid>> {
    if args.set_tid_size == 0 {
        return Ok(None);
    }
    // There is one pid namespace, so there is one id to choose.
    if args.set_tid_size > 1 {
        return Err(Errno::EINVAL);
    }
    let id = UserPtr::<i32>::new(args.set_tid).read(&thread.memory())?;
    let id = u32::try_from(id).map_err(|_| Errno::EINVAL)?;
    let who = thread.credentials();
    if !who.has(cap::SYS_ADMIN) && !who.has(CHECKPOINT_RESTORE) {
        return Err(Errno::EPERM);
    }
    Ok(Some(Pid(id)))
}

/// The control group that the child shall be in. The caller needs the rights that moving it there
/// would take.
fn wanted_cgroup(
    thread: &Rc<Thread>,
    flags: CloneFlags,
    args: &CloneArgs,
) -> SysResult<Option<Rc<Cgroup>>> {
    if !flags.contains(CloneFlags::INTO_CGROUP) {
        return Ok(None);
    }
    let fd = i32::try_from(args.cgroup).map_err(|_| Errno::EBADF)?;
    let file = thread.file(Fd(fd))?;
    let inode = file.location().and_then(|place| place.inode().ok()).ok_or(Errno::EBADF)?;
    let group = inode.attachments().get::<Cgroup>().ok_or(Errno::EBADF)?;
    if group.is_removed() {
        return Err(Errno::ENOENT);
    }
    let who = thread.credentials();
    check_ownership(group.procs_access.get(), &who, Want::WRITE)?;
    let namespaces = thread.namespaces();
    let from = thread.process().cgroup();
    thread.kernel().cgroups.check_move(&from, &group, &who, &namespaces.cgroup.root)?;
    Ok(Some(group))
}
