//! Templates of the worlds, with different numbers of NPCs and behaviours.
//!
//! Costs of worlds are spread as on a node of many games: a few are large, most are small. The numbers of NPCs follow a Pareto
//! distribution (α 1.5), cut off at the maximum of one world, in [`CLASSES`] classes of equally many NPCs. Their behaviours change with
//! the time of a short day that differs from template to template, so that costs of worlds drift. Each has two missions that begin
//! again and again, and blows hurt visitors: there is always something to journal.

use bots::behavior::PLAY_WAYPOINTS;
use std::fmt::Write;

/// Templates.
pub(super) const CLASSES: usize = 12;
/// Shape of the distribution.
const ALPHA: f64 = 1.5;
/// NPCs that one world holds.
const NPCS_MAX: f64 = 256.0;
/// Edge of all worlds, metres; the region from which one enters has the same, so that the world changes behind the circuit.
const SIZE_M: u32 = 256;
/// Boxes in each, which NPCs walk around and cannot see through.
const BOXES: u32 = 150;
/// Seconds of a day in the first template; each further one has [`DAY_STEP_S`] more.
const DAY_S: usize = 180;
const DAY_STEP_S: usize = 24;

/// Behaviour of all NPCs, as the file `hamlet.behaviour`. Each walks most of the time, at any time of day.
pub(crate) const BEHAVIOURS: &str = "\
behaviour stroller:
    select:
        when hurt in last 3 s: flee until 20 m
        schedule:
            from 6:00: wander within 20 m pause 0.2 s to 1 s
            from 12:00: wander within 60 m pause 0.1 s to 0.5 s run
            from 18:00: wander within 12 m pause 0.2 s to 2 s

behaviour carrier:
    select:
        when hurt in last 3 s: flee until 20 m
        sequence:
            gather wood amount 2 taking 1 s
            deliver to yard

behaviour sentinel:
    select:
        when sees enemy within 20 m in last 3 s: use fight
        schedule:
            from 6:00: patrol round pause 0.2 s to 1 s
            from 20:00: patrol round pause 0.1 s to 0.5 s run

behaviour raider:
    select:
        when sees enemy within 22 m in last 3 s: use fight
        schedule:
            from 4:00: wander within 40 m around camp pause 0.2 s to 1 s
            from 16:00: wander within 80 m around yard pause 0.1 s to 0.5 s run

behaviour fight:
    select:
        attack target range 2.2 m every 1.5 s damage 8
        chase target within 1.8 m leash 70 m lost 4 s
";

/// One template.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    pub(super) name: String,
    /// NPCs in each of its worlds.
    pub(super) npcs: u32,
    /// Worlds of it.
    pub(super) worlds: u32,
}

/// Classes of about equally many NPCs, together `worlds` worlds with a mean of `mean` NPCs.
pub(super) fn classes(worlds: u32, mean: u32) -> Vec<Class> {
    let total = f64::from(worlds * mean);
    // The least of the distribution, so that the sum is right although it is cut off.
    let sum = |least: f64| (0..worlds).map(|n| size(n, worlds, least)).sum::<f64>();
    let (mut low, mut high) = (0.5, f64::from(mean));
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if sum(middle) < total { low = middle } else { high = middle }
    }
    let mut classes: Vec<Class> = Vec::new();
    let (mut begun, mut in_class, mut so_far) = (0, 0.0, 0.0);
    for n in 0..worlds {
        in_class += size(n, worlds, low);
        so_far += size(n, worlds, low);
        let is_full = so_far >= total * (classes.len() + 1) as f64 / CLASSES as f64 || n + 1 == worlds;
        if is_full {
            let n_worlds = n + 1 - begun;
            let npcs = (in_class / f64::from(n_worlds)).round().max(1.0) as u32;
            classes.push(Class { name: format!("Hamlet {}", classes.len() + 1), npcs, worlds: n_worlds });
            (begun, in_class) = (n + 1, 0.0);
        }
    }
    classes
}

/// Indices of the classes of as many worlds as all have together, mixed so that each class comes as often as it has worlds, and evenly.
pub(super) fn mixed(classes: &[Class]) -> Vec<usize> {
    let of_class = |(index, class): (usize, &Class)| {
        let n = class.worlds;
        (0..n).map(move |k| ((f64::from(k) + 0.5) / f64::from(n), index))
    };
    let mut places: Vec<(f64, usize)> = classes.iter().enumerate().flat_map(of_class).collect();
    places.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    places.into_iter().map(|(_, index)| index).collect()
}

/// Number of NPCs of the `n`th smallest of `worlds` worlds.
fn size(n: u32, worlds: u32, least: f64) -> f64 {
    let rank = (f64::from(n) + 0.5) / f64::from(worlds);
    (least * (1.0 - rank).powf(-1.0 / ALPHA)).min(NPCS_MAX)
}

/// The server's configuration behind the region's, and the files that it names. Instances are suspended on request only, so that the
/// set in memory is always known.
pub(super) fn settings(classes: &[Class]) -> (String, Vec<(String, String)>) {
    let mut config = format!(
        "size_m = {SIZE_M}\n\n[instances]\nmax = 4000\nactive_max = 4000\nsuspend_after_s = 3600\n\n[diagnose]\nallow_faults = true\n"
    );
    let mut files = vec![("hamlet.behaviour".to_owned(), BEHAVIOURS.to_owned())];
    for (n, class) in classes.iter().enumerate() {
        let file = format!("hamlet-{}.toml", n + 1);
        let _ = write!(
            config,
            "\n[[template]]\nname = \"{}\"\nsize_m = {SIZE_M}\nterrain = \"hills\"\nseed = {}\nboxes = {BOXES}\n\
             max_avatars = 8\nnpcs = \"{file}\"\n",
            class.name,
            n + 1
        );
        files.push((file, script(class.npcs, DAY_S + n * DAY_STEP_S)));
    }
    (config, files)
}

/// The population of a world with `npcs` NPCs.
pub(crate) fn script(npcs: u32, day_s: usize) -> String {
    let mut text = format!(
        "behaviours = [\"hamlet.behaviour\"]\nday_s = {day_s}\ndamage = true\n\
         [[kind]]\nname = \"villager\"\nhealth = 40\nlies_s = 2\nrespawn_s = 3\n\
         [[kind]]\nname = \"sentinel\"\nenemies = [\"raider\"]\nhealth = 80\nlies_s = 2\nrespawn_s = 3\n\
         [[kind]]\nname = \"raider\"\nenemies = [\"player\", \"sentinel\"]\nhealth = 60\nlies_s = 2\nrespawn_s = 3\n\
         [[place]]\nname = \"yard\"\nposition = [128, 128]\nradius_m = 12\n\
         [[place]]\nname = \"camp\"\nposition = [90, 160]\nradius_m = 10\n\
         [[route]]\nname = \"round\"\npoints = [[100, 100], [156, 100], [156, 156], [100, 156]]\n\
         [[resource]]\nname = \"wood\"\nspots = [[80, 90], [170, 90], [168, 170], [84, 172], [128, 76], [128, 180]]\n"
    );
    // Of twenty: eight, three, five and four.
    let (carriers, sentinels, raiders) = (npcs * 3 / 20, npcs / 4, npcs / 5);
    let strollers = npcs - carriers - sentinels - raiders;
    text.push_str(&missions(sentinels + raiders > 0));
    for (kind, behaviour, count, [x, y]) in [
        ("villager", "stroller", strollers, [116, 116]),
        ("villager", "carrier", carriers, [140, 120]),
        ("sentinel", "sentinel", sentinels, [104, 104]),
        ("raider", "raider", raiders, [88, 158]),
    ] {
        if count > 0 {
            let _ = write!(
                text,
                "[[npc]]\nkind = \"{kind}\"\nbehaviour = \"{behaviour}\"\nname = \"{behaviour} Hamlet\"\n\
                 position = [{x}, {y}]\ncount = {count}\n"
            );
        }
    }
    text
}

/// A round that visitors make by themselves, and a feud that is over when each fighter has fallen once.
fn missions(has_fighters: bool) -> String {
    let mut text = "[[mission]]\nname = \"The round\"\nagain_s = 5\n".to_owned();
    for waypoint in PLAY_WAYPOINTS {
        let (x, y) = (waypoint.x, waypoint.y);
        let _ = write!(text, "[[mission.waypoint]]\nposition = [{x:.1}, {y:.1}]\nradius_m = 6\n");
    }
    if has_fighters {
        text.push_str(
            "[[mission]]\nname = \"The feud\"\nagain_s = 20\n\
             [[mission.waypoint]]\nposition = [128, 128]\nradius_m = 100\nclear = \"fighters\"\n\
             [[group]]\nname = \"fighters\"\nmembers = [\"sentinel\", \"raider\"]\n",
        );
    }
    text
}

/// Checks of the template, also for `daily`.
#[cfg(test)]
pub(crate) mod checks {
    use super::PLAY_WAYPOINTS;
    use toml::{Table, Value};

    /// Fails unless blows hurt, and the first mission is the round that bots make, which begins again.
    pub(crate) fn assert_is_game(script: &str) {
        let parsed: Table = script.parse().expect("TOML");
        assert_eq!(parsed.get("damage"), Some(&Value::Boolean(true)), "blows hurt: {script}");
        let missions = missions_of(script);
        let round = missions.first().unwrap_or_else(|| panic!("a mission: {script}"));
        let begins_again = |mission: &Table| mission["again_s"].as_integer().is_some_and(|s| s <= 30);
        assert!(missions.iter().all(begins_again), "{script}");
        let position = |waypoint: &Value| -> Option<[f64; 2]> {
            let [x, y] = waypoint.get("position")?.as_array()?.as_slice() else { return None };
            Some([x.as_float()?, y.as_float()?])
        };
        let waypoints: Vec<[f64; 2]> =
            round["waypoint"].as_array().expect("waypoints").iter().filter_map(position).collect();
        assert_eq!(waypoints, PLAY_WAYPOINTS.map(|at| [f64::from(at.x), f64::from(at.y)]));
    }

    /// The missions of a script.
    pub(crate) fn missions_of(script: &str) -> Vec<Table> {
        let parsed: Table = script.parse().expect("TOML");
        let missions = parsed.get("mission").and_then(Value::as_array).cloned().unwrap_or_default();
        missions.into_iter().filter_map(|mission| mission.as_table().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::checks::{assert_is_game, missions_of};
    use super::*;

    #[test]
    fn a_thousand_worlds_have_twenty_each_in_the_mean_and_some_have_many_more() {
        let classes = classes(1_000, 20);
        assert_eq!(classes.iter().map(|class| class.worlds).sum::<u32>(), 1_000);
        let total: u32 = classes.iter().map(|class| class.worlds * class.npcs).sum();
        assert!((19_600..=20_400).contains(&total), "{total}");
        assert!(classes.len() <= CLASSES && classes.iter().all(|class| class.npcs <= 256), "{classes:?}");
        let (first, last) = (&classes[0], &classes[classes.len() - 1]);
        assert!(first.npcs <= 10 && last.npcs >= 150, "{classes:?}");
    }

    #[test]
    fn mixed_worlds_have_as_many_npcs_as_all_in_the_mean_wherever_one_begins() {
        let classes = classes(1_000, 20);
        let npcs: Vec<u32> = mixed(&classes).into_iter().map(|index| classes[index].npcs).collect();
        assert_eq!(npcs.len(), 1_000);
        // As many as come in one window.
        for some in npcs.windows(160) {
            let mean = f64::from(some.iter().sum::<u32>()) / some.len() as f64;
            assert!((16.0..=24.0).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn few_worlds_make_few_classes() {
        let classes = classes(5, 20);
        assert_eq!(classes.iter().map(|class| class.worlds).sum::<u32>(), 5);
        let (config, files) = settings(&classes);
        assert_eq!(config.matches("[[template]]").count(), classes.len());
        assert_eq!(files.len(), classes.len() + 1);
    }

    #[test]
    fn every_world_has_the_mission_of_the_players_and_blows_that_hurt() {
        let classes = classes(1_000, 20);
        let (_, files) = settings(&classes);
        let scripts = files.iter().filter(|(name, _)| name.ends_with(".toml"));
        assert_eq!(scripts.clone().count(), classes.len());
        scripts.for_each(|(_, script)| assert_is_game(script));
        // Without sentinels and raiders there is no feud to end.
        assert_eq!(missions_of(&script(3, DAY_S)).len(), 1);
        assert_eq!(missions_of(&script(20, DAY_S)).len(), 2);
    }
}
