//! ExtEnvironment: the sky and water of a region.
//!
//! One default day of our own for all regions, four hours long: sunrise, noon, sunset, midnight. All fields that viewers validate are
//! present; colours and densities are in the viewer's "legacy haze" model.

use std::f64::consts::FRAC_1_SQRT_2;
use uuid::{Uuid, uuid};
use wire::llsd::Llsd;

/// Length of a day and the shift of its beginning, in seconds.
const DAY_LENGTH_S: i32 = 4 * 3600;
const DAY_OFFSET_S: i32 = 16 * 3600;

/// Lower bounds of the three upper skies, in metres. They are empty, so the ground's sky reaches all the way up.
const TRACK_ALTITUDES_M: [f64; 3] = [1000.0, 2000.0, 3000.0];

// Textures that every viewer brings along.
const BLOOM_TEXTURE: Uuid = uuid!("3c59f7fe-9dc8-47f9-8aaf-a9dd1fbc3bef");
const CLOUD_TEXTURE: Uuid = uuid!("1dc1368f-e8fe-f02d-a08d-9d9f11c1af6b");
const HALO_TEXTURE: Uuid = uuid!("12149143-f599-91a7-77ac-b52a3c0f59cd");
const MOON_TEXTURE: Uuid = uuid!("ec4b9f0b-d008-45c6-96a4-01dd947ac621");
const RAINBOW_TEXTURE: Uuid = uuid!("11b4c57c-56b3-04ed-1f82-2004363882e4");
const WATER_NORMAL_MAP: Uuid = uuid!("822ded49-9a6c-f61c-cb89-6df54f42cdf4");
const WATER_TEXTURE: Uuid = uuid!("2bfd3884-7e27-69b9-ba3a-3e673f680004");

const WATER: &str = "Throng water";

/// Variable part of a day's skies.
struct Sky {
    name: &'static str,
    /// Position in the day, 0 to 1.
    at: f64,
    /// Sine and cosine of half the sun's angle above the eastern horizon.
    half_angle: (f64, f64),
    ambient: [f64; 3],
    sunlight: [f64; 3],
    blue_density: [f64; 3],
    blue_horizon: [f64; 3],
    haze_density: f64,
    cloud_color: [f64; 3],
    star_brightness: f64,
}

const DAY: [Sky; 4] = [
    Sky {
        name: "Throng midnight",
        at: 0.0,
        half_angle: (FRAC_1_SQRT_2, -FRAC_1_SQRT_2),
        ambient: [0.20, 0.24, 0.35],
        sunlight: [0.30, 0.34, 0.45],
        blue_density: [0.18, 0.30, 0.50],
        blue_horizon: [0.10, 0.14, 0.25],
        haze_density: 0.5,
        cloud_color: [0.12, 0.13, 0.17],
        star_brightness: 250.0,
    },
    Sky {
        name: "Throng sunrise",
        at: 0.25,
        half_angle: (0.0, 1.0),
        ambient: [0.65, 0.55, 0.55],
        sunlight: [2.20, 1.45, 0.95],
        blue_density: [0.20, 0.36, 0.62],
        blue_horizon: [0.42, 0.32, 0.34],
        haze_density: 0.9,
        cloud_color: [0.60, 0.42, 0.38],
        star_brightness: 15.0,
    },
    Sky {
        name: "Throng noon",
        at: 0.5,
        half_angle: (FRAC_1_SQRT_2, FRAC_1_SQRT_2),
        ambient: [1.00, 1.00, 1.05],
        sunlight: [2.25, 2.20, 2.10],
        blue_density: [0.24, 0.45, 0.76],
        blue_horizon: [0.48, 0.50, 0.64],
        haze_density: 0.7,
        cloud_color: [0.42, 0.42, 0.42],
        star_brightness: 0.0,
    },
    Sky {
        name: "Throng sunset",
        at: 0.75,
        half_angle: (1.0, 0.0),
        ambient: [0.70, 0.52, 0.50],
        sunlight: [2.30, 1.25, 0.75],
        blue_density: [0.20, 0.34, 0.60],
        blue_horizon: [0.45, 0.30, 0.30],
        haze_density: 1.0,
        cloud_color: [0.62, 0.38, 0.34],
        star_brightness: 15.0,
    },
];

/// Place of noon among these.
const NOON: usize = 2;

/// Answers a GET of ExtEnvironment for a region.
#[must_use]
pub fn environment(region_id: Uuid) -> Llsd {
    let environment = Llsd::map([
        ("day_cycle", day_cycle()),
        ("day_length", DAY_LENGTH_S.into()),
        ("day_offset", DAY_OFFSET_S.into()),
        ("env_version", 1.into()),
        ("flags", 0.into()),
        ("is_default", true.into()),
        ("region_id", region_id.into()),
        // −1 stands for the whole region.
        ("parcel_id", (-1).into()),
        ("track_altitudes", Llsd::array(TRACK_ALTITUDES_M)),
    ]);
    Llsd::map([
        ("success", Llsd::from(true)),
        ("region_id", region_id.into()),
        ("parcel_id", (-1).into()),
        ("environment", environment),
    ])
}

/// Settings of a kind as an asset's content: 0 the sky of noon, 1 the water, 2 the day. None for other kinds.
pub(crate) fn blank_settings(subtype: u8) -> Option<Llsd> {
    match subtype {
        0 => Some(sky_frame(&DAY[NOON])),
        1 => Some(water_frame()),
        2 => Some(day_cycle()),
        _ => None,
    }
}

/// The day of all regions.
fn day_cycle() -> Llsd {
    let sky_frames = DAY.iter().map(|sky| (sky.name, sky_frame(sky)));
    let frames = Llsd::map(sky_frames.chain([(WATER, water_frame())]));
    let track = |keys: &[(f64, &str)]| {
        Llsd::array(
            keys.iter()
                .map(|&(at, name)| Llsd::map([("key_keyframe", Llsd::from(at)), ("key_name", name.into())])),
        )
    };
    // The first track is the water's, the second the ground's sky; the three upper skies have no keys.
    let sky_keys = DAY.each_ref().map(|sky| (sky.at, sky.name));
    let tracks = [track(&[(0.0, WATER)]), track(&sky_keys), track(&[]), track(&[]), track(&[])];
    Llsd::map([
        ("name", Llsd::from("Throng day")),
        ("type", "daycycle".into()),
        ("frames", frames),
        ("tracks", Llsd::array(tracks)),
    ])
}

fn sky_frame(sky: &Sky) -> Llsd {
    let (sin, cos) = sky.half_angle;
    // The sun stands where the rotation takes the x axis; the moon opposite, half a turn further.
    let (sun, moon) = ([0.0, -sin, 0.0, cos], [0.0, -cos, 0.0, -sin]);
    Llsd::map([
        ("type", Llsd::from("sky")),
        ("name", sky.name.into()),
        (
            "legacy_haze",
            Llsd::map([
                ("ambient", Llsd::array(sky.ambient)),
                ("blue_density", Llsd::array(sky.blue_density)),
                ("blue_horizon", Llsd::array(sky.blue_horizon)),
                ("density_multiplier", 0.00018.into()),
                ("distance_multiplier", 0.8.into()),
                ("haze_density", sky.haze_density.into()),
                ("haze_horizon", 0.19.into()),
            ]),
        ),
        ("sunlight_color", Llsd::array([sky.sunlight[0], sky.sunlight[1], sky.sunlight[2], 1.0])),
        ("sun_rotation", Llsd::array(sun)),
        ("moon_rotation", Llsd::array(moon)),
        ("sun_id", Uuid::nil().into()),
        ("moon_id", MOON_TEXTURE.into()),
        ("cloud_id", CLOUD_TEXTURE.into()),
        ("bloom_id", BLOOM_TEXTURE.into()),
        ("halo_id", HALO_TEXTURE.into()),
        ("rainbow_id", RAINBOW_TEXTURE.into()),
        ("sun_scale", 1.0.into()),
        ("moon_scale", 1.0.into()),
        ("moon_brightness", 0.5.into()),
        ("sun_arc_radians", 0.00045.into()),
        ("star_brightness", sky.star_brightness.into()),
        ("gamma", 1.0.into()),
        ("glow", Llsd::array([5.0, 0.001, -0.48])),
        ("max_y", 1605.0.into()),
        ("cloud_color", Llsd::array(sky.cloud_color)),
        ("cloud_pos_density1", Llsd::array([1.0, 0.526, 1.0])),
        ("cloud_pos_density2", Llsd::array([1.0, 0.526, 0.12])),
        ("cloud_scale", 0.42.into()),
        ("cloud_scroll_rate", Llsd::array([0.2, 0.01])),
        ("cloud_shadow", 0.27.into()),
        ("cloud_variance", 0.0.into()),
        ("dome_offset", 0.96.into()),
        ("dome_radius", 15_000.0.into()),
        ("droplet_radius", 800.0.into()),
        ("ice_level", 0.0.into()),
        ("moisture_level", 0.0.into()),
        ("planet_radius", 6360.0.into()),
        ("sky_bottom_radius", 6360.0.into()),
        ("sky_top_radius", 6420.0.into()),
        (
            "absorption_config",
            layers(&[[25_000.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, -6.67e-5, 1.0]], None),
        ),
        ("rayleigh_config", layers(&[[0.0, 1.0, -1.25e-4, 0.0, 0.0]], None)),
        ("mie_config", layers(&[[0.0, 1.0, -8.33e-4, 0.0, 0.0]], Some(0.8))),
    ])
}

/// Layers of air: width, exponential term and scale, linear and constant term.
fn layers(terms: &[[f64; 5]], anisotropy: Option<f64>) -> Llsd {
    Llsd::array(terms.iter().map(|&[width, exp_term, exp_scale, linear, constant]| {
        let terms = [
            ("width", width),
            ("exp_term", exp_term),
            ("exp_scale", exp_scale),
            ("linear_term", linear),
            ("constant_term", constant),
        ];
        let anisotropy = anisotropy.map(|value| ("anisotropy", value));
        Llsd::map(terms.into_iter().chain(anisotropy).map(|(key, value)| (key, value.into())))
    }))
}

fn water_frame() -> Llsd {
    Llsd::map([
        ("type", Llsd::from("water")),
        ("name", WATER.into()),
        ("normal_map", WATER_NORMAL_MAP.into()),
        ("transparent_texture", WATER_TEXTURE.into()),
        ("normal_scale", Llsd::array([2.0, 2.0, 2.0])),
        ("blur_multiplier", 0.04.into()),
        ("fresnel_offset", 0.5.into()),
        ("fresnel_scale", 0.4.into()),
        ("scale_above", 0.03.into()),
        ("scale_below", 0.2.into()),
        ("underwater_fog_mod", 0.25.into()),
        ("water_fog_color", Llsd::array([0.02, 0.15, 0.25])),
        ("water_fog_density", 10.0.into()),
        ("wave1_direction", Llsd::array([1.05, -0.42])),
        ("wave2_direction", Llsd::array([1.11, -1.16])),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::llsd::xml;

    #[test]
    fn every_key_of_every_track_names_a_frame_and_rises() {
        let reply = environment(Uuid::from_u128(1));
        assert_eq!(reply.get("success").as_bool(), Some(true));
        let cycle = reply.get("environment").get("day_cycle");
        let tracks = cycle.get("tracks").as_array();
        assert_eq!(tracks.len(), 5);
        for (index, track) in tracks.iter().enumerate() {
            let kind = if index == 0 { "water" } else { "sky" };
            let mut last = -1.0;
            for key in track.as_array() {
                let frame = cycle.get("frames").get(key.get("key_name").as_str().unwrap());
                assert_eq!(frame.get("type").as_str(), Some(kind));
                let at = key.get("key_keyframe").as_f64().unwrap();
                assert!(at > last && at < 1.0, "{at}");
                last = at;
            }
        }
    }

    /// Direction of the x axis after a rotation, as viewers find the sun.
    fn height_of(rotation: &Llsd) -> f64 {
        let q: Vec<f64> = rotation.as_array().iter().map(|value| value.as_f64().unwrap()).collect();
        let length: f64 = q.iter().map(|value| value * value).sum();
        assert!((length - 1.0).abs() < 1e-9, "not a unit quaternion: {q:?}");
        2.0 * (q[0] * q[2] - q[1] * q[3])
    }

    #[test]
    fn the_sun_is_up_at_noon_and_the_moon_at_midnight() {
        for (sky, sun_height) in DAY.iter().zip([-1.0, 0.0, 1.0, 0.0]) {
            let frame = sky_frame(sky);
            assert!((height_of(frame.get("sun_rotation")) - sun_height).abs() < 1e-9, "{}", sky.name);
            assert!((height_of(frame.get("moon_rotation")) + sun_height).abs() < 1e-9, "{}", sky.name);
        }
    }

    #[test]
    fn the_document_has_no_prolog_and_only_reals_where_clients_demand_them() {
        let document = xml::encode(&environment(Uuid::from_u128(1)));
        assert!(document.starts_with("<llsd>"), "a prolog breaks one client");
        assert_eq!(
            document.matches("<integer>").count(),
            6,
            "length, offset, version, flags and two parcel ids"
        );
    }
}
