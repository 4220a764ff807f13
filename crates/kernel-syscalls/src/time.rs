//! Clocks, sleeping and timers: one file per call or small family.

mod clock;
mod interval;
mod sleep;
mod timer;

pub(crate) use clock::{
    adjtimex, clock_adjtime, clock_getres, clock_gettime, clock_settime, gettimeofday,
    settimeofday, time,
};
pub(crate) use interval::{alarm, getitimer, setitimer};
pub(crate) use sleep::{clock_nanosleep, nanosleep, restart_syscall};
pub(crate) use timer::{
    timer_create, timer_delete, timer_getoverrun, timer_gettime, timer_settime,
};

#[cfg(test)]
mod tests;
