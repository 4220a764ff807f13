//! `#!` lines by which a tool makes an environment and runs a Python script in it: `uv run --script`,
//! `pipx run`. Belljar makes the environment itself, so all they say is "Python", and which packages.

/// Options of these tools that are followed by a value.
const WITH_VALUE: [&str; 18] = [
    "--cache-dir",
    "--config-file",
    "--default-index",
    "--directory",
    "--env-file",
    "--exclude-newer",
    "--extra",
    "--extra-index-url",
    "--group",
    "--index",
    "--index-url",
    "--project",
    "--python",
    "--spec",
    "--with",
    "--with-editable",
    "--with-requirements",
    "-p",
];

/// What such a line says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RunnerLine {
    /// Packages that the line itself asks for.
    pub packages: Vec<String>,
    /// Options for Python.
    pub options: Vec<String>,
}

/// Reads the words of a `#!` line, if they are one of these tools that runs a Python script.
pub fn runner_line(words: &[String]) -> Option<RunnerLine> {
    let (program, rest) = words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let (command, rest) = rest.split_first()?;
    if !matches!(name, "uv" | "pipx") || command != "run" {
        return None;
    }
    let mut line = RunnerLine::default();
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            // A command, to which the script is an argument.
            let is_python = word.rsplit('/').next().is_some_and(|it| it.starts_with("python"));
            line.options = rest.cloned().collect();
            return is_python.then_some(line);
        }
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None if WITH_VALUE.contains(&word.as_str()) => (word.as_str(), rest.next().cloned()),
            None => (word.as_str(), None),
        };
        if matches!(option, "--with" | "--spec") {
            let packages = value.iter().flat_map(|value| value.split(','));
            line.packages.extend(packages.map(|it| it.trim().to_owned()));
        }
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<RunnerLine> {
        runner_line(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn they_run_python_with_packages() {
        let plain = Some(RunnerLine::default());
        for line in ["uv run --script", "/usr/bin/uv run -s --quiet", "pipx run", "uv run"] {
            assert_eq!(read(line), plain, "{line}");
        }
        let line = read("uv run --python 3.12 --with a>=1,b --with=c --script").unwrap();
        assert_eq!(line.packages, ["a>=1", "b", "c"]);
        assert_eq!(read("uv run --with a python3 -u").unwrap().options, ["-u"]);
        for line in ["uv", "uv pip install", "uv run bash", "uvx ruff", "python3 run"] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
