//! Questions for names.

use std::net::IpAddr;

use egress::dns::{MAX_MESSAGE, Outcome, parse};

/// Reads a question and answers it in every way.
pub fn message(bytes: &[u8]) {
    let Some(query) = parse(bytes) else { return };
    let addresses: Vec<IpAddr> = (0..40).map(|n| IpAddr::from([10, 0, 0, n])).collect();
    let outcomes =
        [Outcome::Addresses(addresses), Outcome::NoSuchName, Outcome::Blocked, Outcome::Failed];
    for outcome in &outcomes {
        let room = query.udp_size();
        for max in [room, MAX_MESSAGE] {
            let answer = query.answer(outcome, max);
            assert!(answer.len() <= max.max(bytes.len()), "an answer that does not fit");
        }
    }
    let _ = query.wants_addresses();
}
