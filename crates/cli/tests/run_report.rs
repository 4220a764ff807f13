//! `belljar run --report`: the same report for any program.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_belljar")).arg("run").args(arguments).output().unwrap()
}

#[test]
fn a_report_goes_to_standard_error_or_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (page, json, text) = (path("r.html"), path("r.json"), path("r.txt"));
    let program = ["--", "sh", "-c", "cat /etc/passwd > /tmp/copy; exit 3"];
    for option in [&["--report", &page][..], &[&format!("--report={json}")], &["--report", &text]] {
        let done = run(&[option, &program].concat());
        assert_eq!(done.status.code(), Some(3), "{done:?}");
        assert!(done.stderr.is_empty(), "{done:?}");
    }
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    assert!(read(&page).contains("<code>/tmp/copy</code>"));
    assert!(read(&text).contains("created     /tmp/copy"));
    let json: Value = serde_json::from_str(&read(&json)).unwrap();
    assert_eq!((&json["version"], &json["exit_code"]), (&1.into(), &3.into()));
    assert_eq!(json["processes"].as_array().unwrap().len(), 2);
    let printed = run(&[&["--report"][..], &program].concat());
    let printed = String::from_utf8_lossy(&printed.stderr).into_owned();
    assert!(printed.contains("report of sh") && printed.contains("└─ "), "{printed}");
    let wrong = run(&["--report", "true"]);
    assert_eq!(wrong.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("`--report --`"), "{wrong:?}");
}

fn duration(value: &Value) -> Duration {
    Duration::new(
        value["secs"].as_u64().unwrap(),
        u32::try_from(value["nanos"].as_u64().unwrap()).unwrap(),
    )
}

#[test]
fn the_time_of_all_processes_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    // One child that is waited for, one that is not.
    let script = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
    let script = format!("sh -c '{script}' & sh -c '{script}'; sleep 0.1");
    let done = run(&["--json-report", file.to_str().unwrap(), "--", "sh", "-c", &script]);
    assert!(done.status.success(), "{done:?}");
    let json: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let usage = &json["report"]["usage"];
    assert!(duration(&usage["user_time"]) > Duration::from_millis(5), "{usage}");
    assert!(duration(&usage["kernel_time"]) > Duration::ZERO, "{usage}");
    assert_eq!(usage["is_disk_full"], false);
}

fn usage_of(options: &[&str], script: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let words = ["--json-report", file.to_str().unwrap(), "--", "sh", "-c", script];
    let done = run(&[options, &words[..]].concat());
    assert!(done.status.success(), "{done:?}");
    let json: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    json.pointer("/report/usage").unwrap().clone()
}

#[test]
fn the_memory_of_a_short_run_is_told() {
    let peak = |script| usage_of(&[], script)["peak_memory"].as_u64().unwrap();
    let least = peak("true");
    assert!((100 << 10..100 << 20).contains(&least), "{least}");
    // One process holds 30 MiB for a moment.
    let more = peak("dd if=/dev/zero of=/dev/null bs=30M count=1 2>/dev/null");
    assert!(more > 30 << 20, "{more}");
}

#[test]
fn a_process_that_is_killed_for_want_of_memory_is_told_of() {
    let script = "head -c 400M /dev/zero | tail -c 399M > /dev/null; echo still here; exit 0";
    let done = run(&["--memory", "100M", "--", "sh", "-c", script]);
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_eq!(done.stdout, b"still here\n");
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(errors.contains("out of memory: killed process"), "{errors}");
    assert!(errors.contains("(tail), which held"), "{errors}");
}

#[test]
fn what_was_denied_and_what_was_looked_for_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let script = "cat ~/.ssh/id_rsa /etc/shadow /work/none /root/.aws/credentials 2>/dev/null; \
                  echo > /dev/tcp/169.254.169.254/80; echo > /dev/tcp/192.0.2.1/80; \
                  python3 -c 'import socket; \
                  socket.socket(socket.AF_UNIX).connect_ex(\"/var/run/docker.sock\")'; true";
    let program = ["--", "bash", "-c", script];
    for name in ["r.html", "r.json", "r.txt"] {
        let done = run(&[&["--report", &path(name)][..], &program].concat());
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        let warning = "warning: it tried to reach 169.254.169.254:80, and was not let";
        assert!(errors.contains(warning), "{errors}");
        assert!(!errors.contains("--allow 169.254"), "{errors}");
    }
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    let json: Value = serde_json::from_str(&read("r.json")).unwrap();
    assert_eq!(json["n_denied"], 2, "{json:#}");
    let looked_for = json["looked_for"].as_array().unwrap();
    let secret = |path: &str| {
        let found = looked_for.iter().find(|it| it["path"] == path);
        found.is_some_and(|it| it["secret"].is_string())
    };
    for path in
        ["/home/user/.ssh/id_rsa", "/etc/shadow", "/root/.aws/credentials", "/var/run/docker.sock"]
    {
        assert!(secret(path), "{path}: {looked_for:#?}");
    }
    assert!(!secret("/work/none") && looked_for.iter().any(|it| it["path"] == "/work/none"));
    let first_other = looked_for.iter().position(|it| it["secret"].is_null()).unwrap();
    assert!(looked_for[first_other..].iter().all(|it| it["secret"].is_null()));
    let text = read("r.txt");
    assert!(text.starts_with("report of bash: succeeded, 2 things denied\n"), "{text}");
    assert!(text.contains("looked for, and not there:\n  secret "), "{text}");
    assert!(text.contains("beware: there") && !text.contains("allow: [169.254"), "{text}");
    let page = read("r.html");
    assert!(page.contains("<p class=\"warn\">succeeded, 2 things denied</p>"), "{page}");
    assert!(page.contains("<li><b>2</b> denied</li>"), "{page}");
    assert!(page.contains("Looked for, and not there"), "{page}");
    assert!(page.contains("<code>/home/user/.ssh/id_rsa</code></td><td>SSH keys"), "{page}");
}

#[test]
fn a_try_for_the_keys_of_the_machine_is_not_hidden_behind_others() {
    let script = "for n in $(seq 1 90); do echo > /dev/tcp/192.0.2.$n/80; done 2>/dev/null; \
                  echo > /dev/tcp/169.254.169.254/80; true";
    for report in [&[][..], &["--report"]] {
        let done = run(&[report, &["--", "bash", "-c", script]].concat());
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        let warning = "warning: it tried to reach 169.254.169.254:80, and was not let";
        assert!(errors.contains(warning), "{errors}");
        assert!(!errors.contains("--allow 169.254"), "{errors}");
        if !report.is_empty() {
            assert!(errors.contains("succeeded, 91 things denied\n"), "{errors}");
            let rest = errors.split_once("connections:\n").unwrap().1;
            assert!(rest.lines().next().unwrap().contains("169.254.169.254"), "{rest}");
        }
    }
}

#[test]
fn secrets_that_are_made_up_hide_none_and_links_are_told_with_what_they_lead_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let script = "cd /tmp; for n in $(seq 1 1500); do : < /x$n/id_rsa; : < ~/.ssh/x$n; done; \
                  : < ~/.ssh/id_rsa; : < /etc/shadow; : < ~/.aws/credentials; \
                  ln -s /root/.kube k; ln -s k/config l; : < l; ln -s ~ h; : < h/.netrc; \
                  : < /proc/self/root/run/secrets/x; true";
    let program = ["--", "bash", "-c", &format!("exec 2>/dev/null; {script}")];
    for name in ["r.html", "r.json", "r.txt"] {
        let done = run(&[&["--report", &path(name)][..], &program].concat());
        assert_eq!(done.status.code(), Some(0), "{done:?}");
    }
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    let json: Value = serde_json::from_str(&read("r.json")).unwrap();
    let looked_for = json["looked_for"].as_array().unwrap();
    let (text, page) = (read("r.txt"), read("r.html"));
    for path in [
        "/home/user/.ssh/id_rsa",
        "/etc/shadow",
        "/home/user/.aws/credentials",
        "/root/.kube/config",
        "/home/user/.netrc",
        "/run/secrets/x",
    ] {
        let at = looked_for.iter().position(|it| it["path"] == path);
        assert!(at.is_some_and(|at| at < 20), "{path}: {at:?}");
        assert!(text.contains(&format!(" {path}, once: ")), "{path}: {text}");
        assert!(page.contains(&format!("<code>{path}</code></td><td>")), "{path}");
    }
    // As it was asked for, as well.
    assert!(looked_for.iter().any(|it| it["path"] == "/tmp/l"), "{looked_for:#?}");
    let more = &json["more_looked_for_by_kind"][0];
    assert_eq!((&more["kind"], &more["times"]), (&"SSH keys".into(), &json["more_looked_for"]));
    assert!(more["times"].as_u64().unwrap() > 1900, "{more}");
    assert!(text.contains(" more paths of: SSH keys\n"), "{text}");
    assert!(text.contains("  not recorded, ") && page.contains("times, of: SSH keys</p>"));
}
