//! What was decided: a line in the audit log each, and records for the report of the run.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sandbox_spec::{
    ConnectionKind, ConnectionRecord, MoreConnections, Reason, Verdict, printable_json,
};
use serde::{Deserialize, Serialize};

use crate::audit_log::AuditLog;
use crate::policy::Decision;

/// The most records of what was allowed, and of what was denied; the log has everything.
const MAX_RECORDS: usize = 4096;
/// Room for destinations that have to be told of, whatever else a guest has tried before them.
const MAX_METADATA: usize = 64;

/// A line of the audit log.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    event: &'static str,
    /// The same in the lines of one connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    kind: ConnectionKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_sent: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_received: Option<u64>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    kind: ConnectionKind,
    name: Option<String>,
    address: Option<SocketAddr>,
    verdict: Verdict,
    reason: Reason,
}

/// What is left of a ledger at its end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Account {
    /// Everything that was noted, equal things once.
    pub connections: Vec<ConnectionRecord>,
    /// How often something was decided that is not among them.
    pub more: MoreConnections,
    /// How many lines the audit log should have and has not.
    pub audit_lost: u64,
}

/// The decisions about one sandbox.
#[derive(Default)]
pub struct Ledger {
    log: Option<AuditLog>,
    records: Vec<ConnectionRecord>,
    places: HashMap<Key, usize>,
    n_kept: Kept,
    more: MoreConnections,
    /// Connections that have not ended.
    open: HashMap<u64, Key>,
}

/// How many records are kept. Each kind has room of its own, so that none hides another.
#[derive(Default)]
struct Kept {
    allowed: usize,
    denied: usize,
    metadata: usize,
}

impl Kept {
    /// Counts one more, if there is room for it.
    fn has_room(&mut self, record: &ConnectionRecord) -> bool {
        let (n, most) = match record.verdict {
            Verdict::Allowed => (&mut self.allowed, MAX_RECORDS),
            Verdict::Denied if record.metadata_service().is_some() => {
                (&mut self.metadata, MAX_METADATA)
            }
            Verdict::Denied => (&mut self.denied, MAX_RECORDS),
        };
        let has_room = *n < most;
        *n += usize::from(has_room);
        has_room
    }
}

impl Ledger {
    /// A ledger that also writes to this log.
    pub fn new(log: Option<AuditLog>) -> Self {
        Self { log, ..Self::default() }
    }

    /// Notes a decision. A connection that was allowed has an id, by which its end is known.
    pub fn decided(
        &mut self,
        kind: ConnectionKind,
        address: Option<SocketAddr>,
        decision: &Decision,
        id: Option<u64>,
    ) {
        // Who connects to a published port has another port each time.
        let shown = match (kind, address) {
            (ConnectionKind::Published, Some(address)) => Some(SocketAddr::new(address.ip(), 0)),
            _ => address,
        };
        let key = Key {
            kind,
            name: decision.name.clone(),
            address: shown,
            verdict: decision.verdict,
            reason: decision.reason.clone(),
        };
        match (self.record(&key), decision.verdict) {
            (Some(record), _) => record.times += 1,
            (None, Verdict::Allowed) => self.more.allowed += 1,
            (None, Verdict::Denied) => self.more.denied += 1,
        }
        let event = match decision.verdict {
            Verdict::Allowed => "allowed",
            Verdict::Denied => "denied",
        };
        let reason = Some(decision.reason.to_string());
        self.write(&Line { reason, ..line(event, id, kind, decision.name.as_deref(), address) });
        if let (Some(id), Verdict::Allowed) = (id, decision.verdict) {
            self.open.insert(id, key);
        }
    }

    /// Notes the end of a connection. Ids that are not known are those of no connection.
    pub fn closed(&mut self, id: u64, bytes_sent: u64, bytes_received: u64) {
        let Some(key) = self.open.remove(&id) else { return };
        if let Some(record) = self.record(&key) {
            record.bytes_sent += bytes_sent;
            record.bytes_received += bytes_received;
        }
        let line = line("closed", Some(id), key.kind, key.name.as_deref(), key.address);
        let (sent, received) = (Some(bytes_sent), Some(bytes_received));
        self.write(&Line { bytes_sent: sent, bytes_received: received, ..line });
    }

    /// Notes that more was decided than anybody knows.
    pub fn cut_off(&mut self) {
        if let Some(log) = &mut self.log {
            log.cut_off(&now());
        }
    }

    /// Ends the log, and says what was noted.
    pub fn finish(self) -> Account {
        let audit_lost = self.log.map_or(0, |log| log.finish(&now()));
        Account { connections: self.records, more: self.more, audit_lost }
    }

    fn record(&mut self, key: &Key) -> Option<&mut ConnectionRecord> {
        if let Some(place) = self.places.get(key) {
            return self.records.get_mut(*place);
        }
        let record = ConnectionRecord {
            kind: key.kind,
            name: key.name.clone(),
            address: key.address,
            verdict: key.verdict,
            reason: key.reason.clone(),
            times: 0,
            bytes_sent: 0,
            bytes_received: 0,
        };
        if !self.n_kept.has_room(&record) {
            return None;
        }
        self.places.insert(key.clone(), self.records.len());
        self.records.push(record);
        self.records.last_mut()
    }

    fn write(&mut self, line: &Line<'_>) {
        let Some(log) = &mut self.log else { return };
        let Ok(text) = serde_json::to_string(line) else { return };
        log.write(printable_json(&text).into_bytes(), &line.time);
    }
}

fn line<'a>(
    event: &'static str,
    id: Option<u64>,
    kind: ConnectionKind,
    name: Option<&'a str>,
    address: Option<SocketAddr>,
) -> Line<'a> {
    Line {
        time: now(),
        event,
        id,
        kind,
        name,
        address: address.map(|address| address.ip().to_string()),
        port: address.map(|address| address.port()).filter(|port| *port != 0),
        reason: None,
        bytes_sent: None,
        bytes_received: None,
    }
}

fn now() -> String {
    timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO))
}

/// A time in UTC, as RFC 3339 writes it.
fn timestamp(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years of this calculation start in March, so that a leap day is a year's last.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leaps = day_of_era / 1460 + day_of_era / 146_096 - day_of_era / 36_524;
    let year_of_era = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let millis = since_1970.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_times() {
        let time = |seconds, millis| {
            timestamp(Duration::from_secs(seconds) + Duration::from_millis(millis))
        };
        assert_eq!(time(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(time(951_782_400, 5), "2000-02-29T00:00:00.005Z");
        assert_eq!(time(1_709_164_799, 0), "2024-02-28T23:59:59.000Z");
        assert_eq!(time(4_102_444_800, 0), "2100-01-01T00:00:00.000Z");
    }

    #[test]
    fn equal_connections_are_one_record() {
        let mut ledger = Ledger::default();
        let rule = "a.org".parse().unwrap();
        let decision = Decision {
            verdict: Verdict::Allowed,
            reason: Reason::AllowedBy(rule),
            name: Some("a.org".into()),
        };
        let to = Some("1.2.3.4:80".parse().unwrap());
        for id in [1, 2] {
            ledger.decided(ConnectionKind::Tcp, to, &decision, Some(id));
        }
        ledger.closed(1, 10, 20);
        ledger.closed(2, 1, 2);
        ledger.closed(2, 1, 2);
        let records = ledger.finish().connections;
        assert_eq!(records.len(), 1);
        let record = &records[0];
        assert_eq!((record.times, record.bytes_sent, record.bytes_received), (2, 11, 22));
    }

    #[test]
    fn what_has_to_be_told_is_not_hidden_behind_others() {
        let mut ledger = Ledger::default();
        let allowed = Decision {
            verdict: Verdict::Allowed,
            reason: Reason::AllowedBy("*".parse().unwrap()),
            name: None,
        };
        let denied = Decision { verdict: Verdict::Denied, reason: Reason::NoRule, name: None };
        let mut to = |text: &str, port: usize, decision: &Decision| {
            let address = SocketAddr::new(text.parse().unwrap(), u16::try_from(port).unwrap());
            ledger.decided(ConnectionKind::Tcp, Some(address), decision, None);
        };
        for port in 1..=MAX_RECORDS + 2 {
            to("8.8.8.8", port, &allowed);
            to("8.8.4.4", port, &denied);
        }
        to("169.254.169.254", 80, &denied);
        let account = ledger.finish();
        assert_eq!(account.more, MoreConnections { allowed: 2, denied: 2 });
        assert_eq!(account.connections.len(), 2 * MAX_RECORDS + 1);
        assert!(account.connections.last().unwrap().metadata_service().is_some());
    }
}
