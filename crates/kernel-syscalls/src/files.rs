//! Files and file systems: one file per call or small family.
