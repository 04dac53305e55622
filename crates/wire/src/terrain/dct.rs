//! The orthonormal 16×16 cosine transform (DCT-II and its inverse), as two matrix products.
//!
//! 8,192 multiplications a patch are not the fewest possible, but they run in vector registers. The cosines
//! are literals, so every machine computes the same bits.

/// Rows and columns of a patch.
pub(super) const SIDE: usize = 16;

/// Row-major: of samples `[y][x]`, of coefficients `[vertical frequency][horizontal frequency]`.
pub(super) type Matrix = [[f32; SIDE]; SIDE];

/// cos(k·π/32) for k = 0 … 16.
const COSINES: [f32; 17] = [
    1.0,
    0.995_184_7,
    0.980_785_25,
    0.956_940_35,
    0.923_879_5,
    0.881_921_3,
    0.831_469_6,
    0.773_010_43,
    0.707_106_77,
    0.634_393_3,
    0.555_570_24,
    0.471_396_74,
    0.382_683_43,
    0.290_284_66,
    0.195_090_32,
    0.098_017_14,
    0.0,
];

/// `[frequency][sample]`: each row is a cosine wave of length 1 as a vector.
const WAVES: Matrix = waves();

/// `[sample][frequency]`.
const WAVES_TRANSPOSED: Matrix = transposed(&WAVES);

/// Coefficients of samples.
pub(super) fn forward(samples: &Matrix) -> Matrix {
    product(&product(&WAVES, samples), &WAVES_TRANSPOSED)
}

/// Samples of coefficients.
pub(super) fn inverse(coefficients: &Matrix) -> Matrix {
    product(&product(&WAVES_TRANSPOSED, coefficients), &WAVES)
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = [[0.0; SIDE]; SIDE];
    for (row, out) in a.iter().zip(&mut out) {
        for (factor, b) in row.iter().zip(b) {
            for (sum, b) in out.iter_mut().zip(b) {
                *sum += factor * b;
            }
        }
    }
    out
}

const fn waves() -> Matrix {
    let mut matrix = [[0.0; SIDE]; SIDE];
    let mut frequency = 0;
    while frequency < SIDE {
        // √(1/16) for the constant, √(2/16) for the others: that makes the transform orthonormal.
        let length = if frequency == 0 { 0.25 } else { 0.353_553_4 };
        let mut sample = 0;
        while sample < SIDE {
            matrix[frequency][sample] = length * cosine((2 * sample + 1) * frequency);
            sample += 1;
        }
        frequency += 1;
    }
    matrix
}

/// cos(k·π/32) for any k, by the symmetries of the cosine.
const fn cosine(k: usize) -> f32 {
    let k = k % 64;
    let k = if k > 32 { 64 - k } else { k };
    if k > 16 { -COSINES[32 - k] } else { COSINES[k] }
}

const fn transposed(matrix: &Matrix) -> Matrix {
    let mut out = [[0.0; SIDE]; SIDE];
    let mut y = 0;
    while y < SIDE {
        let mut x = 0;
        while x < SIDE {
            out[x][y] = matrix[y][x];
            x += 1;
        }
        y += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    fn ramp() -> Matrix {
        std::array::from_fn(|y| std::array::from_fn(|x| x as f32 + 2.5 * y as f32))
    }

    #[test]
    fn coefficients_follow_the_definition() {
        let samples = ramp();
        for (v, row) in forward(&samples).iter().enumerate() {
            for (u, &coefficient) in row.iter().enumerate() {
                let expected = coefficient_by_definition(&samples, v, u);
                assert!((f64::from(coefficient) - expected).abs() < 1e-3, "{v} {u}");
            }
        }
    }

    fn coefficient_by_definition(samples: &Matrix, v: usize, u: usize) -> f64 {
        let wave = |n: usize, k: usize| ((2 * n + 1) as f64 * k as f64 * PI / 32.0).cos();
        let scale = |k: usize| if k == 0 { 0.5_f64.sqrt() } else { 1.0 };
        let mut sum = 0.0;
        for (y, row) in samples.iter().enumerate() {
            for (x, &sample) in row.iter().enumerate() {
                sum += f64::from(sample) * wave(x, u) * wave(y, v);
            }
        }
        sum * scale(u) * scale(v) / 8.0
    }

    #[test]
    fn inverse_returns_the_samples() {
        let samples = ramp();
        for (row, expected) in inverse(&forward(&samples)).iter().zip(&samples) {
            for (sample, expected) in row.iter().zip(expected) {
                assert!((sample - expected).abs() < 1e-4);
            }
        }
    }
}
