//! Axes: from values to places, and where the ticks are.

/// Ticks that a linear axis aims at.
const TICKS: f64 = 5.0;

/// A logarithmic axis marks 1, 2 and 5 of each decade up to this many decades, and only whole decades above.
const DECADES_WITH_STEPS_MAX: f64 = 3.0;

/// Mapping of values to positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally long. The axis begins at zero unless values are negative.
    Linear,
    /// Equal ratios are equally long. Values of zero and below cannot be shown and are left out.
    Log,
}

/// Label, unit and scale of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    label: String,
    unit: String,
    scale: Scale,
}

impl Axis {
    /// A linear axis; the unit may be empty.
    #[must_use]
    pub fn linear(label: &str, unit: &str) -> Self {
        Self { label: label.to_owned(), unit: unit.to_owned(), scale: Scale::Linear }
    }

    /// A logarithmic axis; the unit may be empty.
    #[must_use]
    pub fn log(label: &str, unit: &str) -> Self {
        Self { scale: Scale::Log, ..Self::linear(label, unit) }
    }

    pub(super) fn title(&self) -> String {
        if self.unit.is_empty() { self.label.clone() } else { format!("{}, {}", self.label, self.unit) }
    }

    pub(super) fn unit(&self) -> &str {
        &self.unit
    }

    /// True if a value has a position.
    pub(super) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    /// Fits the axis to values; values without a position are ignored.
    pub(super) fn range(&self, values: impl Iterator<Item = f64>) -> AxisRange {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| self.shows(*value)) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (1.0, 1.0);
        }
        match self.scale {
            Scale::Linear => AxisRange::linear(low, high),
            Scale::Log => AxisRange::log(low, high),
        }
    }
}

/// A fitted axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AxisRange {
    scale: Scale,
    low: f64,
    high: f64,
    /// Values with a label and a grid line, rising.
    pub(super) ticks: Vec<f64>,
}

impl AxisRange {
    fn linear(low: f64, high: f64) -> Self {
        let (low, high) = (low.min(0.0), high.max(0.0));
        let span = if high > low { high - low } else { 1.0 };
        let step = nice_step(span / TICKS);
        let first = (low / step).floor();
        let last = ((low + span) / step).ceil();
        // Multiplied rather than added up, so that zero is exactly zero.
        let mut ticks = Vec::new();
        let mut index = first;
        while index <= last {
            ticks.push(index * step);
            index += 1.0;
        }
        Self { scale: Scale::Linear, low: first * step, high: last * step, ticks }
    }

    fn log(low: f64, high: f64) -> Self {
        let steps: &[f64] =
            if (high / low).log10() <= DECADES_WITH_STEPS_MAX { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let first_decade = low.log10().floor() as i32;
        let last_decade = high.log10().floor() as i32 + 1;
        let candidates: Vec<f64> = (first_decade..=last_decade)
            .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)))
            .collect();
        // From the last candidate at or below the values to the first at or above.
        let begin = candidates.iter().rposition(|tick| *tick <= low * (1.0 + 1e-9)).unwrap_or(0);
        let end =
            candidates.iter().position(|tick| *tick >= high * (1.0 - 1e-9)).unwrap_or(candidates.len() - 1);
        let end = end.max(begin + 1).min(candidates.len() - 1);
        let ticks = candidates[begin..=end].to_vec();
        Self { scale: Scale::Log, low: ticks[0], high: ticks[ticks.len() - 1], ticks }
    }

    /// Position of a value, from 0 at the low end to 1 at the high end.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }
}

/// 1, 2 or 5 times a power of ten, at or above the raw step.
fn nice_step(raw: f64) -> f64 {
    let decade = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * decade >= raw * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * decade
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(axis: &Axis, values: &[f64]) -> Vec<f64> {
        axis.range(values.iter().copied()).ticks
    }

    #[test]
    fn linear_axes_begin_at_zero_and_step_evenly() {
        let axis = Axis::linear("x", "");
        assert_eq!(ticks(&axis, &[3.0, 97.0]), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(ticks(&axis, &[-3.0, 4.0]), [-4.0, -2.0, 0.0, 2.0, 4.0]);
        assert_eq!(ticks(&axis, &[0.0]).first(), Some(&0.0));
        assert_eq!(ticks(&axis, &[]).first(), Some(&0.0));
    }

    #[test]
    fn logarithmic_axes_hold_all_values_between_ticks() {
        let axis = Axis::log("x", "");
        assert_eq!(ticks(&axis, &[10.0, 1000.0]), [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(ticks(&axis, &[0.3, 0.0, -2.0, 0.4]), [0.2, 0.5]);
        assert_eq!(
            ticks(&axis, &[2.0, 150_000.0]),
            [1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0, 1_000_000.0]
        );
        assert_eq!(ticks(&axis, &[7.0]).len(), 2);
        for values in [vec![1e-9, 1e9], vec![5.0, 5.0], vec![999.9, 1000.1], vec![f64::NAN, 3.0]] {
            let range = axis.range(values.iter().copied());
            for value in values.into_iter().filter(|value| value.is_finite()) {
                assert!((-1e-6..=1.0 + 1e-6).contains(&range.place(value)), "{value} in {range:?}");
            }
        }
    }

    #[test]
    fn places_run_from_zero_to_one() {
        let linear = Axis::linear("", "").range([0.0, 100.0].into_iter());
        assert_eq!([linear.place(0.0), linear.place(50.0), linear.place(100.0)], [0.0, 0.5, 1.0]);
        let log = Axis::log("", "").range([1.0, 100.0].into_iter());
        assert!((log.place(10.0) - 0.5).abs() < 1e-9);
    }
}
