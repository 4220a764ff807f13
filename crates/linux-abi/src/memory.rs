//! Memory: protection and mapping flags, advice, seals.
