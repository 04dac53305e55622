//! What users would miss most of a world, in as few bytes as it takes: missions, health, and which NPCs are down.
//!
//! It is written every second for worlds in which it changed, while whole snapshots are for worlds that are put away: postcard of a
//! [`Record`], a few dozen bytes, with [`PROGRESS`] as its part where it is kept. It has no times: what waits for something waits all of
//! it again.

use super::{Game, health::Wound, missions::Course, plan::Plan};
use crate::{outcome::NpcSet, world::World};
use record::Part;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// [`World::progress`] where it is kept longer than a process lives.
pub(crate) const PROGRESS: Part = Part::new(*b"PROG", "progress");

/// Why bytes are nobody's progress.
#[derive(Debug, Error)]
pub enum ProgressError {
    /// They are cut off or something else.
    #[error("the progress cannot be decoded: {0}")]
    Undecodable(#[from] postcard::Error),
    /// The template has other missions or other NPCs now.
    #[error("the progress is of missions {found:016x}, not {expected:016x}")]
    OtherMissions {
        /// Fingerprint of the world's, 0 without a cast.
        expected: u64,
        /// Fingerprint in the record.
        found: u64,
    },
    /// It decodes to what no world can have come to.
    #[error("the progress is that of no possible world")]
    Inconsistent,
}

/// Borrowed to write and owned to read.
#[derive(Serialize, Deserialize)]
struct Record<C, W> {
    plan: u64,
    courses: C,
    wounds: W,
    /// NPCs who lie or are away.
    down: NpcSet,
}

impl World {
    /// Appends what is to be kept from second to second: how far missions have come and how often they were completed, visitors'
    /// health by account, and which NPCs have fallen. Some dozen bytes; no memory is asked for when there is room for them.
    pub fn progress(&self, out: &mut Vec<u8>) {
        let Game { courses, wounds, .. } = &self.game;
        let record = Record {
            plan: self.plan_fingerprint(),
            courses: courses.as_slice(),
            wounds: wounds.as_slice(),
            down: self.npcs.down(),
        };
        *out =
            postcard::to_extend(&record, std::mem::take(out)).expect("plain data in memory always encodes");
    }

    /// Changes when what [`World::progress`] tells does, and only then. Of one world: one that was restored counts anew.
    #[must_use]
    pub const fn progress_version(&self) -> u64 {
        self.game.version()
    }

    /// Goes on with what [`World::progress`] told of this world or an earlier one of its template: to be called before the first
    /// step. NPCs that had fallen stay away for as long as it takes them to come back, the others are up; everybody heals from now on.
    ///
    /// # Errors
    /// [`ProgressError`]; then nothing has changed.
    pub fn take_up_progress(&mut self, bytes: &[u8]) -> Result<(), ProgressError> {
        let record: Record<Vec<Course>, Vec<Wound>> = postcard::from_bytes(bytes)?;
        let expected = self.plan_fingerprint();
        if record.plan != expected {
            return Err(ProgressError::OtherMissions { expected, found: record.plan });
        }
        let Some(cast) = self.setting.cast.clone() else { return Ok(()) };
        let Record { mut courses, mut wounds, down, .. } = record;
        let is_sound = Course::are_sound(&courses, &cast.plan)
            && Wound::are_sound(&wounds)
            && (self.npcs.len()..crate::NPCS_MAX).all(|number| !down.has(number));
        if !is_sound {
            return Err(ProgressError::Inconsistent);
        }
        let now = self.npcs.now();
        wounds.iter_mut().for_each(|wound| wound.dress(now));
        for (mission, course) in courses.iter_mut().enumerate() {
            course.wait_again(&cast.plan, mission, now.stamp());
        }
        (self.game.courses, self.game.wounds) = (courses, wounds);
        self.game.change();
        self.delta.departures.extend(self.npcs.take_down(&cast, down));
        Ok(())
    }

    fn plan_fingerprint(&self) -> u64 {
        self.setting.cast.as_ref().map_or(0, |cast| Plan::fingerprint(&cast.plan))
    }
}
