//! Control messages on their way from and to a guest. See cmsg(3).

use std::rc::Rc;

use kernel_core::credentials::{Credentials, cap};
use kernel_core::memory::{UserMemory, UserPtr};
use kernel_files::OpenFile;
use kernel_sockets::message::RawControl;
use kernel_sockets::{Control, OutgoingControl};
use kernel_tasks::Thread;
use linux_abi::sockets::{CmsgHdr, MessageFlags, Ucred, af, scm, sol};
use linux_abi::{Errno, Fd, Pid, SysResult};
use zerocopy::{FromBytes, IntoBytes};

/// The most bytes of control messages (Linux: `net.core.optmem_max`).
const MAX_CONTROL: u64 = 128 << 10;

const HEADER: usize = size_of::<CmsgHdr>();

/// Copies control messages in and understands those that are for every socket.
pub(super) fn read(
    thread: &Rc<Thread>,
    family: u16,
    address: u64,
    length: u64,
) -> SysResult<OutgoingControl> {
    let mut control = OutgoingControl::default();
    if length == 0 || address == 0 {
        return Ok(control);
    }
    if length > MAX_CONTROL {
        return Err(Errno::ENOBUFS);
    }
    let length = usize::try_from(length).map_err(|_| Errno::ENOBUFS)?;
    let bytes = UserPtr::<u8>::new(address).read_many(&thread.memory(), length)?;
    let mut rest = bytes.as_slice();
    while let Ok((header, _)) = CmsgHdr::read_from_prefix(rest) {
        let length = usize::try_from(header.len).map_err(|_| Errno::EINVAL)?;
        let data = rest.get(HEADER..length).ok_or(Errno::EINVAL)?;
        read_one(thread, family, header, data, &mut control)?;
        rest = rest.get(length.next_multiple_of(8)..).unwrap_or_default();
    }
    Ok(control)
}

fn read_one(
    thread: &Rc<Thread>,
    family: u16,
    header: CmsgHdr,
    data: &[u8],
    control: &mut OutgoingControl,
) -> SysResult<()> {
    let is_unix = family == af::UNIX;
    match (header.level, header.kind) {
        (sol::SOCKET, scm::RIGHTS) if is_unix => read_files(thread, data, control),
        (sol::SOCKET, scm::CREDENTIALS) if is_unix || family == af::NETLINK => {
            let ucred = Ucred::read_from_bytes(data).map_err(|_| Errno::EINVAL)?;
            check_credentials(thread, ucred)?;
            control.credentials = Some(ucred);
            Ok(())
        }
        (sol::SOCKET, scm::RIGHTS | scm::CREDENTIALS) => Ok(()),
        (sol::SOCKET, _) if is_unix => Err(Errno::EINVAL),
        // Levels that are not for this family are passed over.
        _ if is_unix => Ok(()),
        (level, kind) => {
            control.others.push(RawControl { level, kind, data: data.to_vec() });
            Ok(())
        }
    }
}

fn read_files(thread: &Rc<Thread>, data: &[u8], control: &mut OutgoingControl) -> SysResult<()> {
    let fds = data.chunks_exact(4).map(|fd| fd.try_into().map_or(-1, i32::from_ne_bytes));
    if control.files.len() + fds.len() > scm::MAX_FD {
        return Err(Errno::EINVAL);
    }
    for fd in fds {
        control.files.push(thread.file(Fd(fd))?);
    }
    Ok(())
}

/// A sender may say only what it is, unless it is privileged.
fn check_credentials(thread: &Rc<Thread>, ucred: Ucred) -> SysResult<()> {
    let own: &Credentials = &thread.credentials();
    let is_own_pid = ucred.pid == thread.process().pid.0;
    let is_own_uid = [own.uid, own.euid, own.suid].contains(&ucred.uid);
    let is_own_gid = [own.gid, own.egid, own.sgid].contains(&ucred.gid);
    let may_say = (is_own_pid || own.has(cap::SYS_ADMIN))
        && (is_own_uid || own.has(cap::SETUID))
        && (is_own_gid || own.has(cap::SETGID));
    if !may_say {
        return Err(Errno::EPERM);
    }
    match thread.kernel().ids.thread(Pid(ucred.pid)) {
        None if !is_own_pid => Err(Errno::ESRCH),
        _ => Ok(()),
    }
}

/// The guest's buffer for control messages.
pub(super) struct ControlBuffer {
    pub(super) address: u64,
    pub(super) room: usize,
    /// How much of it is used.
    pub(super) used: usize,
    /// `MSG_CTRUNC` if not all fitted.
    pub(super) flags: MessageFlags,
    close_on_exec: bool,
}

impl ControlBuffer {
    pub(super) fn new(address: u64, length: u64, close_on_exec: bool) -> Self {
        let room = if address == 0 { 0 } else { usize::try_from(length).unwrap_or(0) };
        Self { address, room, used: 0, flags: MessageFlags::empty(), close_on_exec }
    }

    /// Copies what came along out.
    pub(super) fn put_all(&mut self, thread: &Rc<Thread>, control: Vec<Control>) -> SysResult<()> {
        let memory = thread.memory();
        for one in control {
            match one {
                Control::Files(files) => self.put_files(thread, &memory, &files)?,
                Control::Credentials(ucred) => {
                    self.put(&memory, sol::SOCKET, scm::CREDENTIALS, ucred.as_bytes())?;
                }
                Control::Raw(raw) => self.put(&memory, raw.level, raw.kind, &raw.data)?,
            }
        }
        Ok(())
    }

    fn put(
        &mut self,
        memory: &dyn UserMemory,
        level: i32,
        kind: i32,
        data: &[u8],
    ) -> SysResult<()> {
        let room = self.room - self.used;
        if room < HEADER {
            self.flags |= MessageFlags::CTRUNC;
            return Ok(());
        }
        let length = (HEADER + data.len()).min(room);
        if length < HEADER + data.len() {
            self.flags |= MessageFlags::CTRUNC;
        }
        let at = self.address + self.used as u64;
        let header = CmsgHdr { len: length as u64, level, kind };
        UserPtr::new(at).write(memory, &header)?;
        memory.write(at + HEADER as u64, data.get(..length - HEADER).unwrap_or_default())?;
        self.used += (HEADER + data.len()).next_multiple_of(8).min(room);
        Ok(())
    }

    /// Gives the receiver descriptors, as many as there is room for; the rest is closed.
    fn put_files(
        &mut self,
        thread: &Rc<Thread>,
        memory: &dyn UserMemory,
        files: &[Rc<OpenFile>],
    ) -> SysResult<()> {
        let room = (self.room - self.used).saturating_sub(HEADER) / 4;
        let mut fds = Vec::new();
        for file in files.iter().take(room) {
            match thread.add_file(Rc::clone(file), self.close_on_exec) {
                Ok(fd) => fds.push(fd.0),
                Err(_) => break,
            }
        }
        if fds.len() < files.len() {
            self.flags |= MessageFlags::CTRUNC;
        }
        if fds.is_empty() {
            return Ok(());
        }
        self.put(memory, sol::SOCKET, scm::RIGHTS, fds.as_bytes())
    }
}
