//! Tests of the rules.

use super::*;

struct Case {
    policy: Policy,
    ties: Ties,
    now: Instant,
}

fn case(allow: &[&str], deny: &[&str]) -> Case {
    let rules = |list: &[&str]| list.iter().map(|rule| rule.parse().unwrap()).collect();
    let rules = EgressRules { allow: rules(allow), deny: rules(deny), hosts: Vec::new() };
    Case { policy: Policy::new(rules), ties: Ties::default(), now: Instant::now() }
}

impl Case {
    fn tie(mut self, name: &str, address: &str) -> Self {
        self.ties.add(name, address.parse().unwrap(), self.now);
        self
    }

    fn decision(&self, to: &str) -> Decision {
        self.policy.decide(to.parse().unwrap(), &self.ties, self.now)
    }

    fn allows(&self, to: &str) -> bool {
        self.decision(to).is_allowed()
    }

    fn allows_name(&self, name: &str) -> bool {
        self.policy.decide_name(name).is_allowed()
    }
}

#[test]
fn nothing_is_allowed_by_no_rule() {
    let case = case(&[], &[]);
    assert_eq!(case.decision("1.1.1.1:80").reason, Reason::NoRule);
    assert!(!case.allows("127.0.0.1:80"));
    assert!(!case.allows_name("a.org"));
}

#[test]
fn networks_and_ports() {
    let case = case(&["1.1.1.0/24:443", "[2606:4700::/32]:443", "9.9.9.9"], &[]);
    assert!(
        case.allows("1.1.1.7:443") && !case.allows("1.1.1.7:80") && !case.allows("1.1.2.7:443")
    );
    assert!(case.allows("[2606:4700::1]:443") && !case.allows("[2606:4701::1]:443"));
    assert!(case.allows("9.9.9.9:1") && !case.allows("9.9.9.8:1"));
    assert!(case.allows("[::ffff:9.9.9.9]:1"));
}

#[test]
fn wildcards_are_for_what_is_below() {
    let case = case(&["*.example.org"], &[]);
    assert!(case.allows_name("a.example.org") && case.allows_name("a.b.example.org"));
    for name in ["example.org", "badexample.org", ".example.org", "example.org.evil.net"] {
        assert!(!case.allows_name(name), "{name}");
    }
}

#[test]
fn an_address_is_allowed_because_of_its_name() {
    let case = case(&["a.org:443"], &[]).tie("a.org", "1.2.3.4");
    let decision = case.decision("1.2.3.4:443");
    assert_eq!(decision.name.as_deref(), Some("a.org"));
    assert_eq!(decision.reason, Reason::AllowedBy("a.org:443".parse().unwrap()));
    assert!(!case.allows("1.2.3.4:80") && !case.allows("1.2.3.5:443"));
    let later = case.now + crate::ties::LIFETIME;
    assert!(!case.policy.decide("1.2.3.4:443".parse().unwrap(), &case.ties, later).is_allowed());
}

#[test]
fn deny_wins() {
    let first = case(&["*", "10.0.0.0/8"], &["10.1.0.0/16", "evil.org", "b.org:25", "1.1.1.1"])
        .tie("b.org", "5.5.5.5");
    assert!(first.allows("10.2.0.1:80") && !first.allows("10.1.0.1:80"));
    assert!(!first.allows_name("evil.org") && first.allows_name("good.org"));
    assert!(!first.allows("1.1.1.1:80"));
    // A name that is denied on one port has addresses all the same.
    assert!(first.allows_name("b.org"));
    let second = case(&["*.org"], &["b.org:25"]).tie("b.org", "5.5.5.5");
    assert!(second.allows("5.5.5.5:80") && !second.allows("5.5.5.5:25"));
    assert!(!case(&["127.0.0.1"], &["*"]).allows("127.0.0.1:80"));
}

#[test]
fn private_addresses_must_be_named() {
    let wide = case(&["*", "0.0.0.0/0", "::/0", "192.0.0.0/8"], &[]);
    for to in [
        "10.0.0.1:80",
        "127.0.0.1:80",
        "169.254.169.254:80",
        "192.168.0.1:80",
        "[::1]:80",
        "[fd00::1]:80",
        "[::ffff:10.0.0.1]:80",
        "[fe80::1]:80",
    ] {
        assert!(!wide.allows(to), "{to}");
    }
    assert!(wide.allows("8.8.8.8:80") && wide.allows("[2606:4700::1]:80"));
    let named = case(&["10.0.0.0/8", "169.254.169.254:80", "fd00::/8", "::1"], &[]);
    for to in ["10.9.9.9:1", "169.254.169.254:80", "[fd00::1]:80", "[::1]:80"] {
        assert!(named.allows(to), "{to}");
    }
    assert!(!named.allows("169.254.169.253:80"));
}

#[test]
fn a_public_name_cannot_be_pointed_at_a_private_address() {
    let case = case(&["a.org", "*.b.org", "*.internal"], &[])
        .tie("a.org", "10.0.0.1")
        .tie("x.b.org", "127.0.0.1")
        .tie("m.internal", "10.0.0.2");
    for to in ["10.0.0.1:80", "127.0.0.1:80", "10.0.0.2:80"] {
        assert_eq!(case.decision(to).reason, Reason::PrivateAddress, "{to}");
    }
    assert!(!case.policy.may_tell("a.org", "10.0.0.1".parse().unwrap()));
    assert!(case.policy.may_tell("a.org", "1.0.0.1".parse().unwrap()));
}

#[test]
fn the_user_can_say_that_a_name_is_private() {
    let by_address = case(&["a.org", "10.0.0.1"], &[]).tie("a.org", "10.0.0.1");
    assert!(by_address.allows("10.0.0.1:80"));
    let by_form = case(&["nas", "db.internal"], &[])
        .tie("nas", "192.168.0.2")
        .tie("db.internal", "10.0.0.3")
        .tie("db.internal", "169.254.169.254");
    assert!(by_form.allows("192.168.0.2:80") && by_form.allows("10.0.0.3:80"));
    assert!(!by_form.allows("169.254.169.254:80"));
    let mut given = case(&["a.org"], &[]).tie("a.org", "127.0.0.1");
    given.policy.rules.hosts.push("a.org:127.0.0.1".parse().unwrap());
    assert!(given.allows("127.0.0.1:80"));
}

#[test]
fn some_addresses_are_no_destination() {
    let case = case(&["*", "224.0.0.0/4", "255.255.255.255"], &[]);
    for to in ["0.0.0.0:80", "255.255.255.255:80", "224.0.0.1:80", "1.1.1.1:0", "[ff02::1]:80"] {
        assert_eq!(case.decision(to).reason, Reason::NoDestination, "{to}");
    }
}

#[test]
fn localhost_is_the_hosts_loopback() {
    let case = case(&["localhost:80", "127.0.0.2", "10.0.0.1", "0.0.0.0/0"], &[]);
    assert!(case.allows("127.0.0.1:80") && case.allows("[::1]:80") && !case.allows("127.0.0.1:81"));
    let routes = case.policy.loopback_routes();
    let leads = |ip: &str| routes.iter().any(|(block, _)| block.contains(ip.parse().unwrap()));
    assert!(leads("127.0.0.1") && leads("::1") && leads("127.0.0.2") && !leads("127.0.0.3"));
    assert_eq!(routes.len(), 3);
}
