//! Layers of a BERT network (Devlin et al. 2018; Vaswani et al. 2017 for attention).
//!
//! Texts of different lengths are computed together without padding, since everything but attention is computed
//! separately for each token.

use std::ops::Range;

use ndarray::{Array1, Array2, ArrayViewMut1, Axis, concatenate, s};

use super::{
    failure::ModelError,
    files::{self, Config, Weights},
};

/// Scales each token to mean 0 and variance 1, and then as was learnt.
pub(super) struct Norm {
    scale: Array1<f32>,
    shift: Array1<f32>,
    epsilon: f32,
}

impl Norm {
    pub fn read(weights: &Weights, name: &str, epsilon: f32) -> Result<Norm, ModelError> {
        let scale = weights.vector_of(&format!("{name}.weight"))?;
        let shift = weights.vector(&format!("{name}.bias"), scale.len())?;
        Ok(Norm { scale, shift, epsilon })
    }

    pub fn apply(&self, hidden: &mut Array2<f32>) {
        hidden.axis_iter_mut(Axis(0)).for_each(|token| self.apply_to(token));
    }

    fn apply_to(&self, mut token: ArrayViewMut1<'_, f32>) {
        let count = token.len() as f32;
        let mean = token.sum() / count;
        token -= mean;
        let deviation = (token.dot(&token) / count + self.epsilon).sqrt();
        token /= deviation;
        token *= &self.scale;
        token += &self.shift;
    }
}

/// A product with a matrix, and a sum.
struct Linear {
    weight: Array2<f32>,
    bias: Array1<f32>,
}

impl Linear {
    fn read(weights: &Weights, name: &str, inputs: usize) -> Result<Linear, ModelError> {
        let weight = weights.matrix(&format!("{name}.weight"), inputs)?;
        let bias = weights.vector(&format!("{name}.bias"), weight.nrows())?;
        Ok(Linear { weight, bias })
    }

    fn apply(&self, hidden: &Array2<f32>) -> Array2<f32> {
        let mut output = hidden.dot(&self.weight.t());
        output += &self.bias;
        output
    }
}

/// A layer: attention, followed by two products for each token, both with residual connections.
pub(super) struct Layer {
    /// Queries, keys and values side by side.
    query_key_value: Linear,
    attended: Linear,
    attended_norm: Norm,
    inner: Linear,
    outer: Linear,
    norm: Norm,
    heads: usize,
}

impl Layer {
    pub fn read(weights: &Weights, config: &Config, number: usize) -> Result<Layer, ModelError> {
        let hidden = config.hidden_size;
        let linear = |name: &str, inputs| Linear::read(weights, &format!("encoder.layer.{number}.{name}"), inputs);
        let norm = |name: &str| {
            Norm::read(weights, &format!("encoder.layer.{number}.{name}.LayerNorm"), config.layer_norm_eps)
        };
        let (query, key, value) = (
            linear("attention.self.query", hidden)?,
            linear("attention.self.key", hidden)?,
            linear("attention.self.value", hidden)?,
        );
        let unlike = || ModelError::new(files::WEIGHTS, format!("layer {number}: sizes don't match"));
        let layer = Layer {
            query_key_value: Linear {
                weight: concatenate(Axis(0), &[query.weight.view(), key.weight.view(), value.weight.view()])
                    .map_err(|_| unlike())?,
                bias: concatenate(Axis(0), &[query.bias.view(), key.bias.view(), value.bias.view()])
                    .map_err(|_| unlike())?,
            },
            attended: linear("attention.output.dense", hidden)?,
            attended_norm: norm("attention.output")?,
            inner: linear("intermediate.dense", hidden)?,
            outer: linear("output.dense", config.intermediate_size)?,
            norm: norm("output")?,
            heads: config.num_attention_heads,
        };
        let sizes = [query.bias.len(), key.bias.len(), value.bias.len(), layer.attended.bias.len()];
        let is_square =
            sizes.iter().chain([&layer.outer.bias.len(), &layer.norm.scale.len()]).all(|&size| size == hidden);
        let is_inner = layer.inner.bias.len() == config.intermediate_size && layer.attended_norm.scale.len() == hidden;
        if is_square && is_inner { Ok(layer) } else { Err(unlike()) }
    }

    pub fn apply(&self, hidden: &mut Array2<f32>, texts: &[Range<usize>]) {
        let attended = self.attended.apply(&self.attend(hidden, texts));
        *hidden += &attended;
        self.attended_norm.apply(hidden);
        let mut inner = self.inner.apply(hidden);
        inner.mapv_inplace(gelu);
        *hidden += &self.outer.apply(&inner);
        self.norm.apply(hidden);
    }

    /// Computes the self-attention of each token over the tokens of its text.
    fn attend(&self, hidden: &Array2<f32>, texts: &[Range<usize>]) -> Array2<f32> {
        let projected = self.query_key_value.apply(hidden);
        let (size, mut context) = (hidden.ncols(), Array2::zeros(hidden.raw_dim()));
        let width = size / self.heads;
        let scale = 1.0 / (width as f32).sqrt();
        for text in texts {
            for head in 0..self.heads {
                let columns = |part: usize| part * size + head * width..part * size + (head + 1) * width;
                let part = |number: usize| projected.slice(s![text.clone(), columns(number)]);
                let mut weights = part(0).dot(&part(1).t());
                weights *= scale;
                weights.axis_iter_mut(Axis(0)).for_each(softmax);
                context.slice_mut(s![text.clone(), columns(0)]).assign(&weights.dot(&part(2)));
            }
        }
        context
    }
}

fn softmax(mut row: ArrayViewMut1<'_, f32>) {
    let largest = row.fold(f32::MIN, |largest, &value| largest.max(value));
    row.mapv_inplace(|value| (value - largest).exp());
    let sum = row.sum();
    row /= sum;
}

/// The Gaussian error linear unit: x · Φ(x).
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + error_function(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// Abramowitz and Stegun, 7.1.26: off by at most 1.5e-7.
fn error_function(x: f32) -> f32 {
    const COEFFICIENTS: [f32; 5] = [1.061_405_4, -1.453_152_1, 1.421_413_8, -0.284_496_74, 0.254_829_6];
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let polynomial = COEFFICIENTS.iter().fold(0.0, |sum, coefficient| (sum + coefficient) * t);
    (1.0 - polynomial * (-x * x).exp()).copysign(x)
}
