//! Layers of the map: one for each region, the rectangle of its grid squares and its picture.
//!
//! Clients ask for them by MapLayerRequest, and those of libopenmetaverse by the capability `MapLayer`; both answers are made here.

use crate::places::{Place, Places};
use ids::RegionHandle;
use wire::llsd::Llsd;
use wire::messages::MapLayerReplyLayerData;

/// All layers, in the order of the places.
pub(crate) fn map_layers(places: &Places) -> impl Iterator<Item = MapLayerReplyLayerData> {
    places.iter().map(|place| layer(place))
}

/// The edges of a layer lie between grid squares: right and top are those of the next ones.
fn layer(place: &Place) -> MapLayerReplyLayerData {
    let (left, bottom) = place.handle.grid();
    let squares = place.ground().size_m / RegionHandle::GRID_M;
    let image_id = place.scene.map_image();
    MapLayerReplyLayerData { left, right: left + squares, top: bottom + squares, bottom, image_id }
}

/// The answer of the capability; `flags` come from the request.
pub(crate) fn map_layers_llsd(places: &Places, flags: i32) -> Llsd {
    let rows = map_layers(places).map(|layer| {
        Llsd::map([
            ("Left", Llsd::from(layer.left.cast_signed())),
            ("Right", layer.right.cast_signed().into()),
            ("Top", layer.top.cast_signed().into()),
            ("Bottom", layer.bottom.cast_signed().into()),
            ("ImageID", layer.image_id.into()),
        ])
    });
    Llsd::map([
        ("AgentData", Llsd::map([("Flags", Llsd::from(flags))])),
        ("LayerData", Llsd::from(rows.collect::<Vec<Llsd>>())),
    ])
}
