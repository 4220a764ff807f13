//! What may leave a sandbox: the rules, applied.

#![forbid(unsafe_code)]

pub mod policy;
pub mod special;
pub mod ties;
