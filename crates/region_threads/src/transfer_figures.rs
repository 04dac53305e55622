//! Figures of transfers between inventories and regions, as `docs/operating/metrics.md` describes them.

use grid::inventory::WorldOrderKind;
use ids::Instant;
use link::DerezKind;
use std::collections::BTreeMap;
use std::time::Duration;
use store::HeldChange;
use telemetry::{Counter, Metrics, Timing};

/// Name of the kind of items that leave a prim.
const TAKE_ITEM: &str = "take_item";
/// Texts for `/metrics`.
const COUNT: &str = "Objects and items that went from a region into an inventory, or the other way.";
const TIME: &str = "Time of a transfer: from the request, or the frame that shows what leaves, to the end.";
/// Kinds of objects that leave a region; deleted ones go nowhere.
const LEAVING: [DerezKind; 5] =
    [DerezKind::Take, DerezKind::TakeCopy, DerezKind::Trash, DerezKind::Return, DerezKind::Save];

/// Outcomes of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferOutcome {
    /// The thing is where it was to go.
    Done,
    /// The world has refused it.
    Refused,
    /// It has not reached the world.
    NotSent,
}

/// Counts and durations by kind.
#[derive(Debug)]
pub struct TransferFigures(BTreeMap<&'static str, KindFigures>);

#[derive(Debug)]
struct KindFigures {
    /// By the number of their outcome.
    ended: [Counter; 3],
    took: Timing,
}

impl TransferOutcome {
    const ALL: [Self; 3] = [Self::Done, Self::Refused, Self::NotSent];

    const fn label(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::NotSent => "not_sent",
        }
    }
}

impl TransferFigures {
    /// Of these metrics.
    pub fn new(metrics: &Metrics) -> Self {
        let leaving = LEAVING.map(DerezKind::label).into_iter().chain([TAKE_ITEM]);
        let kinds = leaving.chain(WorldOrderKind::ALL.map(WorldOrderKind::label));
        let figures = |kind| {
            let ended = TransferOutcome::ALL.map(|outcome| {
                let labels = [("kind", kind), ("outcome", outcome.label())];
                metrics.counter("throng_transfers_total", COUNT, &labels)
            });
            let took = metrics.timing("throng_transfer_seconds", TIME, &[("kind", kind)]);
            (kind, KindFigures { ended, took })
        };
        Self(kinds.map(figures).collect())
    }

    /// Notes the end of an order for a region.
    pub(super) fn note_order(&self, kind: WorldOrderKind, outcome: TransferOutcome, took: Duration) {
        self.note(kind.label(), outcome, took);
    }

    /// Notes a change that a save has made, of a frame of this time.
    pub(super) fn note_saved(&self, change: &HeldChange, shown_at: Instant, now: Instant) {
        let kind = match change {
            HeldChange::Insert(row) => label_of(row.kind),
            HeldChange::InsertItem(transfer) => match &transfer.row {
                Some(row) => label_of(row.kind),
                None => Some(TAKE_ITEM),
            },
            // Orders have an end of their own, and an undo is none.
            _ => None,
        };
        if let Some(kind) = kind {
            self.note(kind, TransferOutcome::Done, now.since(shown_at));
        }
    }

    fn note(&self, kind: &'static str, outcome: TransferOutcome, took: Duration) {
        let Some(figures) = self.0.get(kind) else { return };
        figures.ended[outcome as usize].increment(1);
        figures.took.record(took);
    }
}

fn label_of(kind: u8) -> Option<&'static str> {
    DerezKind::of_code(kind).map(DerezKind::label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ids::{AgentId, HeldKey, SessionKey, Ticket, Uuid, WorldId};
    use std::sync::Arc;
    use store::HeldRow;

    #[test]
    fn ends_are_counted_by_kind_and_outcome_with_their_time() {
        let metrics = Metrics::new();
        let figures = TransferFigures::new(&metrics);
        for outcome in TransferOutcome::ALL {
            figures.note_order(WorldOrderKind::Rez, outcome, Duration::from_millis(70));
        }
        let key = HeldKey { region: WorldId(1), ticket: Ticket(1) };
        let owner = AgentId(Uuid::from_u128(1));
        let row = |kind: DerezKind| {
            let (kind, by, value) = (kind.code(), SessionKey::NODE, Arc::default());
            HeldChange::Insert(HeldRow { key, owner, kind, by, held_s: 0, value })
        };
        let at = Instant::from_millis;
        for change in [row(DerezKind::Trash), row(DerezKind::Delete), HeldChange::Remove(key)] {
            figures.note_saved(&change, at(100), at(400));
        }
        let text = metrics.render();
        for line in [
            "throng_transfers_total{kind=\"rez\",outcome=\"done\"} 1",
            "throng_transfers_total{kind=\"rez\",outcome=\"refused\"} 1",
            "throng_transfers_total{kind=\"rez\",outcome=\"not_sent\"} 1",
            "throng_transfers_total{kind=\"trash\",outcome=\"done\"} 1",
            "throng_transfer_seconds_max{kind=\"trash\"} 0.3",
            "throng_transfer_seconds_count{kind=\"rez\"} 3",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
