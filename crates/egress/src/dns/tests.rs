//! Tests of the messages.

use super::*;

fn query(name: &str, kind: u16, extended: bool) -> Vec<u8> {
    let header = [7, RECURSION_DESIRED, 1, 0, 0, u16::from(extended)];
    let mut message: Vec<u8> = header.iter().flat_map(|word: &u16| word.to_be_bytes()).collect();
    for label in name.split('.') {
        message.push(u8::try_from(label.len()).unwrap());
        message.extend(label.as_bytes());
    }
    message.push(0);
    message.extend(kind.to_be_bytes());
    message.extend(CLASS_IN.to_be_bytes());
    if extended {
        message.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    }
    message
}

#[test]
fn reads_a_question() {
    let message = query("API.Example.org", TYPE_A, false);
    let parsed = parse(&message).unwrap();
    assert_eq!(parsed.name, "api.example.org");
    assert!(parsed.wants_addresses());
    assert_eq!(parsed.udp_size(), 512);
    assert_eq!(parse(&query("a.b", 65, true)).unwrap().udp_size(), 1232);
    assert_eq!(parse(&query("a b\n.org", TYPE_A, false)).unwrap().name, "a?b?.org");
}

#[test]
fn answers_with_addresses_of_the_kind_that_is_wanted() {
    let message = query("a.org", TYPE_A, false);
    let addresses = vec!["1.2.3.4".parse().unwrap(), "::1".parse().unwrap()];
    let outcome = Outcome::Addresses(addresses);
    let answer = parse(&message).unwrap().answer(&outcome, 512);
    assert_eq!(&answer[..12], [0, 7, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
    assert_eq!(answer[12..message.len()], message[12..]);
    assert_eq!(answer[message.len()..], [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 1, 2, 3, 4]);
    let other = parse(&query("a.org", 65, false)).unwrap().answer(&outcome, 512);
    assert_eq!((other[3] & 15, other[7]), (0, 0), "the name is there, such records are not");
}

#[test]
fn a_blocked_name_does_not_exist_and_says_why() {
    let answer = parse(&query("a.org", TYPE_A, true)).unwrap().answer(&Outcome::Blocked, 512);
    assert_eq!((answer[3] & 15, answer[11]), (3, 1));
    assert!(answer.ends_with(b"not allowed in this sandbox"));
}

#[test]
fn a_long_answer_is_cut() {
    let addresses = (0..200u32).map(|n| IpAddr::V4(n.into())).collect();
    let query = parse(&query("a.org", TYPE_A, false)).unwrap();
    let answer = query.answer(&Outcome::Addresses(addresses), 512);
    assert!(answer.len() <= 512 && answer.len() > 480);
    assert_eq!(usize::from(answer[7]), (answer.len() - 12 - 11) / 16);
}

#[test]
fn nonsense_is_no_question() {
    let good = query("a.org", TYPE_A, true);
    for n in 0..good.len() - 11 {
        assert_eq!(parse(&good[..n]), None, "{n}");
    }
    let mut response = good.clone();
    response[2] |= 0x80;
    assert_eq!(parse(&response), None);
    let mut pointer = good;
    pointer[12] = 0xc0;
    assert_eq!(parse(&pointer), None);
    let endless = [&[0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], &[1; 900]].concat();
    assert_eq!(parse(&endless), None);
}
