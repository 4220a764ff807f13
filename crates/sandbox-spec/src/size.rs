//! Sizes as people write them.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByteSize(pub u64);

/// A size that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// Not a number with a known unit.
    #[error("`{0}` is no size: write a number of bytes, or a number with K, M, G or T")]
    Unreadable(String),
    /// More than fits.
    #[error("`{0}` is too large")]
    TooLarge(String),
    /// Less than anything can work with.
    #[error("`{text}` is too little: the least is {least}")]
    TooSmall {
        /// What was written.
        text: String,
        /// The least that is accepted.
        least: ByteSize,
    },
}

impl SizeError {
    /// What could have been meant.
    pub fn hint(&self) -> Option<String> {
        let Self::TooSmall { text, least } = self else { return None };
        let is_bare = text.bytes().all(|byte| byte.is_ascii_digit());
        let is_something = text.bytes().any(|byte| byte != b'0');
        Some(match is_bare && is_something {
            true => format!("without a unit it is bytes: did you mean {text}M?"),
            false => format!("give at least {least}, or leave the limit out"),
        })
    }
}

impl ByteSize {
    /// Reads a size that is no smaller than `least`.
    pub fn parse_at_least(text: &str, least: Self) -> Result<Self, SizeError> {
        let size: Self = text.parse()?;
        if size < least {
            return Err(SizeError::TooSmall { text: text.to_owned(), least });
        }
        Ok(size)
    }

    /// So many mebibytes.
    pub const fn from_mib(mib: u32) -> Self {
        Self((mib as u64) << 20)
    }
}

impl FromStr for ByteSize {
    type Err = SizeError;

    /// Reads `4096`, `512M`, `512MB`, `512MiB`. All units are powers of 1024.
    fn from_str(text: &str) -> Result<Self, SizeError> {
        let unreadable = || SizeError::Unreadable(text.to_owned());
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let shift = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return Err(unreadable()),
        };
        if number.is_empty() {
            return Err(unreadable());
        }
        let too_large = || SizeError::TooLarge(text.to_owned());
        let number: u64 = number.parse().map_err(|_| too_large())?;
        number.checked_mul(1 << shift).map(Self).ok_or_else(too_large)
    }
}

impl std::fmt::Display for ByteSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (shift, unit) in [(40, "T"), (30, "G"), (20, "M"), (10, "K")] {
            if self.0 != 0 && self.0.is_multiple_of(1 << shift) {
                return write!(f, "{}{unit}", self.0 >> shift);
            }
        }
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_1024() {
        let size = |text: &str| text.parse::<ByteSize>().unwrap().0;
        assert_eq!(size("0"), 0);
        assert_eq!(size("4096"), 4096);
        assert_eq!(size("512M"), 512 << 20);
        assert_eq!(size("2GiB"), 2 << 30);
        assert_eq!(size("1kb"), 1024);
    }

    #[test]
    fn refuses_nonsense_and_overflow() {
        for text in ["", "M", "-1", "1.5G", "5 M", "5X"] {
            assert_eq!(text.parse::<ByteSize>(), Err(SizeError::Unreadable(text.into())));
        }
        for text in ["99999999999999999999", "99999999T"] {
            assert_eq!(text.parse::<ByteSize>(), Err(SizeError::TooLarge(text.into())));
        }
    }

    #[test]
    fn a_size_that_is_too_small_was_meant_otherwise() {
        let parse = |text: &str| ByteSize::parse_at_least(text, ByteSize::from_mib(8));
        let hint = |text: &str| parse(text).unwrap_err().hint().unwrap();
        assert_eq!(parse("8M"), Ok(ByteSize::from_mib(8)));
        assert!(hint("512").ends_with("did you mean 512M?"));
        assert!(hint("0").starts_with("give at least 8M"));
        assert!(hint("4K").starts_with("give at least 8M"));
        assert_eq!(parse("lots").unwrap_err().hint(), None);
    }

    #[test]
    fn prints_what_it_reads() {
        for text in ["0", "1", "512M", "3G", "1025"] {
            assert_eq!(text.parse::<ByteSize>().unwrap().to_string(), text);
        }
    }
}
