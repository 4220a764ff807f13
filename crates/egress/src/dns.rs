//! Messages of the domain name system, as far as a name server needs them that knows addresses
//! only (RFC 1035; RFC 6891 and RFC 8914 for what was added to them).

use std::net::IpAddr;

#[cfg(test)]
mod tests;

/// The longest message that is looked at.
pub const MAX_MESSAGE: usize = 4096;

/// How long an answer may be kept, in seconds.
pub const TIME_TO_LIVE: u32 = 60;

/// The longest answer over UDP for those who do not say what they take.
const CLASSIC_UDP: usize = 512;

const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;
const TYPE_ANY: u16 = 255;
const TYPE_OPT: u16 = 41;
const CLASS_IN: u16 = 1;

const IS_RESPONSE: u16 = 0x8000;
const OPCODE: u16 = 0x7800;
const RECURSION_DESIRED: u16 = 0x0100;
const RECURSION_AVAILABLE: u16 = 0x0080;

const HEADER: usize = 12;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The name, in lower case and without a dot at the end. What no name of a host has is `?`.
    pub name: String,
    id: u16,
    flags: u16,
    kind: u16,
    class: u16,
    /// The question as it came, to be repeated in the answer.
    question: Vec<u8>,
    /// The longest answer over UDP, from those who say it.
    udp_size: Option<u16>,
}

/// What there is to say about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its addresses.
    Addresses(Vec<IpAddr>),
    /// There is no such name.
    NoSuchName,
    /// The name is not allowed. Said as if there were no such name, which programs understand
    /// best, and as an extended error to those who take one.
    Blocked,
    /// Nobody could find out.
    Failed,
}

fn word(message: &[u8], at: usize) -> Option<u16> {
    message.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_be_bytes)
}

/// Reads a message. `None` if it is not a question that can be answered at all.
pub fn parse(message: &[u8]) -> Option<Query> {
    let (id, flags) = (word(message, 0)?, word(message, 2)?);
    if flags & IS_RESPONSE != 0 || word(message, 4)? != 1 || message.len() > MAX_MESSAGE {
        return None;
    }
    let mut labels: Vec<String> = Vec::new();
    let mut at = HEADER;
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        // A question has no pointers: there is nothing before it that it could point to.
        match length {
            0 => break,
            1..=63 => labels.push(label(message.get(at..at + length)?)),
            _ => return None,
        }
        at += length;
        if at > HEADER + 255 {
            return None;
        }
    }
    let (kind, class) = (word(message, at)?, word(message, at + 2)?);
    let end = at + 4;
    // The root has an empty name; the rest of the record follows.
    let has_more = word(message, 10)? > 0 && message.get(end) == Some(&0);
    let is_extended = has_more && word(message, end + 1) == Some(TYPE_OPT);
    Some(Query {
        name: labels.join("."),
        id,
        flags,
        kind,
        class,
        question: message.get(HEADER..end)?.to_vec(),
        udp_size: is_extended.then(|| word(message, end + 3)).flatten(),
    })
}

fn label(bytes: &[u8]) -> String {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let letter =
        |&byte: &u8| if is_usual(byte) { char::from(byte.to_ascii_lowercase()) } else { '?' };
    bytes.iter().map(letter).collect()
}

impl Query {
    /// Whether addresses are wanted at all.
    pub fn wants_addresses(&self) -> bool {
        self.class == CLASS_IN && [TYPE_A, TYPE_AAAA, TYPE_ANY].contains(&self.kind)
    }

    fn wants(&self, address: &IpAddr) -> bool {
        match self.kind {
            TYPE_A => address.is_ipv4(),
            TYPE_AAAA => address.is_ipv6(),
            kind => kind == TYPE_ANY,
        }
    }

    /// The longest answer over UDP.
    pub fn udp_size(&self) -> usize {
        self.udp_size.map_or(CLASSIC_UDP, usize::from).clamp(CLASSIC_UDP, MAX_MESSAGE)
    }

    /// The answer, of `max` bytes at most. Addresses that find no room are left out: one is enough.
    pub fn answer(&self, outcome: &Outcome, max: usize) -> Vec<u8> {
        const NO_ERROR: u16 = 0;
        const SERVER_FAILURE: u16 = 2;
        const NAME_ERROR: u16 = 3;
        const NOT_IMPLEMENTED: u16 = 4;
        let extension = self.extension(outcome);
        let code = match outcome {
            _ if self.flags & OPCODE != 0 => NOT_IMPLEMENTED,
            Outcome::Addresses(_) => NO_ERROR,
            Outcome::NoSuchName | Outcome::Blocked => NAME_ERROR,
            Outcome::Failed => SERVER_FAILURE,
        };
        let mut records = Vec::new();
        let mut n_records = 0u16;
        if let Outcome::Addresses(addresses) = outcome
            && code == NO_ERROR
        {
            for address in addresses.iter().filter(|address| self.wants(address)) {
                let record = address_record(address);
                let len = HEADER + self.question.len() + records.len() + extension.len();
                if len + record.len() > max {
                    break;
                }
                records.extend(record);
                n_records += 1;
            }
        }
        let kept = self.flags & (OPCODE | RECURSION_DESIRED);
        let flags = IS_RESPONSE | RECURSION_AVAILABLE | kept | code;
        let n_extensions = u16::from(!extension.is_empty());
        let header = [self.id, flags, 1, n_records, 0, n_extensions];
        let mut answer: Vec<u8> = header.iter().flat_map(|word| word.to_be_bytes()).collect();
        answer.extend(&self.question);
        answer.extend(records);
        answer.extend(extension);
        answer
    }

    /// The record that says to those who know such records what we take, and why a name was
    /// blocked.
    fn extension(&self, outcome: &Outcome) -> Vec<u8> {
        const EXTENDED_ERROR: u16 = 15;
        const BLOCKED: u16 = 15;
        const WORDS: &[u8] = b"not allowed in this sandbox";
        if self.udp_size.is_none() {
            return Vec::new();
        }
        let mut option = Vec::new();
        if *outcome == Outcome::Blocked {
            let length = u16::try_from(WORDS.len() + 2).unwrap_or(0);
            let words = [EXTENDED_ERROR, length, BLOCKED];
            option.extend(words.iter().flat_map(|word| word.to_be_bytes()));
            option.extend(WORDS);
        }
        let length = u16::try_from(option.len()).unwrap_or(0);
        let size = u16::try_from(MAX_MESSAGE).unwrap_or(0);
        let mut record = vec![0];
        record.extend([TYPE_OPT, size, 0, 0, length].iter().flat_map(|word| word.to_be_bytes()));
        record.extend(option);
        record
    }
}

fn address_record(address: &IpAddr) -> Vec<u8> {
    // The name is the question's: where that starts, as a pointer.
    const NAME_OF_QUESTION: [u8; 2] = [0xc0, 0x0c];
    let (kind, bytes) = match address {
        IpAddr::V4(v4) => (TYPE_A, v4.octets().to_vec()),
        IpAddr::V6(v6) => (TYPE_AAAA, v6.octets().to_vec()),
    };
    let mut record = NAME_OF_QUESTION.to_vec();
    record.extend(kind.to_be_bytes());
    record.extend(CLASS_IN.to_be_bytes());
    record.extend(TIME_TO_LIVE.to_be_bytes());
    record.extend(u16::try_from(bytes.len()).unwrap_or(0).to_be_bytes());
    record.extend(bytes);
    record
}
