//! Comparison of the expected state of all carried things with that of the server.

use super::cargo::{CargoKey, CargoPlace};
use super::census::{CargoFind, CarryCensus};
use super::ledger::{CargoState, CarryLedger};
use super::record::{CarryEvent, Deed, Expectation};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Findings that are kept in words; all are counted.
const TEXTS_MAX: usize = 50;

/// Differences between a record and the server's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditFindings {
    /// Things and assets that were compared.
    pub audited: u64,
    /// Things that are not as an answer has stated: absent, at a place that they have left, or with other properties; and assets that are absent or have other
    /// bytes.
    pub lost: u64,
    /// Things that must not be copied, and are at more than one place.
    pub doubled: u64,
    /// Things that must not be copied, and are at no place.
    pub vanished: u64,
    /// The first of them, in words.
    pub texts: Vec<String>,
}

impl AuditFindings {
    /// True without any difference.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.lost + self.doubled + self.vanished == 0
    }

    fn say(&mut self, text: impl FnOnce() -> String) {
        if self.texts.len() < TEXTS_MAX {
            self.texts.push(text());
        }
    }
}

impl CarryLedger {
    /// Compares the state that answers have stated with a census.
    #[must_use]
    pub fn audit(&self, census: &CarryCensus) -> AuditFindings {
        let mut findings = AuditFindings::default();
        let nowhere = BTreeMap::new();
        for (key, state) in &self.things {
            let finds = census.finds.get(key).unwrap_or(&nowhere);
            findings.audited += 1;
            ThingAudit { key: *key, state, finds, census }.run(&mut findings);
        }
        for (asset, (expected, _)) in &self.assets {
            findings.audited += 1;
            let found = census.assets.get(asset).copied().flatten();
            if found != Some(*expected) {
                findings.lost += 1;
                let how = if found.is_some() { "has other bytes" } else { "is absent" };
                findings.say(|| format!("asset {asset} {how}"));
            }
        }
        findings
    }

    /// Events that settle all requests without an answer by a census, and end the audit.
    #[must_use]
    pub fn settlement(&self, census: &CarryCensus) -> Vec<CarryEvent> {
        let is_other = |key: &CargoKey, state: &CargoState| {
            !state.pending.is_empty() || !state.places.keys().eq(&census.places_of(*key))
        };
        let unsettled = self.things.iter().filter(|&(key, state)| is_other(key, state)).map(|(key, _)| *key);
        let unknown = census.finds.keys().filter(|key| !self.things.contains_key(key)).copied();
        let keys: BTreeSet<CargoKey> = unsettled.chain(unknown).collect();
        let found = |key: CargoKey| {
            let places = census.places_of(key).into_iter().collect();
            CarryEvent::Found { key, places }
        };
        keys.into_iter().map(found).chain([CarryEvent::Audited]).collect()
    }
}

/// The comparison of one thing.
struct ThingAudit<'a> {
    key: CargoKey,
    state: &'a CargoState,
    finds: &'a BTreeMap<CargoPlace, CargoFind>,
    census: &'a CarryCensus,
}

impl ThingAudit<'_> {
    fn run(&self, findings: &mut AuditFindings) {
        let key = self.key;
        if let Some(why) = self.loss() {
            findings.lost += 1;
            findings.say(|| format!("{key} is lost: {why}"));
        }
        if !key.is_unique {
            return;
        }
        let n_places = self.finds.len();
        if n_places > 1 {
            findings.doubled += 1;
            let places: Vec<String> = self.finds.keys().map(ToString::to_string).collect();
            findings.say(|| format!("{key} is doubled: {}", places.join("; ")));
        }
        let may_end = self.state.is_ended || self.state.pending.values().any(|deed| deed.kind.ends_it());
        if n_places == 0 && self.state.is_made && !may_end {
            findings.vanished += 1;
            let pending: Vec<&str> = self.state.pending.values().map(|deed| deed.kind.label()).collect();
            findings
                .say(|| format!("{key} has vanished; requests without an answer: [{}]", pending.join(", ")));
        }
    }

    /// Reason for which the thing is not as answers have stated.
    fn loss(&self) -> Option<String> {
        for (place, expected) in &self.state.places {
            let pending: Vec<&Deed> = self.state.pending_at(*place).collect();
            match self.finds.get(place) {
                None if pending.iter().any(|deed| deed.leaves) => {}
                None => return Some(format!("{place} is absent")),
                Some(find) => {
                    if let Some(why) = self.difference(find, expected, &pending) {
                        return Some(format!("{place} {why}"));
                    }
                }
            }
        }
        // A removal, or the removal from its former place, was confirmed.
        let back = self.state.left.iter().find(|place| self.finds.contains_key(*place))?;
        Some(format!("{back} is back"))
    }

    /// Difference between a find and its expected properties. A request about it without an answer may have changed any of them.
    fn difference(&self, find: &CargoFind, expected: &Expectation, pending: &[&Deed]) -> Option<String> {
        // Of a recipe that its owner must not copy clients are not shown the asset.
        let asset = find.asset.filter(|asset| !asset.is_nil());
        if let Some((content, asset)) = expected.content.zip(asset) {
            let mut allowed = pending.iter().filter_map(|deed| deed.expected.content).chain([content]);
            match self.census.assets.get(&asset).copied().flatten() {
                None => return Some("has no content".to_owned()),
                Some(found) if !allowed.any(|one| one == found) => {
                    return Some("has other content".to_owned());
                }
                Some(_) => {}
            }
        }
        if !pending.is_empty() {
            return None;
        }
        if expected.folder.is_some_and(|folder| find.folder != Some(folder)) {
            return Some("is in another folder".to_owned());
        }
        let named = expected.revision.filter(|revision| find.revision != *revision)?;
        Some(format!("has the name of revision {}, not of {named}", find.revision))
    }
}

#[cfg(test)]
mod tests;
