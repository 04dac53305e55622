//! End of a run: the findings of all bots, their scenes and caches, and their logouts.

use super::{Buffers, Circuits};
use crate::agent::LOGOUT_MAX;
use crate::cache_file;
use crate::driver::BotsError;
use crate::driver::carrying::CarryTally;
use crate::driver::findings::{BotStage, EditTally, Harvest, MeterReading, report};
use crate::driver::session::HttpThread;
use crate::record_file::RecordWriter;
use crate::report::RunReport;
use crate::scenes::{SCENES_FILE, SceneRecord};

/// Bots that log out in one turn: all at once would be a burst unlike any crowd's.
const LOGOUTS_PER_TURN: usize = 10;

impl Circuits {
    /// End of a window: all bots log out.
    pub(super) fn finish(
        mut self,
        http: HttpThread,
        buffers: &mut Buffers,
        begin: &MeterReading,
        end: &MeterReading,
    ) -> Result<RunReport, BotsError> {
        self.note_all()?;
        let harvest = self.harvest();
        if let Some(mut views) = self.views.take() {
            views.flush()?;
        }
        self.edits.flush()?;
        self.carry.flush()?;
        self.write_scenes()?;
        http.leave();
        self.log_out_all(buffers)?;
        http.finish();
        // The last of its notices.
        self.read_notices()?;
        Ok(report(self.findings, harvest, begin, end))
    }

    fn log_out_all(&mut self, buffers: &mut Buffers) -> Result<(), BotsError> {
        let mut staying = 0..self.bots.len();
        // A bot gives up waiting by itself, so this ends; the margin covers the turns that it takes.
        let mut give_up_at = None;
        loop {
            let now = self.clock.now();
            for index in staying.by_ref().take(LOGOUTS_PER_TURN) {
                if let Some(bot) = &mut self.bots[index]
                    && bot.life != BotStage::Over
                {
                    bot.life = BotStage::Leaving;
                    bot.agent.log_out(now);
                    self.advance_bot(now, index as u32);
                }
            }
            if staying.is_empty() && give_up_at.is_none() {
                give_up_at = Some(now + 2 * LOGOUT_MAX);
            }
            let done = staying.is_empty() && self.bots.iter().flatten().all(|bot| bot.agent.is_gone());
            if done || give_up_at.is_some_and(|at| at <= now) {
                return Ok(());
            }
            self.run_turn(buffers)?;
        }
    }

    fn harvest(&self) -> Harvest {
        let mut harvest = Harvest {
            messages: self
                .wires
                .traffic()
                .by_name()
                .into_iter()
                .map(|(name, tally)| (name.to_owned(), tally))
                .collect(),
            datagrams_lost_locally: self.wires.unsent(),
            ..Harvest::default()
        };
        harvest.second_bytes_p99 = self.rates.percentile(0.99);
        harvest.edits = self.sum_edits();
        harvest.carry = CarryTally::of(&self.carry);
        for bot in self.bots.iter().flatten() {
            harvest.add(bot.agent.stats());
            harvest.carry.add(&bot.agent);
            harvest.datagrams_lost_locally += bot.port.receive_drops();
            if let Some(observer) = bot.agent.observer() {
                let others = observer.others(bot.agent.identity().agent);
                harvest.avatars_seen_min =
                    Some(harvest.avatars_seen_min.map_or(others, |min| min.min(others)));
                harvest.updates_received += observer.seen().updates();
            }
        }
        harvest
    }

    /// Edits of all bots, on their own screens and on those of observers.
    pub(super) fn sum_edits(&self) -> EditTally {
        let mut tally = EditTally::of(self.edits.watch());
        let builders = self.bots.iter().flatten().filter_map(|bot| bot.agent.builder());
        builders.for_each(|builder| tally.add(builder));
        tally
    }

    /// Writes the scenes and caches of observers.
    fn write_scenes(&self) -> Result<(), BotsError> {
        let now = self.clock.now();
        // Bots that build look at prims too, but for themselves.
        let observers = || (0..self.config.observers).zip(&self.bots);
        let agents = || observers().filter_map(|(bot, slot)| Some((bot, &slot.as_ref()?.agent)));
        if let Some(path) = &self.config.scenes {
            let mut writer = RecordWriter::create(path, SCENES_FILE, now)?;
            for scene in agents().filter_map(|(bot, agent)| SceneRecord::of(now, bot, agent)) {
                writer.write(&scene)?;
            }
            writer.flush()?;
        }
        if let Some(path) = &self.config.cache {
            let kept = agents().filter_map(|(bot, agent)| Some((bot, agent.observer()?.prims().cache()?)));
            cache_file::write(path, now, kept)?;
        }
        Ok(())
    }
}
