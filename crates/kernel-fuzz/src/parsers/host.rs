//! What processes of one sandbox tell each other: orders and news, and the line to the porter.

use std::os::fd::AsFd;

use backend_kernel::control::{self, News, Order};
use egress::protocol::{self, Answer, Request};

/// Reads lines of both directions.
pub fn control(bytes: &[u8]) {
    let mut orders = bytes;
    while let Ok(Some(order)) = control::receive::<Order>(&mut orders) {
        let _ = order;
    }
    let mut news = bytes;
    while let Ok(Some(news)) = control::receive::<News>(&mut news) {
        // What was understood can be said again.
        let (ours, theirs) = match std::os::unix::net::UnixStream::pair() {
            Ok(pair) => pair,
            Err(_) => return,
        };
        if ours.set_nonblocking(true).is_err() || control::send(&ours, &news).is_err() {
            return; // longer than a socket holds
        }
        drop(ours);
        let again = control::receive::<News>(&mut std::io::BufReader::new(theirs));
        assert_eq!(again.ok().flatten(), Some(news), "news changed on its way");
    }
}

/// Reads packets of both directions of the line to the porter.
pub fn porter(bytes: &[u8]) {
    let Ok((ours, theirs)) = protocol::pair() else { return };
    for _ in 0..2 {
        if rustix::net::send(&ours, bytes, rustix::net::SendFlags::DONTWAIT).is_err() {
            return; // longer than a packet
        }
    }
    let _ = protocol::receive::<Request>(theirs.as_fd());
    let _ = protocol::receive::<Answer>(theirs.as_fd());
}
