//! `struct msghdr`, with what it points to.

use std::rc::Rc;

use kernel_core::memory::{UserMemory, UserPtr};
use kernel_core::user_buffers::UserBuffers;
use linux_abi::files::IoVec;
use linux_abi::sockets::{MsgHdr, SOCKADDR_MAX, UIO_MAXIOV};
use linux_abi::{Errno, SysResult};

/// Copies the header in and checks it.
pub(super) fn read_header(memory: &dyn UserMemory, header: UserPtr<MsgHdr>) -> SysResult<MsgHdr> {
    let mut header = header.read(memory)?;
    if header.name == 0 {
        header.name_len = 0;
    }
    if header.name_len.cast_signed() < 0 {
        return Err(Errno::EINVAL);
    }
    // Linux cuts a longer one off.
    header.name_len = header.name_len.min(u32::try_from(SOCKADDR_MAX).unwrap_or(0));
    if header.iov_len > UIO_MAXIOV as u64 {
        return Err(Errno::EMSGSIZE);
    }
    Ok(header)
}

/// The buffers that a header names.
pub(super) fn buffers<'a>(
    memory: &'a dyn UserMemory,
    header: &MsgHdr,
) -> SysResult<UserBuffers<'a>> {
    let n = usize::try_from(header.iov_len).map_err(|_| Errno::EMSGSIZE)?;
    UserBuffers::vector(memory, UserPtr::<IoVec>::new(header.iov), n)
}

/// The address that a header names, if it names one.
pub(super) fn name(memory: &dyn UserMemory, header: &MsgHdr) -> SysResult<Option<Rc<[u8]>>> {
    if header.name_len == 0 {
        return Ok(None);
    }
    let n = usize::try_from(header.name_len).map_err(|_| Errno::EINVAL)?;
    UserPtr::<u8>::new(header.name).read_many(memory, n).map(|name| Some(Rc::from(name)))
}
