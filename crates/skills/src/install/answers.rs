//! What the steps of an installation print that the next one depends on.
//!
//! Some of it was printed where code of packages ran, so that anybody may have written it. It says
//! at most which packages of the registry are fetched.

use serde_json::Value;

use super::{RequirementError, checked};

/// How many requirements one package may have to be built.
const MAX_BUILD_REQUIREMENTS: usize = 100;
/// How long the name of an archive may be.
const MAX_NAME_BYTES: usize = 255;

/// What the last line of [`build_requirements_command`](super::build_requirements_command) says.
pub fn build_requirements(output: &str) -> Result<Vec<String>, RequirementError> {
    let line = output.lines().rev().find(|line| line.starts_with('['));
    let list = line.and_then(|line| serde_json::from_str::<Vec<String>>(line).ok());
    let Some(list) = list else {
        return Err(RequirementError::Unreadable("what the package is built with".to_owned()));
    };
    if list.len() > MAX_BUILD_REQUIREMENTS {
        return Err(RequirementError::TooMany(list.len()));
    }
    let mut wanted = list.iter().map(|text| checked(text)).collect::<Result<Vec<_>, _>>()?;
    wanted.sort();
    wanted.dedup();
    Ok(wanted)
}

/// The archive that [`fetch_source_command`](super::fetch_source_command) says it has fetched. It is
/// a single name.
pub fn source_archive(output: &str) -> Option<String> {
    let line = output.lines().rev().find(|line| line.starts_with('{'))?;
    let answer: Value = serde_json::from_str(line).ok()?;
    let name = answer.get("file")?.as_str()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.+!~".contains(c);
    let is_good = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && !name.starts_with(['-', '.'])
        && name.chars().all(is_name);
    is_good.then(|| name.to_owned())
}

/// The requirement that pip could not fulfil with what it was let use, without its conditions.
pub fn missing_requirement(output: &str) -> Option<String> {
    const BEFORE: &str = "No matching distribution found for ";
    let (_, rest) = output.rsplit_once(BEFORE)?;
    let line = rest.lines().next()?;
    let requirement = line.split([';', '(']).next()?;
    checked(requirement).ok()
}
