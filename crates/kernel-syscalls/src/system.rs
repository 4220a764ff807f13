//! Answers about the system: one file per call or small family.
