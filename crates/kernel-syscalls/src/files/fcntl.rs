//! `fcntl(2)`.

mod descriptor;
mod hint;
mod lease;
mod locks;
mod notify;
pub(super) mod owner;

use std::rc::Rc;

use kernel_events::pipe::PipeEnd;
use kernel_files::memfd;
use kernel_tasks::Thread;
use linux_abi::files::{OpenFlags, fcntl as command};
use linux_abi::{Errno, Fd, SysResult, WaitResult};

/// Does one of many things to a descriptor, an open file or a file.
pub(crate) async fn fcntl(
    thread: Rc<Thread>,
    fd: Fd,
    request: u32,
    argument: u64,
) -> WaitResult<u64> {
    let file = thread.file(fd)?;
    if file.flags().contains(OpenFlags::PATH) && !works_on_path(request) {
        return Err(Errno::EBADF.into());
    }
    match request {
        command::SETLKW | command::OFD_SETLKW => {
            locks::set_and_wait(&thread, &file, request, argument).await?;
            Ok(0)
        }
        _ => Ok(answer(&thread, fd, request, argument)?),
    }
}

/// What can be done with a file that was opened with `O_PATH`.
fn works_on_path(request: u32) -> bool {
    matches!(
        request,
        command::DUPFD
            | command::DUPFD_CLOEXEC
            | command::DUPFD_QUERY
            | command::GETFD
            | command::SETFD
            | command::GETFL
    )
}

fn answer(thread: &Rc<Thread>, fd: Fd, request: u32, argument: u64) -> SysResult<u64> {
    let file = thread.file(fd)?;
    match request {
        command::DUPFD => descriptor::duplicate(thread, &file, argument, false),
        command::DUPFD_CLOEXEC => descriptor::duplicate(thread, &file, argument, true),
        command::DUPFD_QUERY => descriptor::is_same(thread, &file, argument),
        command::CREATED_QUERY => Ok(file.is_created().into()),
        command::GETFD => Ok(thread.files().borrow().is_close_on_exec(fd)?.into()),
        command::SETFD => {
            let close_on_exec = argument & u64::from(command::FD_CLOEXEC) != 0;
            thread.files().borrow_mut().set_close_on_exec(fd, close_on_exec)?;
            Ok(0)
        }
        command::GETFL => Ok(file.flags().bits().into()),
        command::SETFL => descriptor::set_flags(thread, fd, &file, argument),
        command::GETLK | command::OFD_GETLK => locks::find(thread, &file, request, argument),
        command::SETLK | command::OFD_SETLK => locks::set(thread, &file, request, argument),
        command::SETOWN
        | command::GETOWN
        | command::SETOWN_EX
        | command::GETOWN_EX
        | command::SETSIG
        | command::GETSIG => owner::answer(thread, &file, request, argument),
        command::NOTIFY => notify::watch(thread, fd, &file, argument),
        command::GETPIPE_SZ => {
            let pipe = file.ops_as::<PipeEnd>().ok_or(Errno::EBADF)?;
            Ok(pipe.pipe().size() as u64)
        }
        command::SETPIPE_SZ => descriptor::set_pipe_size(thread, &file, argument),
        command::ADD_SEALS => {
            memfd::add_seals(&file, u32::try_from(argument).map_err(|_| Errno::EINVAL)?)?;
            Ok(0)
        }
        command::GET_RW_HINT => hint::get(thread, &file, argument),
        command::SET_RW_HINT => hint::set(thread, &file, argument),
        command::GET_SEALS => Ok(memfd::seals(&file)?.into()),
        command::GETLEASE => Ok(lease::get(&file)),
        command::SETLEASE => lease::set(thread, fd, &file, argument),
        _ => Err(Errno::EINVAL),
    }
}
