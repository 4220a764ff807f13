//! What the host says of a guest's process, whose name may be anything.

use host_sys::{HostProcessState, cpu_ticks};

/// What the host says after the name.
const REST: &str = "State:\tR (running)\nPid:\t70\nNSpid:\t70\t3\nVmRSS:\t  12 kB\nRssAnon:\t  4 kB\n\
                    VmPTE:\t  8 kB\nThreads:\t4\n";

/// A process with these bytes as its name is understood like any other, and any text is read.
///
/// # Panics
///
/// If a name changes what is said of the process.
pub fn status(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = HostProcessState::parse(&text);
    let _ = cpu_ticks(&text);
    // The host lets a name have 15 bytes, and escapes line ends and backslashes in `status`.
    let name: String = text.chars().take(15).filter(|it| *it != '\0').collect();
    let escaped = name.replace('\\', "\\\\").replace('\n', "\\n");
    let named = HostProcessState::parse(&format!("Name:\t{escaped}\n{REST}"));
    assert_eq!(named, HostProcessState::parse(REST), "{name:?}");
    // It does not in `stat`.
    let stat = format!("70 ({name}) R 1 70 70 0 -1 4194304 1 0 0 0 17 19 0 0 20 0 1 0\n");
    assert_eq!(cpu_ticks(&stat), (17, 19), "{name:?}");
}
