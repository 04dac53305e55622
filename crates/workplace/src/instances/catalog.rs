//! Worlds known to the workplace: templates, stepped instances, and the casts to which instances went back.
//!
//! One lock holds all of it ([`InstanceWorkplace::catalog`](super::InstanceWorkplace::catalog)), so that a template that changes and an
//! instance that comes into memory meanwhile find each other. The existence of instances is the registry's.

use super::report::JobReport;
use crate::journal_buffer::JournalBuffer;
use host::registry::TemplateFacts;
use ids::{Uuid, WorldId};
use link::{GroundSpec, Portal};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use world::NpcCast;

/// Local ids for the avatars of an instance. They are used in turn, so that one is reused after this number of arrivals.
const AVATAR_IDS: u32 = 4_096;

/// For an instance that is not persisted any more.
const BEGUN_EMPTY: &str = "It failed again and again and has begun anew. Nothing of that is kept: when it is suspended and resumed it goes on \
                           as it was last saved.";
/// For an instance whose world has given up its template's cast.
const REVERTED: &str = "It panicked again and again with what its template's files say now, and has gone back to what they said before. Mend \
                        them and have them read again.";

/// Description from which instances are created.
#[derive(Clone, Debug)]
pub struct Template {
    /// Name, unique without regard to case.
    pub name: Arc<str>,
    /// Ground and static objects, shared by all instances.
    pub ground: Arc<GroundSpec>,
    /// Portals in each instance.
    pub portals: Arc<[Portal]>,
    /// NPCs and missions.
    pub cast: Option<Arc<NpcCast>>,
    /// File of the cast.
    pub script: Option<PathBuf>,
    /// Avatars of users in one instance at once.
    pub max_avatars: u32,
    /// Steps per second.
    pub hz: u32,
    /// Time without visitors after which an instance that a portal created ends; `None` is never.
    pub keep: Option<Duration>,
}

impl Template {
    /// The template as the registry needs it.
    pub(super) fn facts(&self) -> TemplateFacts {
        let n_avatar_ids = AVATAR_IDS.max(self.max_avatars.saturating_mul(4));
        TemplateFacts {
            name: Arc::clone(&self.name),
            n_local_ids: n_avatar_ids.saturating_add(self.ground.n_objects()),
            n_npcs: self.cast.as_ref().map_or(0, |cast| cast.len()),
            keep: self.keep,
        }
    }
}

/// An instance whose world is in memory.
#[derive(Debug)]
pub(super) struct SteppedInstance {
    pub(super) id: Uuid,
    /// Name of its template.
    pub(super) template: Arc<str>,
    /// States of its world for the journal.
    pub(super) journal_buffer: Arc<JournalBuffer>,
    /// Memory that its creation kept; 0 if allocations are not counted.
    pub(super) kept_bytes: i64,
    /// Report on the save that was ordered and whose state has not come yet.
    pub(super) saving: Option<JobReport>,
}

/// Cast to which an instance has gone back. Not kept beyond the end of the server.
#[derive(Clone, Debug)]
pub(super) struct RevertedCast {
    /// Name of its template.
    pub(super) template: Arc<str>,
    /// [`NpcCast::fingerprint`] of the cast that it gave up.
    pub(super) from: u64,
    pub(super) to: Arc<NpcCast>,
}

/// Templates, and worlds in memory.
#[derive(Debug, Default)]
pub(super) struct WorldCatalog {
    pub(super) templates: Vec<Template>,
    pub(super) stepped: BTreeMap<WorldId, SteppedInstance>,
    /// Former casts of suspended instances, and of those resumed with one.
    pub(super) reverted: BTreeMap<Uuid, RevertedCast>,
}

impl WorldCatalog {
    /// A template by name, without regard to case.
    pub(super) fn template(&self, name: &str) -> Option<&Template> {
        self.templates.iter().find(|known| known.name.eq_ignore_ascii_case(name))
    }

    /// As [`Self::template`], to be changed.
    pub(super) fn template_mut(&mut self, name: &str) -> Option<&mut Template> {
        self.templates.iter_mut().find(|known| known.name.eq_ignore_ascii_case(name))
    }

    /// Stepped instances of a template.
    pub(super) fn of_template(&self, name: &str) -> impl Iterator<Item = (WorldId, &SteppedInstance)> {
        let is_it = move |(_, one): &(&WorldId, &SteppedInstance)| one.template.eq_ignore_ascii_case(name);
        self.stepped.iter().filter(is_it).map(|(&world, one)| (world, one))
    }

    /// Notes the cast to which an instance that is about to be suspended has gone back, unless its template's files have changed since.
    pub(super) fn note_reverted(&mut self, id: Uuid, reverted: RevertedCast) {
        let cast = self.template(&reverted.template).and_then(|template| template.cast.as_ref());
        if cast.is_some_and(|cast| cast.fingerprint() == reverted.from) {
            self.reverted.insert(id, reverted);
        }
    }

    /// Fingerprint of the cast that an instance has given up, or will be resumed without.
    pub(super) fn reverted_from(&self, world: WorldId, id: Uuid) -> Option<u64> {
        match self.stepped.get(&world) {
            Some(stepped) => stepped.journal_buffer.reverted_from(),
            None => self.reverted.get(&id).map(|reverted| reverted.from),
        }
    }

    /// Sentence on an instance whose world has lost its state or its cast.
    pub(super) fn trouble(&self, world: WorldId, id: Uuid) -> Option<&'static str> {
        let is_closed = self.stepped.get(&world).is_some_and(|stepped| stepped.journal_buffer.is_closed());
        match (is_closed, self.reverted_from(world, id).is_some()) {
            (true, _) => Some(BEGUN_EMPTY),
            (false, true) => Some(REVERTED),
            (false, false) => None,
        }
    }
}
