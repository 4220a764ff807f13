//! What has happened on a network, as `/proc/net/snmp` tells it.
//!
//! Only what can happen here is counted: nothing is lost, sent again or taken apart on the way.

use std::cell::Cell;
use std::fmt::Write;

use crate::inet::TcpSocket;
use crate::{Network, SocketOps};

/// A number that grows.
#[derive(Debug, Default)]
pub struct Count(Cell<u64>);

impl Count {
    /// Counts one more.
    pub fn add(&self) {
        self.0.set(self.0.get().wrapping_add(1));
    }
}

/// What is counted of datagrams.
#[derive(Debug, Default)]
pub struct Datagrams {
    /// They were sent.
    pub sent: Count,
    /// They came to a socket.
    pub received: Count,
    /// Nobody was bound where they went.
    pub unclaimed: Count,
    /// The receiver had no room.
    pub dropped: Count,
}

/// What is counted of a network.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections that were made by connecting.
    pub active_opens: Count,
    /// Connections that were made by listening.
    pub passive_opens: Count,
    /// Connections that were refused.
    pub failed_opens: Count,
    /// Connections that were broken.
    pub resets: Count,
    /// Pieces that were sent on connections.
    pub segments: Count,
    /// UDP.
    pub udp: Datagrams,
    /// UDP-Lite.
    pub udplite: Datagrams,
}

/// A protocol with the names of its numbers and these, in `names`' order; others are 0.
fn section(text: &mut String, protocol: &str, names: &str, known: &[(&str, i128)]) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{protocol}: {names}\n{protocol}:");
    for name in names.split(' ') {
        let number = known.iter().find(|known| known.0 == name).map_or(0, |known| known.1);
        let _ = write!(text, " {number}");
    }
    text.push('\n');
}

const IP: &str = "Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams InUnknownProtos InDiscards \
                  InDelivers OutRequests OutDiscards OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs ReasmFails FragOKs FragFails \
                  FragCreates OutTransmits";
const ICMP: &str = "InMsgs InErrors InCsumErrors InDestUnreachs InTimeExcds InParmProbs InSrcQuenchs InRedirects InEchos InEchoReps \
                    InTimestamps InTimestampReps InAddrMasks InAddrMaskReps OutMsgs OutErrors OutRateLimitGlobal OutRateLimitHost \
                    OutDestUnreachs OutTimeExcds OutParmProbs OutSrcQuenchs OutRedirects OutEchos OutEchoReps OutTimestamps \
                    OutTimestampReps OutAddrMasks OutAddrMaskReps";
const TCP: &str = "RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs \
                   RetransSegs InErrs OutRsts InCsumErrors";
const UDP: &str = "InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors";

/// `/proc/net/snmp`.
pub fn snmp(network: &Network) -> String {
    let counts = &network.counts;
    let number = |count: &Count| i128::from(count.0.get());
    let is_established = |socket: &dyn SocketOps| {
        socket.as_any().downcast_ref::<TcpSocket>().is_some_and(|tcp| tcp.shown_state().0 == 1)
    };
    let established = network.sockets().iter().filter(|one| is_established(&***one)).count();
    let packets =
        number(&counts.segments) + number(&counts.udp.sent) + number(&counts.udplite.sent);
    let unclaimed = number(&counts.udp.unclaimed) + number(&counts.udplite.unclaimed);
    let mut text = String::new();
    let carried =
        ["InReceives", "InDelivers", "OutRequests", "OutTransmits"].map(|it| (it, packets));
    let ip = [&[("Forwarding", 2), ("DefaultTTL", 64)], &carried[..]].concat();
    section(&mut text, "Ip", IP, &ip);
    let told = ["InMsgs", "InDestUnreachs", "OutMsgs", "OutDestUnreachs"].map(|it| (it, unclaimed));
    section(&mut text, "Icmp", ICMP, &told);
    let tcp = [
        ("RtoAlgorithm", 1),
        ("RtoMin", 200),
        ("RtoMax", 120_000),
        ("MaxConn", -1),
        ("ActiveOpens", number(&counts.active_opens)),
        ("PassiveOpens", number(&counts.passive_opens)),
        ("AttemptFails", number(&counts.failed_opens)),
        ("EstabResets", number(&counts.resets)),
        ("CurrEstab", i128::try_from(established).unwrap_or(0)),
        ("InSegs", number(&counts.segments)),
        ("OutSegs", number(&counts.segments)),
        ("OutRsts", number(&counts.resets)),
    ];
    section(&mut text, "Tcp", TCP, &tcp);
    for (protocol, datagrams) in [("Udp", &counts.udp), ("UdpLite", &counts.udplite)] {
        let known = [
            ("InDatagrams", number(&datagrams.received)),
            ("NoPorts", number(&datagrams.unclaimed)),
            ("InErrors", number(&datagrams.dropped)),
            ("OutDatagrams", number(&datagrams.sent)),
            ("RcvbufErrors", number(&datagrams.dropped)),
        ];
        section(&mut text, protocol, UDP, &known);
    }
    text
}
