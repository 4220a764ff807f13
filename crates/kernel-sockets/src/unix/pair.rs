//! `socketpair(2)`.

use std::rc::Rc;

use linux_abi::SysResult;

use super::UnixSocket;
use super::socket::{Identity, State};
use crate::{Caller, Network};

/// Two sockets of type `kind` that are connected to each other.
pub fn pair(
    network: &Rc<Network>,
    caller: &dyn Caller,
    kind: u32,
) -> SysResult<(Rc<UnixSocket>, Rc<UnixSocket>)> {
    let first = UnixSocket::new(network, kind)?;
    let second = UnixSocket::new(network, kind)?;
    let identity = Identity::of(caller);
    for (socket, other) in [(&first, &second), (&second, &first)] {
        *socket.peer.borrow_mut() = Some(Rc::clone(other));
        *socket.peer_identity.borrow_mut() = Some(identity.clone());
        socket.state.set(State::Connected);
    }
    Ok((first, second))
}
