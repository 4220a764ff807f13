//! Durations as people write them.

use std::time::Duration;

/// A duration that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Not numbers with units.
    #[error("`{0}` is no duration: write 500ms, 30s, 5m, 2h or 1h30m; a bare number means seconds")]
    Unreadable(String),
    /// More than fits.
    #[error("`{0}` is too long")]
    TooLong(String),
    /// Nothing at all.
    #[error("a duration must be longer than nothing")]
    Zero,
}

/// Reads `500ms`, `30s`, `1.5s`, `5m`, `2h`, `1h30m`. A bare number means seconds.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let unreadable = || DurationError::Unreadable(text.to_owned());
    let mut total = Duration::ZERO;
    let mut rest = text;
    if rest.is_empty() {
        return Err(unreadable());
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "" if number.len() == text.len() => 1.0,
            _ => return Err(unreadable()),
        };
        let number: f64 = number.parse().map_err(|_| unreadable())?;
        let part = Duration::try_from_secs_f64(number * seconds)
            .map_err(|_| DurationError::TooLong(text.to_owned()))?;
        total = total.checked_add(part).ok_or_else(|| DurationError::TooLong(text.to_owned()))?;
        rest = after;
    }
    if total.is_zero() { Err(DurationError::Zero) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        let cases = [("30s", 30_000), ("500ms", 500), ("2", 2_000), ("1.5s", 1_500)];
        for (text, milliseconds) in cases {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        assert_eq!(parse_duration("1h30m"), Ok(Duration::from_secs(5400)));
    }

    #[test]
    fn refuses_nonsense() {
        for text in ["", "s", "5x", "1m30", "-1s", "1..2s"] {
            assert_eq!(parse_duration(text), Err(DurationError::Unreadable(text.into())), "{text}");
        }
        assert_eq!(parse_duration("0s"), Err(DurationError::Zero));
        assert!(matches!(parse_duration("1e"), Err(DurationError::Unreadable(_))));
        let years = "99999999999999999999h";
        assert_eq!(parse_duration(years), Err(DurationError::TooLong(years.into())));
    }
}
