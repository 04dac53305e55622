//! Edits of building bots: to other clients' screens, and into a file.

use super::BotsConfig;
use crate::agent::Agent;
use crate::behavior::Behavior;
use crate::builder::{EDITS_FILE, EditRecord};
use crate::edit_watch::EditWatch;
use crate::record_file::{RecordFileError, RecordWriter};
use ids::Instant;
use std::path::PathBuf;
use std::time::Duration;

/// Time between two looks for edits that are overdue.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// Edits of a run.
pub(super) struct EditNotes {
    watch: EditWatch,
    journal: Option<RecordWriter<EditRecord>>,
    next_look_at: Instant,
    /// The first bots.
    n_observers: u32,
}

impl EditNotes {
    pub(super) fn new(config: &BotsConfig, now: Instant) -> Result<Self, RecordFileError> {
        let create = |path: &PathBuf| RecordWriter::create(path, EDITS_FILE, now);
        let journal = config.edits.as_ref().map(create).transpose()?;
        let next_look_at = now + LOOK_PERIOD;
        Ok(Self { watch: EditWatch::default(), journal, next_look_at, n_observers: config.observers })
    }

    /// True if bots that build have to keep their edits.
    pub(super) fn are_wanted(config: &BotsConfig) -> bool {
        config.observers > 0 || config.edits.is_some()
    }

    /// True if observers have to keep changes of prims.
    pub(super) fn watches_prims(config: &BotsConfig) -> bool {
        config.scenes.is_some() || config.agent.behavior.build_plan().is_some()
    }

    /// Behaviour of a bot: observers stand beside those that build or carry, since they are other clients.
    pub(super) fn behavior_of(observes: bool, behavior: Behavior) -> Behavior {
        let works = behavior.build_plan().is_some() || behavior.carry_plan().is_some();
        if observes && works { Behavior::Stand } else { behavior }
    }

    /// Takes in the edits of a bot, or the prims that an observer was shown, since the last call.
    pub(super) fn note(&mut self, now: Instant, bot: u32, agent: &mut Agent) -> Result<(), RecordFileError> {
        if agent.builder().is_some() {
            for (at, event) in agent.take_build_events() {
                self.watch.on_event(at, bot, &event);
                if let Some(journal) = &mut self.journal {
                    journal.write(&EditRecord { at, builder: bot, event })?;
                }
            }
        } else if bot < self.n_observers && agent.placed_at().is_some() {
            self.watch.place(bot, agent.position(now));
            for id in agent.take_prim_changes() {
                match agent.observer().and_then(|observer| observer.prims().get(id)) {
                    Some(prim) => self.watch.on_prim(now, bot, id, prim),
                    None => self.watch.on_kill(now, bot, id),
                }
            }
        }
        if now >= self.next_look_at {
            self.next_look_at = now + LOOK_PERIOD;
            self.watch.give_up_overdue(now);
        }
        Ok(())
    }

    /// The edits on the screens of observers.
    pub(super) const fn watch(&self) -> &EditWatch {
        &self.watch
    }

    /// Writes buffered records: a reader has all edits up to now.
    pub(super) fn flush(&mut self) -> Result<(), RecordFileError> {
        self.journal.as_mut().map_or(Ok(()), RecordWriter::flush)
    }
}
