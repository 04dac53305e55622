//! Regions that are created, removed and renamed over the operator's address: orders edit the configuration file, and a restart of the server applies it.
//!
//! Handlers of regions that run are `grid_api::regions`; these use the same access to accounts and stored rows.

mod change_orders;
mod change_routes;
mod changes;
mod configured;

pub(crate) use configured::ConfiguredRegions;

use grid_api::regions::{RegionRefusal, Regions};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// State behind the routes.
pub(crate) struct RegionChanges {
    /// The configuration file, and the regions that the server has begun with.
    pub(crate) configured: ConfiguredRegions,
    /// Those that run.
    pub(crate) running: Arc<Regions>,
}

/// The routes.
pub(crate) fn router(changes: RegionChanges) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(change_routes::create))
        .routes(routes!(change_routes::list))
        .routes(routes!(change_routes::remove))
        .routes(routes!(change_routes::rename))
        .with_state(Arc::new(changes))
}

impl RegionChanges {
    /// Runs slow work off the async workers.
    async fn blocking<R: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<R, RegionRefusal> + Send + 'static,
    ) -> Result<R, RegionRefusal> {
        let changes = Arc::clone(self);
        self.running.blocking(move |_| work(&changes)).await
    }
}
