//! The page about the host calls that a sandbox can make.

use std::fmt::Write;

use host_sys::seccomp::{Rule, Test};

/// Somebody else's filter: who, how many calls, and where that was counted.
struct Other {
    who: &'static str,
    calls: u32,
    counted: &'static str,
}

/// How many calls others let through on x86-64, whatever the arguments. Counted by us in their sources.
const OTHERS: [Other; 5] = [
    Other {
        who: "Firecracker, all threads of the virtual machine monitor",
        calls: 50,
        counted: "`resources/seccomp/x86_64-unknown-linux-musl.json` at 81b38b9 (2026-08-21): 50 for the main thread, 31 \
                  and 27 of these for the others; the guest's own kernel is behind the processor's border",
    },
    Other {
        who: "gVisor, its kernel (Sentry), without files and network of the host",
        calls: 79,
        counted: "`runsc/boot/filter/config` and `pkg/sentry/platform/systrap/filters.go` at 3c5eee1 (2026-08-21): 71 in \
                  the common list, one for its own process, 3 of the control socket, and those that systrap adds",
    },
    Other {
        who: "gVisor, the same with files of the host opened by itself (the default)",
        calls: 94,
        counted: "the same, with `hostFilesystemFilters`; 101 with the host's network as well",
    },
    Other {
        who: "a container with Docker's default profile, no further capability",
        calls: 308,
        counted: "`seccomp/default.json` of moby/profiles at cd3bed8 (2026-06-30): the names that x86-64 has",
    },
    Other { who: "a process without a filter", calls: 375, counted: "Linux 6.18 on x86-64, about" },
];

/// The page.
pub fn page() -> String {
    let (guests, kernel) = (guest_process::filter::RULES, backend_kernel::kernel_filter::RULES);
    let mut page = String::from(
        "<!-- Made from crates/guest-process/src/filter.rs and crates/backend-kernel/src/kernel_filter.rs by \
         `cargo xtask docs`. -->\n\n\
         # Host surface\n\n\
         Every host call that a sandbox can make while a guest runs. Any other call ends the process that tries it; other \
         arguments are refused in a guest process and end the kernel process. A call from guest code never reaches the host \
         at all. `cargo xtask surface` runs sandboxes under `strace` and fails \
         on a rule that nothing needs.\n\n\
         | who | host calls | of these with checked arguments | counted in |\n|---|--:|--:|---|\n",
    );
    // Writing to a string does not fail.
    for (who, rules) in [("guest process", guests), ("kernel process", kernel)] {
        let n_checked = rules.iter().filter(|rule| is_checked(rule)).count();
        let _ = writeln!(page, "| Belljar, a {who} | {} | {n_checked} | below |", rules.len());
    }
    for Other { who, calls, counted } in OTHERS {
        let _ = writeln!(page, "| {who} | {calls} | | {counted} |");
    }
    page.push_str(
        "\nNumbers are not the whole truth: what a call can do, and in which process, counts as much. A guest of a container \
         makes its calls directly; one of gVisor's or Belljar's would have to take over the kernel process first.\n\n",
    );
    table(&mut page, "Guest processes", guests);
    table(&mut page, "The kernel process", kernel);
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn is_checked(rule: &Rule) -> bool {
    !rule.any_of.iter().any(|tests| tests.is_empty())
}

fn table(page: &mut String, title: &str, rules: &[Rule]) {
    let _ = writeln!(page, "## {title}\n\n| nr | call | arguments | why |\n|--:|---|---|---|");
    for rule in rules {
        let arguments: Vec<_> = rule.any_of.iter().map(|tests| describe(tests)).collect();
        let arguments = if is_checked(rule) { arguments.join(", or ") } else { "any".to_owned() };
        let Rule { number, name, reason, .. } = rule;
        let _ = writeln!(page, "| {number} | `{name}` | {arguments} | {reason} |");
    }
    page.push('\n');
}

/// Tests in words; arguments are counted from 1, as in a manual.
fn describe(tests: &[Test]) -> String {
    let list = |values: &[u32]| {
        let words: Vec<_> = values.iter().map(|value| format!("{value:#x}")).collect();
        words.join(" ")
    };
    let words: Vec<_> = tests
        .iter()
        .map(|test| match test {
            Test::Is(index, value) => format!("{} is {value:#x}", index + 1),
            Test::OneOf(index, values) => format!("{} in {}", index + 1, list(values)),
            Test::MaskedOneOf(index, mask, values) => {
                format!("{} without {mask:#x} in {}", index + 1, list(values))
            }
            Test::AtMost(index, value) => format!("{} at most {value:#x}", index + 1),
            Test::FromOn(index, value) => format!("{} at least {value:#x}", index + 1),
            Test::Without(index, bits) => format!("{} without {bits:#x}", index + 1),
        })
        .collect();
    words.join("; ")
}
