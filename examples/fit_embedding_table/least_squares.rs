//! Ridge regression by conjugate gradients, with the diagonal as preconditioner, each dimension for itself.

use std::thread;

/// Number of dimensions of a vector.
pub const DIMENSIONS: usize = 256;
/// Dimensions that are solved together: few enough for the processor's cache.
const TOGETHER: usize = 32;
const ITERATIONS: usize = 25;

/// Target of each row: the sum of weighted vectors comes near it.
#[derive(Default)]
pub struct Rows {
    /// End of the members of each row.
    ends: Vec<u32>,
    /// Numbers of vectors and their weights.
    members: Vec<(u32, f32)>,
    /// [`DIMENSIONS`] values a row.
    targets: Vec<f32>,
}

impl Rows {
    pub fn push(&mut self, members: &[(u32, f32)], target: &[f32]) {
        self.members.extend(members);
        self.ends.push(self.members.len() as u32);
        self.targets.extend(target);
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    fn iter(&self) -> impl Iterator<Item = &[(u32, f32)]> {
        let starts = [0].iter().chain(&self.ends);
        starts.zip(&self.ends).map(|(start, end)| &self.members[*start as usize..*end as usize])
    }

    /// The vectors for which the sums are nearest to their targets: the sum of squares of what is missing, and `ridge` times
    /// that of the vectors, is least. Two threads share the dimensions, which don't depend on each other.
    pub fn solve(&self, count: usize, ridge: f32) -> Vec<[f32; DIMENSIONS]> {
        let mut vectors = vec![[0.0; DIMENSIONS]; count];
        let starts: Vec<usize> = (0..DIMENSIONS).step_by(TOGETHER).collect();
        for starts in starts.chunks(2) {
            let solve = |start: &usize| (*start, self.solve_some(count, ridge, *start));
            let solved = thread::scope(|scope| {
                let threads: Vec<_> = starts.iter().map(|start| scope.spawn(move || solve(start))).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
            });
            for (start, solved) in solved {
                for (vector, some) in vectors.iter_mut().zip(solved) {
                    vector[start..start + TOGETHER].copy_from_slice(&some);
                }
            }
            eprintln!("{} of {DIMENSIONS} dimensions", starts.last().map_or(0, |start| start + TOGETHER));
        }
        vectors
    }

    fn solve_some(&self, count: usize, ridge: f32, start: usize) -> Vec<[f32; TOGETHER]> {
        let zero = || vec![[0.0_f32; TOGETHER]; count];
        let (mut vectors, mut residual, mut diagonal) = (zero(), zero(), vec![ridge; count]);
        for (row, target) in self.iter().zip(self.targets.chunks(DIMENSIONS)) {
            spread(row, &target[start..start + TOGETHER], &mut residual);
            row.iter().for_each(|(number, weight)| diagonal[*number as usize] += weight * weight);
        }
        let mut conditioned = zero();
        condition(&residual, &diagonal, &mut conditioned);
        let mut direction = conditioned.clone();
        let mut length = products(&residual, &conditioned);
        for _ in 0..ITERATIONS {
            let mut image = zero();
            for row in self.iter() {
                let mut sum = [0.0_f32; TOGETHER];
                for (number, weight) in row {
                    let vector = &direction[*number as usize];
                    sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += weight * value);
                }
                spread(row, &sum, &mut image);
            }
            for (image, direction) in image.iter_mut().zip(&direction) {
                image.iter_mut().zip(direction).for_each(|(image, direction)| *image += ridge * direction);
            }
            let curvature = products(&direction, &image);
            let step: [f32; TOGETHER] = std::array::from_fn(|at| (length[at] / curvature[at].max(1e-20)) as f32);
            add(&mut vectors, &direction, &step, 1.0);
            add(&mut residual, &image, &step, -1.0);
            condition(&residual, &diagonal, &mut conditioned);
            let next = products(&residual, &conditioned);
            let share: [f32; TOGETHER] = std::array::from_fn(|at| (next[at] / length[at].max(1e-20)) as f32);
            for (direction, conditioned) in direction.iter_mut().zip(&conditioned) {
                for at in 0..TOGETHER {
                    direction[at] = conditioned[at] + share[at] * direction[at];
                }
            }
            length = next;
        }
        vectors
    }
}

fn spread(row: &[(u32, f32)], from: &[f32], to: &mut [[f32; TOGETHER]]) {
    for (number, weight) in row {
        to[*number as usize].iter_mut().zip(from).for_each(|(sum, value)| *sum += weight * value);
    }
}

fn condition(residual: &[[f32; TOGETHER]], diagonal: &[f32], conditioned: &mut [[f32; TOGETHER]]) {
    for ((conditioned, residual), diagonal) in conditioned.iter_mut().zip(residual).zip(diagonal) {
        conditioned.iter_mut().zip(residual).for_each(|(to, value)| *to = value / diagonal);
    }
}

/// The product of each dimension with the same of the other.
fn products(one: &[[f32; TOGETHER]], other: &[[f32; TOGETHER]]) -> [f64; TOGETHER] {
    let mut products = [0.0; TOGETHER];
    for (one, other) in one.iter().zip(other) {
        for at in 0..TOGETHER {
            products[at] += f64::from(one[at] * other[at]);
        }
    }
    products
}

fn add(to: &mut [[f32; TOGETHER]], what: &[[f32; TOGETHER]], step: &[f32; TOGETHER], sign: f32) {
    for (to, what) in to.iter_mut().zip(what) {
        for at in 0..TOGETHER {
            to[at] += sign * step[at] * what[at];
        }
    }
}
