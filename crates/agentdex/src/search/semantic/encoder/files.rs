//! Files of an encoder: configuration and weights.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ndarray::{Array1, Array2};
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, de::DeserializeOwned};

use super::failure::ModelError;

/// The file with the weights.
pub(super) const WEIGHTS: &str = "model.safetensors";
const CONFIG: &str = "config.json";
const POOLING: &str = "1_Pooling/config.json";

/// The shape of the network.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    model_type: String,
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_attention_heads: usize,
    pub num_hidden_layers: usize,
    pub layer_norm_eps: f32,
}

fn absolute() -> String {
    "absolute".to_owned()
}

impl Config {
    pub fn read(directory: &Path) -> Result<Config, ModelError> {
        let config: Config = required(directory, CONFIG)?;
        let expected = [
            ("model_type", &config.model_type, "bert"),
            ("hidden_act", &config.hidden_act, "gelu"),
            ("position_embedding_type", &config.position_embedding_type, "absolute"),
        ];
        for (member, found, expected) in expected {
            if found != expected {
                let problem = format!("`{member}` is {found:?}; only {expected:?} is supported");
                return Err(ModelError::new(CONFIG, problem));
            }
        }
        if config.num_attention_heads == 0 || !config.hidden_size.is_multiple_of(config.num_attention_heads) {
            let problem = "`hidden_size` is not a multiple of `num_attention_heads`";
            return Err(ModelError::new(CONFIG, problem));
        }
        Ok(config)
    }
}

/// True if the vector of a text is that of its first token rather than the mean of all.
pub(super) fn takes_first_token(directory: &Path) -> Result<bool, ModelError> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Pooling {
        pooling_mode_cls_token: bool,
        pooling_mode_mean_tokens: bool,
    }
    match optional::<Pooling>(directory, POOLING)? {
        None => Ok(false),
        Some(Pooling { pooling_mode_cls_token: true, pooling_mode_mean_tokens: false }) => Ok(true),
        Some(Pooling { pooling_mode_cls_token: false, pooling_mode_mean_tokens: true }) => Ok(false),
        Some(_) => Err(ModelError::new(
            POOLING,
            "the only supported pooling methods are the mean of all tokens and the first token",
        )),
    }
}

/// Reads a required JSON file.
fn required<T: DeserializeOwned>(directory: &Path, name: &str) -> Result<T, ModelError> {
    optional(directory, name)?.ok_or_else(|| ModelError::new(name, "the file is missing"))
}

/// Reads an optional JSON file.
pub(super) fn optional<T: DeserializeOwned>(directory: &Path, name: &str) -> Result<Option<T>, ModelError> {
    let Some(bytes) = read(&directory.join(name)).map_err(|error| ModelError::new(name, error))? else {
        return Ok(None);
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| ModelError::new(name, error))
}

/// Reads the bytes of a file, or returns `None` if the file doesn't exist.
pub(super) fn read(path: &PathBuf) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The weights of a network by name.
pub(super) struct Weights {
    bytes: Vec<u8>,
    /// Prefix of all names.
    prefix: &'static str,
}

impl Weights {
    pub fn read(directory: &Path) -> Result<Weights, ModelError> {
        let bytes = read(&directory.join(WEIGHTS)).map_err(|error| ModelError::new(WEIGHTS, error))?;
        let bytes = bytes.ok_or_else(|| ModelError::new(WEIGHTS, "the file is missing"))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| ModelError::new(WEIGHTS, error))?;
        let is_prefixed = tensors.tensor("bert.embeddings.word_embeddings.weight").is_ok();
        Ok(Weights { bytes, prefix: if is_prefixed { "bert." } else { "" } })
    }

    /// Returns a hash of the file's content.
    pub fn hash(&self) -> u64 {
        self.bytes.chunks(8).fold(self.bytes.len() as u64, |hash, chunk| {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            (hash.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95)
        })
    }

    /// Returns a vector without checking its length.
    pub fn vector_of(&self, name: &str) -> Result<Array1<f32>, ModelError> {
        Ok(Array1::from_vec(self.tensor(name)?.1))
    }

    /// Returns a vector with the given length.
    pub fn vector(&self, name: &str, length: usize) -> Result<Array1<f32>, ModelError> {
        let (shape, values) = self.tensor(name)?;
        if shape != [length] {
            return Err(ModelError::new(WEIGHTS, format!("{name} has the shape {shape:?}, not [{length}]")));
        }
        Ok(Array1::from_vec(values))
    }

    /// Returns a matrix with the given number of columns.
    pub fn matrix(&self, name: &str, columns: usize) -> Result<Array2<f32>, ModelError> {
        let (shape, values) = self.tensor(name)?;
        let unexpected = || ModelError::new(WEIGHTS, format!("{name} has the shape {shape:?}, not [_, {columns}]"));
        match *shape {
            [rows, found] if found == columns && rows > 0 => {
                Array2::from_shape_vec((rows, columns), values).map_err(|_| unexpected())
            }
            _ => Err(unexpected()),
        }
    }

    fn tensor(&self, name: &str) -> Result<(Vec<usize>, Vec<f32>), ModelError> {
        let tensors = SafeTensors::deserialize(&self.bytes).map_err(|error| ModelError::new(WEIGHTS, error))?;
        let tensor = tensors
            .tensor(&format!("{}{name}", self.prefix))
            .map_err(|error| ModelError::new(WEIGHTS, format!("{name}: {error}")))?;
        if tensor.dtype() != Dtype::F32 {
            let problem = format!("{name} is stored as {:?}; only F32 is supported", tensor.dtype());
            return Err(ModelError::new(WEIGHTS, problem));
        }
        let values = tensor.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        Ok((tensor.shape().to_vec(), values))
    }
}
