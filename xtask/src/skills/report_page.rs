//! The page of a report in a real browser: an example skill is run with `--report`, and another
//! one opens the page with Chromium.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::command::{find_in_path, project};

/// What a reader sees on the page.
const SEEN: [&str; 5] =
    ["project-scaffold, scripts/scaffold.sh", "Processes", "git init", "exit 0", "demo/README.md"];
/// A guest that looks for a key and for the keys of the machine, and ends well.
const NOSY: &str = "cat ~/.ssh/id_rsa 2>/dev/null; echo > /dev/tcp/169.254.169.254/80; true";
/// What a reader sees of it.
const SEEN_OF_NOSY: [&str; 5] = [
    "succeeded, 1 thing denied",
    "1\ndenied",
    "Looked for, and not there",
    "/home/user/.ssh/id_rsa",
    "beware: there most clouds hand out the keys of the machine",
];
/// A picture of an empty page is smaller.
const MIN_PICTURE_BYTES: u64 = 20_000;

/// Makes a report, opens it, and looks at what is there.
pub fn run(belljar: &Path) -> Result<()> {
    if find_in_path("chromium").is_none() {
        test_skips::skip("page-of-a-report", "there is no chromium");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let site = folder.path().join("site");
    fs::create_dir(&site)?;
    let skill = |name: &str, options: &[&str], arguments: &[&str]| {
        let output = Command::new(belljar)
            .args(["skill", "run", "--apply"])
            .args(options)
            .arg(project().join("examples/skills").join(name))
            .arg("--")
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .context("cannot run belljar")?;
        ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    skill("project-scaffold", &["--report", "site/report.html"], &["python", "demo"])?;
    let arguments = ["site", "page.png", "--page", "report.html", "--text", "page.txt"];
    let said = skill("page-shot", &[], &arguments)?;
    // What Chromium asked the server for: the page, and nothing that the page would need besides.
    let requests = said.matches("200 /").count();
    ensure!(requests == 1, "the page is not complete by itself: {said}");
    let text = fs::read_to_string(folder.path().join("page.txt"))?;
    if let Some(lacking) = SEEN.iter().find(|words| !text.contains(*words)) {
        bail!("the page of a report does not show `{lacking}`:\n{text}");
    }
    let size = fs::metadata(folder.path().join("page.png"))?.len();
    ensure!(size > MIN_PICTURE_BYTES, "the picture of the page has only {size} bytes");
    nosy(belljar, folder.path())?;
    skill("page-shot", &[], &["site", "nosy.png", "--page", "nosy.html", "--text", "nosy.txt"])?;
    let text = fs::read_to_string(folder.path().join("nosy.txt"))?;
    if let Some(lacking) = SEEN_OF_NOSY.iter().find(|words| !text.contains(*words)) {
        bail!("the page of a report with denials does not show `{lacking}`:\n{text}");
    }
    println!("the page of a report reads well in Chromium");
    Ok(())
}

/// Makes the report of a guest that was denied something.
fn nosy(belljar: &Path, folder: &Path) -> Result<()> {
    let output = Command::new(belljar)
        .args(["run", "--report", "site/nosy.html", "--", "bash", "-c", NOSY])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .context("cannot run belljar")?;
    ensure!(output.status.success(), "nosy: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
