//! Vectors in 8-bit integers, and how alike they are.

/// A vector of length one in 8-bit integers: each value is to be multiplied with `scale`.
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

    /// How alike two vectors are, from -1 to 1.
    pub fn cosine(&self, other: &Quantized) -> f32 {
        product(&self.values, &wide(&other.values)) as f32 * self.scale * other.scale
    }
}

/// The vector scaled to length one; none where it has no length.
pub(super) fn unit(vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    (length > f32::EPSILON).then(|| vector.into_iter().map(|value| value / length).collect())
}

/// The sum of the products. One loop over all of it, from which the compiler makes vector instructions that add up
/// beside each other, as long as one side is 16 bits wide already.
pub(super) fn product(one: &[i8], other: &[i16]) -> i32 {
    one.iter().zip(other).map(|(one, other)| i32::from(*one) * i32::from(*other)).sum()
}

/// The values in 16 bits, for [`product`].
pub(super) fn wide(values: &[i8]) -> Vec<i16> {
    values.iter().map(|value| i16::from(*value)).collect()
}
