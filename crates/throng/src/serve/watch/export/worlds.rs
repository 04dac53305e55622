//! Counters of worlds: regions each by its name, instances all together.

use super::Export;
use crate::serve::worlds::{self, TickTotals};
use std::collections::BTreeMap;
use world::ObjectCounts;

impl Export {
    pub(in crate::serve::watch) fn worlds(&mut self, counted: &[(String, worlds::WorldTotals)]) {
        let mut dirtied = 0;
        let mut lost = 0;
        let mut bodies_ended = [("left", 0), ("stopped", 0)];
        for (name, world) in counted {
            for (action, value) in world.world.commands() {
                let metrics = &self.metrics;
                let counter = self.commands.entry((name.clone(), action)).or_insert_with(|| {
                    let help = "Commands that reached the world, by action.";
                    metrics.counter(
                        "throng_world_commands_total",
                        help,
                        &[("world", name), ("action", action)],
                    )
                });
                counter.absolute(value);
            }
            dirtied += world.world.entities_dirtied;
            lost += world.frames_lost;
            bodies_ended[0].1 += world.world.bodies_left;
            bodies_ended[1].1 += world.world.bodies_stopped;
            let awake = world.n_awake_bodies as f64;
            self.gauge("throng_physics_awake", "Objects that physics moves now.", ("world", name), awake);
            let avatars = world.n_avatars as f64;
            self.gauge("throng_world_avatars", "Avatars in the world now.", ("world", name), avatars);
            self.gauge(
                "throng_world_dilation_ratio",
                "World time passed per wall time passed.",
                ("world", name),
                world.dilation.into(),
            );
            self.ticks(name, &world.ticks);
            self.objects(name, world.objects);
        }
        self.object_edits(counted);
        self.count(
            "throng_entities_dirtied_total",
            "Entities with something new for clients, once per tick.",
            "",
            dirtied,
        );
        for (reason, n) in bodies_ended {
            let help = "Physical objects that left their region, and those that moved in an impossible way.";
            self.count_by("throng_bodies_ended_total", help, ("reason", reason), n);
        }
        self.count(
            "throng_frames_lost_total",
            "Frames that found no room on the way to the replica thread.",
            "",
            lost,
        );
    }

    /// Numbers of a region's prims.
    fn objects(&mut self, region: &str, counts: ObjectCounts) {
        let ObjectCounts { prims, physical, temporary } = counts;
        for (kind, n) in [("prim", prims), ("physical", physical), ("temporary", temporary)] {
            let labels = [("region", region), ("kind", kind)];
            self.table.gauge_by("throng_objects", "Prims of the region, by kind.", &labels, n as f64);
        }
    }

    /// Results of requests to change objects, of all regions together.
    fn object_edits(&mut self, counted: &[(String, worlds::WorldTotals)]) {
        let mut outcomes: BTreeMap<&'static str, u64> = BTreeMap::new();
        for (outcome, n) in counted.iter().flat_map(|(_, world)| world.world.edits.outcomes()) {
            *outcomes.entry(outcome).or_default() += n;
        }
        let help = "Objects in requests to change them, by what became of them.";
        for (outcome, n) in outcomes {
            self.count("throng_object_edits_total", help, outcome, n);
        }
    }

    pub(in crate::serve::watch) fn instances(&mut self, worlds: &worlds::WorldsView) {
        let all = worlds.instances();
        self.gauge("throng_instances", "Instances now.", ("", ""), all.n as f64);
        self.gauge(
            "throng_npcs",
            "NPCs of the instances that have had a visitor.",
            ("", ""),
            all.n_npcs as f64,
        );
        let label = ("world", worlds::INSTANCES);
        self.gauge("throng_world_avatars", "Avatars in the world now.", label, all.n_avatars as f64);
        let help = "World time passed per wall time passed.";
        self.gauge("throng_world_dilation_ratio", help, label, all.dilation.into());
        self.ticks(worlds::INSTANCES, &all.ticks);
        let help = "Steps of instances without an arrival, departure, fall or chat.";
        self.count("throng_world_steady_ticks_total", help, "", all.steady.ticks);
        let help = "Requests for memory in such steps.";
        self.count("throng_world_steady_allocations_total", help, "", all.steady.allocations);
        let help = "Missions that visitors of instances completed.";
        self.count("throng_missions_completed_total", help, "", all.missions_completed);
        for (what, n) in all.npcs.all() {
            self.count_by("throng_npc_work_total", "Actions of NPCs, by kind.", ("what", what), n);
        }
    }

    fn ticks(&mut self, world: &str, totals: &TickTotals) {
        let metrics = &self.metrics;
        let mut count =
            |what: &'static str, name, help, label: Option<(&'static str, &'static str)>, value| {
                let counter = self.ticks.entry((world.to_owned(), what)).or_insert_with(|| {
                    let labels: Vec<_> = [("world", world)].into_iter().chain(label).collect();
                    metrics.counter(name, help, &labels)
                });
                counter.absolute(value);
            };
        count("ticks", "throng_world_ticks_total", "Steps of the world.", None, totals.ticks);
        let help = "Steps of the world that were done within one tick of when they were due.";
        count("on_time", "throng_world_ticks_on_time_total", help, None, totals.on_time);
        for (from, ticks) in totals.dilated() {
            let help =
                "Steps of the world that were dilated, by the lower edge of the class of their dilation.";
            count(from, "throng_world_dilated_ticks_total", help, Some(("from", from)), ticks);
        }
    }
}
