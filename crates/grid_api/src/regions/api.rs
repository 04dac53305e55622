//! The routes.

use super::shared::Regions;
use super::{details, estate, files, held, objects, parcel, removal, state};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub fn router(regions: Arc<Regions>) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(state::list))
        .routes(routes!(details::show))
        .routes(routes!(details::restart))
        .routes(routes!(estate::show, estate::change))
        .routes(routes!(estate::change_list))
        .routes(routes!(state::edits))
        .routes(routes!(state::parcels))
        .routes(routes!(parcel::show))
        .routes(routes!(state::saves))
        .routes(routes!(state::save))
        .routes(routes!(objects::list))
        .routes(routes!(objects::show))
        .routes(routes!(removal::return_objects))
        .routes(routes!(removal::delete_objects))
        .routes(routes!(held::list))
        .routes(routes!(held::restore))
        .routes(routes!(held::discard))
        .routes(routes!(files::export))
        .routes(routes!(files::import))
        .with_state(regions)
}
