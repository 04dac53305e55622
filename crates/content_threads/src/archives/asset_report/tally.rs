//! Figures of a report: assets that nothing names, by creator and kind, and the largest of them.

use assets::AssetKind;
use ids::{AgentId, Uuid};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use store::AssetRow;

/// Creators and kinds in the figures, those with the most bytes.
const GROUPS_MAX: usize = 500;
/// Assets in the figures, the largest.
const LARGEST_MAX: usize = 500;

/// Counts while the assets are read.
#[derive(Debug, Default)]
pub(super) struct Tally {
    n_assets: u64,
    groups: BTreeMap<(AgentId, i8), Group>,
    largest: BinaryHeap<Reverse<Large>>,
}

/// Unnamed assets of a creator and a kind.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    assets: u64,
    bytes: u64,
}

/// An unnamed asset, in the order of its size.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Large {
    bytes: u32,
    id: Uuid,
    kind: i8,
    owner: AgentId,
    created_s: i64,
}

impl Tally {
    /// Counts a lasting asset.
    pub(super) fn count(&mut self, row: &AssetRow, is_named: bool) {
        self.n_assets += 1;
        if is_named {
            return;
        }
        let AssetRow { id, kind, length, creator, created_s, .. } = *row;
        let group = self.groups.entry((creator, kind)).or_default();
        group.assets += 1;
        group.bytes += u64::from(length);
        self.largest.push(Reverse(Large { bytes: length, id, kind, owner: creator, created_s }));
        if self.largest.len() > LARGEST_MAX {
            self.largest.pop();
        }
    }

    /// Lasting assets so far.
    pub(super) const fn assets(&self) -> u64 {
        self.n_assets
    }

    fn sum(&self) -> Group {
        self.groups.values().fold(Group::default(), |sum, group| Group {
            assets: sum.assets + group.assets,
            bytes: sum.bytes + group.bytes,
        })
    }

    /// Outcome in a sentence without a full stop.
    pub(super) fn outcome(&self) -> String {
        let Group { assets, bytes } = self.sum();
        format!("nothing names {assets} of {} lasting assets, {bytes} bytes", self.n_assets)
    }

    /// Figures for programs. `n_unread` rows and assets could not be read, so that assets which these name may be among the unnamed.
    pub(super) fn figures(&self, n_unread: u64, name_of: &dyn Fn(AgentId) -> Option<Arc<str>>) -> Value {
        let Group { assets, bytes } = self.sum();
        let mut groups: Vec<(&(AgentId, i8), &Group)> = self.groups.iter().collect();
        groups.sort_by_key(|(key, group)| (Reverse(group.bytes), **key));
        let n_groups = groups.len();
        let group = |((owner, kind), group): (&(AgentId, i8), &Group)| {
            json!({
                "owner": owner.0,
                "owner_name": name_of(*owner),
                "kind": AssetKind::name_of(*kind),
                "assets": group.assets,
                "bytes": group.bytes,
            })
        };
        let mut largest: Vec<&Large> = self.largest.iter().map(|Reverse(large)| large).collect();
        largest.sort_unstable_by_key(|large| Reverse(*large));
        let large = |large: &Large| {
            json!({
                "id": large.id,
                "kind": AssetKind::name_of(large.kind),
                "bytes": large.bytes,
                "owner": large.owner.0,
                "owner_name": name_of(large.owner),
                "created_s": large.created_s,
            })
        };
        json!({
            "assets": self.n_assets,
            "unreferenced": assets,
            "bytes": bytes,
            "unread": n_unread,
            "n_groups": n_groups,
            "groups": groups.into_iter().take(GROUPS_MAX).map(group).collect::<Vec<_>>(),
            "largest": largest.into_iter().map(large).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::AssetHash;

    fn asset(id: u128, kind: i8, length: u32, creator: u128) -> AssetRow {
        AssetRow {
            id: Uuid::from_u128(id),
            hash: AssetHash([1; 32]),
            kind,
            length,
            creator: AgentId(Uuid::from_u128(creator)),
            created_s: 7,
            origin: "upload".into(),
            used_s: None,
        }
    }

    #[test]
    fn unnamed_assets_are_counted_by_creator_and_kind() {
        let mut tally = Tally::default();
        for (row, is_named) in [
            (asset(1, 0, 10, 5), true),
            (asset(2, 0, 20, 5), false),
            (asset(3, 0, 30, 5), false),
            (asset(4, 7, 99, 5), false),
            (asset(5, 0, 1, 6), false),
        ] {
            tally.count(&row, is_named);
        }
        assert_eq!(
            (tally.assets(), &*tally.outcome()),
            (5, "nothing names 4 of 5 lasting assets, 150 bytes")
        );
        let ada = AgentId(Uuid::from_u128(5));
        let figures = tally.figures(2, &|agent| (agent == ada).then(|| "Ada Lovelace".into()));
        assert_eq!(
            (&figures["unreferenced"], &figures["unread"], &figures["n_groups"]),
            (&json!(4), &json!(2), &json!(3))
        );
        let groups = figures["groups"].as_array().unwrap();
        let seen: Vec<_> =
            groups.iter().map(|group| (&group["kind"], &group["assets"], &group["bytes"])).collect();
        assert_eq!(
            seen,
            [
                (&json!("notecard"), &json!(1), &json!(99)),
                (&json!("texture"), &json!(2), &json!(50)),
                (&json!("texture"), &json!(1), &json!(1)),
            ]
        );
        assert_eq!(
            (&groups[0]["owner_name"], &groups[2]["owner_name"]),
            (&json!("Ada Lovelace"), &Value::Null)
        );
        let largest: Vec<_> =
            figures["largest"].as_array().unwrap().iter().map(|large| large["bytes"].clone()).collect();
        assert_eq!(largest, [99, 30, 20, 1]);
    }

    #[test]
    fn only_the_largest_are_listed() {
        let mut tally = Tally::default();
        for n in 0..2_000 {
            tally.count(&asset(n, 0, n as u32, n), false);
        }
        let figures = tally.figures(0, &|_| None);
        assert_eq!(figures["largest"].as_array().unwrap().len(), LARGEST_MAX);
        assert_eq!(
            (&figures["largest"][0]["bytes"], &figures["largest"][499]["bytes"]),
            (&json!(1_999), &json!(1_500))
        );
        assert_eq!(
            (figures["groups"].as_array().unwrap().len(), &figures["n_groups"]),
            (GROUPS_MAX, &json!(2_000))
        );
    }
}
