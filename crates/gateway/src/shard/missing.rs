//! Requests for parts of the protocol that the server does not have, and that the protocol has no negative reply for: the
//! client is shown a text that names the feature.

use super::Shard;
use super::dispatch::Incoming;
use crate::coverage::{Feature, Outcome};
use ids::Instant;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::messages::{AlertMessage, AlertMessageAlertData};
use wire::text::{VARIABLE1_MAX, to_wire};

/// Least time between two texts about one feature to one client. Clients repeat some requests many times a second.
const ALERT_PERIOD: Duration = Duration::from_secs(10);

/// The features that a client was told of, and when last: a row for each feature at most.
#[derive(Debug, Default)]
pub(super) struct FeatureAlerts {
    sent_at: BTreeMap<Feature, Instant>,
}

impl FeatureAlerts {
    /// Whether the client is to be told now; the first request of each kind always is.
    fn is_due(&mut self, now: Instant, feature: Feature) -> bool {
        let is_due = self.sent_at.get(&feature).is_none_or(|&at| now.since(at) >= ALERT_PERIOD);
        if is_due {
            self.sent_at.insert(feature, now);
        }
        is_due
    }
}

impl Shard {
    /// Refuses a request for a feature that does not exist.
    pub(super) fn refuse_feature(&mut self, at: &mut Incoming<'_>, feature: Feature) -> Outcome {
        if self.client(at.index).alerts.is_due(at.now, feature) {
            let message = to_wire(&feature.to_string(), VARIABLE1_MAX);
            let alert_data = AlertMessageAlertData { message };
            self.reply(at, AlertMessage { alert_data, ..AlertMessage::default() });
        }
        Outcome::Refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_kind_is_never_silent_and_a_repeated_one_is_not_repeated_at_once() {
        let mut alerts = FeatureAlerts::default();
        let second = Instant::from_millis(1_000);
        assert!(alerts.is_due(second, Feature::Groups));
        assert!(alerts.is_due(second, Feature::Money));
        assert!(!alerts.is_due(second + ALERT_PERIOD / 2, Feature::Groups));
        assert!(alerts.is_due(second + ALERT_PERIOD, Feature::Groups));
    }
}
