//! Pictures of the map for viewers that read it over HTTP: `map-1-X-Y-objects.jpg`, X and Y being the grid square.
//!
//! Viewers get the address as `map-server-url`. Only the nearest of the eight distances (1) is drawn; viewers leave the others empty.

use super::HttpState;
use super::reply::error;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use ids::RegionHandle;
use std::sync::Arc;

/// Pictures are drawn again some time after a region has changed.
const CACHE: &str = "public, max-age=300";

/// `GET /map/{file}`.
pub(super) async fn picture(State(state): State<Arc<HttpState>>, Path(file): Path<String>) -> Response {
    let found = grid_square(&file).and_then(|(x, y)| {
        let place = state.places.by_handle(RegionHandle::from_grid(x, y))?;
        let (left, bottom) = place.handle.grid();
        place.scene.map()?.square(x - left, y - bottom).map(<[u8]>::to_vec)
    });
    match found {
        Some(jpeg) => {
            ([(header::CONTENT_TYPE, "image/jpeg"), (header::CACHE_CONTROL, CACHE)], jpeg).into_response()
        }
        None => error(StatusCode::NOT_FOUND, "There is no picture of that part of the map."),
    }
}

/// The grid square that a file is named after.
fn grid_square(file: &str) -> Option<(u32, u32)> {
    let (x, y) = file.strip_prefix("map-1-")?.strip_suffix("-objects.jpg")?.split_once('-')?;
    let square = |digits: &str| digits.parse::<u16>().ok().map(u32::from);
    Some((square(x)?, square(y)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_grid_squares() {
        assert_eq!(grid_square("map-1-1000-1001-objects.jpg"), Some((1_000, 1_001)));
        for other in
            ["map-2-1000-1000-objects.jpg", "map-1-1000-objects.jpg", "map-1-70000-1-objects.jpg", "x"]
        {
            assert_eq!(grid_square(other), None, "{other}");
        }
    }
}
