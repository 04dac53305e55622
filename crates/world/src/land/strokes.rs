//! Brushes: the heights that a stroke leaves.
//!
//! The formulas are those of OpenSimulator. With `h` the height of a sample, `t` the stroke's seconds, and `r` its distance from the middle of
//! a disc of radius `R`:
//!
//! ```text
//!            disc                                          rectangle, parcel
//! flatten    h → target by t·(1 − r²/2R²)                  by 0.04·t
//! raise      h + t·cos(π/2·r/R)                            h + t
//! lower      h − t·cos(π/2·r/R), not below 0 m             h − t, not below 0 m
//! smooth     h → mean of (2w+1)² m around by t·(1 − r²/R²) by 0.002·t
//! noise      h + t·(1 − r²/R²)·random in ±1                h + 0.08·t·random in ±1
//! revert     h → baked by t·(1 − r²/R²)                    by 2·t
//! ```
//!
//! A share above 1 counts as 1. `w` is R rounded, at most 4, and 4 for a rectangle. A disc has the samples of the square around it.

use super::ground::PaintedSamples;
use glam::Vec2;
use link::{Brush, LandRefusal, SQUARE_M, Stroke, StrokeArea, Terrain, WaterAndLimits, layered_noise};
use std::f32::consts::FRAC_PI_2;
use std::ops::RangeInclusive;

/// Longest stroke, seconds. By then a rectangle is flat, reverted and smooth.
const SECONDS_MAX: f32 = 1_000.0;
/// Radii of a disc in metres: viewers offer 1 m to 11 m.
const RADIUS_RANGE_M: (f32, f32) = (0.5, 64.0);
/// Largest distance of samples whose mean a smoothed one approaches, metres.
const SMOOTHED_M: u32 = 4;
/// Widths of the layers of noise in metres, with weights that sum to 1.
const NOISE_OCTAVES: [(f32, f32); 3] = [(8.0, 0.5), (4.0, 0.3), (2.0, 0.2)];

/// A stroke with its numbers checked and clamped.
#[derive(Clone, Debug)]
pub(super) struct BoundedStroke {
    brush: Brush,
    shape: StrokeShape,
    seconds: f32,
    height_m: f32,
    columns: RangeInclusive<u32>,
    rows: RangeInclusive<u32>,
}

#[derive(Clone, Copy, Debug)]
enum StrokeShape {
    Disc { at: Vec2, radius_m: f32 },
    Even,
}

/// The ground under a stroke.
#[derive(Debug)]
pub(super) struct StrokeGround<'a> {
    /// The present ground.
    pub(super) ground: &'a Terrain,
    /// The baked ground.
    pub(super) baked: &'a Terrain,
    /// Limits; `None` for an operator.
    pub(super) limits: Option<WaterAndLimits>,
    /// Differs with each stroke of noise.
    pub(super) seed: u64,
}

impl BoundedStroke {
    /// A stroke in a region of this width. A parcel has the samples of its squares' rectangle, `parcel` (west, south, east, north in squares, the last
    /// ones inside).
    ///
    /// # Errors
    /// [`LandRefusal::Malformed`] with a number that is not finite, [`LandRefusal::NoArea`] without a sample in the region.
    pub(super) fn new(
        stroke: &Stroke,
        size_m: u32,
        parcel: impl Fn() -> Option<[u16; 4]>,
    ) -> Result<Self, LandRefusal> {
        let Stroke { brush, area, seconds, height_m } = *stroke;
        if !seconds.is_finite() || !height_m.is_finite() {
            return Err(LandRefusal::Malformed);
        }
        let (shape, [west, south, east, north]) = match area {
            StrokeArea::Disc { at, radius_m } => {
                let (least, most) = RADIUS_RANGE_M;
                let radius_m = radius_m.clamp(least, most);
                let (first, last) = ((at - radius_m).round(), (at + radius_m).round());
                (StrokeShape::Disc { at, radius_m }, [first.x, first.y, last.x, last.y])
            }
            StrokeArea::Rect(rect) => (
                StrokeShape::Even,
                [rect.west.ceil(), rect.south.ceil(), rect.east.floor(), rect.north.floor()],
            ),
            StrokeArea::Parcel(_) => {
                let [west, south, east, north] = parcel().ok_or(LandRefusal::UnknownParcel)?;
                let metres = |square: u16| f32::from(square) * SQUARE_M as f32;
                let last = (SQUARE_M - 1) as f32;
                (StrokeShape::Even, [metres(west), metres(south), metres(east) + last, metres(north) + last])
            }
        };
        if ![west, south, east, north].iter().all(|border| border.is_finite()) {
            return Err(LandRefusal::Malformed);
        }
        let range = |first: f32, last: f32| {
            let most = (size_m - 1) as f32;
            (first <= last && first <= most && last >= 0.0)
                .then(|| first.max(0.0) as u32..=last.min(most) as u32)
        };
        let (columns, rows) = range(west, east).zip(range(south, north)).ok_or(LandRefusal::NoArea)?;
        Ok(Self {
            brush,
            shape,
            seconds: seconds.clamp(0.0, SECONDS_MAX),
            height_m: height_m.clamp(-Terrain::HEIGHT_MAX_M, Terrain::HEIGHT_MAX_M),
            columns,
            rows,
        })
    }

    pub(super) const fn brush(&self) -> Brush {
        self.brush
    }

    /// Number of samples of its rectangle.
    pub(super) fn n_samples(&self) -> u64 {
        let length = |range: &RangeInclusive<u32>| u64::from(range.end() - range.start() + 1);
        length(&self.columns) * length(&self.rows)
    }

    /// Squares of its rectangle (column, row).
    pub(super) fn squares(&self) -> impl Iterator<Item = (u16, u16)> {
        // Below 256.
        let of =
            |range: &RangeInclusive<u32>| (range.start() / SQUARE_M) as u16..=(range.end() / SQUARE_M) as u16;
        let columns = of(&self.columns);
        of(&self.rows).flat_map(move |row| columns.clone().map(move |column| (column, row)))
    }

    /// The heights that it leaves on its rectangle; those of squares that `may` refuses stay.
    pub(super) fn paint(&self, around: &StrokeGround<'_>, may: impl Fn(u16, u16) -> bool) -> PaintedSamples {
        let StrokeGround { ground, baked, limits, seed } = around;
        let size = ground.size_m();
        let means = if self.brush == Brush::Smooth { self.means(ground) } else { Vec::new() };
        let n_samples = self.n_samples() as usize;
        let mut heights = Vec::with_capacity(n_samples);
        // The four samples of a square's row have one answer.
        let mut last = None;
        let mut is_permitted = |column: u32, row: u32| {
            let square = ((column / SQUARE_M) as u16, (row / SQUARE_M) as u16);
            match last {
                Some((known, is_permitted)) if known == square => is_permitted,
                _ => {
                    let is_permitted = may(square.0, square.1);
                    last = Some((square, is_permitted));
                    is_permitted
                }
            }
        };
        for row in self.rows.clone() {
            for column in self.columns.clone() {
                let index = (row * size + column) as usize;
                let (height, bed) = (ground.heights()[index], baked.heights()[index]);
                let weight = self.weight(column, row);
                if weight <= 0.0 || !is_permitted(column, row) {
                    heights.push(height);
                    continue;
                }
                let painted = match self.brush {
                    Brush::Flatten => blend(height, self.height_m, weight),
                    Brush::Raise => height + weight,
                    Brush::Lower => (height - weight).max(height.min(0.0)),
                    Brush::Smooth => blend(height, means[heights.len()], weight),
                    Brush::Noise => {
                        let at = Vec2::new(column as f32, row as f32);
                        height + weight * layered_noise(*seed, at, &NOISE_OCTAVES)
                    }
                    Brush::Revert => blend(height, bed, weight),
                };
                heights.push(limited(painted, height, bed, limits.as_ref()));
            }
        }
        PaintedSamples { columns: self.columns.clone(), rows: self.rows.clone(), heights }
    }

    /// Strength at a sample: metres, or a share of the way to the target.
    fn weight(&self, column: u32, row: u32) -> f32 {
        let StrokeShape::Disc { at, radius_m } = self.shape else {
            let rate = match self.brush {
                Brush::Flatten => 0.04,
                Brush::Raise | Brush::Lower => 1.0,
                Brush::Smooth => 0.002,
                Brush::Noise => 0.08,
                Brush::Revert => 2.0,
            };
            return self.seconds * rate;
        };
        let square = at.distance_squared(Vec2::new(column as f32, row as f32)) / (radius_m * radius_m);
        let falloff = match self.brush {
            Brush::Flatten => 1.0 - square / 2.0,
            Brush::Raise | Brush::Lower if square < 1.0 => libm::cosf(FRAC_PI_2 * square.sqrt()),
            Brush::Raise | Brush::Lower => 0.0,
            Brush::Smooth | Brush::Noise | Brush::Revert => 1.0 - square,
        };
        self.seconds * falloff.max(0.0)
    }

    /// Means of the surroundings of all samples of its rectangle, in their order.
    fn means(&self, ground: &Terrain) -> Vec<f32> {
        let reach = match self.shape {
            StrokeShape::Disc { radius_m, .. } => (radius_m.round() as u32).clamp(1, SMOOTHED_M),
            StrokeShape::Even => SMOOTHED_M,
        };
        let last = ground.size_m() - 1;
        let window = |at: u32| (at.saturating_sub(reach), (at + reach).min(last));
        let mut means = Vec::with_capacity(self.n_samples() as usize);
        // Sums of the windows' columns: with each row one row enters and one leaves, so that the cost does not depend on the reach.
        let (first, last) = window(*self.columns.start());
        let mut sums = vec![0.0_f64; (window(*self.columns.end()).1 - first + 1) as usize];
        let add = |sums: &mut [f64], row: u32, sign: f64| {
            let begin = (row * ground.size_m() + first) as usize;
            let heights = &ground.heights()[begin..begin + sums.len()];
            sums.iter_mut().zip(heights).for_each(|(sum, &height)| *sum += sign * f64::from(height));
        };
        let (mut south, mut north) = window(*self.rows.start());
        (south..=north).for_each(|row| add(&mut sums, row, 1.0));
        for row in self.rows.clone() {
            let (from, to) = window(row);
            (south..from).for_each(|row| add(&mut sums, row, -1.0));
            (north + 1..=to).for_each(|row| add(&mut sums, row, 1.0));
            (south, north) = (from, to);
            let n_rows = f64::from(north - south + 1);
            let (mut west, mut east) = (first, last);
            let part =
                |from: u32, to: u32| sums[(from - first) as usize..(to - first) as usize].iter().sum::<f64>();
            let mut sum = part(west, east + 1);
            for column in self.columns.clone() {
                let (from, to) = window(column);
                sum += part(east + 1, to + 1) - part(west, from);
                (west, east) = (from, to);
                means.push((sum / (n_rows * f64::from(east - west + 1))) as f32);
            }
        }
        means
    }
}

/// The value a share of the way from one to another.
fn blend(from: f32, to: f32, share: f32) -> f32 {
    if share >= 1.0 { to } else { from + (to - from) * share }
}

/// A painted height within the limits. A sample beyond them, by an operator's edit, is led no farther away, and not back at once.
fn limited(painted: f32, height: f32, bed: f32, limits: Option<&WaterAndLimits>) -> f32 {
    let within = match limits {
        Some(limits) => painted.clamp(height.min(bed - limits.lower_m), height.max(bed + limits.raise_m)),
        None => painted,
    };
    // Without a negative zero: the sign of a minimum of zeros depends on the machine.
    within.clamp(-Terrain::HEIGHT_MAX_M, Terrain::HEIGHT_MAX_M) + 0.0
}
