//! `prctl(2)`: one function per option.

use std::rc::Rc;

use kernel_core::credentials::cap;
use kernel_tasks::Thread;
use linux_abi::tasks::prctl as option;
use linux_abi::{Errno, SysResult};

mod capabilities;
mod memory;
mod process;
mod thread;

/// The four arguments after the option.
type Arguments = [u64; 4];

/// Reads or changes a property of the calling thread or its process.
pub(crate) fn prctl(
    thread: &Rc<Thread>,
    option: i32,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
) -> SysResult<u64> {
    let arguments = [a, b, c, d];
    match option {
        option::SET_PDEATHSIG => thread::set_parent_death_signal(thread, a),
        option::GET_PDEATHSIG => thread::get_parent_death_signal(thread, a),
        option::SET_NAME => thread::set_name(thread, a),
        option::GET_NAME => thread::get_name(thread, a),
        option::SET_NO_NEW_PRIVS => thread::set_no_new_privs(thread, arguments),
        option::GET_NO_NEW_PRIVS => thread::get_no_new_privs(thread, arguments),
        option::SET_TIMERSLACK => thread::set_timer_slack(thread, a),
        option::GET_TIMERSLACK => Ok(thread.attributes().timer_slack),
        option::GET_SECCOMP => Ok(thread.call_filter_mode().0),
        option::SET_SECCOMP => super::seccomp::set_by_prctl(thread, a, b),
        option::GET_TID_ADDRESS => Err(Errno::EINVAL),
        option::GET_TSC => thread::get_tsc(thread, a),
        option::SET_TSC => thread::set_tsc(a),
        option::GET_TIMING => Ok(0),
        option::SET_TIMING if a == 0 => Ok(0),
        option::GET_DUMPABLE => process::get_dumpable(thread),
        option::SET_DUMPABLE => process::set_dumpable(thread, a),
        option::SET_CHILD_SUBREAPER => process::set_child_subreaper(thread, a),
        option::GET_CHILD_SUBREAPER => process::get_child_subreaper(thread, a),
        option::SET_THP_DISABLE => process::set_thp_disable(thread, arguments),
        option::GET_THP_DISABLE => process::get_thp_disable(thread, arguments),
        option::SET_MDWE => process::set_deny_write_execute(thread, arguments),
        option::GET_MDWE => process::get_deny_write_execute(thread, arguments),
        option::SET_PTRACER => process::set_ptracer(thread, a),
        option::GET_KEEPCAPS => capabilities::get_keep(thread),
        option::SET_KEEPCAPS => capabilities::set_keep(thread, a),
        option::GET_SECUREBITS => Ok(thread.credentials().securebits.into()),
        option::SET_SECUREBITS => capabilities::set_securebits(thread, a),
        option::CAPBSET_READ => capabilities::read_bounding(thread, a),
        option::CAPBSET_DROP => capabilities::drop_bounding(thread, a),
        option::CAP_AMBIENT => capabilities::ambient(thread, arguments),
        // Where program and stack lie is the loader's and the host's to say.
        option::SET_MM if !thread.credentials().has(cap::SYS_RESOURCE) => Err(Errno::EPERM),
        option::SET_VMA => memory::name_mapping(thread, arguments),
        _ => Err(Errno::EINVAL),
    }
}

/// Arguments that must be zero because an option does not use them.
fn unused(arguments: &[u64]) -> SysResult<()> {
    if arguments.iter().all(|&argument| argument == 0) { Ok(()) } else { Err(Errno::EINVAL) }
}
