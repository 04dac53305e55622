//! The bot against a server in miniature.

use super::*;
use ids::Uuid;
use std::collections::BTreeMap;
use wire::messages::ObjectUpdate;

const PLOT: Plot = Plot { corner: Vec2::new(20.0, 40.0), side: 10.0 };

fn prim(position: Vec3, scale: Vec3) -> SeenPrim {
    SeenPrim {
        id: Uuid::from_u128(1),
        crc: 1,
        parent: LocalId(0),
        position,
        scale,
        update_flags: YOU_OWNER | CREATE_SELECTED,
        textures: textures_of(&[]),
        updated_at: Instant::ZERO,
        form: ObjectUpdate::NUMBER,
    }
}

/// A server that carries out each request at once, and perhaps wrongly.
#[derive(Default)]
struct Server {
    prims: BTreeMap<LocalId, SeenPrim>,
    n_made: u32,
}

impl Server {
    fn carry_out(&mut self, edit: BuildEdit) -> Option<LocalId> {
        // The bot may not know that a prim is gone.
        let mut change = |id: LocalId, change: &dyn Fn(&mut SeenPrim)| {
            change(self.prims.get_mut(&id)?);
            Some(id)
        };
        match edit {
            BuildEdit::Create { position, scale } => {
                self.n_made += 1;
                let id = LocalId(100 + self.n_made);
                self.prims.insert(id, prim(position, scale));
                Some(id)
            }
            BuildEdit::Move(id, position) => change(id, &|prim| prim.position = position),
            BuildEdit::Scale(id, scale) => change(id, &|prim| prim.scale = scale),
            BuildEdit::Paint(id, entry) => change(id, &|prim| prim.textures = textures_of(&entry)),
            BuildEdit::Name(..) => None,
            BuildEdit::Link(root, part) => {
                let at = self.prims.get(&root)?.position;
                let prim = self.prims.get_mut(&part)?;
                (prim.position, prim.parent) = (prim.position - at, root);
                Some(part)
            }
            BuildEdit::Delink(part) => {
                let at = self.prims.get(&self.prims.get(&part)?.parent)?.position;
                let prim = self.prims.get_mut(&part)?;
                (prim.position, prim.parent) = (prim.position + at, LocalId(0));
                Some(part)
            }
            BuildEdit::Drop(_) => None,
            BuildEdit::Delete(id) => {
                self.prims.remove(&id)?;
                Some(id)
            }
        }
    }
}

/// The bot after `n` edits a tenth of a second apart, and the last prim that changed.
fn build(n: u64, wrong: impl Fn(u64) -> bool) -> (Builder, Server) {
    let mut builder = Builder::new(Instant::ZERO, BuildPlan::BUILD, PLOT, 10);
    builder.keep_events();
    let mut server = Server::default();
    let mut rng = Rng::new(5, 0);
    for turn in 0..n {
        let now = Instant::from_millis(100 * turn);
        let Some(edit) = builder.poll_edit(now, &mut rng) else { continue };
        let Some(id) = server.carry_out(edit).filter(|_| !wrong(turn)) else { continue };
        let shown_at = now + Duration::from_millis(40);
        match server.prims.get(&id) {
            Some(prim) => builder.on_prim(shown_at, id, &prim.clone()),
            None => builder.on_kill(shown_at, id),
        }
    }
    (builder, server)
}

#[test]
fn a_server_that_does_as_it_is_asked_makes_nothing_wrong() {
    let (builder, server) = build(2_000, |_| false);
    let counters = builder.counters();
    assert_eq!((counters.edits_wrong, counters.objects_failed), (0, 0));
    assert_eq!(counters.edits_seen, counters.edits_sent);
    assert!(counters.edits_sent > 1_500 && counters.objects_made > 30, "{counters:?}");
    assert!(
        server.prims.len() <= BuildPlan::BUILD.prims_max
            && server.prims.len() > BuildPlan::BUILD.prims_max / 2
    );
    // The distribution rounds up, by less than a hundredth.
    let seen_after = builder.seen_after().percentile(0.99).expect("edits that were seen");
    assert!(seen_after >= Duration::from_millis(40) && seen_after < Duration::from_micros(40_400));
}

#[test]
fn edits_without_effect_count_as_wrong_ten_seconds_later() {
    let (builder, _) = build(1_000, |turn| turn % 50 == 20);
    assert!(builder.counters().edits_wrong > 5, "{:?}", builder.counters());
}

#[test]
fn an_update_that_no_request_explains_is_wrong() {
    let (mut builder, server) = build(200, |_| false);
    let (&id, prim) = server.prims.first_key_value().expect("a prim");
    let moved = SeenPrim { position: prim.position + Vec3::X, ..prim.clone() };
    builder.on_prim(Instant::from_millis(20_000), id, &moved);
    builder.on_kill(Instant::from_millis(20_001), id);
    assert_eq!(builder.counters().edits_wrong, 2);
}

#[test]
fn every_visible_edit_is_recorded_when_it_is_sent_and_when_it_is_seen() {
    let (mut builder, server) = build(2_000, |_| false);
    let events = builder.take_events();
    assert_eq!(builder.take_events(), [], "each is taken once");
    let mut sent = BTreeMap::new();
    let (mut seen, mut states) = (0, BTreeMap::new());
    for (at, event) in events {
        match event {
            BuildEvent::Sent { number, effect } => {
                assert_eq!(sent.insert(number, (at, effect)), None, "numbers are not used twice");
            }
            BuildEvent::Seen { number, id } => {
                let (sent_at, effect) = sent[&number];
                assert_eq!(at - sent_at, Duration::from_millis(40));
                states.insert(id, effect);
                seen += 1;
            }
        }
    }
    assert_eq!(seen, sent.len());
    for (id, effect) in states {
        let state = server.prims.get(&id).map(PrimState::of);
        assert!(effect.is_shown_by(state.as_ref()), "{id:?} is {state:?} instead of {effect:?}");
    }
}

#[test]
fn a_bot_that_only_makes_prims_does_not_wait_for_each() {
    let plan = BuildPlan { prims_max: 50, making_max: 30, edits: false, ..BuildPlan::BUILD };
    let mut builder = Builder::new(Instant::ZERO, plan, PLOT, 100);
    let mut rng = Rng::new(5, 0);
    let mut made = Vec::new();
    let poll_all = |builder: &mut Builder, rng: &mut Rng, made: &mut Vec<SeenPrim>, from: u64| {
        for ms in (from..from + 1_000).step_by(10) {
            match builder.poll_edit(Instant::from_millis(ms), rng) {
                Some(BuildEdit::Create { position, scale }) => made.push(prim(position, scale)),
                Some(other) => panic!("{other:?}"),
                None => {}
            }
        }
    };
    poll_all(&mut builder, &mut rng, &mut made, 0);
    assert_eq!(made.len(), 30, "so many are under way at most");
    // They are seen in another order.
    for (id, seen) in (100..).zip(made.iter().rev()) {
        builder.on_prim(Instant::from_millis(1_000), LocalId(id), seen);
    }
    poll_all(&mut builder, &mut rng, &mut made, 1_000);
    assert_eq!(made.len(), 50);
    for (id, seen) in (200..).zip(&made[30..]) {
        builder.on_prim(Instant::from_millis(2_000), LocalId(id), seen);
    }
    poll_all(&mut builder, &mut rng, &mut made, 2_000);
    let counters = builder.counters();
    assert_eq!((counters.objects_made, counters.edits_sent, counters.edits_wrong), (50, 50, 0));
}

#[test]
fn a_bot_in_a_rush_compares_the_last_edit_of_a_prim_alone() {
    let mut builder = Builder::new(Instant::ZERO, BuildPlan::RUSH, PLOT, 100);
    let (mut server, mut rng) = (Server::default(), Rng::new(5, 0));
    let mut shown = Vec::new();
    for ms in (0..3_000).step_by(10) {
        let now = Instant::from_millis(ms);
        if let Some(edit) = builder.poll_edit(now, &mut rng)
            && let Some(id) = server.carry_out(edit)
        {
            shown.push((now + Duration::from_millis(300), id, server.prims[&id].clone()));
        }
        while shown.first().is_some_and(|(at, ..)| *at <= now) {
            let (at, id, prim) = shown.remove(0);
            builder.on_prim(at, id, &prim);
        }
    }
    let counters = builder.counters();
    assert_eq!((counters.objects_made, counters.edits_wrong), (12, 0));
    assert!(counters.edits_sent > 250, "it waits for none: {counters:?}");
    assert!(counters.edits_seen < counters.edits_sent, "{counters:?}");
}

#[test]
fn bodies_are_dropped_once_and_then_thrown_in_turn() {
    let mut builder = Builder::new(Instant::ZERO, BuildPlan::TUMBLE, PLOT, 100);
    let (mut rng, mut dropped, mut thrown) = (Rng::new(5, 0), Vec::new(), BTreeMap::<LocalId, u32>::new());
    let mut n_made = 0;
    for ms in (0..2_000).step_by(10) {
        let now = Instant::from_millis(ms);
        match builder.poll_edit(now, &mut rng) {
            Some(BuildEdit::Create { position, scale }) => {
                n_made += 1;
                builder.on_prim(now, LocalId(n_made), &prim(position, scale));
            }
            Some(BuildEdit::Drop(id)) => dropped.push(id),
            Some(BuildEdit::Move(id, place)) => {
                *thrown.entry(id).or_default() += 1;
                builder.on_prim(now, id, &prim(place - Vec3::Z, Vec3::ONE));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((n_made, dropped.len(), thrown.len()), (20, 20, 20));
    assert!(thrown.values().all(|&n| (7..=9).contains(&n)), "{thrown:?}");
    assert_eq!(builder.counters().edits_wrong, 0, "nothing is expected of bodies");
}
