//! A folder of test programs, natively and inside.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::exercise::{Exercises, exercises};
use crate::groups::Group;
use crate::launcher::Launcher;
use crate::logs;
use crate::protocol::{Protocol, Verdict};
use crate::results::{CaseResult, ProgramResult, Results, VERSION, today};
use crate::side::{Side, Subject};

/// What is to be measured.
pub struct Plan {
    /// The folder; every executable file in it is a program.
    pub folder: PathBuf,
    /// Only programs whose name contains this.
    pub filter: Option<String>,
    /// How the programs run natively.
    pub native: Launcher,
    /// How they run inside.
    pub inside: Launcher,
    /// How many programs run at one time.
    pub jobs: usize,
    /// How long one case may take.
    pub case_timeout: Duration,
    /// Where the output of failing cases goes.
    pub logs: Option<PathBuf>,
    /// Earlier results whose native verdicts still hold. Programs that are in them do not run
    /// natively again.
    pub known_natively: Option<Results>,
    /// Run every program once more natively under `strace`, to learn which calls it exercises.
    pub record_calls: bool,
    /// Only programs that exercise one of these calls, where that is recorded.
    pub only_calls: Option<BTreeSet<String>>,
}

/// Runs every program. `progress` is told of each as it is done.
pub fn run(plan: &Plan, progress: &(dyn Fn(&ProgramResult) + Sync)) -> io::Result<Results> {
    let programs = programs(plan)?;
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs.max(1) {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = run_program(plan, program);
                    if let Ok(Some(result)) = &result {
                        progress(result);
                    }
                    if let Ok(mut done) = done.lock() {
                        done.push(result);
                    }
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_default();
    let mut results =
        done.into_iter().filter_map(Result::transpose).collect::<io::Result<Vec<_>>>()?;
    results.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Results {
        version: VERSION,
        date: today(),
        host_kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        programs: results,
        usages: Vec::new(),
    })
}

fn programs(plan: &Plan) -> io::Result<Vec<PathBuf>> {
    let mut programs = Vec::new();
    for entry in plan.folder.read_dir()? {
        let path = entry?.path();
        let metadata = path.metadata()?;
        let wanted = |filter: &String| name_of(&path).contains(filter.as_str());
        let is_program = metadata.is_file() && metadata.permissions().mode() & 0o111 != 0;
        if is_program && plan.filter.as_ref().is_none_or(wanted) {
            programs.push(path);
        }
    }
    programs.sort();
    Ok(programs)
}

fn name_of(program: &Path) -> String {
    program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// `None` if the program exercises nothing that is asked for.
fn run_program(plan: &Plan, program: &Path) -> io::Result<Option<ProgramResult>> {
    let name = name_of(program);
    let protocol = Protocol::detect(&std::fs::read(program)?);
    let exercises = if plan.record_calls {
        exercises(program, protocol, &plan.native, plan.case_timeout)?
    } else {
        Exercises::new()
    };
    let is_wanted = |calls: &BTreeSet<String>| exercises.keys().any(|call| calls.contains(call));
    if !plan.only_calls.as_ref().is_none_or(is_wanted) {
        return Ok(None);
    }
    let subject =
        |launcher| Subject { program, protocol, launcher, case_timeout: plan.case_timeout };
    let (native, inside) = (subject(&plan.native), subject(&plan.inside));
    if let Some(known) = plan.known_natively.as_ref().and_then(|known| known.program(&name)) {
        return run_inside(plan, known, exercises, &inside).map(Some);
    }
    let (names, native_side, inside_side) = match native.list() {
        Some(names) => {
            let native_side = native.run_listed(&names);
            let passing: Vec<_> = names
                .iter()
                .filter(|name| native_side.verdicts.get(*name) == Some(&Verdict::Passed))
                .cloned()
                .collect();
            let inside_side = inside.run_listed(&passing);
            (names, native_side, inside_side)
        }
        None => {
            let native_side = native.run_whole();
            let mut names: Vec<_> = native_side.verdicts.keys().cloned().collect();
            names.sort_by_key(|name| (name.len(), name.clone()));
            (names, native_side, inside.run_whole())
        }
    };
    let flaky = flaky(&native, &names, &native_side, &inside_side);
    if let Some(folder) = &plan.logs {
        logs::write(folder, &name, &inside_side.outputs)?;
    }
    let case = |case: &String| CaseResult {
        native: native_side.verdicts.get(case).copied().unwrap_or(Verdict::Missing),
        inside: inside_side.verdicts.get(case).copied().unwrap_or(Verdict::Missing),
        flaky_natively: flaky.contains(case),
        passes_only_alone: inside_side.only_alone.contains(case),
        name: case.clone(),
    };
    Ok(Some(ProgramResult {
        group: Group::of_program(&name),
        protocol,
        exercises,
        cases: names.iter().map(case).collect(),
        name,
    }))
}

/// Runs those cases of a program inside that are known to pass natively.
fn run_inside(
    plan: &Plan,
    known: &ProgramResult,
    exercises: Exercises,
    inside: &Subject<'_>,
) -> io::Result<ProgramResult> {
    let passing: Vec<_> = known
        .cases
        .iter()
        .filter(|case| case.native == Verdict::Passed)
        .map(|case| case.name.clone())
        .collect();
    let side = match known.protocol.list_argument() {
        Some(_) => inside.run_listed(&passing),
        None => inside.run_whole(),
    };
    if let Some(folder) = &plan.logs {
        logs::write(folder, &known.name, &side.outputs)?;
    }
    let case = |case: &CaseResult| CaseResult {
        inside: side.verdicts.get(&case.name).copied().unwrap_or(Verdict::Missing),
        passes_only_alone: side.only_alone.contains(&case.name),
        ..case.clone()
    };
    let cases = known.cases.iter().map(case).collect();
    // What was recorded before still holds, too.
    let exercises = if plan.record_calls { exercises } else { known.exercises.clone() };
    Ok(ProgramResult { group: Group::of_program(&known.name), exercises, cases, ..known.clone() })
}

/// Cases that passed natively and not inside are tried natively once more: what then fails says
/// nothing about the sandbox.
fn flaky(native: &Subject<'_>, names: &[String], first: &Side, inside: &Side) -> Vec<String> {
    let suspicious: Vec<_> = names
        .iter()
        .filter(|name| {
            first.verdicts.get(*name) == Some(&Verdict::Passed)
                && inside.verdicts.get(*name) != Some(&Verdict::Passed)
        })
        .cloned()
        .collect();
    if suspicious.is_empty() {
        return Vec::new();
    }
    let second = match native.protocol.list_argument() {
        Some(_) => native.run_listed(&suspicious),
        None => native.run_whole(),
    };
    let fails = |name: &String| second.verdicts.get(name) != Some(&Verdict::Passed);
    suspicious.into_iter().filter(fails).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that speaks TAP, lists its cases and crashes in the middle where it is "inside".
    const PROGRAM: &str = r#"#!/bin/sh
# --in-process
case ${1-} in --list) printf 'one\ntwo\nthree\nfour\n'; exit;; esac
[ $# -gt 0 ] || set -- one two three four
n=0
for case; do
	n=$((n + 1))
	if [ "${INSIDE-}" ] && [ $case = two ]; then kill -9 $$; fi
	if [ "${INSIDE-}" ] && [ $case = three ]; then echo "not ok $n - $case"; continue; fi
	echo "ok $n - $case"
done
"#;

    #[test]
    fn a_crash_of_one_case_hides_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tasks-example");
        std::fs::write(&program, PROGRAM).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let plan = Plan {
            folder: folder.path().into(),
            filter: None,
            native: Launcher::native(),
            inside: Launcher::prefix(["env", "INSIDE=1"]),
            jobs: 2,
            case_timeout: Duration::from_secs(10),
            logs: Some(folder.path().join("logs")),
            known_natively: None,
            record_calls: false,
            only_calls: None,
        };
        let results = run(&plan, &|_| {}).unwrap();
        let verdicts: Vec<_> =
            results.programs[0].cases.iter().map(|case| (case.native, case.inside)).collect();
        let passed = Verdict::Passed;
        assert_eq!(
            verdicts,
            [
                (passed, passed),
                (passed, Verdict::Crashed),
                (passed, Verdict::Failed),
                (passed, passed)
            ]
        );
        assert!(folder.path().join("logs/tasks-example/three.txt").exists());

        let nowhere = Launcher::prefix(["no-such-launcher"]);
        let again = Plan { native: nowhere, known_natively: Some(results.clone()), ..plan };
        assert_eq!(run(&again, &|_| {}).unwrap().programs, results.programs);
    }
}
