//! A few clients that enter newly created worlds and leave them before they end.

use super::stage::WorldsTestbed;
use crate::bots::{Bots, BotsReport};
use crate::error::ExperimentError;
use serde_json::json;
use std::collections::VecDeque;

const VISITOR: &str = "Visitor";
/// Candidates tried for one world: a visitor that has just left another world may still be on the way.
const TRIES: usize = 3;

/// All visitors. Between visits they walk about in the region.
pub(super) struct Visitors {
    bots: Bots,
    /// Players outside, in order of their exits.
    outside: VecDeque<u32>,
}

impl Visitors {
    /// Logs them in.
    pub(super) fn start(stage: &WorldsTestbed<'_>, count: u32) -> Result<Self, ExperimentError> {
        let options = ["--behavior", "walk", "--last-name", VISITOR];
        let mut bots = Bots::start(stage.run, &stage.server, "visitors", count, &options)?;
        bots.command(&format!("enter {count}"))?;
        Ok(Self { bots, outside: (1..=count).collect() })
    }

    /// Sends a visitor into a world; `None` if none could go.
    pub(super) fn send(&mut self, stage: &WorldsTestbed<'_>, world: &str) -> Option<u32> {
        for _ in 0..TRIES.min(self.outside.len()) {
            let visitor = self.outside.pop_front()?;
            if stage.send(&name(visitor), world).is_ok() {
                return Some(visitor);
            }
            self.outside.push_back(visitor);
        }
        None
    }

    /// Sends one out of the world again. False if that was not possible: an avatar can leave a world only once it has arrived in it.
    pub(super) fn fetch(&mut self, stage: &WorldsTestbed<'_>, visitor: u32) -> bool {
        let user = json!({ "user": { "name": name(visitor) } });
        let has_left = stage.operator.order("POST", "/v1/worlds/leave", Some(&user)).is_ok();
        if has_left {
            self.outside.push_back(visitor);
        }
        has_left
    }

    /// One whose world has ended around it is outside, too.
    pub(super) fn is_out(&mut self, visitor: u32) {
        self.outside.push_back(visitor);
    }

    pub(super) fn leave(self) -> Result<BotsReport, ExperimentError> {
        self.bots.leave()
    }
}

fn name(visitor: u32) -> String {
    format!("Bot{visitor:04} {VISITOR}")
}
