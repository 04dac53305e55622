//! From configured regions to places, and from templates to the parts of instances.

use super::ServeError;
use crate::config::{self, Config, hz_or, parts};
use crate::configured::{Ground, RegionGround};
use assets::AssetStore;
use content_threads::content;
use gateway::places::{EncodedGround, PlaceSettings};
use host::script::load_cast;
use ids::{Epoch, RegionHandle, Uuid};
use link::{GroundSpec, WorldSpec, shared_local_ids};
use schedule::long::{LongContext, LongTasks};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use workplace::instances::{ScriptDisk, Template};
use workplace::long::{self, LongFailure};

/// Approximate time to make 256 m squared of ground, and that with a navmesh.
const GROUND_ESTIMATE: Duration = Duration::from_millis(20);
const MESH_ESTIMATE: Duration = Duration::from_millis(500);

/// Places of the regions over these grounds, with the ids of their clients' caches.
pub(super) fn settings(
    config: &Config,
    grounds: Vec<RegionGround>,
    cache_ids: &[Uuid],
) -> Vec<PlaceSettings> {
    type Described<'a> = (((usize, &'a config::RegionSection), RegionGround), &'a Uuid);
    let place = |(((index, region), (ground, portals)), cache_id): Described<'_>| {
        let encoded_ground = encode(&region.name, ground.into());
        let world = region.world(index);
        let spec = WorldSpec {
            world,
            epoch: Epoch(0),
            is_shared: true,
            name: region.name.clone(),
            max_avatars: region.max_avatars,
            max_objects: region.max_objects,
            hz: hz_or(region.hz, config.world.hz),
            local_ids: shared_local_ids(world),
            ground: Arc::clone(encoded_ground.spec()),
            portals,
            seed: RegionHandle::from_grid(region.x, region.y).0,
            cache_id: *cache_id,
        };
        PlaceSettings { grid: (region.x, region.y), spec, ground: encoded_ground }
    };
    config.region.iter().enumerate().zip(grounds).zip(cache_ids).map(place).collect()
}

/// A template, and its ground as it is shown.
type ShownTemplate = (Template, Arc<EncodedGround>);

/// Templates of instances, made by long tasks in turn.
///
/// # Errors
/// If a template's NPCs or its content cannot be loaded.
pub(super) fn templates(config: &Config, tasks: &LongTasks) -> Result<Vec<ShownTemplate>, ServeError> {
    let template = |template: &config::TemplateSection| {
        let (name, whole) = (template.name.clone(), config.clone());
        let failed = |source| ServeError::Template { name: name.clone(), source };
        let squares = (template.size_m / 256).pow(2).max(1);
        let estimated =
            if template.npcs.as_os_str().is_empty() { GROUND_ESTIMATE } else { MESH_ESTIMATE } * squares;
        let spec = (long::BUILD_TEMPLATE, name.clone(), estimated);
        let template = template.clone();
        let built = long::run(tasks, spec, move |context| build(&template, &whole, context));
        built.map_err(|why: LongFailure| failed(why.into()))?.map_err(failed)
    };
    config.template.iter().map(template).collect()
}

/// Stores the assets of the archives that templates have as content, of each once.
pub(super) fn store_template_assets(config: &Config, assets: &dyn AssetStore) -> Result<(), ServeError> {
    let mut stored = BTreeSet::new();
    for template in config.template.iter().filter(|template| stored.insert(&template.content)) {
        content::store_template_assets(&parts::template_content(template), assets)
            .map_err(|why| ServeError::Template { name: template.name.clone(), source: why.into() })?;
    }
    Ok(())
}

fn build(
    template: &config::TemplateSection,
    config: &Config,
    context: &LongContext,
) -> Result<ShownTemplate, Box<dyn std::error::Error + Send + Sync>> {
    let (ground, portals) = Ground::of_template(template).describe(config);
    let mut ground = content::put_into(ground, &template.name, &template.content)?;
    let mut go_on = || !context.is_cancelled();
    let script = Some(template.npcs.clone()).filter(|path| !path.as_os_str().is_empty());
    let load = |path: &Path| {
        load_cast(&ScriptDisk, path, &ground.terrain, &ground.scenery, ground.water_m, &mut go_on)
    };
    let cast = script.as_deref().map(load).transpose()?.map(Arc::new);
    ground.damage = cast.as_ref().is_some_and(|cast| cast.has_damage());
    let ground = Arc::new(ground);
    let encoded_ground = encode(&template.name, Arc::clone(&ground));
    let (name, max_avatars) = (template.name.as_str().into(), template.max_avatars);
    let hz = hz_or(template.hz, config.world.hz);
    let keep = (template.keep_h > 0).then(|| Duration::from_secs(3_600 * u64::from(template.keep_h)));
    Ok((Template { name, ground, portals, cast, script, max_avatars, hz, keep }, encoded_ground))
}

/// The messages of a ground, and its pictures on the map.
fn encode(name: &str, ground: Arc<GroundSpec>) -> Arc<EncodedGround> {
    let mut encoded_ground = EncodedGround::new(ground);
    if let Err(error) = encoded_ground.draw_map() {
        tracing::warn!(region = name, %error, "the map has no picture of the region");
    }
    Arc::new(encoded_ground)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sources;
    use gateway::http::appearance_file;
    use host::script::parse_worn_looks;
    use ids::Instant;
    use link::{Appearance, Looks};
    use schedule::Pool;

    #[test]
    fn the_examples_load() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let pool = Pool::start(1, || Instant::ZERO).expect("threads");
        let mut n = 0;
        for example in std::fs::read_dir(folder).expect("examples") {
            let file = Some(example.expect("a folder").path().join("throng.toml"));
            let sources = Sources { file, ..Sources::default() };
            let config = config::load(&sources).expect("a configuration").config;
            let templates = templates(&config, &pool.long()).expect("what is made of it");
            assert!(templates.iter().all(|(template, _)| template.cast.is_some()));
            n += templates.len();
        }
        assert_ne!(n, 0);
    }

    #[test]
    fn a_saved_appearance_of_a_user_is_worn_by_npcs() {
        let (params, entry): (Vec<u8>, Vec<u8>) = ((0..=252).collect(), (0..=255).rev().collect());
        let of_user = Appearance {
            visual_params: params.clone(),
            texture_entry: entry.clone(),
            cof_version: 7,
            height_m: 2.1,
        };
        let text = appearance_file(&of_user).expect("it can be worn");
        let looks = Looks::worn(params, entry).expect("a client could send that");
        assert_eq!(parse_worn_looks(&text), Ok(looks));
    }
}
