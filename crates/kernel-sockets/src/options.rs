//! The options of level `SOL_SOCKET`, which all families have.

use std::cell::{Cell, RefCell};

use kernel_core::credentials::cap;
use linux_abi::sockets::{Linger, so};
use linux_abi::time::{NANOS_PER_SEC, Timeval};
use linux_abi::{Errno, SysResult};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::{Caller, Common};

/// The size of a send or receive buffer unless somebody asks for another.
pub const DEFAULT_BUFFER: usize = 212_992;

/// The largest buffer that anybody may ask for (Linux: `net.core.wmem_max`); it is then doubled.
const MAX_BUFFER: usize = 4 << 20;

/// The largest that the privileged may ask for. Linux has no such limit below 1 GiB.
const MAX_BUFFER_PRIVILEGED: usize = 16 << 20;

/// The smallest send and receive buffers.
const MIN_SEND_BUFFER: usize = 4608;
const MIN_RECEIVE_BUFFER: usize = 2304;

/// The longest name of an interface, with its zero.
const INTERFACE_NAME_MAX: usize = 16;

bitflags::bitflags! {
    /// Options that are on or off.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Switches: u32 {
        /// `SO_DEBUG`.
        const DEBUG = 1 << 0;
        /// `SO_REUSEADDR`.
        const REUSEADDR = 1 << 1;
        /// `SO_DONTROUTE`.
        const DONTROUTE = 1 << 2;
        /// `SO_BROADCAST`.
        const BROADCAST = 1 << 3;
        /// `SO_KEEPALIVE`.
        const KEEPALIVE = 1 << 4;
        /// `SO_OOBINLINE`.
        const OOBINLINE = 1 << 5;
        /// `SO_NO_CHECK`.
        const NO_CHECK = 1 << 6;
        /// `SO_REUSEPORT`.
        const REUSEPORT = 1 << 7;
        /// `SO_PASSCRED`.
        const PASSCRED = 1 << 8;
        /// `SO_PASSSEC`.
        const PASSSEC = 1 << 9;
        /// `SO_TIMESTAMP`.
        const TIMESTAMP = 1 << 10;
        /// `SO_TIMESTAMPNS`.
        const TIMESTAMPNS = 1 << 11;
        /// `SO_RXQ_OVFL`.
        const RXQ_OVFL = 1 << 12;
        /// `SO_LOCK_FILTER`.
        const LOCK_FILTER = 1 << 13;
        /// `SO_SELECT_ERR_QUEUE`.
        const SELECT_ERR_QUEUE = 1 << 14;
        /// `SO_ZEROCOPY`.
        const ZEROCOPY = 1 << 15;
        /// `SO_PASSPIDFD`.
        const PASSPIDFD = 1 << 16;
        /// `SO_RCVMARK`.
        const RCVMARK = 1 << 17;
        /// `SO_PASSRIGHTS` is off.
        const NO_PASSRIGHTS = 1 << 18;
        /// The time stamps are those of `SO_TIMESTAMP_NEW`.
        const TIMESTAMP_NEW = 1 << 19;
    }
}

/// The options of level `SOL_SOCKET`.
pub struct Options {
    switches: Cell<Switches>,
    /// `SO_SNDBUF`, as it is reported.
    pub send_buffer: Cell<usize>,
    /// `SO_RCVBUF`, as it is reported.
    pub receive_buffer: Cell<usize>,
    /// Whether the guest chose the sizes (`SOCK_SNDBUF_LOCK` is bit 0, `SOCK_RCVBUF_LOCK` bit 1).
    pub locked_buffers: Cell<u32>,
    /// `SO_RCVTIMEO` in nanoseconds; 0 is no limit.
    pub receive_timeout: Cell<u64>,
    /// `SO_SNDTIMEO` in nanoseconds; 0 is no limit.
    pub send_timeout: Cell<u64>,
    /// `SO_RCVLOWAT`.
    pub receive_low_water: Cell<usize>,
    /// `SO_LINGER`.
    pub linger: Cell<Linger>,
    /// `SO_PEEK_OFF`; -1 if it is off.
    pub peek_offset: Cell<i32>,
    /// `SO_BINDTODEVICE`.
    pub device: RefCell<Vec<u8>>,
    priority: Cell<i32>,
    mark: Cell<i32>,
    timestamping: Cell<i32>,
    busy_poll: Cell<i32>,
    pacing_rate: Cell<u64>,
    incoming_cpu: Cell<i32>,
    transmit_rehash: Cell<i32>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            switches: Cell::default(),
            send_buffer: Cell::new(DEFAULT_BUFFER),
            receive_buffer: Cell::new(DEFAULT_BUFFER),
            locked_buffers: Cell::new(0),
            receive_timeout: Cell::new(0),
            send_timeout: Cell::new(0),
            receive_low_water: Cell::new(1),
            linger: Cell::default(),
            peek_offset: Cell::new(-1),
            device: RefCell::default(),
            priority: Cell::new(0),
            mark: Cell::new(0),
            timestamping: Cell::new(0),
            busy_poll: Cell::new(0),
            pacing_rate: Cell::new(u64::MAX),
            incoming_cpu: Cell::new(-1),
            transmit_rehash: Cell::new(1),
        }
    }
}

impl Options {
    /// Whether this option is on.
    pub fn is_on(&self, switch: Switches) -> bool {
        self.switches.get().contains(switch)
    }

    /// Turns options on or off.
    pub fn switch(&self, switch: Switches, on: bool) {
        let mut switches = self.switches.get();
        switches.set(switch, on);
        self.switches.set(switches);
    }

    /// A new connection starts with the options of its listener.
    pub fn inherit(&self, from: &Self) {
        self.switches.set(from.switches.get());
        self.send_buffer.set(from.send_buffer.get());
        self.receive_buffer.set(from.receive_buffer.get());
        self.locked_buffers.set(from.locked_buffers.get());
        self.receive_timeout.set(from.receive_timeout.get());
        self.send_timeout.set(from.send_timeout.get());
        self.receive_low_water.set(from.receive_low_water.get());
        self.linger.set(from.linger.get());
        self.priority.set(from.priority.get());
        self.mark.set(from.mark.get());
    }
}

/// The option's value as a plain number: the first four bytes, `EINVAL` if there are fewer.
pub fn int_value(value: &[u8]) -> SysResult<i32> {
    read_value(value)
}

/// The option's value as a `T`; `EINVAL` if it is too short.
pub fn read_value<T: FromBytes>(value: &[u8]) -> SysResult<T> {
    T::read_from_prefix(value).map(|(value, _)| value).map_err(|_| Errno::EINVAL)
}

/// A number as an option's value.
pub fn int_bytes(value: i32) -> Vec<u8> {
    value.to_ne_bytes().to_vec()
}

/// A structure as an option's value.
pub fn bytes_of<T: IntoBytes + Immutable>(value: &T) -> Vec<u8> {
    value.as_bytes().to_vec()
}

/// A length as an option's value.
pub fn length_bytes(length: usize) -> Vec<u8> {
    int_bytes(i32::try_from(length).unwrap_or(i32::MAX))
}

fn switch_of(name: i32) -> Option<Switches> {
    Some(match name {
        so::DEBUG => Switches::DEBUG,
        so::REUSEADDR => Switches::REUSEADDR,
        so::DONTROUTE => Switches::DONTROUTE,
        so::BROADCAST => Switches::BROADCAST,
        so::KEEPALIVE => Switches::KEEPALIVE,
        so::OOBINLINE => Switches::OOBINLINE,
        so::NO_CHECK => Switches::NO_CHECK,
        so::REUSEPORT => Switches::REUSEPORT,
        so::PASSCRED => Switches::PASSCRED,
        so::PASSSEC => Switches::PASSSEC,
        so::RXQ_OVFL => Switches::RXQ_OVFL,
        so::SELECT_ERR_QUEUE => Switches::SELECT_ERR_QUEUE,
        so::ZEROCOPY => Switches::ZEROCOPY,
        so::PASSPIDFD => Switches::PASSPIDFD,
        so::RCVMARK => Switches::RCVMARK,
        _ => return None,
    })
}

/// Sets an option of level `SOL_SOCKET`. `ENOPROTOOPT` for those that Linux does not have, and
/// for those that a family must handle itself.
pub fn set(common: &Common, caller: &dyn Caller, name: i32, value: &[u8]) -> SysResult<()> {
    let options = &common.options;
    if name == so::BINDTODEVICE {
        return set_device(common, value);
    }
    let number = int_value(value)?;
    if let Some(switch) = switch_of(name) {
        if name == so::DEBUG && number != 0 && !caller.credentials().has(cap::NET_ADMIN) {
            return Err(Errno::EACCES);
        }
        options.switch(switch, number != 0);
        return Ok(());
    }
    match name {
        so::TYPE | so::PROTOCOL | so::DOMAIN | so::ERROR | so::ACCEPTCONN => {
            Err(Errno::ENOPROTOOPT)
        }
        so::SNDBUF | so::RCVBUF | so::SNDBUFFORCE | so::RCVBUFFORCE => {
            set_buffer(options, caller, name, number)
        }
        so::RCVTIMEO | so::SNDTIMEO | so::RCVTIMEO_NEW | so::SNDTIMEO_NEW => {
            set_timeout(options, name, value)
        }
        so::LINGER => {
            let mut linger: Linger = read_value(value)?;
            linger.on = i32::from(linger.on != 0);
            options.linger.set(linger);
            Ok(())
        }
        so::RCVLOWAT => {
            let number = if number < 0 { i32::MAX } else { number };
            options.receive_low_water.set(usize::try_from(number).unwrap_or(1).max(1));
            Ok(())
        }
        so::TIMESTAMP | so::TIMESTAMP_NEW | so::TIMESTAMPNS | so::TIMESTAMPNS_NEW => {
            options.switch(Switches::TIMESTAMP | Switches::TIMESTAMPNS, false);
            let nanos = matches!(name, so::TIMESTAMPNS | so::TIMESTAMPNS_NEW);
            let which = if nanos { Switches::TIMESTAMPNS } else { Switches::TIMESTAMP };
            options.switch(which, number != 0);
            let new = matches!(name, so::TIMESTAMP_NEW | so::TIMESTAMPNS_NEW);
            options.switch(Switches::TIMESTAMP_NEW, new);
            Ok(())
        }
        so::PEEK_OFF => {
            options.peek_offset.set(number.max(-1));
            Ok(())
        }
        _ => set_stored(options, caller, name, number, value),
    }
}

/// Options that are kept and reported, and have no effect where there are no packets.
fn set_stored(
    options: &Options,
    caller: &dyn Caller,
    name: i32,
    number: i32,
    value: &[u8],
) -> SysResult<()> {
    match name {
        so::PRIORITY => {
            if !(0..=6).contains(&number) && !caller.credentials().has(cap::NET_ADMIN) {
                return Err(Errno::EPERM);
            }
            options.priority.set(number);
        }
        so::MARK => {
            if !caller.credentials().has(cap::NET_ADMIN) {
                return Err(Errno::EPERM);
            }
            options.mark.set(number);
        }
        so::TIMESTAMPING | so::TIMESTAMPING_NEW => options.timestamping.set(number),
        so::BUSY_POLL => {
            if number < 0 {
                return Err(Errno::EINVAL);
            }
            options.busy_poll.set(number);
        }
        so::MAX_PACING_RATE => {
            let rate = read_value::<u64>(value);
            options.pacing_rate.set(rate.unwrap_or(u64::from(number.cast_unsigned())));
        }
        so::INCOMING_CPU => options.incoming_cpu.set(number),
        so::TXREHASH => options.transmit_rehash.set(number),
        so::PASSRIGHTS => options.switch(Switches::NO_PASSRIGHTS, number == 0),
        so::LOCK_FILTER => options.switch(Switches::LOCK_FILTER, number != 0),
        so::BUF_LOCK => {
            if number & !3 != 0 {
                return Err(Errno::EINVAL);
            }
            options.locked_buffers.set(number.cast_unsigned());
        }
        // Linux ignores it, and says so.
        so::BSDCOMPAT => {}
        so::ATTACH_FILTER => return Err(Errno::EPERM),
        so::DETACH_FILTER => return Err(Errno::ENOENT),
        _ => return Err(Errno::ENOPROTOOPT),
    }
    Ok(())
}

fn set_buffer(options: &Options, caller: &dyn Caller, name: i32, number: i32) -> SysResult<()> {
    let forced = matches!(name, so::SNDBUFFORCE | so::RCVBUFFORCE);
    if forced && !caller.credentials().has(cap::NET_ADMIN) {
        return Err(Errno::EPERM);
    }
    let limit = if forced { MAX_BUFFER_PRIVILEGED } else { MAX_BUFFER };
    // A negative number counts as a huge one, unless the caller is privileged.
    let wanted = match usize::try_from(number) {
        Ok(wanted) => wanted.min(limit),
        Err(_) if forced => 0,
        Err(_) => limit,
    };
    let lock = options.locked_buffers.get();
    if matches!(name, so::SNDBUF | so::SNDBUFFORCE) {
        options.send_buffer.set((wanted * 2).max(MIN_SEND_BUFFER));
        options.locked_buffers.set(lock | 1);
    } else {
        options.receive_buffer.set((wanted * 2).max(MIN_RECEIVE_BUFFER));
        options.locked_buffers.set(lock | 2);
    }
    Ok(())
}

fn set_timeout(options: &Options, name: i32, value: &[u8]) -> SysResult<()> {
    let time: Timeval = read_value(value)?;
    if !(0..1_000_000).contains(&time.tv_usec) {
        return Err(Errno::EDOM);
    }
    let cell = if matches!(name, so::RCVTIMEO | so::RCVTIMEO_NEW) {
        &options.receive_timeout
    } else {
        &options.send_timeout
    };
    // Linux takes a negative time for one that has passed; the next wait then ends at once.
    cell.set(if time.tv_sec < 0 { 1 } else { time.to_nanos().ok_or(Errno::EDOM)? });
    Ok(())
}

fn set_device(common: &Common, value: &[u8]) -> SysResult<()> {
    let end = value.iter().position(|&byte| byte == 0).unwrap_or(value.len());
    let name = value.get(..end.min(INTERFACE_NAME_MAX - 1)).unwrap_or_default();
    if !name.is_empty() && name != b"lo" {
        return Err(Errno::ENODEV);
    }
    *common.options.device.borrow_mut() = name.to_vec();
    Ok(())
}

/// Reads an option of level `SOL_SOCKET`.
pub fn get(common: &Common, name: i32) -> SysResult<Vec<u8>> {
    let options = &common.options;
    if let Some(switch) = switch_of(name) {
        return Ok(int_bytes(i32::from(options.is_on(switch))));
    }
    Ok(match name {
        so::TYPE => int_bytes(common.kind.cast_signed()),
        so::PROTOCOL => int_bytes(common.protocol.into()),
        so::DOMAIN => int_bytes(common.domain.into()),
        so::ERROR => int_bytes(common.take_error().err().map_or(0, |errno| errno.code().into())),
        so::SNDBUF => length_bytes(options.send_buffer.get()),
        so::RCVBUF => length_bytes(options.receive_buffer.get()),
        so::RCVTIMEO | so::RCVTIMEO_NEW => timeout_bytes(options.receive_timeout.get()),
        so::SNDTIMEO | so::SNDTIMEO_NEW => timeout_bytes(options.send_timeout.get()),
        so::RCVLOWAT => length_bytes(options.receive_low_water.get()),
        so::SNDLOWAT => int_bytes(1),
        so::LINGER => bytes_of(&options.linger.get()),
        so::PEEK_OFF => int_bytes(options.peek_offset.get()),
        so::BINDTODEVICE => device_bytes(options),
        so::BINDTOIFINDEX => int_bytes(i32::from(!options.device.borrow().is_empty())),
        so::ACCEPTCONN | so::BSDCOMPAT => int_bytes(0),
        so::COOKIE => common.inode.to_ne_bytes().to_vec(),
        so::NETNS_COOKIE => 1_u64.to_ne_bytes().to_vec(),
        _ => return get_stored(options, name),
    })
}

fn get_stored(options: &Options, name: i32) -> SysResult<Vec<u8>> {
    let new = options.is_on(Switches::TIMESTAMP_NEW);
    Ok(int_bytes(match name {
        so::TIMESTAMP => i32::from(options.is_on(Switches::TIMESTAMP) && !new),
        so::TIMESTAMP_NEW => i32::from(options.is_on(Switches::TIMESTAMP) && new),
        so::TIMESTAMPNS => i32::from(options.is_on(Switches::TIMESTAMPNS) && !new),
        so::TIMESTAMPNS_NEW => i32::from(options.is_on(Switches::TIMESTAMPNS) && new),
        so::PRIORITY => options.priority.get(),
        so::MARK => options.mark.get(),
        so::BUSY_POLL => options.busy_poll.get(),
        so::INCOMING_CPU => options.incoming_cpu.get(),
        so::INCOMING_NAPI_ID => 0,
        so::TXREHASH => options.transmit_rehash.get(),
        so::PASSRIGHTS => i32::from(!options.is_on(Switches::NO_PASSRIGHTS)),
        so::LOCK_FILTER => i32::from(options.is_on(Switches::LOCK_FILTER)),
        so::BUF_LOCK => options.locked_buffers.get().cast_signed(),
        so::BPF_EXTENSIONS => 64,
        so::ATTACH_FILTER => return Ok(Vec::new()),
        so::MAX_PACING_RATE => {
            return Ok(length_bytes(usize::try_from(options.pacing_rate.get()).unwrap_or(0)));
        }
        so::TIMESTAMPING | so::TIMESTAMPING_NEW => {
            return Ok(bytes_of(&[options.timestamping.get(), 0]));
        }
        _ => return Err(Errno::ENOPROTOOPT),
    }))
}

fn device_bytes(options: &Options) -> Vec<u8> {
    let mut name = options.device.borrow().clone();
    if !name.is_empty() {
        name.push(0);
    }
    name
}

fn timeout_bytes(nanos: u64) -> Vec<u8> {
    // Rounded as Linux does, which keeps jiffies of a few milliseconds.
    const JIFFY: u64 = NANOS_PER_SEC / 250;
    bytes_of(&Timeval::from_nanos(nanos.div_ceil(JIFFY).saturating_mul(JIFFY)))
}
