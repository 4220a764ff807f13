//! What guest memory holds: words, addresses of sockets, vectors, paths.

use fastrand::Rng;
use kernel_core::memory::UserMemory;
use kernel_tasks::testing::MEMORY_START;

/// How much of the guest's memory is used for arguments.
const ROOM: u64 = 240 << 10;

/// Puts things into guest memory, one behind the other.
pub struct Arena<'a> {
    memory: &'a dyn UserMemory,
    next: u64,
}

/// Numbers at which something often changes.
const EDGES: [u64; 20] = [
    0,
    1,
    2,
    3,
    7,
    8,
    4095,
    4096,
    4097,
    0xffff,
    0x1_0000,
    0x7fff_f000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Some number: small, at an edge, an address of the arena, or anything.
pub fn word(rng: &mut Rng) -> u64 {
    match rng.u8(..10) {
        0..4 => rng.u64(..20),
        4 | 5 => EDGES.get(rng.usize(..EDGES.len())).copied().unwrap_or(0),
        6 => 1 << rng.u64(..64),
        7 => MEMORY_START + rng.u64(..ROOM),
        8 => rng.u64(..5000),
        _ => rng.u64(..),
    }
}

impl<'a> Arena<'a> {
    /// An arena that starts anywhere.
    pub fn new(memory: &'a dyn UserMemory, rng: &mut Rng) -> Self {
        Self { memory, next: MEMORY_START + rng.u64(..ROOM) / 8 * 8 }
    }

    /// Puts bytes there. Returns their address.
    pub fn put(&mut self, bytes: &[u8]) -> u64 {
        let at = self.next;
        // What does not fit is the end of the guest's memory, which is worth trying too.
        let _ = self.memory.write_some(at, bytes);
        self.next += (bytes.len() as u64).next_multiple_of(8);
        at
    }

    /// Room for a result, sometimes too little or nowhere.
    pub fn room(&mut self, rng: &mut Rng, length: usize) -> u64 {
        match rng.u8(..16) {
            0 => 0,
            1 => word(rng),
            _ => self.put(&vec![0; length.min(4096)]),
        }
    }

    /// A structure of about this length, sometimes nowhere.
    pub fn structure(&mut self, rng: &mut Rng, length: usize) -> u64 {
        match rng.u8(..16) {
            0 => 0,
            1 => word(rng),
            2..5 => self.socket_address(rng),
            5 | 6 => self.vector(rng),
            7 => self.message(rng),
            8 => self.strings(rng),
            _ => self.words(rng, length.clamp(16, 512)),
        }
    }

    fn words(&mut self, rng: &mut Rng, length: usize) -> u64 {
        let is_wide = rng.bool();
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            let word = word(rng).to_le_bytes();
            let n = if is_wide { 8 } else { 4 };
            bytes.extend_from_slice(word.get(..n).unwrap_or(&word));
        }
        self.put(&bytes)
    }

    fn socket_address(&mut self, rng: &mut Rng) -> u64 {
        let mut bytes = vec![0; 128];
        let port = *rng.choice(&[0_u16, 22, 80, 8080, 9000]).unwrap_or(&0);
        let start: Vec<u8> = match rng.u8(..5) {
            0 => [&[1, 0][..], b"/tmp/socket"].concat(),
            1 => [&[1, 0, 0][..], b"abstract"].concat(),
            2 => [&[2, 0][..], &port.to_be_bytes(), &[127, 0, 0, 1]].concat(),
            3 => {
                let head = [&[10, 0][..], &port.to_be_bytes(), &[0; 4], &[0; 15], &[1]];
                head.concat()
            }
            _ => [&[16, 0][..], &[0; 6]].concat(),
        };
        bytes.iter_mut().zip(start).for_each(|(to, from)| *to = from);
        self.put(&bytes)
    }

    fn vector(&mut self, rng: &mut Rng) -> u64 {
        let mut bytes = Vec::new();
        for _ in 0..rng.usize(1..6) {
            let (base, length) = (self.room(rng, 256), if rng.bool() { 200 } else { word(rng) });
            bytes.extend(base.to_le_bytes());
            bytes.extend(length.to_le_bytes());
        }
        self.put(&bytes)
    }

    fn message(&mut self, rng: &mut Rng) -> u64 {
        let (name, vector) = (self.socket_address(rng), self.vector(rng));
        let control = self.control(rng);
        let words = [name, *rng.choice(&[0, 16, 28, 110]).unwrap_or(&0), vector, rng.u64(..5)];
        let rest = [control, *rng.choice(&[0, 20, 24, 64]).unwrap_or(&0), rng.u64(..3)];
        let bytes: Vec<u8> = words.into_iter().chain(rest).flat_map(u64::to_le_bytes).collect();
        self.put(&bytes)
    }

    fn control(&mut self, rng: &mut Rng) -> u64 {
        let length = *rng.choice(&[0_u64, 8, 16, 20, 24, 28, u64::MAX]).unwrap_or(&0);
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(rng.u32(..4).to_le_bytes());
        for _ in 0..10 {
            bytes.extend(rng.u32(..12).to_le_bytes());
        }
        self.put(&bytes)
    }

    fn strings(&mut self, rng: &mut Rng) -> u64 {
        let mut words = Vec::new();
        for _ in 0..rng.usize(..4) {
            words.push(self.path(rng));
        }
        words.push(0);
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        self.put(&bytes)
    }

    /// A string, with the zero at its end.
    pub fn string(&mut self, text: &str) -> u64 {
        self.put(&[text.as_bytes(), &[0]].concat())
    }

    /// A path, sometimes nowhere.
    pub fn path(&mut self, rng: &mut Rng) -> u64 {
        if rng.u8(..32) == 0 {
            return word(rng);
        }
        let mut path = some_path(rng);
        path.push(0);
        self.put(&path)
    }
}

/// Places where something is, or is often made.
const PLACES: [&str; 40] = [
    "/",
    ".",
    "..",
    "",
    "/tmp",
    "/tmp/a",
    "/tmp/b",
    "/tmp/c",
    "/tmp/d",
    "/tmp/d/e",
    "/tmp/link",
    "a",
    "b",
    "d",
    "d/e",
    "link",
    "/program",
    "/script",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/ptmx",
    "/dev/pts/0",
    "/dev/tty",
    "/dev/shm/x",
    "/proc",
    "/proc/self",
    "/proc/self/fd/3",
    "/proc/self/fd",
    "/proc/self/maps",
    "/proc/self/mem",
    "/proc/self/exe",
    "/proc/self/root",
    "/proc/1/stat",
    "/proc/self/task",
    "/proc/net/tcp",
    "/proc/sys/kernel/hostname",
    "/sys",
    "/tmp/fifo",
];

fn some_path(rng: &mut Rng) -> Vec<u8> {
    let mut path = rng.choice(&PLACES).map_or(Vec::new(), |place| place.as_bytes().to_vec());
    match rng.u8(..24) {
        0 => path.push(b'/'),
        1 => path.extend(some_name(rng)),
        2 => path.extend_from_slice(b"/../"),
        3 => path = std::iter::repeat_with(|| rng.u8(1..)).take(30).collect(),
        4 => path = [path, b"/".to_vec(), some_name(rng)].concat(),
        5 => path = b"x/".repeat(2100),
        _ => {}
    }
    path
}

fn some_name(rng: &mut Rng) -> Vec<u8> {
    let length = *rng.choice(&[1_usize, 14, 255, 256, 300]).unwrap_or(&1);
    vec![rng.u8(b'a'..b'f'); length]
}
