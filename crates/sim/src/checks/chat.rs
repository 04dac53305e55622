//! Chat reaches every avatar in range that stays exactly once, and no other.

use super::{Census, Failure, Rule};
use crate::client::{Visit, Word};
use crate::network::Cuts;
use ids::{AgentId, Instant, RegionHandle, SessionKey};
use link::Chat;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Time before the end of a visit in which the loss of a line is excused: it may have been on its way for that long, being resent. A
/// backlog after a cut is resent at the pace of the Resend category, 19 kB/s: 10 s were seen after cuts of 5.
pub(super) const ON_THE_WAY_MAX: Duration = Duration::from_secs(15);

/// Time before a panic in which a line may be lost with the world: a turn of the client, one of its shard, a tick.
const DIES_WITH_WORLD: Duration = Duration::from_secs(1);

/// Everything said in a run. Texts are unique.
#[derive(Debug, Default)]
pub(crate) struct ChatAudit {
    said: BTreeMap<String, Said>,
    heard: BTreeMap<(u32, usize), BTreeMap<String, u32>>,
    /// Lines of NPCs.
    of_npcs: BTreeSet<String>,
    /// Times at which a world was down, or its visitors were coming in again; in order, and apart.
    recoveries: Vec<(Instant, Instant)>,
}

/// Times and places of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attendance<'a> {
    pub(crate) agent: AgentId,
    pub(crate) visits: &'a [Visit],
    /// Times at which its path was cut, and at which the node was stopped.
    pub(crate) pauses: [&'a Cuts; 2],
}

#[derive(Debug)]
struct Said {
    by: u32,
    visit: usize,
    at: Instant,
    sounded: Option<Sounded>,
}

#[derive(Debug)]
struct Sounded {
    at: Instant,
    region: RegionHandle,
    /// Agents in range and the speaker, whether or not they must have heard it.
    in_range: BTreeSet<AgentId>,
    /// True if the replica was current, so that the shards knew the avatars in range.
    was_current: bool,
}

impl ChatAudit {
    /// Records a line that a client said or heard.
    pub(crate) fn record_word(&mut self, now: Instant, client: u32, word: Word) {
        match word {
            Word::Said { visit, text } => {
                self.said.insert(text, Said { by: client, visit, at: now, sounded: None });
            }
            Word::Heard { visit, text } => {
                *self.heard.entry((client, visit)).or_default().entry(text).or_default() += 1;
            }
        }
    }

    /// Records a line that sounded in a world; the census is that of the same tick, as the shards' replica is.
    pub(crate) fn record_sound(
        &mut self,
        now: Instant,
        region: RegionHandle,
        chat: &Chat,
        census: &Census,
        was_current: bool,
    ) -> Result<(), Failure> {
        let fail = |found: String| Err(Failure::new(now, Rule::ChatArrivesOnce, found));
        if chat.session == SessionKey::NODE {
            // An NPC says the same again and again.
            self.of_npcs.insert(chat.text.clone());
            return Ok(());
        }
        let Some(said) = self.said.get_mut(&chat.text) else {
            return fail(format!("{:?} sounds and was never said", chat.text));
        };
        if said.sounded.is_some() {
            return fail(format!("{:?} sounds again", chat.text));
        }
        let reach = chat.radius_m * chat.radius_m;
        let in_range = census
            .residents()
            // A speaker hears its own words wherever it is by then: a teleport in the same tick may have moved it.
            .filter(|resident| {
                if resident.is_npc() {
                    return false;
                }
                let is_near = resident.motion.position.distance_squared(chat.position) <= reach;
                is_near || resident.agent.0 == chat.source
            })
            .map(|resident| resident.agent);
        said.sounded = Some(Sounded { at: now, region, in_range: in_range.collect(), was_current });
        Ok(())
    }

    /// A world is down, or some of its visitors are not back: chat may be lost now.
    pub(crate) fn note_recovery(&mut self, now: Instant) {
        match self.recoveries.last_mut() {
            Some((_, until)) if now.since(*until) <= DIES_WITH_WORLD => *until = now,
            _ => self.recoveries.push((now, now)),
        }
    }

    fn died_with_world(&self, said_at: Instant) -> bool {
        self.recoveries.iter().any(|&(from, until)| said_at + DIES_WITH_WORLD >= from && said_at <= until)
    }

    /// Words that sounded and were heard, counted by hearer.
    pub(crate) fn n_heard(&self) -> u64 {
        self.heard.values().flat_map(BTreeMap::values).map(|&times| u64::from(times)).sum()
    }

    /// At the end, once nothing is on its way. This number of lines was left out for hearers above their budget; all others in range
    /// must have been heard.
    pub(crate) fn check(
        &self,
        now: Instant,
        clients: &[Attendance<'_>],
        n_left_out: u64,
    ) -> Result<(), Failure> {
        self.check_speakers(now, clients)?;
        for (&(client, visit), texts) in &self.heard {
            let agent = clients[client as usize].agent;
            for (text, &times) in texts.iter().filter(|(text, _)| !self.of_npcs.contains(*text)) {
                let sounded = self.said.get(text).and_then(|said| said.sounded.as_ref());
                let may_hear =
                    sounded.is_some_and(|sounded| !sounded.was_current || sounded.in_range.contains(&agent));
                if times != 1 || !may_hear {
                    let found = format!(
                        "client {client} heard {text:?} {times} times in visit {visit}, in range: {may_hear}"
                    );
                    return Err(Failure::new(now, Rule::ChatArrivesOnce, found));
                }
            }
        }
        let by_agent: BTreeMap<AgentId, u32> = clients.iter().map(|client| client.agent).zip(0..).collect();
        let mut missed = Vec::new();
        for (text, said) in &self.said {
            let Some(sounded) = said.sounded.as_ref().filter(|sounded| sounded.was_current) else { continue };
            for agent in &sounded.in_range {
                let client = by_agent[agent];
                missed.extend(self.missed(text, sounded, client, &clients[client as usize]));
            }
        }
        if missed.len() as u64 <= n_left_out {
            return Ok(());
        }
        let found =
            format!("{} lines were not heard, {n_left_out} left out; first: {}", missed.len(), missed[0]);
        Err(Failure::new(now, Rule::ChatArrivesOnce, found))
    }

    /// Everything said sounded, unless its speaker left too soon.
    fn check_speakers(&self, now: Instant, clients: &[Attendance<'_>]) -> Result<(), Failure> {
        let lost = self.said.iter().find(|(_, said)| {
            said.sounded.is_none()
                && !clients[said.by as usize].left_soon(said.visit, said.at)
                && !self.died_with_world(said.at)
        });
        match lost {
            None => Ok(()),
            Some((text, said)) => {
                let found = format!("client {} said {text:?} at {:?}, which never sounded", said.by, said.at);
                Err(Failure::new(now, Rule::ChatArrivesOnce, found))
            }
        }
    }

    /// Reports an avatar in range that missed a line, although it had arrived by then and did not leave too soon.
    fn missed(
        &self,
        text: &str,
        sounded: &Sounded,
        client: u32,
        attendance: &Attendance<'_>,
    ) -> Option<String> {
        let at = sounded.at;
        let (number, visit) = attendance.visits.iter().enumerate().find(|(_, visit)| {
            visit.region == sounded.region
                && visit.arrived_at.is_some_and(|arrived_at| arrived_at <= at)
                && visit.ended_at.is_none_or(|ended_at| ended_at > at)
        })?;
        let heard = self.heard.get(&(client, number)).is_some_and(|texts| texts.contains_key(text));
        (!heard && !attendance.left_soon(number, at))
            .then(|| format!("client {client}, {text:?} at {at:?}, in range during {visit:?}"))
    }
}

impl Attendance<'_> {
    /// True if a visit ended so soon after a line that it may be lost. Times of cuts and stops do not count.
    fn left_soon(&self, visit: usize, at: Instant) -> bool {
        self.visits[visit].ended_at.is_some_and(|ended_at| {
            let paused: Duration = self.pauses.iter().map(|cuts| cuts.cut_between(at, ended_at)).sum();
            ended_at.since(at) <= ON_THE_WAY_MAX + paused
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::census::tests::census_of;
    use link::ChatKind;

    const ADA: AgentId = AgentId(ids::Uuid::from_u128(1));
    const BOB: AgentId = AgentId(ids::Uuid::from_u128(2));
    const HERE: RegionHandle = RegionHandle(1);

    /// Ada (client 0) sends a line, Bob (client 1) stands beside her, hears it `heard_by_bob` times, and leaves then.
    fn check(sounds: bool, heard_by_bob: usize, bob_leaves_at_ms: Option<u64>) -> Result<(), Failure> {
        let mut chat_audit = ChatAudit::default();
        let second = Instant::from_millis(1_000);
        chat_audit.record_word(second, 0, Word::Said { visit: 0, text: "a word".into() });
        if sounds {
            let chat = Chat {
                source: ADA.0,
                session: SessionKey(1),
                name: "Ada".into(),
                position: glam::Vec3::ZERO,
                radius_m: 20.0,
                kind: ChatKind::Say,
                channel: 0,
                text: "a word".into(),
            };
            chat_audit.record_sound(second, HERE, &chat, &census_of(&[ADA, BOB]), true)?;
            chat_audit.record_word(second, 0, Word::Heard { visit: 0, text: "a word".into() });
        }
        for _ in 0..heard_by_bob {
            chat_audit.record_word(second, 1, Word::Heard { visit: 0, text: "a word".into() });
        }
        let visit = |ended_at| {
            [Visit { region: HERE, began_at: Instant::ZERO, arrived_at: Some(Instant::ZERO), ended_at }]
        };
        let (of_ada, of_bob) = (visit(None), visit(bob_leaves_at_ms.map(Instant::from_millis)));
        let pauses = Cuts::default();
        let attendance = |agent, visits| Attendance { agent, visits, pauses: [&pauses; 2] };
        let clients = [attendance(ADA, &of_ada), attendance(BOB, &of_bob)];
        chat_audit.check(Instant::from_millis(60_000), &clients, 0)
    }

    #[test]
    fn a_word_heard_once_is_well() {
        assert_eq!(check(true, 1, None), Ok(()));
    }

    #[test]
    fn a_word_lost_or_doubled_on_either_way_is_noticed() {
        assert!(check(true, 0, None).is_err(), "lost on the way down");
        assert!(check(true, 2, None).is_err(), "heard twice");
        assert!(check(false, 0, None).is_err(), "lost on the way up");
        assert!(check(false, 1, None).is_err(), "heard although it never sounded");
    }

    #[test]
    fn only_a_client_that_leaves_soon_is_excused() {
        assert_eq!(check(true, 0, Some(2_000)), Ok(()));
        assert!(check(true, 0, Some(30_000)).is_err());
    }
}
