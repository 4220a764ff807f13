//! The smallest policy with which a run would have gone the same way.
//!
//! Names that change from run to run must not matter, or the policy would fit one run only. So a
//! folder that the run made, or that it made temporary files in, is allowed as a whole, and so
//! are folders in memory. Of system folders from which several files were read the whole folder is
//! allowed: which library is loaded from it says nothing.
//!
//! Names are the guest's. One with a star in it must not become a pattern, and what cannot be written
//! in a policy, or would be everything, is left out and counted.

use std::collections::{BTreeMap, BTreeSet};

use sandbox_spec::{
    Activity, AskRecord, ConnectionKind, ConnectionRecord, FileFate, HostRule, PathPattern,
    PathUse, Verdict,
};

use super::merge::default_limits;
use super::{Env, Files, Network, Policy, ResourceLimits};
use crate::plan::{HOME_FOLDER, SKILL_FOLDER};

/// Where nothing is stored, and no rule holds.
const OWN: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Folders that are allowed as a whole if anything in them is used: they are in memory and go with
/// the run, or are the skill itself.
const WHOLE: [&str; 3] = ["/tmp", HOME_FOLDER, SKILL_FOLDER];
/// Folders of the system, whose folders are told apart by so many names.
const SYSTEM: [(&str, usize); 7] =
    [("/usr", 3), ("/opt", 3), ("/etc", 2), ("/var", 3), ("/lib", 2), ("/lib64", 2), ("/bin", 2)];
/// From so many files on the folder is allowed.
const MANY_SYSTEM: usize = 4;
/// From so many files on the folder is allowed, outside of the system.
const MANY: usize = 8;

/// What was learned from a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    /// The smallest policy for it.
    pub policy: Policy,
    /// Paths and hosts that it used and that are not in the policy: their names are no text, or the
    /// rule for them would allow everything.
    pub left_out: BTreeSet<String>,
}

/// The smallest policy for what a run did under `policy`.
pub fn learn(activity: &Activity, connections: &[ConnectionRecord], policy: &Policy) -> Learned {
    let mut left_out = BTreeSet::new();
    let write = written(activity, &mut left_out);
    let read = read(activity, &write, &mut left_out);
    let is_used = |target: &str| {
        let mut paths = read.iter().chain(&write);
        let target = PathPattern::escape(target);
        paths.any(|path| is_beneath(&target, path) || is_beneath(path, &target))
    };
    let policy = Policy {
        network: Some(Network { allow: hosts(connections, &mut left_out), ..Network::default() }),
        mounts: policy.mounts.iter().filter(|mount| is_used(&mount.target)).cloned().collect(),
        env: policy.env.clone(),
        limits: unusual(&policy.limits),
        programs: Some(programs(activity, &mut left_out)),
        files: Some(Files { read, write }),
    };
    Learned { policy, left_out }
}

/// The smallest policy that allows what was learned before, if there was something, and what `by`
/// allows: what one run needs, another may not.
pub fn widen(learned: Option<Policy>, by: Policy) -> Policy {
    let Some(learned) = learned else { return by };
    let (files, more) = (learned.files.unwrap_or_default(), by.files.unwrap_or_default());
    let write: BTreeSet<_> = files.write.into_iter().chain(more.write).collect();
    let write = without_covered(gathered(write, MANY, |path| Some(folder_of(path))));
    let read = files.read.into_iter().chain(more.read);
    let read = read.filter(|path| !write.iter().any(|allowed| is_beneath(allowed, path)));
    let mut mounts = learned.mounts;
    mounts.retain(|mount| by.mounts.iter().all(|other| other.target != mount.target));
    mounts.extend(by.mounts);
    let (hosts, more_hosts) = (learned.network.unwrap_or_default(), by.network.unwrap_or_default());
    let env = (learned.env, by.env);
    let programs = learned.programs.unwrap_or_default().into_iter();
    Policy {
        network: Some(Network {
            allow: hosts.allow.into_iter().chain(more_hosts.allow).collect(),
            deny: hosts.deny.into_iter().chain(more_hosts.deny).collect(),
        }),
        mounts,
        env: Env {
            set: env.0.set.into_iter().chain(env.1.set).collect(),
            pass: env.0.pass.into_iter().chain(env.1.pass).collect(),
        },
        limits: wider(&learned.limits, &by.limits),
        programs: Some(programs.chain(by.programs.unwrap_or_default()).collect()),
        files: Some(Files { read: few(read.collect()), write }),
    }
}

/// The higher of two limits each.
fn wider(one: &ResourceLimits, other: &ResourceLimits) -> ResourceLimits {
    fn higher<T: Ord + Copy>(one: Option<T>, other: Option<T>, usual: Option<T>) -> Option<T> {
        Some(one.or(usual)?.max(other.or(usual)?))
    }
    let usual = default_limits();
    unusual(&ResourceLimits {
        memory_bytes: higher(one.memory_bytes, other.memory_bytes, usual.memory_bytes),
        timeout: higher(one.timeout, other.timeout, usual.timeout),
        processes: higher(one.processes, other.processes, usual.processes),
        output_bytes: higher(one.output_bytes, other.output_bytes, usual.output_bytes),
        disk_bytes: higher(one.disk_bytes, other.disk_bytes, usual.disk_bytes),
    })
}

/// Limits that are not the usual ones.
fn unusual(limits: &ResourceLimits) -> ResourceLimits {
    let usual = default_limits();
    ResourceLimits {
        memory_bytes: limits.memory_bytes.filter(|_| limits.memory_bytes != usual.memory_bytes),
        timeout: limits.timeout.filter(|_| limits.timeout != usual.timeout),
        processes: limits.processes.filter(|_| limits.processes != usual.processes),
        output_bytes: limits.output_bytes.filter(|_| limits.output_bytes != usual.output_bytes),
        disk_bytes: limits.disk_bytes.filter(|_| limits.disk_bytes != usual.disk_bytes),
    }
}

/// What was started, and what was found to be there to be started.
fn programs(activity: &Activity, left_out: &mut BTreeSet<String>) -> BTreeSet<String> {
    let started = activity.programs.iter().map(|program| program.path.as_str());
    let all = started.chain(asked(activity, PathUse::Run));
    all.filter_map(|path| pattern(path, left_out)).collect()
}

/// What the run asked about.
fn asked(activity: &Activity, wanted: PathUse) -> impl Iterator<Item = &str> {
    let is_it = move |ask: &&AskRecord| ask.wanted == wanted && ask.is_allowed;
    activity.asked.iter().filter(is_it).map(|ask| ask.path.as_str())
}

fn hosts(connections: &[ConnectionRecord], left_out: &mut BTreeSet<String>) -> BTreeSet<String> {
    let left = |record: &&ConnectionRecord| {
        record.verdict == Verdict::Allowed
            && matches!(record.kind, ConnectionKind::Tcp | ConnectionKind::Udp)
    };
    let all = connections.iter().filter(left).map(ConnectionRecord::destination);
    // Who looks for the name `*` gets no rule for every name.
    let is_one = |host: &String| host.parse::<HostRule>().is_ok_and(|rule| rule.is_one_host());
    let (hosts, others) = all.partition(is_one);
    let others: BTreeSet<String> = others;
    left_out.extend(others);
    hosts
}

fn written(activity: &Activity, left_out: &mut BTreeSet<String>) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let changed = activity.files.iter().filter(|file| file.fate != FileFate::Unchanged);
    let changed = changed.map(|file| (file.path.as_str(), file.fate != FileFate::Temporary));
    let asked = asked(activity, PathUse::Write).map(|path| (path, true));
    for (path, is_lasting) in changed.chain(asked) {
        if OWN.iter().any(|own| is_beneath(own, path)) {
            continue;
        }
        paths.extend(match whole(path) {
            Some(whole) => Some(whole.to_owned()),
            None if is_lasting => pattern(path, left_out),
            None => pattern(folder_of(path), left_out),
        });
    }
    without_covered(gathered(paths, MANY, |path| Some(folder_of(path))))
}

fn read(
    activity: &Activity,
    write: &BTreeSet<String>,
    left_out: &mut BTreeSet<String>,
) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let opened = activity.files.iter().filter(|file| file.is_read && !file.is_folder);
    let opened = opened.map(|file| file.path.as_str());
    for path in opened.chain(asked(activity, PathUse::Read)) {
        let is_ruled = !OWN.iter().any(|own| is_beneath(own, path));
        let escaped = PathPattern::escape(path);
        if !is_ruled || write.iter().any(|allowed| is_beneath(allowed, &escaped)) {
            continue;
        }
        paths.extend(match whole(path) {
            Some(whole) => Some(whole.to_owned()),
            None => pattern(path, left_out),
        });
    }
    few(paths)
}

/// Folders instead of the many files in them.
fn few(read: BTreeSet<String>) -> BTreeSet<String> {
    let paths = gathered(read, MANY_SYSTEM, system_folder);
    without_covered(gathered(paths, MANY, other_folder))
}

/// Replaces paths by the folder that they have in common, if there are many of them.
fn gathered(
    paths: BTreeSet<String>,
    many: usize,
    folder: impl Fn(&str) -> Option<&str>,
) -> BTreeSet<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths.iter().filter_map(|path| folder(path)) {
        *counts.entry(path).or_default() += 1;
    }
    let place = |path: &String| match folder(path) {
        // Never everything.
        Some(common) if common != "/" && counts.get(common).is_some_and(|n| *n >= many) => {
            common.to_owned()
        }
        _ => path.clone(),
    };
    paths.iter().map(place).collect()
}

/// Leaves out what lies beneath another one.
fn without_covered(paths: BTreeSet<String>) -> BTreeSet<String> {
    let is_covered = |path: &String| paths.iter().any(|up| up != path && is_beneath(up, path));
    paths.iter().filter(|path| !is_covered(path)).cloned().collect()
}

fn whole(path: &str) -> Option<&'static str> {
    WHOLE.into_iter().find(|folder| is_beneath(folder, path))
}

/// The folder of the system that a file is in.
fn system_folder(path: &str) -> Option<&str> {
    let (_, n_names) = SYSTEM.iter().find(|(top, _)| is_beneath(top, path))?;
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    // A file that lies higher has no such folder.
    slashes.nth(*n_names).and_then(|end| path.get(..end))
}

/// The folder of a file that is not in the system.
fn other_folder(path: &str) -> Option<&str> {
    system_folder(path).is_none().then(|| folder_of(path))
}

/// The pattern for a path and for nothing else but what is beneath it. A path that is no text cannot
/// be written in a policy, and the folder above it would be more than was used; the top would be
/// everything.
fn pattern(path: &str, left_out: &mut BTreeSet<String>) -> Option<String> {
    if path.contains(char::REPLACEMENT_CHARACTER) || path == "/" {
        left_out.insert(path.to_owned());
        return None;
    }
    Some(PathPattern::escape(path))
}

fn folder_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((folder, _)) => folder,
    }
}

/// Whether `down` is `up` or lies beneath it.
fn is_beneath(up: &str, down: &str) -> bool {
    let rest = down.strip_prefix(up);
    rest.is_some_and(|rest| up == "/" || rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::super::{Access, Mount};
    use super::*;
    use sandbox_spec::FileRecord;

    fn file(path: &str, is_read: bool, fate: FileFate) -> FileRecord {
        FileRecord { path: path.to_owned(), is_folder: false, is_read, fate }
    }

    fn learned(files: Vec<FileRecord>) -> (Vec<String>, Vec<String>) {
        let activity = Activity { files, ..Activity::default() };
        let files = learn(&activity, &[], &Policy::default()).policy.files.unwrap();
        (files.read.into_iter().collect(), files.write.into_iter().collect())
    }

    #[test]
    fn files_are_named_one_by_one_and_system_folders_as_a_whole() {
        let library = |n| file(&format!("/usr/lib/python3.11/m{n}.py"), true, FileFate::Unchanged);
        let mut files: Vec<FileRecord> = (0..5).map(library).collect();
        files.push(file("/work/in.csv", true, FileFate::Unchanged));
        files.push(file("/etc/passwd", true, FileFate::Unchanged));
        files.push(file("/usr/share/x/y", true, FileFate::Unchanged));
        files.push(file("/skill/scripts/a.py", true, FileFate::Unchanged));
        files.push(file("/proc/self/maps", true, FileFate::Unchanged));
        let (read, write) = learned(files);
        let wanted =
            ["/etc/passwd", "/skill", "/usr/lib/python3.11", "/usr/share/x/y", "/work/in.csv"];
        assert_eq!(read, wanted);
        assert!(write.is_empty());
    }

    #[test]
    fn names_that_change_from_run_to_run_do_not_matter() {
        let (read, write) = learned(vec![
            file("/tmp/tmpab12/x", true, FileFate::Temporary),
            file("/work/out/.tmp77", false, FileFate::Temporary),
            file("/work/out/a.png", true, FileFate::Created),
            file("/work/b.txt", false, FileFate::Changed),
            file("/work/c/bad\u{fffd}/x\u{fffd}", false, FileFate::Created),
        ]);
        assert!(read.is_empty());
        assert_eq!(write, ["/tmp", "/work/b.txt", "/work/out"]);
    }

    #[test]
    fn a_name_with_a_star_is_no_pattern_and_nothing_is_everything() {
        let mut activity = Activity {
            files: vec![
                file("/work/*", true, FileFate::Created),
                file("/*", true, FileFate::Unchanged),
                file(r"/work/\*", true, FileFate::Unchanged),
                file("/.tmp1", false, FileFate::Temporary),
                file("/\u{fffd}", false, FileFate::Created),
                file("/etc/\u{fffd}", true, FileFate::Unchanged),
            ],
            ..Activity::default()
        };
        activity.programs = vec![sandbox_spec::ProgramRecord { path: "/tmp/*".into(), times: 1 }];
        activity.asked =
            vec![AskRecord { wanted: PathUse::Run, path: "/usr/bin/*".into(), is_allowed: true }];
        let record = |name: &str| ConnectionRecord {
            kind: ConnectionKind::Tcp,
            name: Some(name.into()),
            address: Some("1.1.1.1:443".parse().unwrap()),
            verdict: Verdict::Allowed,
            reason: sandbox_spec::Reason::NoRule,
            times: 1,
            bytes_sent: 0,
            bytes_received: 0,
        };
        let connections = ["*", "*.a.org", "a.org"].map(record);
        let learned = learn(&activity, &connections, &Policy::default());
        let again = super::super::read("learned", &learned.policy.to_yaml());
        assert!(again.is_valid(), "{:?}", again.findings);
        assert_eq!(again.policy, learned.policy, "it is read as it was written");
        let files = learned.policy.files.unwrap();
        let may = |paths: &BTreeSet<String>, path: &str| {
            let mut patterns = paths.iter().map(|text| text.parse::<PathPattern>().unwrap());
            patterns.any(|pattern| pattern.matches(path.as_bytes()))
        };
        assert!(may(&files.write, "/work/*") && !may(&files.write, "/work/other"));
        assert!(!may(&files.write, "/etc/x") && !may(&files.write, "/work"));
        assert!(may(&files.read, "/*") && may(&files.read, r"/work/\*"));
        assert!(!may(&files.read, "/etc/passwd") && !may(&files.read, "/home/u"));
        let programs = learned.policy.programs.unwrap();
        assert!(may(&programs, "/tmp/*") && may(&programs, "/usr/bin/*"));
        assert!(!may(&programs, "/usr/bin/sh") && !may(&programs, "/tmp/x"));
        let hosts = learned.policy.network.unwrap().allow;
        assert_eq!(hosts, BTreeSet::from(["a.org:443".to_owned()]));
        let wanted = ["*.a.org:443", "*:443", "/", "/etc/\u{fffd}", "/\u{fffd}"];
        assert_eq!(learned.left_out.iter().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn a_folder_that_the_run_made_is_one_line() {
        let made = FileRecord { is_folder: true, ..file("/work/p", false, FileFate::Created) };
        let inside = (0..20).map(|n| file(&format!("/work/p/{n}"), false, FileFate::Created));
        let (_, write) = learned(std::iter::once(made).chain(inside).collect());
        assert_eq!(write, ["/work/p"]);
    }

    #[test]
    fn what_several_runs_need_is_all_allowed() {
        let policy = |reads: &[&str], writes: &[&str], host: &str, target: &str| {
            let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
            Policy {
                network: Some(Network { allow: words(&[host]), ..Network::default() }),
                mounts: vec![Mount {
                    source: "/data".to_owned(),
                    target: target.to_owned(),
                    access: Access::Read,
                }],
                programs: Some(words(&[host])),
                files: Some(Files { read: words(reads), write: words(writes) }),
                ..Policy::default()
            }
        };
        let first = policy(&["/usr/share/x/1", "/usr/share/x/2", "/work/a"], &["/tmp"], "a", "/d");
        let second = policy(&["/usr/share/x/3", "/usr/share/x/4"], &["/work"], "b", "/e");
        let both = widen(Some(first.clone()), second);
        let files = both.files.unwrap();
        assert_eq!(files.read, BTreeSet::from(["/usr/share/x".to_owned()]), "there are four");
        assert_eq!(files.write, BTreeSet::from(["/tmp".to_owned(), "/work".to_owned()]));
        assert_eq!(both.network.unwrap().allow.len(), 2);
        assert_eq!(both.programs.unwrap().len(), 2);
        assert_eq!(both.mounts.len(), 2);
        let limits = |memory_bytes, processes| ResourceLimits {
            memory_bytes,
            processes,
            ..ResourceLimits::default()
        };
        let much = default_limits().memory_bytes.map(|bytes| bytes * 2);
        let wide = wider(&limits(much, Some(1)), &limits(None, Some(2)));
        assert_eq!((wide.memory_bytes, wide.processes), (much, Some(2)));
        assert_eq!(wider(&limits(Some(1), None), &limits(None, None)).memory_bytes, None);
        assert_eq!(widen(Some(first.clone()), first.clone()), first, "nothing is new");
        assert_eq!(widen(None, first.clone()), first);
    }

    #[test]
    fn nothing_gathers_into_everything() {
        let files = (0..20).map(|n| file(&format!("/{n}"), true, FileFate::Unchanged)).collect();
        assert_eq!(learned(files).0.len(), 20);
    }
}
