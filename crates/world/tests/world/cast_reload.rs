//! Files of behaviours change under a world that runs.

use super::stage::{STANDING, Stage, TICK, enter_at};
use super::village::{GROUND_M, at, flat, npc, script, setting, spawn, wall};
use behavior::{Kind, Route};
use game::{Mission, MissionScript, Waypoint};
use glam::Vec3;
use ids::{Instant, SessionKey, Tick};
use link::{Action, Change, ChatKind, Command, Event, Frame, Looks};
use std::{ops::Range, sync::Arc};
use world::{
    Actor, Beginning, CastReload, CastReloadRefusal, GameSource, Life, NpcCast, RestoreError, Script, Spawn,
    World, WorldConfig,
};

pub(crate) fn cast_of(config: &WorldConfig) -> &Arc<NpcCast> {
    config.cast.as_ref().expect("there are NPCs")
}

/// A game in which blows hurt, without missions.
fn hurting() -> Option<Arc<dyn GameSource>> {
    MissionScript { damage: true, ..MissionScript::default() }.into_source()
}

/// From a cast to what its script has become.
pub(crate) fn reload_of(from: &Arc<NpcCast>, script: Script) -> Result<Arc<CastReload>, CastReloadRefusal> {
    let to = from.with_script(script, &flat()).expect("a cast");
    CastReload::new(Arc::clone(from), Arc::new(to)).map(Arc::new)
}

/// The usual files, with another behaviour under a name.
pub(crate) fn with_behavior(spawns: Vec<Spawn>, name: &str, body: &str) -> Script {
    let mut script = script(spawns);
    let text = String::from_utf8(script.files[0].1.clone()).expect("text");
    let mut is_other = true;
    let lines = text.lines().filter(|line| {
        // Indented lines belong to the behaviour above.
        is_other =
            if line.starts_with(' ') { is_other } else { !line.starts_with(&format!("behaviour {name}:")) };
        is_other
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    script.files = vec![("test.behaviour".into(), format!("{text}\nbehaviour {name}: {body}\n").into())];
    script
}

pub(crate) fn patrol() -> Vec<Spawn> {
    vec![spawn("folk", "patrol", 100.0, 128.0)]
}

#[test]
fn a_changed_appearance_is_sent_once() {
    let config = setting(patrol());
    let cast = Arc::clone(cast_of(&config));
    let mut stage = Stage::new(config);
    stage.send(1, enter_at(Vec3::new(60.0, 60.0, GROUND_M + STANDING)));
    stage.run(10);
    let worn = |stage: &Stage| npc(stage).avatar.appearance.clone();
    let person = worn(&stage);
    assert!(person.is_some(), "it looks like something");
    let dressed = |looks: Looks| Script {
        actors: vec![Actor { looks, ..script(Vec::new()).actors.remove(0) }; 3],
        ..script(patrol())
    };
    let told = |stage: &mut Stage| {
        let is_look = |change: &&Change| matches!(change, Change::Appeared(..));
        (0..20).map(|_| stage.step().changes.iter().filter(is_look).count()).sum::<usize>()
    };
    let same = reload_of(&cast, script(patrol())).expect("the same NPC");
    stage.reload(&same);
    assert_eq!((told(&mut stage), worn(&stage)), (0, person.clone()), "nothing is new");
    let looks = Looks::worn(vec![7; 218], vec![0; 47]).expect("looks");
    let other = reload_of(same.to(), dressed(looks)).expect("the same NPC");
    assert_ne!(other.from().fingerprint(), other.to().fingerprint());
    stage.reload(&other);
    assert_eq!(told(&mut stage), 1);
    assert_eq!(worn(&stage).map(|appearance| appearance.visual_params.clone()), Some(vec![7; 218]));
    let cloud = reload_of(other.to(), dressed(Looks::Cloud)).expect("the same NPC");
    stage.reload(&cloud);
    assert_eq!((told(&mut stage), worn(&stage)), (1, None));
    let back = reload_of(cloud.to(), dressed(Looks::Person)).expect("the same NPC");
    stage.reload(&back);
    assert_eq!((told(&mut stage), worn(&stage)), (1, person));
}

#[test]
fn a_patrolling_npc_follows_the_new_file() {
    let config = setting(patrol());
    let cast = Arc::clone(cast_of(&config));
    let mut stage = Stage::new(config);
    stage.send(1, enter_at(Vec3::new(60.0, 60.0, GROUND_M + STANDING)));
    stage.run(100);
    assert_ne!(npc(&stage).motion.velocity, Vec3::ZERO);

    let sits = reload_of(&cast, with_behavior(patrol(), "patrol", "sit")).expect("the same NPC");
    stage.reload(&sits);
    stage.run(20);
    assert_eq!(npc(&stage).motion.velocity, Vec3::ZERO, "within a second");
    let place = at(npc(&stage));
    stage.run(100);
    assert_eq!(at(npc(&stage)), place);

    // And back, by another set of the same content.
    let walks = reload_of(sits.to(), script(patrol())).expect("the same NPC");
    stage.reload(&walks);
    stage.run(40);
    assert_ne!(at(npc(&stage)), place);
}

#[test]
fn a_world_with_another_cast_stays_as_it_is() {
    let (config, other) = (setting(patrol()), setting(patrol()));
    let change = reload_of(cast_of(&other), with_behavior(patrol(), "patrol", "sit")).expect("the same NPC");
    let mut stage = Stage::new(config.clone());
    stage.run(3);
    stage.reload(&change);
    stage.step();
    assert_eq!(stage.world.counters().ignored, 1, "it is not the cast that was meant");
    // An order without an offer.
    let unknown =
        reload_of(cast_of(&config), with_behavior(patrol(), "patrol", "sit")).expect("the same NPC");
    stage.order(&unknown);
    stage.step();
    assert_eq!((stage.world.counters().ignored, stage.world.counters().reload_behaviors), (2, 0));
    assert!(stage.world.cast().is_some_and(|cast| Arc::ptr_eq(cast, cast_of(&config))));
    let mut empty = Stage::flat();
    empty.reload(&change);
    empty.step();
    assert_eq!(empty.world.counters().ignored, 1);
}

#[test]
fn worlds_that_go_over_before_the_same_tick_stay_equal() {
    let crowd = || (0..12).map(|n| spawn("folk", "stroll", 90.0 + 3.0 * n as f32, 110.0)).collect::<Vec<_>>();
    let config = setting(crowd());
    let change =
        reload_of(cast_of(&config), with_behavior(crowd(), "stroll", "patrol round")).expect("the same");
    let stage = || {
        let mut stage = Stage::new(config.clone());
        stage.send(1, enter_at(Vec3::new(95.0, 100.0, 23.0)));
        stage
    };
    let (mut one, mut two, mut late) = (stage(), stage(), stage());
    let mut differs = false;
    for tick in 0..400 {
        if tick == 137 {
            one.reload(&change);
            two.reload(&change);
        }
        if tick == 138 {
            assert_eq!(one.world.state_hash(), two.world.state_hash());
            // A snapshot of what went over is one of the new cast.
            let config = WorldConfig { cast: Some(Arc::clone(change.to())), ..config.clone() };
            let restored = World::restore(config, &one.world.snapshot()).expect("its own");
            assert_eq!(restored.state_hash(), one.world.state_hash());
            two.world = restored;
            late.reload(&change);
        }
        one.step();
        two.step();
        late.step();
        assert_eq!(one.frame.changes, two.frame.changes, "tick {tick}");
        assert_eq!(one.frame.state_hash, two.frame.state_hash, "tick {tick}");
        differs |= one.frame.state_hash != late.frame.state_hash;
    }
    assert!(differs, "the tick counts");
}

#[test]
fn a_state_that_was_kept_goes_on_with_what_the_files_say_now() {
    let config = setting(patrol());
    let mut stage = Stage::new(config.clone());
    stage.send(1, enter_at(Vec3::new(60.0, 60.0, GROUND_M + STANDING)));
    stage.run(100);
    let (place, kept) = (at(npc(&stage)), stage.world.snapshot());
    let restore = |script: Script| {
        let cast = cast_of(&config).with_script(script, &flat()).expect("a cast");
        World::restore(WorldConfig { cast: Some(Arc::new(cast)), ..config.clone() }, &kept)
    };

    stage.world = restore(with_behavior(patrol(), "patrol", "sit")).expect("the same NPC");
    stage.run(100);
    assert_eq!(npc(&stage).motion.velocity, Vec3::ZERO, "it has stopped");
    assert!(at(npc(&stage)).distance(place) < 6.0, "where it was, and it was on its way");

    // Its behaviour is gone, and it does what its entry says.
    let spawns = vec![Spawn { behavior: "rest".into(), ..patrol().remove(0) }];
    let files = vec![("test.behaviour".into(), b"behaviour rest: sit\n".to_vec())];
    stage.world = restore(Script { files, ..script(spawns) }).expect("the same NPC");
    stage.run(100);
    assert_eq!(npc(&stage).motion.velocity, Vec3::ZERO, "it has stopped");
    assert!(at(npc(&stage)).distance(place) < 6.0, "where it was, and it was on its way");

    // Kinds may be added behind the others, and none taken away or put before them: minds hold their numbers.
    let with_cat = |index: usize| {
        let mut script = script(patrol());
        script.vocabulary.kinds.insert(index, Kind { name: "cat".into(), ..Kind::default() });
        script.actors.push(script.actors[0].clone());
        script
    };
    assert_eq!(
        restore(with_cat(3)).expect("the same NPC, and the same kinds before the new one").n_npcs(),
        1
    );
    assert!(matches!(restore(with_cat(0)), Err(RestoreError::OtherCast { .. })), "others have these numbers");
    let mut fewer = script(patrol());
    fewer.vocabulary.kinds.pop();
    fewer.actors.pop();
    assert!(matches!(restore(fewer), Err(RestoreError::OtherCast { .. })), "an NPC may remember a wolf");

    let more = [patrol(), vec![spawn("folk", "stroll", 90.0, 90.0)]].concat();
    assert!(matches!(restore(script(more)), Err(RestoreError::OtherCast { .. })), "an avatar came");
    let hurts = Script { game: hurting(), ..script(patrol()) };
    assert!(matches!(restore(hurts), Err(RestoreError::OtherCast { .. })), "it is another game");

    // Weaker than they were, and with fewer behaviours than the number of the behaviour that they followed.
    let stroll = || vec![spawn("folk", "stroll", 100.0, 128.0)];
    let strong = setting(stroll());
    let kept = Stage::new(strong.clone()).world.snapshot();
    let files = vec![("test.behaviour".into(), b"behaviour stroll: sit\n".to_vec())];
    let actors = vec![Actor { health: 10, ..script(Vec::new()).actors.remove(0) }; 3];
    let weak = cast_of(&strong).with_script(Script { files, actors, ..script(stroll()) }, &flat());
    let weak = WorldConfig { cast: Some(Arc::new(weak.expect("a cast"))), ..strong };
    assert_eq!(World::restore(weak, &kept).expect("the same NPC").n_npcs(), 1);
}

#[test]
fn names_and_kinds_of_npcs_cannot_change() {
    let config = setting(patrol());
    let from = cast_of(&config);
    let refused = |script: Script| reload_of(from, script).map(|_| ()).expect_err("an NPC is another");
    let mut more = patrol();
    more.push(spawn("folk", "stroll", 90.0, 90.0));
    assert_eq!(refused(script(more)), CastReloadRefusal::Count { was: 1, is: 2 });
    let renamed = Spawn { first_name: "Ada".into(), ..patrol().remove(0) };
    assert!(matches!(refused(script(vec![renamed])), CastReloadRefusal::Npc { number: 0, .. }));
    assert!(matches!(
        refused(script(vec![Spawn { kind: "wolf".into(), ..patrol().remove(0) }])),
        CastReloadRefusal::Npc { number: 0, .. }
    ));
    let mut kinds = script(patrol());
    kinds.vocabulary.kinds.swap(0, 1);
    assert_eq!(refused(kinds), CastReloadRefusal::Kind { number: 1, was: "folk".into() });
    let elsewhere = NpcCast::new(script(patrol()), &flat(), &link::Scenery::default(), 20.0, &mut || true);
    let elsewhere = CastReload::new(Arc::clone(from), Arc::new(elsewhere.expect("a cast")));
    assert_eq!(elsewhere.map(|_| ()).expect_err("no wall there"), CastReloadRefusal::Ground);

    let others_to_do = [
        Script { game: hurting(), ..script(patrol()) },
        Script {
            game: MissionScript {
                missions: vec![Mission {
                    name: "Walk".into(),
                    waypoints: vec![Waypoint {
                        position: Vec3::new(90.0, 90.0, GROUND_M),
                        radius_m: 3.0,
                        ..Waypoint::default()
                    }],
                    ..Mission::default()
                }],
                damage: false,
            }
            .into_source(),
            ..script(patrol())
        },
    ];
    for other in others_to_do {
        assert_eq!(refused(other), CastReloadRefusal::Missions);
    }

    // More kinds, routes and animations, and another place to begin at, are no matter.
    let mut changed =
        script(vec![Spawn { position: Vec3::new(110.0, 120.0, GROUND_M), ..patrol().remove(0) }]);
    changed.vocabulary.kinds.push(Kind { name: "cat".into(), ..Kind::default() });
    changed.actors.push(changed.actors[0].clone());
    changed.vocabulary.routes.insert(0, Route { name: "new".into(), points: vec![Vec3::ONE] });
    assert!(reload_of(from, changed).is_ok());
}

#[test]
fn a_life_that_ends_after_it_went_over_begins_again_with_the_new_cast() {
    let config = setting(patrol());
    let change = reload_of(cast_of(&config), with_behavior(patrol(), "patrol", "sit")).expect("the same NPC");
    let mut life = Life::new(config, 0.0);
    let mut frame = Frame::empty();
    let enter = enter_at(Vec3::new(60.0, 60.0, GROUND_M + STANDING));
    let mut commands = vec![Command::by_session(SessionKey(1), 1, enter)];
    let mut moves_in = |life: &mut Life, ticks: Range<u64>, orders: Vec<Command>| {
        let mut moves = 0;
        commands.extend(orders);
        for tick in ticks {
            life.step(Instant(tick * 50_000_000), Tick(tick), TICK, 1.0, &mut commands, &mut frame);
            moves += frame.changes.iter().filter(|change| matches!(change, Change::Moved(..))).count();
        }
        moves
    };
    assert!(moves_in(&mut life, 0..100, Vec::new()) > 0);
    life.offer_reload(Arc::clone(&change));
    let before = life.world().state_hash();
    moves_in(&mut life, 100..101, vec![change.command(0)]);
    assert!(Arc::ptr_eq(cast_of(life.config()), change.to()));
    // A step panics, and the checkpoints are of the moment in which the world went over.
    assert_eq!(life.begin_again(1).0, Beginning::Newest);
    assert!(Arc::ptr_eq(cast_of(life.config()), change.to()));
    assert_ne!(life.world().state_hash(), before, "behind the reload");
    moves_in(&mut life, 101..130, Vec::new());
    assert_eq!(moves_in(&mut life, 130..230, Vec::new()), 0, "it sits");
    assert_eq!(life.begin_again(1).0, Beginning::Newest, "and the state kept since then is of the new cast");
}

#[test]
fn a_played_animation_ends_when_its_number_may_change_its_meaning() {
    let laugh = ids::Uuid::from_u128(7);
    let with_laugh = |mut script: Script| {
        script.vocabulary.animations.push("laugh".into());
        script.animations.push(laugh);
        script
    };
    let merry = with_laugh(with_behavior(patrol(), "patrol", "play laugh for 100 s"));
    let merry = Arc::new(NpcCast::new(merry, &flat(), &wall(), 20.0, &mut || true).expect("a cast"));
    let mut stage = Stage::new(WorldConfig { cast: Some(Arc::clone(&merry)), ..setting(patrol()) });
    stage.send(1, enter_at(Vec3::new(60.0, 60.0, GROUND_M + STANDING)));
    stage.run(60);
    let plays = |stage: &Stage| npc(stage).avatar.animations.iter().any(|animation| animation.id == laugh);
    assert!(plays(&stage));
    let sober = reload_of(&merry, with_behavior(patrol(), "patrol", "wait 100 s")).expect("the same NPC");
    stage.reload(&sober);
    stage.run(1);
    assert!(!plays(&stage));
}

#[test]
fn an_answering_npc_answers_from_the_new_file() {
    let gossip = || vec![spawn("folk", "gossip", 64.0, 60.0)];
    let config = setting(gossip());
    let cast = Arc::clone(cast_of(&config));
    let mut stage = Stage::new(config);
    stage.send(1, enter_at(Vec3::new(60.0, 60.0, GROUND_M + STANDING)));
    stage.run(40);
    let answers = |stage: &mut Stage| {
        stage.send(1, Action::Chat { kind: ChatKind::Say, channel: 0, text: "Psst.".into() });
        let mut answers = Vec::new();
        // An NPC says no two lines within three seconds.
        for _ in 0..70 {
            stage.step();
            answers.extend(stage.events().iter().filter_map(|event| match event {
                Event::Chat(chat) if chat.session == SessionKey::NODE => Some(chat.text.clone()),
                _ => None,
            }));
        }
        answers
    };
    assert_eq!(answers(&mut stage), ["I heard that."]);
    let body = "when hears chat within 20 m: cooldown 5 s: say \"Be off.\"";
    stage.reload(&reload_of(&cast, with_behavior(gossip(), "gossip", body)).expect("the same"));
    assert_eq!(answers(&mut stage), ["Be off."]);
}
