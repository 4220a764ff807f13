//! Terminals: modes, window sizes, ioctl numbers.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

bitflags::bitflags! {
    /// `c_iflag`: what happens to input.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct InputModes: u32 {
        /// Ignore breaks.
        const IGNBRK = 0o1;
        /// A break is an interrupt.
        const BRKINT = 0o2;
        /// Ignore bytes with parity errors.
        const IGNPAR = 0o4;
        /// Mark bytes with parity errors.
        const PARMRK = 0o10;
        /// Check parity.
        const INPCK = 0o20;
        /// Clear the eighth bit.
        const ISTRIP = 0o40;
        /// Newline becomes carriage return.
        const INLCR = 0o100;
        /// Drop carriage returns.
        const IGNCR = 0o200;
        /// Carriage return becomes newline.
        const ICRNL = 0o400;
        /// Upper case becomes lower case.
        const IUCLC = 0o1000;
        /// The stop and start keys hold and release output.
        const IXON = 0o2000;
        /// Any key releases held output.
        const IXANY = 0o4000;
        /// Send stop and start when the input buffer fills up.
        const IXOFF = 0o10000;
        /// Ring the bell when the input buffer is full.
        const IMAXBEL = 0o20000;
        /// Input is UTF-8.
        const IUTF8 = 0o40000;
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// `c_oflag`: what happens to output.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct OutputModes: u32 {
        /// Process output at all.
        const OPOST = 0o1;
        /// Lower case becomes upper case.
        const OLCUC = 0o2;
        /// Newline becomes carriage return and newline.
        const ONLCR = 0o4;
        /// Carriage return becomes newline.
        const OCRNL = 0o10;
        /// No carriage return in the first column.
        const ONOCR = 0o20;
        /// Newline does what carriage return does.
        const ONLRET = 0o40;
        /// The bits that say how long tabs take; all of them: tabs become spaces.
        const TABDLY = 0o14000;
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// `c_cflag`: the line.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct ControlModes: u32 {
        /// The bits that hold the output speed.
        const CBAUD = 0o10017;
        /// The speed is in `c_ospeed` alone (`BOTHER`).
        const CBAUDEX = 0o10000;
        /// 38400 bits per second.
        const B38400 = 0o17;
        /// The bits that hold the character size; all of them: eight bits.
        const CSIZE = 0o60;
        /// The receiver is on.
        const CREAD = 0o200;
        /// Parity.
        const PARENB = 0o400;
        /// Hang up on the last close.
        const HUPCL = 0o2000;
        /// No modem lines.
        const CLOCAL = 0o4000;
        /// The bits that hold the input speed.
        const CIBAUD = 0o02003600000;
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// `c_lflag`: editing, echo, signals.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct LocalModes: u32 {
        /// Keys make signals.
        const ISIG = 0o1;
        /// Input comes in lines.
        const ICANON = 0o2;
        /// Upper-case presentation.
        const XCASE = 0o4;
        /// Echo input.
        const ECHO = 0o10;
        /// Erase visibly.
        const ECHOE = 0o20;
        /// Newline after the kill key.
        const ECHOK = 0o40;
        /// Echo newlines even without `ECHO`.
        const ECHONL = 0o100;
        /// Signals do not flush the queues.
        const NOFLSH = 0o200;
        /// Background writes stop the writer.
        const TOSTOP = 0o400;
        /// Echo control characters as `^X`.
        const ECHOCTL = 0o1000;
        /// Echo erased characters between `\` and `/`.
        const ECHOPRT = 0o2000;
        /// The kill key erases visibly.
        const ECHOKE = 0o4000;
        /// Output is being discarded.
        const FLUSHO = 0o10000;
        /// Input is to be typed again.
        const PENDIN = 0o40000;
        /// The keys beyond POSIX work.
        const IEXTEN = 0o100000;
        /// Somebody else processes the input.
        const EXTPROC = 0o200000;
        const _ = !0;
    }
}

/// How many control characters a kernel `termios` has.
pub const NCCS: usize = 19;

/// Places in [`Termios::cc`].
#[expect(missing_docs, reason = "the names are those of termios(3)")]
pub mod cc {
    pub const VINTR: usize = 0;
    pub const VQUIT: usize = 1;
    pub const VERASE: usize = 2;
    pub const VKILL: usize = 3;
    pub const VEOF: usize = 4;
    pub const VTIME: usize = 5;
    pub const VMIN: usize = 6;
    pub const VSTART: usize = 8;
    pub const VSTOP: usize = 9;
    pub const VSUSP: usize = 10;
    pub const VEOL: usize = 11;
    pub const VREPRINT: usize = 12;
    pub const VWERASE: usize = 14;
    pub const VLNEXT: usize = 15;
    pub const VEOL2: usize = 16;
}

/// `struct termios2` of the kernel. The older `struct termios` is its first 36 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Termios {
    /// [`InputModes`].
    pub iflag: u32,
    /// [`OutputModes`].
    pub oflag: u32,
    /// [`ControlModes`].
    pub cflag: u32,
    /// [`LocalModes`].
    pub lflag: u32,
    /// Line discipline.
    pub line: u8,
    /// Control characters; see [`cc`].
    pub cc: [u8; NCCS],
    /// Input speed.
    pub ispeed: u32,
    /// Output speed.
    pub ospeed: u32,
}

/// How many bytes of [`Termios`] `TCGETS` and `TCSETS` move.
pub const TERMIOS_BYTES: usize = 36;

impl Termios {
    /// What a new terminal is set to.
    pub const STANDARD: Self = Self {
        iflag: InputModes::ICRNL.union(InputModes::IXON).bits(),
        oflag: OutputModes::OPOST.union(OutputModes::ONLCR).bits(),
        cflag: ControlModes::B38400.union(ControlModes::CSIZE).union(ControlModes::CREAD).bits(),
        lflag: LocalModes::ISIG
            .union(LocalModes::ICANON)
            .union(LocalModes::ECHO)
            .union(LocalModes::ECHOE)
            .union(LocalModes::ECHOK)
            .union(LocalModes::ECHOCTL)
            .union(LocalModes::ECHOKE)
            .union(LocalModes::IEXTEN)
            .bits(),
        line: 0,
        cc: [3, 28, 127, 21, 4, 0, 1, 0, 17, 19, 26, 0, 18, 15, 23, 22, 0, 0, 0],
        ispeed: 38400,
        ospeed: 38400,
    };

    /// The input modes.
    pub const fn input(&self) -> InputModes {
        InputModes::from_bits_retain(self.iflag)
    }

    /// The output modes.
    pub const fn output(&self) -> OutputModes {
        OutputModes::from_bits_retain(self.oflag)
    }

    /// The local modes.
    pub const fn local(&self) -> LocalModes {
        LocalModes::from_bits_retain(self.lflag)
    }

    /// A control character. The places are constants of [`cc`], so there always is one.
    pub fn key(&self, place: usize) -> u8 {
        self.cc.get(place).copied().unwrap_or(0)
    }
}

/// `struct termio`, of System V.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Termio {
    /// The lower half of the input modes.
    pub iflag: u16,
    /// The lower half of the output modes.
    pub oflag: u16,
    /// The lower half of the control modes.
    pub cflag: u16,
    /// The lower half of the local modes.
    pub lflag: u16,
    /// Line discipline.
    pub line: u8,
    /// The first control characters.
    pub cc: [u8; 8],
    /// The compiler's padding.
    pub padding: u8,
}

/// `struct winsize`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct WindowSize {
    /// Rows.
    pub rows: u16,
    /// Columns.
    pub columns: u16,
    /// Width in pixels.
    pub width: u16,
    /// Height in pixels.
    pub height: u16,
}

/// Request numbers of `ioctl(2)` on terminals.
#[expect(missing_docs, reason = "the names are those of ioctl_tty(2)")]
pub mod request {
    pub const TCGETS: u32 = 0x5401;
    pub const TCSETS: u32 = 0x5402;
    pub const TCSETSW: u32 = 0x5403;
    pub const TCSETSF: u32 = 0x5404;
    pub const TCGETA: u32 = 0x5405;
    pub const TCSETA: u32 = 0x5406;
    pub const TCSETAW: u32 = 0x5407;
    pub const TCSETAF: u32 = 0x5408;
    pub const TCSBRK: u32 = 0x5409;
    pub const TCXONC: u32 = 0x540a;
    pub const TCFLSH: u32 = 0x540b;
    pub const TIOCEXCL: u32 = 0x540c;
    pub const TIOCNXCL: u32 = 0x540d;
    pub const TIOCSCTTY: u32 = 0x540e;
    pub const TIOCGPGRP: u32 = 0x540f;
    pub const TIOCSPGRP: u32 = 0x5410;
    pub const TIOCOUTQ: u32 = 0x5411;
    pub const TIOCSTI: u32 = 0x5412;
    pub const TIOCGWINSZ: u32 = 0x5413;
    pub const TIOCSWINSZ: u32 = 0x5414;
    pub const TIOCGSOFTCAR: u32 = 0x5419;
    pub const TIOCSSOFTCAR: u32 = 0x541a;
    pub const FIONREAD: u32 = 0x541b;
    pub const TIOCPKT: u32 = 0x5420;
    pub const TIOCNOTTY: u32 = 0x5422;
    pub const TIOCSETD: u32 = 0x5423;
    pub const TIOCGETD: u32 = 0x5424;
    pub const TCSBRKP: u32 = 0x5425;
    pub const TIOCSBRK: u32 = 0x5427;
    pub const TIOCCBRK: u32 = 0x5428;
    pub const TIOCGSID: u32 = 0x5429;
    pub const TCGETS2: u32 = 0x802c_542a;
    pub const TCSETS2: u32 = 0x402c_542b;
    pub const TCSETSW2: u32 = 0x402c_542c;
    pub const TCSETSF2: u32 = 0x402c_542d;
    pub const TIOCGPTN: u32 = 0x8004_5430;
    pub const TIOCSPTLCK: u32 = 0x4004_5431;
    pub const TIOCGDEV: u32 = 0x8004_5432;
    pub const TIOCSIG: u32 = 0x4004_5436;
    pub const TIOCVHANGUP: u32 = 0x5437;
    pub const TIOCGPKT: u32 = 0x8004_5438;
    pub const TIOCGPTLCK: u32 = 0x8004_5439;
    pub const TIOCGEXCL: u32 = 0x8004_5440;
    pub const TIOCGPTPEER: u32 = 0x5441;
}

bitflags::bitflags! {
    /// `TIOCPKT_*`: what a master in packet mode is told.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct PacketStatus: u8 {
        /// The input queue was flushed.
        const FLUSHREAD = 1;
        /// The output queue was flushed.
        const FLUSHWRITE = 2;
        /// Output is held.
        const STOP = 4;
        /// Output goes on.
        const START = 8;
        /// The stop and start keys are not `^S` and `^Q`.
        const NOSTOP = 16;
        /// The stop and start keys are `^S` and `^Q`.
        const DOSTOP = 32;
        /// `EXTPROC` changed.
        const IOCTL = 64;
    }
}
