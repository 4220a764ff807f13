//! Processes and threads: one file per call or small family.
