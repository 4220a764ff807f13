//! Signals: one file per call or small family.
