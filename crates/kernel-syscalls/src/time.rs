//! Clocks and timers: one file per call or small family.
