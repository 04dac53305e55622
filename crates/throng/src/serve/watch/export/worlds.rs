//! What worlds have counted: regions each by its name, instances all together.

use super::Export;
use crate::serve::worlds;

impl Export {
    pub(in crate::serve::watch) fn worlds(&mut self, counted: &[worlds::Counted]) {
        let names = self.world_names.clone();
        let mut dirtied = 0;
        let mut lost = 0;
        for (n, (world, name)) in counted.iter().zip(&names).enumerate() {
            for (action, value) in world.world.commands() {
                let metrics = &self.metrics;
                let counter = self.commands.entry((n, action)).or_insert_with(|| {
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
            let avatars = world.n_avatars as f64;
            self.gauge("throng_world_avatars", "Avatars in the world now.", ("world", name), avatars);
            self.gauge(
                "throng_world_dilation_ratio",
                "World time passed per wall time passed.",
                ("world", name),
                world.dilation.into(),
            );
        }
        self.count(
            "throng_entities_dirtied_total",
            "Entities with something new for clients, once per tick.",
            "",
            dirtied,
        );
        self.count(
            "throng_frames_lost_total",
            "Frames that found no room on the way to the replica thread.",
            "",
            lost,
        );
    }

    pub(in crate::serve::watch) fn instances(&mut self, worlds: &worlds::Watch) {
        let all = worlds.instances();
        self.gauge("throng_instances", "Instances now.", ("", ""), all.n as f64);
        self.gauge(
            "throng_npcs",
            "NPCs of the instances that somebody has been in.",
            ("", ""),
            all.n_npcs as f64,
        );
        let label = ("world", worlds::INSTANCES);
        self.gauge("throng_world_avatars", "Avatars in the world now.", label, all.n_avatars as f64);
        let help = "World time passed per wall time passed.";
        self.gauge("throng_world_dilation_ratio", help, label, all.dilation.into());
        let help = "Steps of instances in which nobody came, went, fell or spoke.";
        self.count("throng_world_steady_ticks_total", help, "", all.steady.ticks);
        let help = "Requests for memory in such steps.";
        self.count("throng_world_steady_allocations_total", help, "", all.steady.allocations);
        for (what, n) in all.npcs.all() {
            self.count_by("throng_npc_work_total", "What NPCs have done, by kind.", ("what", what), n);
        }
    }
}
