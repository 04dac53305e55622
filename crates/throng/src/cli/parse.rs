//! From the text of a flag to its value.

use link::Terrain;
use std::net::Ipv4Addr;
use std::time::Duration;
use systems::System;

/// Parses `250ms`, `60s`, `1.5s`, `5m`, `2h` or `30d`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds_per_unit = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return Err("a time needs a unit: 250ms, 60s, 5m, 2h or 30d".into()),
    };
    let number: f64 = number.parse().map_err(|_| format!("{number:?} is not a number"))?;
    Duration::try_from_secs_f64(number * seconds_per_unit).map_err(|error| error.to_string())
}

/// Parses `world.movement=1500`.
pub(super) fn burden(text: &str) -> Result<(System, u64), String> {
    let (name, spins) = text.split_once('=').ok_or("a burden looks like world.movement=1500")?;
    let system = System::named(name).ok_or_else(|| format!("there is no system {name:?}"))?;
    Ok((system, spins.parse().map_err(|_| format!("{spins:?} is not a number"))?))
}

/// Parses `1=Harbour`: the id and the name of a world. A name may contain `=`.
pub(super) fn world_label(text: &str) -> Result<(u64, String), String> {
    let (id, name) = text.split_once('=').ok_or("a world looks like 1=Harbour")?;
    Ok((id.parse().map_err(|_| format!("{id:?} is not the id of a world"))?, name.to_owned()))
}

/// Parses `30/s` or `30`.
pub(super) fn per_second(text: &str) -> Result<f64, String> {
    let rate: f64 =
        text.strip_suffix("/s").unwrap_or(text).parse().map_err(|_| "a rate looks like 30/s".to_owned())?;
    if rate.is_finite() && rate > 0.0 { Ok(rate) } else { Err("a rate is more than 0/s".into()) }
}

/// Parses a network of 16 bits, such as `10.1.0.0`.
pub(super) fn network(text: &str) -> Result<Ipv4Addr, String> {
    let network: Ipv4Addr = text.parse().map_err(|_| format!("{text:?} is no IPv4 address"))?;
    match network.octets() {
        [.., 0, 0] => Ok(network),
        _ => Err("the network has 16 bits, so its address ends with .0.0".into()),
    }
}

/// Parses `128,128,25,10`: a place in a region and a radius, metres.
pub(super) fn sphere(text: &str) -> Result<[f32; 4], String> {
    let sphere = numbers::<4>(text).filter(|[.., radius]| *radius >= 0.0);
    sphere.ok_or_else(|| "a place and a radius look like 128,128,25,10".to_owned())
}

/// Parses `128,128,25`: a place in a region, metres.
pub(super) fn place(text: &str) -> Result<[f32; 3], String> {
    numbers(text).ok_or_else(|| "a place looks like 128,128,25".to_owned())
}

/// Parses `10,-20,0`, also in the form `<10,-20,0>` of OpenSimulator: metres along each axis.
pub(super) fn metres(text: &str) -> Result<[f32; 3], String> {
    let inner = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text);
    numbers(inner).ok_or_else(|| "metres along each axis look like 10,-20,0".to_owned())
}

/// Parses `1020,1000`: a place on the grid, in squares of 256 m.
pub(super) fn squares(text: &str) -> Result<[u32; 2], String> {
    let (x, y) = text.split_once(',').unwrap_or_default();
    match (x.trim().parse(), y.trim().parse()) {
        (Ok(x), Ok(y)) => Ok([x, y]),
        _ => Err("a place on the grid looks like 1020,1000, in squares of 256 m".to_owned()),
    }
}

/// Finite numbers between commas.
fn numbers<const N: usize>(text: &str) -> Option<[f32; N]> {
    let numbers: Option<Vec<f32>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    let numbers: [f32; N] = numbers?.try_into().ok()?;
    numbers.iter().all(|number| number.is_finite()).then_some(numbers)
}

/// Parses the height of a region's ground, metres.
pub(super) fn ground_height(text: &str) -> Result<f32, String> {
    let height: f32 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    let max = Terrain::HEIGHT_MAX_M;
    // False of NaN.
    if height.abs() <= max { Ok(height) } else { Err(format!("ground lies between -{max} m and {max} m")) }
}

/// Parses a number from 0 to 1.
pub(super) fn fraction(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err("a fraction lies between 0 and 1".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, millis) in
            [("250ms", 250), ("1.5s", 1500), ("2m", 120_000), ("1h", 3_600_000), ("2d", 172_800_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "s", "5 s", "1.2.3s", "5w"] {
            assert!(duration(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_world_has_an_id_and_any_name() {
        assert_eq!(world_label("7=A=B, C"), Ok((7, "A=B, C".to_owned())));
        for text in ["", "Harbour", "=Harbour", "Harbour=7", "-1=Harbour"] {
            assert!(world_label(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn metres_stand_between_commas_and_perhaps_in_brackets() {
        for text in ["10,-20,0.5", "<10, -20, 0.5>"] {
            assert_eq!(metres(text), Ok([10.0, -20.0, 0.5]), "{text}");
        }
        for text in ["", "1,2", "1,2,3,4", "<1,2,3", "1,2,inf", "a,b,c"] {
            assert!(metres(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_place_on_the_grid_is_two_whole_numbers() {
        for text in ["1020,1000", "1020, 1000"] {
            assert_eq!(squares(text), Ok([1020, 1000]), "{text}");
        }
        for text in ["", "1020", "1020,", "1020,1000,5", "-1,1000", "1020.5,1000"] {
            assert!(squares(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn ground_has_a_finite_height_within_the_bounds() {
        for (text, height) in [("22.5", 22.5), ("-2048", -2_048.0), ("2048", 2_048.0)] {
            assert_eq!(ground_height(text), Ok(height), "{text}");
        }
        for text in ["", "NaN", "inf", "-inf", "2048.1", "99999", "2 m"] {
            assert!(ground_height(text).is_err(), "{text:?}");
        }
    }
}
