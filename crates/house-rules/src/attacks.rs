//! The table of attacks in `SECURITY.md`: each test that it names is there, and each hostile guest is
//! in it.

use std::path::Path;

/// How the table begins.
const HEADING: &str = "| attack | layer that holds | test |";
/// Where the hostile guests are.
const GUESTS: &str = "guest-tests/hostile";

/// What is wrong with the table of this text.
pub fn violations(security: &str, project: &Path) -> Result<Vec<String>, String> {
    let mut lines = security.lines().skip_while(|line| *line != HEADING).skip(2).peekable();
    if lines.peek().is_none_or(|line| !line.starts_with('|')) {
        return Ok(vec![format!("SECURITY.md has no table that begins with {HEADING}")]);
    }
    let mut found = Vec::new();
    let mut named = Vec::new();
    for row in lines.take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [attack, layer, tests] = cells.as_slice() else {
            found.push(format!("SECURITY.md: a row has {} cells: {row}", cells.len()));
            continue;
        };
        let tests: Vec<_> = tests.split('`').skip(1).step_by(2).collect();
        if attack.is_empty() || layer.is_empty() || tests.is_empty() {
            found.push(format!("SECURITY.md: a row lacks something: {row}"));
        }
        for test in &tests {
            if let Err(why) = find(test, project) {
                found.push(format!("SECURITY.md: {attack}: {test}: {why}"));
            }
        }
        named.extend(tests);
    }
    let folder = project.join(GUESTS);
    for entry in folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))? {
        let name = entry.map_err(|error| error.to_string())?.file_name();
        let guest = format!("{GUESTS}/{}", name.to_string_lossy());
        if guest.ends_with(".c") && !named.contains(&guest.as_str()) {
            found.push(format!("SECURITY.md: the table does not name {guest}"));
        }
    }
    Ok(found)
}

/// Finds a test: `FILE.rs::NAME`, or the file of a hostile guest.
fn find(test: &str, project: &Path) -> Result<(), String> {
    let (path, name) = test.split_once("::").map_or((test, None), |(path, it)| (path, Some(it)));
    let text = std::fs::read_to_string(project.join(path)).map_err(|error| error.to_string())?;
    match name {
        Some(name) if has_test(&text, name) => Ok(()),
        Some(_) => Err("the file has no such test".to_owned()),
        // How it is run stands in its first line, and `cargo xtask hostile` runs all of them.
        None if path.starts_with(GUESTS) && path.ends_with(".c") => Ok(()),
        None => Err("a test is FILE::NAME, or the file of a hostile guest".to_owned()),
    }
}

/// Whether a text of Rust has a test of this name.
fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<_> = text.lines().map(str::trim_start).collect();
    let start = format!("fn {name}(");
    let is_test = |at: usize| {
        let before = lines.iter().take(at).rev();
        before.take_while(|line| line.starts_with("#[")).any(|line| *line == "#[test]")
    };
    lines.iter().enumerate().any(|(at, line)| line.starts_with(&start) && is_test(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: &str = "guest-tests/hostile/races.c";

    fn project() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let guests = folder.path().join(GUESTS);
        std::fs::create_dir_all(guests).unwrap();
        std::fs::write(folder.path().join(GUEST), "/* Races. run: --timeout 1h */").unwrap();
        let tests = "#[test]\n#[expect(x)]\nfn holds() {}\nfn helps() {}\n";
        std::fs::write(folder.path().join("a.rs"), tests).unwrap();
        folder
    }

    fn wrong(rows: &str) -> Vec<String> {
        let text = format!("# Security\n\n{HEADING}\n|---|---|---|\n{rows}\nafter\n");
        violations(&text, project().path()).unwrap()
    }

    #[test]
    fn tests_that_are_there_are_found() {
        assert_eq!(wrong(&format!("| a | b | `a.rs::holds`, `{GUEST}` |")), Vec::<String>::new());
    }

    #[test]
    fn a_test_that_is_not_there_is_told() {
        for test in ["a.rs::gone", "a.rs::helps", "a.rs", "b.rs::holds", "guest-tests/hostile/x.c"]
        {
            let found = wrong(&format!("| a | b | `{test}` |\n| a | b | `{GUEST}` |"));
            assert!(found.len() == 1 && found[0].contains(test), "{test}: {found:?}");
        }
    }

    #[test]
    fn a_table_that_is_not_whole_is_told() {
        assert_eq!(violations("# Security\n", project().path()).unwrap().len(), 1);
        assert_eq!(wrong("").len(), 1);
        assert!(wrong("| a | b | none |")[0].contains("lacks something"));
        assert!(wrong("| a | b |")[0].contains("2 cells"));
        assert!(wrong("| a | b | `a.rs::holds` |")[0].contains("does not name"));
    }
}
