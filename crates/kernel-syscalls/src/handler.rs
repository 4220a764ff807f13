//! From six registers to typed arguments, and back.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use kernel_core::memory::UserPtr;
use kernel_tasks::Thread;
use linux_abi::{Errno, Fd, Pid, SysResult, WaitResult};

/// The six argument registers of a system call.
pub type Registers = [u64; 6];

/// The answer to a call that may wait, in the making.
pub type Answer = Pin<Box<dyn Future<Output = WaitResult<u64>>>>;

/// A system call body whose argument types have been erased.
#[derive(Clone, Copy)]
pub enum Body {
    /// Answers at once.
    Now(fn(&Rc<Thread>, &Registers) -> SysResult<u64>),
    /// May have to wait.
    MayWait(fn(Rc<Thread>, Registers) -> Answer),
    /// Hardly ever has to wait, and makes a future only if it does.
    Try(fn(&Rc<Thread>, &Registers) -> Attempt<u64>),
}

/// What a call came to that hardly ever waits.
pub enum Attempt<R> {
    /// The answer.
    Done(SysResult<R>),
    /// It has to wait: the rest of the call.
    Wait(Pin<Box<dyn Future<Output = WaitResult<R>>>>),
}

impl<R: IntoRegister + 'static> Attempt<R> {
    fn into_register(self) -> Attempt<u64> {
        match self {
            Self::Done(result) => Attempt::Done(result.map(R::into_register)),
            Self::Wait(rest) => {
                Attempt::Wait(Box::pin(async move { rest.await.map(R::into_register) }))
            }
        }
    }
}

impl<R> From<Errno> for Attempt<R> {
    fn from(errno: Errno) -> Self {
        Self::Done(Err(errno))
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Now(_) => "Now",
            Self::MayWait(_) => "MayWait",
            Self::Try(_) => "Try",
        })
    }
}

/// A type that one argument register can hold.
///
/// Narrowing happens in these implementations and nowhere else.
pub trait FromRegister: Sized {
    /// Reads the register as Linux would for a parameter of this type.
    fn from_register(raw: u64) -> Self;
}

impl FromRegister for u32 {
    #[expect(clippy::cast_possible_truncation, reason = "Linux ignores the upper half too")]
    fn from_register(raw: u64) -> Self {
        raw as u32
    }
}

impl FromRegister for i32 {
    fn from_register(raw: u64) -> Self {
        u32::from_register(raw).cast_signed()
    }
}

impl FromRegister for u64 {
    fn from_register(raw: u64) -> Self {
        raw
    }
}

impl FromRegister for i64 {
    fn from_register(raw: u64) -> Self {
        raw.cast_signed()
    }
}

impl FromRegister for usize {
    fn from_register(raw: u64) -> Self {
        // Lossless: only 64-bit hosts are supported.
        usize::try_from(raw).unwrap_or(usize::MAX)
    }
}

impl FromRegister for Fd {
    fn from_register(raw: u64) -> Self {
        Fd(i32::from_register(raw))
    }
}

impl<T> FromRegister for UserPtr<T> {
    fn from_register(raw: u64) -> Self {
        UserPtr::new(raw)
    }
}

/// A value that fits the return register.
pub trait IntoRegister {
    /// The register value that means this.
    fn into_register(self) -> u64;
}

impl IntoRegister for () {
    fn into_register(self) -> u64 {
        0
    }
}
impl IntoRegister for u32 {
    fn into_register(self) -> u64 {
        self.into()
    }
}
impl IntoRegister for u64 {
    fn into_register(self) -> u64 {
        self
    }
}
impl IntoRegister for i64 {
    fn into_register(self) -> u64 {
        self.cast_unsigned()
    }
}
impl IntoRegister for i32 {
    fn into_register(self) -> u64 {
        i64::from(self).cast_unsigned()
    }
}
impl IntoRegister for usize {
    fn into_register(self) -> u64 {
        self as u64
    }
}
impl IntoRegister for Fd {
    fn into_register(self) -> u64 {
        i64::from(self.0).cast_unsigned()
    }
}
impl IntoRegister for Pid {
    fn into_register(self) -> u64 {
        self.0.into()
    }
}

/// A plain function that answers at once.
///
/// The signature is the declaration: how many registers are read, and as what, follows from the
/// parameter types.
pub trait Handler<Args> {
    /// Decodes the registers, runs the body and encodes what it returns.
    fn call(self, thread: &Rc<Thread>, registers: &Registers) -> SysResult<u64>;
}

/// An `async` function that may wait.
pub trait AsyncHandler<Args> {
    /// Decodes the registers and starts the body.
    fn call(self, thread: Rc<Thread>, registers: Registers) -> Answer;
}

/// A plain function that hardly ever has to wait.
pub trait TryHandler<Args> {
    /// Decodes the registers, runs the body and encodes what it returns.
    fn call(self, thread: &Rc<Thread>, registers: &Registers) -> Attempt<u64>;
}

macro_rules! handler_of {
    ($($arg:ident $register:ident),*) => {
        impl<F, R, $($arg),*> Handler<($($arg,)*)> for F
        where
            F: FnOnce(&Rc<Thread>, $($arg),*) -> SysResult<R>,
            R: IntoRegister,
            $($arg: FromRegister,)*
        {
            fn call(self, thread: &Rc<Thread>, registers: &Registers) -> SysResult<u64> {
                let [$($register,)* ..] = *registers;
                self(thread, $($arg::from_register($register)),*).map(R::into_register)
            }
        }

        impl<F, R, $($arg),*> TryHandler<($($arg,)*)> for F
        where
            F: FnOnce(&Rc<Thread>, $($arg),*) -> Attempt<R>,
            R: IntoRegister + 'static,
            $($arg: FromRegister,)*
        {
            fn call(self, thread: &Rc<Thread>, registers: &Registers) -> Attempt<u64> {
                let [$($register,)* ..] = *registers;
                self(thread, $($arg::from_register($register)),*).into_register()
            }
        }

        impl<F, U, R, $($arg),*> AsyncHandler<($($arg,)*)> for F
        where
            F: FnOnce(Rc<Thread>, $($arg),*) -> U,
            U: Future<Output = WaitResult<R>> + 'static,
            R: IntoRegister,
            $($arg: FromRegister,)*
        {
            fn call(self, thread: Rc<Thread>, registers: Registers) -> Answer {
                let [$($register,)* ..] = registers;
                let answer = self(thread, $($arg::from_register($register)),*);
                Box::pin(async move { answer.await.map(R::into_register) })
            }
        }
    };
}

handler_of!();
handler_of!(A a);
handler_of!(A a, B b);
handler_of!(A a, B b, C c);
handler_of!(A a, B b, C c, D d);
handler_of!(A a, B b, C c, D d, E e);
handler_of!(A a, B b, C c, D d, E e, G g);
