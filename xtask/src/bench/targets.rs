//! What we want to reach, by the names of the benchmarks.

use super::measure::Samples;
use super::table::{duration, ratio};

/// A goal for one benchmark.
#[derive(Clone, Copy)]
pub enum Target {
    /// At most so many times what native takes.
    Ratio(f64),
    /// At most so many milliseconds.
    Milliseconds(f64),
}

use Target::{Milliseconds, Ratio};

/// For two CPUs.
const TARGETS: &[(&str, Target)] = &[
    ("getppid", Ratio(0.1)),
    ("gettid", Ratio(0.1)),
    ("rt_sigprocmask", Ratio(0.1)),
    ("clock_gettime", Ratio(1.05)),
    ("read 1 B", Ratio(0.9)),
    ("write 1 B", Ratio(0.9)),
    ("pread 4 KiB", Ratio(1.2)),
    ("pread 64 KiB", Ratio(1.2)),
    ("pread 1 MiB", Ratio(1.1)),
    ("stat", Ratio(0.6)),
    ("fstat", Ratio(0.6)),
    ("stat, missing", Ratio(0.6)),
    ("open+close", Ratio(0.8)),
    ("create+write+unlink", Ratio(0.5)),
    ("readdir of 100", Ratio(1.0)),
    ("mmap+touch+munmap", Ratio(1.05)),
    ("page fault", Ratio(1.05)),
    ("fork+exit+wait", Ratio(2.0)),
    ("posix_spawn+wait", Ratio(1.5)),
    ("epoll of a ready descriptor", Ratio(1.0)),
    ("pipe ping-pong", Ratio(1.5)),
    ("unix ping-pong", Ratio(1.2)),
    ("tcp ping-pong", Ratio(1.0)),
    ("futex ping-pong", Ratio(1.05)),
    ("contended mutex", Ratio(1.05)),
    ("thread create+join", Ratio(1.5)),
    ("signal to self", Ratio(1.5)),
    ("start: true", Milliseconds(5.0)),
    ("start: sh -c :", Milliseconds(7.0)),
    ("start: python3 -c pass", Ratio(1.5)),
    ("python3, 5 big imports", Ratio(1.3)),
    ("node -e 0", Ratio(1.5)),
    ("sh, 200 x /bin/true", Ratio(1.6)),
    ("find, 20,000 files", Ratio(1.0)),
    ("grep -r /usr/include", Ratio(1.2)),
    ("tar czf /usr/include", Ratio(1.05)),
    ("gcc, 2000 lines", Ratio(1.1)),
    ("git clone, local", Ratio(1.0)),
    ("sqlite3, 10,000 inserts", Ratio(1.1)),
    ("python3, 50 subprocesses", Ratio(1.6)),
    ("python3, 8 threads of file work", Ratio(1.2)),
    ("node, 1000 small files", Ratio(1.2)),
    ("pipe of 1 GiB", Ratio(1.2)),
];

/// The goal of a benchmark, if it has one.
pub fn of(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(other, _)| *other == name).map(|(_, target)| *target)
}

impl Target {
    /// Whether the sandbox reaches it in the median, to the two digits that the table shows.
    pub fn is_reached(self, native: &Samples, ours: &Samples) -> bool {
        const ROUNDING: f64 = 0.005;
        match self {
            Ratio(most) => ratio(native, ours).is_some_and(|it| it < most + ROUNDING),
            Milliseconds(most) => ours.median().is_some_and(|it| it / 1e6 < most + ROUNDING),
        }
    }

    /// As the table shows it.
    pub fn text(self) -> String {
        match self {
            Ratio(most) => format!("{most}"),
            Milliseconds(most) => duration(most * 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_reached_by_the_median() {
        let samples =
            |nanoseconds: &[f64]| Samples { nanoseconds: nanoseconds.into(), failure: None };
        // One lucky round is not enough, and one unlucky round does no harm.
        let native = samples(&[10.0, 10.0, 30.0]);
        assert!(!Ratio(1.2).is_reached(&native, &samples(&[9.0, 13.0, 14.0])));
        assert!(Ratio(1.2).is_reached(&native, &samples(&[11.0, 12.0, 90.0])));
        assert!(!Ratio(1.1).is_reached(&native, &samples(&[11.0, 12.0, 90.0])));
        assert!(Milliseconds(5.0).is_reached(&native, &samples(&[4.8e6, 4.9e6, 9e6])));
        assert!(!Milliseconds(5.0).is_reached(&native, &samples(&[4.8e6, 5.9e6, 9e6])));
        assert!(!Milliseconds(5.0).is_reached(&native, &samples(&[])));
    }
}
