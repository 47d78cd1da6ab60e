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
        product(&self.values, &other.values) as f32 * self.scale * other.scale
    }
}

/// The vector scaled to length one; none where it has no length.
pub(super) fn unit(vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    (length > f32::EPSILON).then(|| vector.into_iter().map(|value| value / length).collect())
}

/// The sum of the products. Written so that the compiler uses the processor's vector instructions: sums of a few
/// products fit into 32 bits, and blocks have a fixed length.
pub(super) fn product(one: &[i8], other: &[i8]) -> i32 {
    const BLOCK: usize = 32;
    let (ones, rest) = one.as_chunks::<BLOCK>();
    let (others, other_rest) = other.as_chunks::<BLOCK>();
    let blocks = ones.iter().zip(others).map(|(one, other)| {
        one.iter().zip(other).map(|(one, other)| i32::from(i16::from(*one) * i16::from(*other))).sum::<i32>()
    });
    let rest = rest.iter().zip(other_rest).map(|(one, other)| i32::from(*one) * i32::from(*other));
    blocks.sum::<i32>() + rest.sum::<i32>()
}
