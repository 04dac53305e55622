//! Requested place of arrival.

use glam::Vec3;

/// The place named in a login request.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum LoginStart {
    /// Last place of the avatar. Also the meaning of an unreadable request: a typing error must not lock a user out.
    #[default]
    Last,
    /// The place that the user has set as home.
    Home,
    /// A region by name, in any capitals, and perhaps a position in it.
    Region {
        /// Name as typed, without blanks around it.
        name: String,
        /// Metres from the region's corner; finite, not yet known to lie inside.
        position: Option<Vec3>,
    },
}

impl LoginStart {
    /// Longest region name that is looked for, in bytes.
    pub const REGION_MAX: usize = 63;

    /// Parses `last`, `home` or `uri:Region&x&y&z`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if text.eq_ignore_ascii_case("home") {
            return Self::Home;
        }
        let Some(("uri", place)) = text.split_once(':') else { return Self::Last };
        let mut parts = place.split('&');
        let name = parts.next().unwrap_or_default().trim();
        if name.is_empty() || name.len() > Self::REGION_MAX {
            return Self::Last;
        }
        Self::Region { name: name.into(), position: position(parts) }
    }
}

/// Three finite numbers, or none.
fn position<'a>(mut parts: impl Iterator<Item = &'a str>) -> Option<Vec3> {
    let mut number = || parts.next()?.trim().parse::<f32>().ok().filter(|number| number.is_finite());
    Some(Vec3::new(number()?, number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(name: &str, position: Option<[f32; 3]>) -> LoginStart {
        LoginStart::Region { name: name.into(), position: position.map(Vec3::from) }
    }

    #[test]
    fn start_locations_are_read_as_clients_write_them() {
        for (text, expected) in [
            ("last", LoginStart::Last),
            ("Home", LoginStart::Home),
            ("uri:Plaza&128&64.5&22", region("Plaza", Some([128.0, 64.5, 22.0]))),
            ("uri:Two Words & 1 & 2 & 3 ", region("Two Words", Some([1.0, 2.0, 3.0]))),
            ("uri:Plaza", region("Plaza", None)),
            ("uri:Plaza&128&128", region("Plaza", None)),
            ("uri:Plaza&a&b&c", region("Plaza", None)),
            ("uri:Plaza&NaN&inf&1", region("Plaza", None)),
        ] {
            assert_eq!(LoginStart::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn an_unreadable_wish_means_the_last_place() {
        for text in ["", "uri:", "uri:&1&2&3", "elsewhere", &format!("uri:{}", "x".repeat(64))] {
            assert_eq!(LoginStart::parse(text), LoginStart::Last, "{text}");
        }
    }
}
