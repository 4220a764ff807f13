//! Unix sockets.

use kernel_sockets::Network;

const AF_UNIX: u16 = 1;
const SOL_SOCKET: i32 = 1;
const SO_ACCEPTCONN: i32 = 30;

/// The states that are shown: not connected, and connected.
const UNCONNECTED: u8 = 1;
const CONNECTED: u8 = 3;

pub(super) fn lines(network: &Network) -> String {
    let mut text = String::new();
    for socket in network.sockets() {
        let common = socket.common();
        if common.domain != AF_UNIX {
            continue;
        }
        let listens = socket
            .get_option(SOL_SOCKET, SO_ACCEPTCONN)
            .is_ok_and(|value| value.first().is_some_and(|&byte| byte != 0));
        let state = if socket.peer_name().is_ok() { CONNECTED } else { UNCONNECTED };
        let flags = if listens { 0x1_0000 } else { 0 };
        text.push_str(&format!(
            "{:016x}: 00000002 00000000 {flags:08X} {:04X} {state:02X} {:>5}",
            0, common.kind, common.inode
        ));
        let name = socket.local_name().unwrap_or_default();
        let path = name.get(2..).unwrap_or_default();
        if !path.is_empty() {
            text.push_str(&format!(" {}", shown_path(path)));
        }
        text.push('\n');
    }
    text
}

/// A path without its zero; an abstract name with `@` for each zero.
fn shown_path(path: &[u8]) -> String {
    let is_abstract = path.first() == Some(&0);
    let path = if is_abstract { path } else { path.strip_suffix(b"\0").unwrap_or(path) };
    String::from_utf8_lossy(path).replace('\0', "@")
}
