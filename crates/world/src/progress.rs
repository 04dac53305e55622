//! Progress: the few bytes of a world that its users would miss most, written to the journal every second while they change. Whole snapshots are
//! for worlds that are put away.
//!
//! ```text
//! fingerprint of the game's rules (varint) | the game's state (GameState::encode) | NPCs that lie or are away (NpcSet, postcard)
//! ```
//!
//! Times in it are not used: every timer begins again.

use crate::{
    game::{GameRules, GameStateError, NoGame},
    outcome::NpcSet,
    world::World,
};
use record::Part;
use std::sync::Arc;
use thiserror::Error;

/// [`World::progress`] where it is kept longer than a process lives.
pub(crate) const PROGRESS: Part = Part::new(*b"PROG", "progress");

/// Reasons to refuse bytes as progress.
#[derive(Debug, Error)]
pub enum ProgressError {
    /// They are cut off or something else.
    #[error("the progress cannot be decoded: {0}")]
    Undecodable(#[from] postcard::Error),
    /// The template has another game or other NPCs now.
    #[error("the progress is of missions {found:016x}, not {expected:016x}")]
    OtherMissions {
        /// Fingerprint of the world's, 0 without a cast.
        expected: u64,
        /// Fingerprint in the record.
        found: u64,
    },
    /// The decoded progress is impossible.
    #[error("the progress is that of no possible world")]
    Inconsistent,
}

impl From<GameStateError> for ProgressError {
    fn from(why: GameStateError) -> Self {
        match why {
            GameStateError::Undecodable(why) => Self::Undecodable(why),
            GameStateError::Unsound => Self::Inconsistent,
        }
    }
}

impl World {
    /// Appends the progress to journal once per second: the game's state, and the fallen NPCs. A few dozen bytes; allocates only if
    /// `out` lacks capacity.
    pub fn progress(&self, out: &mut Vec<u8>) {
        const ENCODES: &str = "plain data in memory always encodes";
        *out = postcard::to_extend(&self.rules_fingerprint(), std::mem::take(out)).expect(ENCODES);
        self.encode_game(out);
        *out = postcard::to_extend(&self.npcs.down(), std::mem::take(out)).expect(ENCODES);
    }

    /// Version of [`World::progress`]: changes exactly when it does. Valid within one world; a restored one counts from 0.
    #[must_use]
    pub fn progress_version(&self) -> u64 {
        self.game.as_ref().map_or(0, |game| game.version())
    }

    /// Continues with the [`World::progress`] of this world or an earlier one of its template; call it before the first step. NPCs that
    /// had fallen stay away for as long as it takes them to come back, the others are up; the game's timers begin again.
    ///
    /// # Errors
    /// [`ProgressError`]; then nothing has changed.
    pub fn take_up_progress(&mut self, bytes: &[u8]) -> Result<(), ProgressError> {
        let (found, rest) = postcard::take_from_bytes(bytes)?;
        let expected = self.rules_fingerprint();
        if found != expected {
            return Err(ProgressError::OtherMissions { expected, found });
        }
        let cast = self.setting.cast.clone();
        let rules: Arc<dyn GameRules> = match &cast {
            Some(cast) => Arc::clone(&cast.rules),
            None => Arc::new(NoGame::default()),
        };
        let (mut game, rest) = rules.decode(rest)?;
        let down: NpcSet = postcard::from_bytes(rest)?;
        if (self.npcs.len()..crate::NPCS_MAX).any(|number| down.has(number)) {
            return Err(ProgressError::Inconsistent);
        }
        let Some(cast) = cast else { return Ok(()) };
        game.restart_timers(self.npcs.now());
        game.outlive(self.progress_version());
        self.game = Some(game);
        self.delta.departures.extend(self.npcs.take_down(&cast, down));
        Ok(())
    }

    /// Appends the game's state, as it is in snapshots and in the journal.
    pub(crate) fn encode_game(&self, out: &mut Vec<u8>) {
        match &self.game {
            Some(game) => game.encode(out),
            None => out.extend_from_slice(&NoGame::ENCODED),
        }
    }

    fn rules_fingerprint(&self) -> u64 {
        self.setting.cast.as_ref().map_or(0, |cast| cast.rules.fingerprint())
    }
}
