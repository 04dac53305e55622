//! Actions that do something: blows, words, work, and waiting.

use super::{
    intent::{Attack, Deed, Facing, SoundMade},
    mind::{HAS_TRAIL, Leaf, LeafProgress, SPEECH_GAP_MS},
    node::{AnimationIndex, Dm, Gait, LineId, NamedPlaceId, PlaceRef, ResourceId, Tenths},
    think::{
        NodeOutcome::{self, Failure, Running, Success},
        Thought,
    },
    way::nearest,
};
use crate::senses::{SoundKind, Stamp};

/// Hysteresis: a fight turns into a chase when the target is farther than range × this.
const FIGHT_REACH: f32 = 1.25;
/// Blows of one thought at most: an NPC that thinks half as often strikes no less, but a long sleep is no volley.
const BLOWS_MAX: u8 = 8;
/// Metres over which people talk.
const TALK_M: f32 = 8.0;
/// Other spots that are tried before a resource counts as out of reach.
const TRIES_MAX: u16 = 3;

impl<R: FnMut() -> u32> Thought<'_, R> {
    pub(super) fn attack(
        &mut self,
        leaf: &mut Leaf,
        timer: u8,
        range: Dm,
        every: Tenths,
        damage: u16,
        play: AnimationIndex,
    ) -> NodeOutcome {
        let Some(sighting) = self.target_sighting() else { return Failure };
        if sighting.has_fallen {
            self.forget();
            return Success;
        }
        let is_new = leaf.phase == LeafProgress::New;
        let reach_m = range.metres() * if is_new { 1.0 } else { FIGHT_REACH };
        let square = self.square_to(sighting.place);
        if !sighting.is_fresh || square > reach_m * reach_m {
            return Failure;
        }
        let mut blows = 0;
        if is_new {
            leaf.phase = LeafProgress::There;
            // The timer outlives the leaf, so that an interruption does not speed up blows.
            leaf.due = if *self.timer(timer) == 0 { self.now } else { Stamp(*self.timer(timer)) };
        }
        while self.now.has_reached(leaf.due) && blows < BLOWS_MAX {
            blows += 1;
            leaf.due = leaf.due.after(every.ms());
        }
        if self.now.has_reached(leaf.due) {
            leaf.due = self.now.after(every.ms());
        }
        if blows > 0 {
            *self.timer(timer) = leaf.due.0.max(1);
            self.out.attack = Some(Attack { who: sighting.who, damage, blows });
            self.out.gesture = play.id();
        }
        self.out.face = Facing::Toward(sighting.who);
        Running
    }

    pub(super) fn gather(
        &mut self,
        leaf: &mut Leaf,
        pace: Gait,
        resource: u8,
        wanted: u8,
        taking: Tenths,
        play: AnimationIndex,
    ) -> NodeOutcome {
        if leaf.phase == LeafProgress::There && self.senses.is_refused {
            self.mind.amount = self.mind.amount.saturating_sub(leaf.count as u8);
            return Failure;
        }
        if self.mind.amount > 0 && self.mind.carried != resource {
            return Failure;
        }
        if self.mind.amount >= wanted {
            return Success;
        }
        if leaf.phase != LeafProgress::There {
            return self.go_gathering(leaf, pace, resource, taking);
        }
        leaf.count = 0;
        while self.now.has_reached(leaf.due) && self.mind.amount < wanted {
            (self.mind.carried, self.mind.amount) = (resource, self.mind.amount + 1);
            leaf.count += 1;
            leaf.due = leaf.due.after(taking.ms());
        }
        if leaf.count > 0 {
            let amount = leaf.count as u8;
            self.out.deed = Some(Deed::Gathered { resource: ResourceId(resource), amount });
        }
        // The last one is not over until the world has had its say.
        self.out.animation = play.id();
        self.out.face = Facing::At(leaf.spot);
        Running
    }

    fn go_gathering(&mut self, leaf: &mut Leaf, pace: Gait, resource: u8, taking: Tenths) -> NodeOutcome {
        let spots = self.set.spots(resource);
        if leaf.phase == LeafProgress::New {
            self.set_out(leaf, spots[usize::from(nearest(spots, self.senses.position))]);
        }
        match self.arrive(leaf, pace, PlaceRef::HERE) {
            Some(Failure) if leaf.count < TRIES_MAX => {
                leaf.count += 1;
                let other = self.below(spots.len() as u32) as usize;
                self.set_out(leaf, spots[other]);
                Running
            }
            Some(Success) => {
                leaf.count = 0;
                leaf.due = self.now.after(taking.ms());
                self.out.face = Facing::At(leaf.spot);
                Running
            }
            Some(other) => other,
            None => Running,
        }
    }

    pub(super) fn deliver(&mut self, leaf: &mut Leaf, pace: Gait, to: PlaceRef) -> NodeOutcome {
        if self.mind.amount == 0 {
            return Failure;
        }
        match self.arrive(leaf, pace, to) {
            Some(Success) | None => {}
            Some(other) => return other,
        }
        let (resource, amount) = (ResourceId(self.mind.carried), self.mind.amount);
        let place = self.set.place(to).map(|_| NamedPlaceId(to.0));
        self.out.deed = Some(Deed::Delivered { resource, amount, place });
        self.mind.amount = 0;
        Success
    }

    pub(super) fn talk(&mut self, leaf: &mut Leaf, n: u8, first: u16, pause: Tenths) -> NodeOutcome {
        let partner = self.target_sighting().filter(|partner| {
            let square = self.square_to(partner.place);
            partner.is_fresh && square <= TALK_M * TALK_M
        });
        let Some(partner) = partner else { return Failure };
        if leaf.phase == LeafProgress::New {
            leaf.phase = LeafProgress::There;
            leaf.due = self.now;
        }
        if self.now.has_reached(leaf.due) {
            if leaf.count >= u16::from(n) {
                return Success;
            }
            // After another line the speech begins a little later.
            if self.speak(LineId(first + leaf.count)) {
                leaf.count += 1;
                leaf.due = self.now.after(pause.ms());
            }
        }
        self.out.face = Facing::Toward(partner.who);
        Running
    }

    pub(super) fn wait(&mut self, leaf: &mut Leaf, span: (Tenths, Tenths)) -> NodeOutcome {
        if leaf.phase == LeafProgress::New {
            leaf.phase = LeafProgress::There;
            leaf.due = self.now.after(self.between(span));
        }
        if self.now.has_reached(leaf.due) { Success } else { Running }
    }

    pub(super) fn play(
        &mut self,
        leaf: &mut Leaf,
        animation: AnimationIndex,
        lasting: Tenths,
    ) -> NodeOutcome {
        if lasting.0 == 0 {
            self.out.gesture = animation.id();
            return Success;
        }
        leaf.phase = LeafProgress::There;
        if self.is_over(leaf, lasting) {
            return Success;
        }
        self.out.animation = animation.id();
        Running
    }

    pub(super) fn speak_one_of(&mut self, n: u8, first: u16) -> NodeOutcome {
        let chosen = self.below(u32::from(n)) as u16;
        self.speak(LineId(first + chosen));
        Success
    }

    pub(super) fn face(&mut self, spot: PlaceRef) -> NodeOutcome {
        self.out.face = match (spot, self.mind.target) {
            (PlaceRef::TARGET, Some(who)) => Facing::Toward(who),
            _ => self.place(spot).map_or(Facing::Ahead, Facing::At),
        };
        Success
    }

    pub(super) fn sound(&mut self, sound: u8, reach: Dm) -> NodeOutcome {
        self.out.sound = Some(SoundMade { kind: SoundKind(sound), reach_dm: reach.0 });
        Success
    }

    pub(super) fn forget(&mut self) -> NodeOutcome {
        self.mind.target = None;
        self.mind.flags &= !HAS_TRAIL;
        Success
    }

    /// Says a line, unless it has just said another.
    fn speak(&mut self, line: LineId) -> bool {
        let may_speak = self.mind.silent_until == 0;
        if may_speak {
            self.out.say = Some(line);
            self.mind.silent_until = self.due_in(SPEECH_GAP_MS);
        }
        may_speak
    }
}
