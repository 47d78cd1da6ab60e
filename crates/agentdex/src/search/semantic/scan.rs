//! Vectors of 8-bit integers, and their similarity.

use simsimd::SpatialSimilarity;

/// A vector of length one in 8-bit integers. Each value is to be multiplied by `scale`.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::search) struct Quantized {
    pub values: Vec<i8>,
    pub scale: f32,
}

impl Quantized {
    pub fn new(vector: &[f32]) -> Quantized {
        let largest = vector.iter().fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        let scale = largest / f32::from(i8::MAX);
        // Rounded without `f32::round`, which is a call for each value where the processor's newer instructions may
        // not be used.
        let rounded = vector.iter().map(|value| value / scale).map(|value| (value + 0.5_f32.copysign(value)) as i8);
        Quantized { values: rounded.collect(), scale }
    }

    /// Computes the cosine of two vectors of length one, from -1 to 1.
    pub fn cosine(&self, other: &Quantized) -> f32 {
        product(&self.values, &other.values) as f32 * self.scale * other.scale
    }
}

/// Scales the vector to length one. Returns `None` for a zero vector.
pub(super) fn unit(vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    (length > f32::EPSILON).then(|| vector.into_iter().map(|value| value / length).collect())
}

/// The sum of the products, by the newest vector instructions that the processor has: rustc's own code for all processors
/// takes four times as long.
pub(super) fn product(one: &[i8], other: &[i8]) -> i32 {
    // Of integers, and exact: 65,536 products fit into an i32.
    i8::dot(one, other).map_or(0, |sum| sum as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_exact_at_any_length() {
        for length in [0, 1, 7, 31, 64, 255, 256, 384, 1024] {
            let one: Vec<i8> = (0..length).map(|index| (index * 37 % 255 - 127) as i8).collect();
            let other: Vec<i8> = (0..length).map(|index| (index * 91 % 255 - 127) as i8).collect();
            let sum = one.iter().zip(&other).map(|(one, other)| i32::from(*one) * i32::from(*other)).sum::<i32>();
            assert_eq!(product(&one, &other), sum, "{length}");
        }
        let lowest = [i8::MIN; 1024];
        assert_eq!(product(&lowest, &lowest), 1024 * 128 * 128);
        assert_eq!(product(&lowest, &[i8::MAX; 1024]), -1024 * 128 * 127);
    }
}
