//! `bpf(2)`: the commands, attributes and instructions that this kernel knows.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The first argument.
#[expect(missing_docs, reason = "the names are those of bpf(2)")]
pub mod command {
    pub const PROG_LOAD: i32 = 5;
    pub const PROG_ATTACH: i32 = 8;
    pub const PROG_DETACH: i32 = 9;
    pub const PROG_GET_NEXT_ID: i32 = 11;
    pub const PROG_GET_FD_BY_ID: i32 = 13;
    pub const PROG_QUERY: i32 = 16;
}

/// Programs that judge the use of devices.
pub const PROG_TYPE_CGROUP_DEVICE: u32 = 15;
/// Where such programs are attached.
pub const ATTACH_CGROUP_DEVICE: u32 = 6;

/// Where programs may be attached to control groups (`BPF_CGROUP_*`).
pub const fn is_cgroup_attach_type(number: u32) -> bool {
    // Traffic, sockets, devices, addresses of sockets, settings, options, names of peers.
    matches!(number, 0..=3 | 6 | 8..=15 | 18..=22 | 29..=32 | 34 | 49..=53)
}

bitflags::bitflags! {
    /// `attach_flags`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct AttachFlags: u32 {
        /// A group beneath may have a program of its own instead.
        const ALLOW_OVERRIDE = 1;
        /// Several programs are attached, and those of groups beneath add to them.
        const ALLOW_MULTI = 2;
        /// Takes the place of another program.
        const REPLACE = 4;
        /// Runs before the programs of groups beneath.
        const PREORDER = 64;
    }
}

/// `query_flags`: what is in force, not what is attached here.
pub const QUERY_EFFECTIVE: u32 = 1;
/// How long a name may be, with its terminating zero.
pub const OBJECT_NAME_LENGTH: usize = 16;

/// The attributes of `PROG_LOAD`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of bpf(2)")]
pub struct ProgLoad {
    pub prog_type: u32,
    pub insn_cnt: u32,
    pub insns: u64,
    pub license: u64,
    pub log_level: u32,
    pub log_size: u32,
    pub log_buf: u64,
    pub kern_version: u32,
    pub prog_flags: u32,
    pub prog_name: [u8; OBJECT_NAME_LENGTH],
    pub prog_ifindex: u32,
    pub expected_attach_type: u32,
    pub prog_btf_fd: u32,
    pub func_info_rec_size: u32,
    pub func_info: u64,
    pub func_info_cnt: u32,
    pub line_info_rec_size: u32,
    pub line_info: u64,
    pub line_info_cnt: u32,
    pub attach_btf_id: u32,
    pub attach_prog_fd: u32,
    pub core_relo_cnt: u32,
    pub fd_array: u64,
    pub core_relos: u64,
    pub core_relo_rec_size: u32,
    pub log_true_size: u32,
    pub prog_token_fd: i32,
    pub fd_array_cnt: u32,
}

/// The attributes of `PROG_ATTACH` and `PROG_DETACH`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of bpf(2)")]
pub struct ProgAttach {
    pub target_fd: i32,
    pub attach_bpf_fd: i32,
    pub attach_type: u32,
    pub attach_flags: u32,
    pub replace_bpf_fd: i32,
    pub relative_fd: u32,
    pub expected_revision: u64,
}

/// The attributes of `PROG_QUERY`, with those that are given back.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of bpf(2)")]
pub struct ProgQuery {
    pub target_fd: i32,
    pub attach_type: u32,
    pub query_flags: u32,
    pub attach_flags: u32,
    pub prog_ids: u64,
    pub prog_cnt: u32,
    pub padding: u32,
    pub prog_attach_flags: u64,
    pub link_ids: u64,
    pub link_attach_flags: u64,
    pub revision: u64,
}

/// The attributes of `PROG_GET_NEXT_ID` and `PROG_GET_FD_BY_ID`.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
#[expect(missing_docs, reason = "the names are those of bpf(2)")]
pub struct ProgId {
    /// The id before the wanted one, or the wanted one.
    pub id: u32,
    pub next_id: u32,
    pub open_flags: u32,
}

/// One instruction, as the guest gives it.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Instruction {
    /// What it does.
    pub code: u8,
    /// The register that it changes, in the lower half, and the one that it reads.
    pub registers: u8,
    /// A distance: in memory, or to an instruction.
    pub offset: i16,
    /// A number.
    pub immediate: i32,
}

impl Instruction {
    /// The register that it changes.
    pub const fn destination(self) -> u8 {
        self.registers & 15
    }

    /// The register that it reads.
    pub const fn source(self) -> u8 {
        self.registers >> 4
    }
}

/// The parts of an instruction's code.
#[expect(missing_docs, reason = "the names are those of the instruction set")]
pub mod code {
    pub const CLASS: u8 = 7;
    pub const LD: u8 = 0;
    pub const LDX: u8 = 1;
    pub const ST: u8 = 2;
    pub const STX: u8 = 3;
    pub const ALU: u8 = 4;
    pub const JMP: u8 = 5;
    pub const JMP32: u8 = 6;
    pub const ALU64: u8 = 7;

    /// The operand is a register, not the immediate number.
    pub const X: u8 = 8;
    pub const OPERATION: u8 = 0xf0;
    pub const ADD: u8 = 0x00;
    pub const SUB: u8 = 0x10;
    pub const MUL: u8 = 0x20;
    pub const DIV: u8 = 0x30;
    pub const OR: u8 = 0x40;
    pub const AND: u8 = 0x50;
    pub const LSH: u8 = 0x60;
    pub const RSH: u8 = 0x70;
    pub const NEG: u8 = 0x80;
    pub const MOD: u8 = 0x90;
    pub const XOR: u8 = 0xa0;
    pub const MOV: u8 = 0xb0;
    pub const ARSH: u8 = 0xc0;
    pub const END: u8 = 0xd0;

    pub const JA: u8 = 0x00;
    pub const JEQ: u8 = 0x10;
    pub const JGT: u8 = 0x20;
    pub const JGE: u8 = 0x30;
    pub const JSET: u8 = 0x40;
    pub const JNE: u8 = 0x50;
    pub const JSGT: u8 = 0x60;
    pub const JSGE: u8 = 0x70;
    pub const EXIT: u8 = 0x90;
    pub const JLT: u8 = 0xa0;
    pub const JLE: u8 = 0xb0;
    pub const JSLT: u8 = 0xc0;
    pub const JSLE: u8 = 0xd0;

    pub const SIZE: u8 = 0x18;
    pub const W: u8 = 0x00;
    pub const H: u8 = 0x08;
    pub const B: u8 = 0x10;
    pub const DW: u8 = 0x18;
    pub const MODE: u8 = 0xe0;
    pub const IMM: u8 = 0x00;
    pub const MEM: u8 = 0x60;
    pub const MEMSX: u8 = 0x80;

    /// Loads a number of 64 bits, which takes the place of two instructions.
    pub const LOAD_WIDE: u8 = LD | DW | IMM;
}
