//! What one client has been shown of the world around it.

use crate::replica::{Hot, Replica, SLOTS_PER_BLOCK, SlotIndex};
use glam::Vec3;
use ids::{LocalId, SessionKey};

/// What a viewer was sent of the entity in one slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// Local id it was shown as; 0 when it was not.
    pub id: u32,
    /// [`Hot::changed_at`] of the motion it was sent.
    pub sent: u32,
    /// Low 32 bits of the tick in which it was first shown.
    pub since: u32,
    /// [`Hot::animation_serial`] it was sent.
    pub animation_serial: u16,
    /// [`Hot::appearance_serial`] it was sent.
    pub appearance_serial: u16,
    /// Sends of a rest that are still to come.
    pub repeats: u8,
    /// Unreliable animations that are still to be repeated.
    pub animation_repeats: u8,
    /// Among the nearest that get reliable animations and appearances.
    pub near: bool,
    /// The ack of its full update is overdue: the client may or may not show it.
    pub doubtful: bool,
}

impl Known {
    const NOTHING: Self = Self {
        id: 0,
        sent: 0,
        since: 0,
        animation_serial: 0,
        appearance_serial: 0,
        repeats: 0,
        animation_repeats: 0,
        near: false,
        doubtful: false,
    };

    /// A rest is sent this often after the first time: mid-motion updates are unreliable and a viewer extrapolates
    /// without limit, so the stop must not get lost (DESIGN §2). The last one has to be acked, see
    /// [`Viewer::is_last_rest`].
    pub const REST_REPEATS: u8 = 3;
}

/// A client's view of one world.
///
/// It knows no epochs and needs none: in all lives of a world an id stands for one presence, and ticks only rise
/// (`world::Life`). So who is missing in a new life departs as anybody does, and what is told anew is newer than what was sent.
#[derive(Debug)]
pub struct Viewer {
    /// Whose view.
    pub session: SessionKey,
    /// Where it looks from when its own avatar is not in the world (yet).
    pub eye: Vec3,
    pub(crate) known: Vec<Known>,
    /// For each block of slots the version of its state at which nothing in it was due; 0 when something may be.
    pub(crate) quiet: Vec<u32>,
    /// For each block of slots the version of its population that was last looked through for departures.
    compared: Vec<u32>,
    /// Where the round over everybody else goes on.
    pub(crate) cursor: SlotIndex,
    gone: Vec<LocalId>,
}

impl Viewer {
    /// Somebody who was shown nothing yet.
    #[must_use]
    pub const fn new(session: SessionKey, eye: Vec3) -> Self {
        Self {
            session,
            eye,
            known: Vec::new(),
            quiet: Vec::new(),
            compared: Vec::new(),
            cursor: 0,
            gone: Vec::new(),
        }
    }

    /// What was sent of a slot's entity.
    #[must_use]
    pub fn known(&self, index: SlotIndex) -> Known {
        self.known.get(index as usize).copied().unwrap_or(Known::NOTHING)
    }

    /// Entities shown.
    #[must_use]
    pub fn n_shown(&self) -> usize {
        self.known.iter().filter(|known| known.id != 0).count()
    }

    /// Forgets everything shown: the client was told that the region begins again.
    pub fn reset(&mut self) {
        self.known.clear();
        self.quiet.clear();
        self.compared.clear();
        self.gone.clear();
        self.cursor = 0;
    }

    /// Compares with the replica's slots and returns the local ids that the client must be told to kill: entities
    /// that left, and those whose slot now belongs to another. Call once before each selection.
    pub fn departed(&mut self, replica: &Replica) -> &[LocalId] {
        let n_slots = replica.hot().len();
        self.gone.clear();
        self.known.resize(n_slots, Known::NOTHING);
        self.quiet.resize(n_slots.div_ceil(SLOTS_PER_BLOCK), 0);
        self.compared.resize(self.quiet.len(), 0);
        let blocks = replica.blocks().zip(self.known.chunks_mut(SLOTS_PER_BLOCK)).zip(&mut self.compared);
        for (((version, hot), known), compared) in blocks {
            if *compared == version.population {
                continue;
            }
            *compared = version.population;
            for (known, hot) in known.iter_mut().zip(hot) {
                if known.id != 0 && hot.id != known.id {
                    self.gone.push(LocalId(known.id));
                    *known = Known::NOTHING;
                }
            }
        }
        &self.gone
    }

    /// Notes that a full update of the slot went out.
    pub fn showed(&mut self, index: SlotIndex, hot: &Hot, tick: u32) {
        self.known[index as usize] =
            Known { id: hot.id, sent: hot.changed_at, since: tick, repeats: 0, ..Known::NOTHING };
    }

    /// Notes that a terse update of the slot went out.
    pub fn updated(&mut self, index: SlotIndex, hot: &Hot) {
        let known = &mut self.known[index as usize];
        known.repeats = if !hot.at_rest {
            0
        } else if known.sent == hot.changed_at {
            known.repeats.saturating_sub(1)
        } else {
            Known::REST_REPEATS
        };
        known.sent = hot.changed_at;
    }

    /// Whether the next terse update of the slot is the last repetition of its rest. The client should ack it, and if it
    /// does not, [`Self::missed_rest`] asks for another one: a burst of losses may outlast all repetitions.
    #[must_use]
    pub fn is_last_rest(&self, index: SlotIndex, hot: &Hot) -> bool {
        let known = self.known(index);
        hot.at_rest && known.sent == hot.changed_at && known.repeats == 1
    }

    /// The last repetition of an entity's rest was not acked in time.
    pub fn missed_rest(&mut self, id: LocalId, replica: &Replica) {
        if let Some(known) = self.shown_as(id, replica) {
            known.repeats = known.repeats.max(1);
        }
    }

    /// The ack of an entity's full update is overdue. The update may have got lost, or only its ack: so the entity is
    /// shown anew, and if it leaves before that, the client is told to kill it all the same.
    pub fn lost(&mut self, id: LocalId, replica: &Replica) {
        if let Some(known) = self.shown_as(id, replica) {
            known.doubtful = true;
        }
    }

    /// What was sent of an entity that is still there and shown; something will be due of it.
    fn shown_as(&mut self, id: LocalId, replica: &Replica) -> Option<&mut Known> {
        let index = replica.of_id(id)? as usize;
        let known = self.known.get_mut(index).filter(|known| known.id == id.0)?;
        self.quiet[index / SLOTS_PER_BLOCK] = 0;
        Some(known)
    }

    /// What was sent of a slot's entity, to note animations and appearances; not what selection goes by.
    pub fn known_mut(&mut self, index: SlotIndex) -> &mut Known {
        &mut self.known[index as usize]
    }

    /// Where it looks from: its own avatar, or where it was last.
    pub fn look_from(&mut self, replica: &Replica) -> Vec3 {
        if let Some(own) = replica.of_session(self.session) {
            self.eye = replica.hot()[own as usize].position;
        }
        self.eye
    }
}
