//! The combined response of the chains within a node.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::{
    description::{Node, Reduction},
    state::{Outcome, State},
};
use crate::{Response, Status};

/// The response of a node that consists of chains: once all have ended, or one of them has failed.
pub(super) fn gathered(node: &Node, runs: &[State]) -> Option<Response> {
    let mut responses = Vec::with_capacity(runs.len());
    let mut is_open = false;
    for run in runs {
        match run.outcome() {
            Some(Outcome::Failed { node, reason }) => {
                return Some(Response::failure(format!("{node}: {reason}")));
            }
            Some(Outcome::Done(response)) => responses.push(response),
            None => is_open = true,
        }
    }
    if is_open {
        return None;
    }
    Some(match (&node.each, responses.as_slice()) {
        (Some(each), responses) => {
            let mut names: BTreeSet<&String> =
                each.reduce.keys().chain(node.outputs.iter().flatten().map(|(name, _)| name)).collect();
            names.extend(responses.iter().flat_map(|response| response.data.keys()));
            let method = |name: &str| each.reduce.get(name).copied().unwrap_or(Reduction::Append);
            let reduced = names.into_iter().map(|name| Ok((name.clone(), reduced(method(name), name, responses)?)));
            match reduced.collect::<Result<Map<_, _>, String>>() {
                Ok(data) => Response::success(String::new(), data),
                Err(reason) => Response::failure(reason),
            }
        }
        // The end of a part is not the end of the whole.
        (None, [one]) => Response { status: Status::Success, ..(*one).clone() },
        (None, several) => {
            let data = several.iter().flat_map(|response| response.data.clone()).collect();
            let messages = several.iter().map(|response| response.message.as_str());
            let messages: Vec<&str> = messages.filter(|message| !message.is_empty()).collect();
            Response::success(messages.join("\n"), data)
        }
    })
}

fn reduced(method: Reduction, name: &str, responses: &[&Response]) -> Result<Value, String> {
    let values = responses.iter().map(|response| response.data.get(name).cloned().unwrap_or(Value::Null));
    if method == Reduction::Append {
        return Ok(values.collect());
    }
    let values: Vec<Value> = values.collect();
    let numbers: Option<Vec<f64>> = values.iter().map(Value::as_f64).collect();
    let numbers =
        numbers.ok_or_else(|| format!("this reduction requires numbers, but in some runs {name:?} is not a number"))?;
    let integers: Option<Vec<i64>> = values.iter().map(Value::as_i64).collect();
    let whole = |reduce: fn(&[i64]) -> Option<i64>| integers.as_deref().and_then(reduce).map(Value::from);
    let float = |number: f64| Number::from_f64(number).map_or(Value::Null, Value::Number);
    Ok(match method {
        Reduction::Sum => {
            let sum = whole(|integers| integers.iter().try_fold(0_i64, |sum, next| sum.checked_add(*next)));
            sum.unwrap_or_else(|| float(numbers.iter().sum()))
        }
        Reduction::Average if numbers.is_empty() => Value::Null,
        Reduction::Average => float(numbers.iter().sum::<f64>() / numbers.len() as f64),
        Reduction::Max => whole(|integers| integers.iter().max().copied())
            .or_else(|| numbers.iter().copied().reduce(f64::max).map(float))
            .unwrap_or_default(),
        Reduction::Min => whole(|integers| integers.iter().min().copied())
            .or_else(|| numbers.iter().copied().reduce(f64::min).map(float))
            .unwrap_or_default(),
        Reduction::Append => values.into(),
    })
}
