//! `POST /v1/terrain`: the operator's orders to the ground of a region.
//!
//! Heights do not fit into a request: they are in a file of the data directory's folder `terrain`, which `throng terrain` writes and reads. An order is one
//! command to the world, so that it is carried out wholly or not at all.

use axum::extract::rejection::JsonRejection;
use axum::extract::{Json, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ids::WorldId;
use link::{GroundEdit, GroundPatch, LandEdit, LandRefusal, PATCH_M, Terrain};
use region_threads::land_orders::{LandOrderError, LandOrders};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use workplace::opaque_debug;

/// As all of the data directory.
const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIR: u32 = 0o700;

/// Carries out orders to the grounds of the regions.
pub struct TerrainDesk {
    /// Names of the regions.
    pub regions: Vec<(String, WorldId)>,
    /// Way of orders to their land.
    pub orders: Arc<LandOrders>,
    /// Folder of the files.
    pub folder: PathBuf,
}

opaque_debug!(TerrainDesk);

/// The route.
pub fn router(desk: TerrainDesk) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(terrain)).with_state(Arc::new(desk))
}

/// Orders to a ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum TerrainAction {
    /// It becomes that of the file.
    Load,
    /// It is written into the file, which must not be there.
    Save,
    /// It becomes flat.
    Fill,
    /// Edits of users are limited from it and revert to it.
    Bake,
}

/// An order to the ground of a region.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TerrainOrder {
    /// Name of the region.
    #[schema(min_length = 1, max_length = 63)]
    region: String,
    /// The order itself.
    action: TerrainAction,
    /// To load and to save: the file `FILE.r32` in the folder `terrain` of the server's data directory, with heights in metres as little-endian 32-bit
    /// floats, row by row from the south-west.
    #[serde(default)]
    file: Option<u32>,
    /// To fill: metres, -2,048 to 2,048.
    #[serde(default)]
    height_m: Option<f32>,
}

/// The ground of a region after an order.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Terrain)]
struct TerrainReply {
    /// Name of the region.
    region: String,
    /// Its width and depth, metres.
    size_m: u32,
    /// Its lowest point, metres.
    lowest_m: f32,
    /// Its highest point, metres.
    highest_m: f32,
    /// Patches of 16 m that have other heights now.
    patches: usize,
}

/// A refusal: status, and a sentence for the operator.
type TerrainRefusal = (StatusCode, String);

/// Load, save, level or bake the ground of a region.
#[utoipa::path(post, path = "/v1/terrain", request_body = TerrainOrder, responses(
    (status = 200, description = "It is done.", body = TerrainReply),
    (status = 400, description = "The order lacks a value, or the heights are not those of the region."),
    (status = 404, description = "There is no such region, or no such file."),
    (status = 409, description = "The world refuses it, or there is such a file."),
    (status = 503, description = "The world does not answer, or has too many commands."),
))]
async fn terrain(
    State(desk): State<Arc<TerrainDesk>>,
    order: Result<Json<TerrainOrder>, JsonRejection>,
) -> Response {
    let order = match order {
        Ok(Json(order)) => order,
        Err(rejection) => return (rejection.status(), rejection.body_text()).into_response(),
    };
    match desk.carry_out(order).await {
        Ok(reply) => Json(reply).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

impl TerrainDesk {
    async fn carry_out(self: Arc<Self>, order: TerrainOrder) -> Result<TerrainReply, TerrainRefusal> {
        let (name, world) = self.find(&order.region)?;
        let present = self.orders.grounds().ground(world).ok_or_else(no_region)?;
        let target = match order.action {
            TerrainAction::Load => {
                let (path, size_m) = (self.path(order.file)?, present.size_m());
                blocking(move || read(&path, size_m)).await?
            }
            TerrainAction::Fill => {
                let height = order.height_m.ok_or_else(|| bad("A height is missing: height_m."))?;
                level(present.size_m(), height)?
            }
            TerrainAction::Save => {
                let path = self.path(order.file)?;
                blocking(move || write(&path, &present).map(|()| present)).await?
            }
            TerrainAction::Bake => {
                self.send(world, GroundEdit::Bake).await?;
                present
            }
        };
        let patches = match order.action {
            TerrainAction::Load | TerrainAction::Fill => {
                let present = self.orders.grounds().ground(world).ok_or_else(no_region)?;
                different_patches(&present, &target)
            }
            TerrainAction::Save | TerrainAction::Bake => Vec::new(),
        };
        let n_patches = patches.len();
        if n_patches > 0 {
            self.send(world, GroundEdit::Load(patches)).await?;
        }
        tracing::info!(region = name, action = ?order.action, patches = n_patches, "an order to the ground");
        let (lowest_m, highest_m) = target.extremes();
        let size_m = target.size_m();
        Ok(TerrainReply { region: name, size_m, lowest_m, highest_m, patches: n_patches })
    }

    /// Name and world of a region.
    fn find(&self, name: &str) -> Result<(String, WorldId), TerrainRefusal> {
        let found = self.regions.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = self.regions.iter().map(|(known, _)| known.as_str()).collect();
            (StatusCode::NOT_FOUND, format!("There is no region {name:?}; there are: {}.", names.join(", ")))
        })
    }

    fn path(&self, file: Option<u32>) -> Result<PathBuf, TerrainRefusal> {
        let file = file.ok_or_else(|| bad("A file is missing: file."))?;
        Ok(self.folder.join(format!("{file}.r32")))
    }

    async fn send(&self, world: WorldId, edit: GroundEdit) -> Result<(), TerrainRefusal> {
        self.orders.carry_out(world, &LandEdit::Ground(edit)).await.map_err(refusal_of_order)
    }
}

fn refusal_of_order(error: LandOrderError) -> TerrainRefusal {
    let status = match error {
        LandOrderError::NoRegion => StatusCode::NOT_FOUND,
        LandOrderError::Refused(LandRefusal::Busy) | LandOrderError::Busy | LandOrderError::Lost => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        LandOrderError::Refused(_) => StatusCode::CONFLICT,
    };
    (status, error.to_string())
}

fn no_region() -> TerrainRefusal {
    (StatusCode::NOT_FOUND, "There is no such region.".to_owned())
}

fn bad(why: &str) -> TerrainRefusal {
    (StatusCode::BAD_REQUEST, why.to_owned())
}

/// A ground of one height.
fn level(size_m: u32, height: f32) -> Result<Terrain, TerrainRefusal> {
    let heights = vec![height; size_m as usize * size_m as usize];
    Terrain::from_heights(size_m, heights).map_err(|why| bad(&format!("{why}.")))
}

/// Runs slow work off the async workers.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TerrainRefusal> + Send + 'static,
) -> Result<T, TerrainRefusal> {
    tokio::task::spawn_blocking(work).await.expect("blocking work does not panic and is not cancelled")
}

fn read(path: &std::path::Path, size_m: u32) -> Result<Terrain, TerrainRefusal> {
    let bytes = fs::read(path).map_err(|why| refusal_of(path, &why))?;
    Terrain::from_r32(size_m, &bytes).map_err(|why| bad(&format!("{why}.")))
}

fn write(path: &std::path::Path, ground: &Terrain) -> Result<(), TerrainRefusal> {
    let folder = path.parent().expect("a file of the folder");
    let write = || {
        DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(folder)?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(path)?;
        file.write_all(&ground.to_r32())
    };
    write().map_err(|why: io::Error| refusal_of(path, &why))
}

fn refusal_of(path: &std::path::Path, why: &io::Error) -> TerrainRefusal {
    let status = match why.kind() {
        io::ErrorKind::NotFound => StatusCode::NOT_FOUND,
        io::ErrorKind::AlreadyExists => StatusCode::CONFLICT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, format!("{}: {why}.", path.display()))
}

/// Patches of a ground that are other ones than those of the present one, row by row from the south-west.
fn different_patches(present: &Terrain, target: &Terrain) -> Vec<GroundPatch> {
    // 64 patches along an edge at most.
    let side = (target.size_m() / PATCH_M) as u8;
    let places = (0..side).flat_map(|row| (0..side).map(move |column| (column, row)));
    let patches = places.filter_map(|(column, row)| {
        let patch = GroundPatch::new(column, row, target.patch(column, row)).expect("heights of a ground");
        (!patch.has_same_heights(&present.patch(column, row))).then_some(patch)
    });
    patches.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_other_patches_are_sent() {
        let present = Terrain::flat(256, 21.0);
        assert!(different_patches(&present, &present).is_empty());
        let mut target = present.clone();
        target.set_heights(16, 17, &[22.0]);
        let places: Vec<(u8, u8)> =
            different_patches(&present, &target).iter().map(|patch| (patch.column(), patch.row())).collect();
        assert_eq!(places, [(1, 1)]);
        assert_eq!(different_patches(&present, &Terrain::flat(256, 0.0)).len(), 256);
    }

    #[test]
    fn impossible_heights_and_files_are_refused() {
        for height in [f32::NAN, f32::INFINITY, 2_049.0, -3_000.0] {
            assert_eq!(level(256, height).expect_err("refused").0, StatusCode::BAD_REQUEST, "{height}");
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("terrain/7.r32");
        assert_eq!(read(&path, 256).expect_err("not there").0, StatusCode::NOT_FOUND);
        let ground = Terrain::hills(256, 3);
        write(&path, &ground).expect("a new file");
        assert_eq!(write(&path, &ground).expect_err("it is there").0, StatusCode::CONFLICT);
        assert_eq!(read(&path, 256), Ok(ground));
        assert_eq!(read(&path, 512).expect_err("of another width").0, StatusCode::BAD_REQUEST);
    }
}
