//! Pages that are made from code.

use std::fmt::Write;

use kernel_syscalls::{SYSCALLS, coverage};

/// A page.
pub struct Page {
    /// Where it is, relative to the project.
    pub path: &'static str,
    /// What has to be in it.
    pub text: String,
}

/// Every page.
pub fn all() -> Vec<Page> {
    vec![
        Page { path: "docs/host-surface.md", text: crate::host_surface::page() },
        Page { path: "docs/syscalls.md", text: syscalls() },
    ]
}

fn syscalls() -> String {
    let counts = coverage();
    let mut page = String::from(
        "<!-- Made from crates/kernel-syscalls/src/table.rs by `cargo xtask docs`. -->\n\n\
         # System calls\n\n\
         Every system call of Linux on x86-64, and how well Belljar's kernel supports it.\n\n\
         | status | calls | meaning |\n|---|--:|---|\n",
    );
    let rows = [
        ("full", counts.full, "behaves as on Linux for every argument"),
        ("shim", counts.shim, "the same, answered in the guest process without the kernel"),
        ("partial", counts.partial, "works; the note names what does not"),
        ("stub", counts.stub, "answers without effect; the note says why that is harmless"),
        ("refused", counts.refused, "refused on purpose; the note says why"),
        ("missing", counts.missing, "not written yet; answers `ENOSYS`"),
    ];
    for (status, calls, meaning) in rows {
        // Writing to a string does not fail.
        let _ = writeln!(page, "| {status} | {calls} | {meaning} |");
    }
    let _ = writeln!(
        page,
        "| | {} | |\n\n| nr | call | status | note |\n|--:|---|---|---|",
        counts.total
    );
    for call in SYSCALLS {
        let answers = call.status.refusal().map(|errno| format!(" (`{errno}`)"));
        let _ = writeln!(
            page,
            "| {} | `{}` | {}{} | {} |",
            call.number,
            call.signature(),
            call.status.word(),
            answers.unwrap_or_default(),
            call.status.note().replace('|', "\\|")
        );
    }
    page
}
