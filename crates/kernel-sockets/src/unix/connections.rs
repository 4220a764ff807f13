//! How Unix sockets find each other: `bind`, `listen`, `connect`, `accept`.

use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use kernel_core::landlock::scope;
use kernel_core::wait::PollEvents;
use kernel_files::Location;
use linux_abi::sockets::{SOMAXCONN, af, sock};
use linux_abi::{Errno, SysResult};

use super::UnixSocket;
use super::name::{ParsedName, UnixName};
use super::socket::{Identity, State};
use crate::common::{Shutdown, check_room};
use crate::options::Switches;
use crate::{Caller, SocketOps};

/// How many packets wait in a datagram socket before its senders do (Linux:
/// `net.unix.max_dgram_qlen`).
pub(super) const MAX_DATAGRAMS: usize = 10;

/// Hangs on the inode of a socket's name.
struct BoundSocket(Weak<UnixSocket>);

/// The connections that wait to be accepted.
#[derive(Default)]
pub(super) struct Backlog {
    pub(super) maximum: usize,
    pub(super) waiting: VecDeque<Rc<UnixSocket>>,
}

impl UnixSocket {
    pub(super) fn bind_to(&self, caller: &dyn Caller, name: &[u8]) -> SysResult<()> {
        match UnixName::parse(name)? {
            ParsedName::Choose => self.autobind(),
            ParsedName::Name(_) if self.name.borrow().is_some() => Err(Errno::EINVAL),
            ParsedName::Name(UnixName::Abstract(name)) => self.bind_abstract(name),
            ParsedName::Name(UnixName::Path(path)) => {
                let location = caller.create_socket_node(&path).map_err(|errno| match errno {
                    Errno::EEXIST => Errno::EADDRINUSE,
                    errno => errno,
                })?;
                let bound = Rc::new(BoundSocket(Weak::clone(&self.me)));
                location.inode()?.attachments().set(bound);
                *self.node.borrow_mut() = Some(location);
                *self.name.borrow_mut() = Some(UnixName::Path(path));
                Ok(())
            }
        }
    }

    fn bind_abstract(&self, name: Vec<u8>) -> SysResult<()> {
        self.common().network.abstract_names.add(&name, Weak::clone(&self.me))?;
        *self.name.borrow_mut() = Some(UnixName::Abstract(name));
        Ok(())
    }

    pub(super) fn autobind(&self) -> SysResult<()> {
        if self.name.borrow().is_some() {
            return Ok(());
        }
        let name = self.common().network.abstract_names.choose()?;
        self.bind_abstract(name)
    }

    /// Somebody who wants credentials must be answerable to.
    pub(super) fn autobind_if_needed(&self) -> SysResult<()> {
        if self.common().options.is_on(Switches::PASSCRED) { self.autobind() } else { Ok(()) }
    }

    /// Gives the name up.
    pub(super) fn unbind(&self) {
        let name = self.name.borrow();
        // A connection has the name of its listener, but did not bind it.
        if let Some(UnixName::Abstract(name)) = &*name
            && let Some(owner) = self.common().network.abstract_names.find(name)
            && std::ptr::eq(&raw const *owner, self)
        {
            self.common().network.abstract_names.remove(name);
        }
        if let Some(node) = self.node.take()
            && let Ok(inode) = node.inode()
        {
            inode.attachments().remove::<BoundSocket>();
        }
    }

    pub(super) fn find(&self, caller: &dyn Caller, name: &UnixName) -> SysResult<Rc<Self>> {
        let found = match name {
            UnixName::Abstract(name) => {
                let found = self.common().network.abstract_names.find(name);
                if let (Some(found), Some(domain)) = (&found, &caller.credentials().landlock)
                    && !domain.may_reach(
                        found.common().landlock.borrow().as_deref(),
                        scope::ABSTRACT_UNIX_SOCKET,
                    )
                {
                    return Err(Errno::EPERM);
                }
                found
            }
            UnixName::Path(path) => bound_at(&caller.find_socket_node(path)?)?,
        };
        let found = found.filter(|found| found.state.get() != State::Released);
        let found = found.ok_or(Errno::ECONNREFUSED)?;
        if found.common().kind != self.common().kind {
            return Err(Errno::EPROTOTYPE);
        }
        Ok(found)
    }

    pub(super) fn start_listening(&self, caller: &dyn Caller, backlog: u32) -> SysResult<()> {
        if self.common().kind == sock::DGRAM {
            return Err(Errno::EOPNOTSUPP);
        }
        let state = self.state.get();
        if self.name.borrow().is_none() || !matches!(state, State::Idle | State::Listening) {
            return Err(Errno::EINVAL);
        }
        self.backlog.borrow_mut().maximum = backlog.min(SOMAXCONN) as usize;
        *self.identity.borrow_mut() = Some(Identity::of(caller));
        // Whoever asks a listener for its peer is told of the listener itself.
        *self.peer_identity.borrow_mut() = Some(Identity::of(caller));
        self.state.set(State::Listening);
        self.wake_waiting_senders();
        Ok(())
    }

    pub(super) fn accept_next(&self) -> SysResult<Rc<Self>> {
        if self.common().kind == sock::DGRAM {
            return Err(Errno::EOPNOTSUPP);
        }
        if self.state.get() != State::Listening {
            return Err(Errno::EINVAL);
        }
        let next = self.backlog.borrow_mut().waiting.pop_front();
        match next {
            Some(accepted) => {
                accepted.is_accepted.set(true);
                for switch in [Switches::PASSCRED, Switches::PASSSEC, Switches::PASSPIDFD] {
                    accepted.common().options.switch(switch, self.common().options.is_on(switch));
                }
                self.wake_waiting_senders();
                Ok(accepted)
            }
            None if self.common().shutdown().contains(Shutdown::RECEIVE) => Err(Errno::EINVAL),
            None => Err(Errno::EAGAIN),
        }
    }

    pub(super) fn connect_to(&self, caller: &dyn Caller, name: &[u8]) -> SysResult<()> {
        if self.common().kind == sock::DGRAM {
            return self.connect_datagrams(caller, name);
        }
        let ParsedName::Name(name) = UnixName::parse(name)? else { return Err(Errno::EINVAL) };
        self.autobind_if_needed()?;
        let listener = self.find(caller, &name)?;
        if listener.state.get() != State::Listening
            || listener.common().shutdown().contains(Shutdown::RECEIVE)
        {
            return Err(Errno::ECONNREFUSED);
        }
        let is_full = {
            let backlog = listener.backlog.borrow();
            backlog.waiting.len() > backlog.maximum
        };
        if is_full {
            listener.add_waiting_sender(self);
            return Err(Errno::EAGAIN);
        }
        match self.state.get() {
            State::Idle => {}
            State::Connected => return Err(Errno::EISCONN),
            State::Listening | State::Released => return Err(Errno::EINVAL),
        }
        self.join(caller, &listener)
    }

    /// Makes the other end of a connection and lets it wait to be accepted.
    fn join(&self, caller: &dyn Caller, listener: &Self) -> SysResult<()> {
        let me = self.me.upgrade().ok_or(Errno::EINVAL)?;
        check_room(1)?;
        let other = Self::new(&self.common().network, self.common().kind)?;
        other.is_accepted.set(false);
        other.common().owner.set(listener.common().owner.get());
        *other.name.borrow_mut() = listener.name.borrow().clone();
        *other.peer.borrow_mut() = Some(me);
        *other.peer_identity.borrow_mut() = Some(Identity::of(caller));
        other.state.set(State::Connected);
        *self.peer_identity.borrow_mut() = listener.identity.borrow().clone();
        *self.peer.borrow_mut() = Some(Rc::clone(&other));
        self.state.set(State::Connected);
        self.common().reset_shutdown();
        listener.backlog.borrow_mut().waiting.push_back(other);
        listener.common().queue.wake_one(PollEvents::READABLE);
        self.common().queue.wake(PollEvents::WRITABLE);
        Ok(())
    }

    fn connect_datagrams(&self, caller: &dyn Caller, name: &[u8]) -> SysResult<()> {
        let family = name.first_chunk::<2>().ok_or(Errno::EINVAL)?;
        if u16::from_ne_bytes(*family) == af::UNSPEC {
            self.disconnect_datagrams(None);
            self.state.set(State::Idle);
            return Ok(());
        }
        let ParsedName::Name(name) = UnixName::parse(name)? else { return Err(Errno::EINVAL) };
        self.autobind_if_needed()?;
        let other = self.find(caller, &name)?;
        if !other.takes_datagrams_of(self) {
            return Err(Errno::EPERM);
        }
        self.disconnect_datagrams(Some(&other));
        *self.peer.borrow_mut() = Some(other);
        self.state.set(State::Connected);
        self.common().queue.wake(PollEvents::WRITABLE);
        Ok(())
    }

    /// Whether this datagram socket is connected to nobody else.
    pub(super) fn takes_datagrams_of(&self, sender: &Self) -> bool {
        self.peer.borrow().as_ref().is_none_or(|peer| std::ptr::eq(&raw const **peer, sender))
    }

    /// Leaves the old peer, unless it is also the new one.
    fn disconnect_datagrams(&self, new: Option<&Rc<Self>>) {
        let Some(old) = self.peer.take() else { return };
        if new.is_some_and(|new| Rc::ptr_eq(new, &old)) {
            return;
        }
        // What the old peer sent is not for the new one; and if it was connected to us only, it
        // must hear that this is over.
        self.empty();
        let was_ours =
            old.peer.borrow().as_ref().is_some_and(|peer| std::ptr::eq(&raw const **peer, self));
        if was_ours && old.state.get() != State::Released {
            old.common().set_error(Errno::ECONNRESET);
        }
    }
}

fn bound_at(location: &Location) -> SysResult<Option<Rc<UnixSocket>>> {
    let bound = location.inode()?.attachments().get::<BoundSocket>();
    Ok(bound.and_then(|bound| bound.0.upgrade()))
}
