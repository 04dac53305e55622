//! A world as the operator's page reads it. `web/test/worlds.json` has samples: the page's tests read the same file. After a change,
//! `THRONG_UPDATE_SAMPLES=1 cargo test -p grid_api samples` writes it anew.

use super::*;
use host::registry::InstanceSummary;
use ids::{Instant, WorldId};
use serde_json::Value;
use std::time::Duration;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/test/worlds.json");

#[test]
fn worlds_are_as_in_the_samples_that_the_page_reads() {
    let account = |n: u128, owner: Option<u128>, trouble: Option<&str>| InstanceDetails {
        summary: InstanceSummary {
            row: InstanceRow {
                id: Uuid::from_u128(n),
                template: "Cave".into(),
                name: "Cave of Ada".into(),
                owner: owner.map(|owner| AgentId(Uuid::from_u128(owner))),
                created_s: 1_790_000_000,
                maker: None,
                visited_s: None,
            },
            world: WorldId(7),
            phase: if owner.is_some() { "active" } else { "suspended" },
            since: Instant::ZERO,
            occupants: 1,
            blocked: None,
        },
        trouble: trouble.map(str::to_owned),
        template: None,
        users: 1,
        dilation: 0.5,
        step: Duration::from_micros(250),
    };
    let whole = WorldReply {
        size_m: Some(256),
        npcs: Some(20),
        max_users: Some(8),
        hz: Some(20),
        trouble: None,
        ..WorldReply::new(90, Some("Ada Lovelace".into()), account(1, Some(2), None))
    };
    // Its template is gone, and so is all that would be known by it.
    let samples = serde_json::json!([whole, WorldReply::new(0, None, account(3, None, None))]);
    if std::env::var_os("THRONG_UPDATE_SAMPLES").is_some() {
        let text = serde_json::to_string_pretty(&samples).expect("plain data becomes JSON");
        std::fs::write(SAMPLES, text + "\n").expect("the samples are writable");
    }
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(SAMPLES).expect("the samples")).expect("JSON");
    assert_eq!(
        serde_json::from_str::<Value>(&samples.to_string()).expect("JSON"),
        kept,
        "see the head of this file"
    );
}
