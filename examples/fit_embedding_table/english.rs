//! Fits the words of English to the vectors of a sentence encoder, the teacher.
//!
//! Texts are the first line and the first two sentences of the descriptions of Debian's packages, and, since these say
//! little of everyday things, the definitions and examples of WordNet, which is one of the packages. The vocabulary is
//! the words that are most frequent in them. Fitted to are the vectors that the teacher gives to 60,000 of the former,
//! 30,000 of the latter, and beginnings of both in 8,000 requests such as "Can you help me find …?".
//!
//! The vector of a text is the sum of those of its words, over the square root of their number. A word starts with what
//! the teacher says of it alone, less the mean of all words, and the less the more frequent it is; words beyond the
//! vocabulary share the vectors of buckets of n-grams, which start with the mean of the words that have them and are of
//! no use afterwards. Ridge regression finds what is to be added to that, by conjugate gradients. The 384 dimensions of the
//! teacher are reduced to the 256 principal ones of the texts.
//!
//! A file given as CACHE keeps the vectors of the teacher for the next fit to the same texts.
//!
//! The output has the numbers of dimensions, words and buckets, where each word ends, the words ascending, the scales of the
//! vectors in 32-bit floats, and the vectors in 8-bit integers, after [`MAGIC`].

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::Path,
};

use agentdex::search::semantic::{encoder::Encoder, table};

use crate::{least_squares::DIMENSIONS, outcome::Outcome};

/// The bytes that the file begins with.
pub const MAGIC: [u8; 8] = *b"ADXTAB01";

/// Texts of package descriptions that the teacher reads.
const DESCRIPTIONS: usize = 60_000;
/// Definitions and examples that it reads.
const GLOSSES: usize = 30_000;
/// Texts of which it reads the beginning in a request, too.
const REQUESTS: usize = 8_000;
/// Words that the table has.
const WORDS: usize = 13_200;
/// Words whose n-grams the buckets start with.
const GRAM_WORDS: usize = 20_000;
const BUCKETS: usize = 1_500;
/// The lengths of the n-grams of a word that has no vector of its own.
const GRAM_LENGTHS: [usize; 3] = [3, 4, 5];
/// Strength that keeps vectors where they start.
const RIDGE: f32 = 5.0;
/// A word with this share of all words starts with half the length of a rare one.
const FREQUENT: f64 = 0.0001;
/// Share of the mean of all texts that is left out: Debian's are about software, requests are not.
const MEAN_LEFT_OUT: f32 = 0.5;
const ITERATIONS: usize = 15;

/// Wordings of requests.
const REQUEST_FORMS: &str = include_str!("requests.txt");

/// The parts that the vector of a text is made of.
enum Part {
    /// A word by its number.
    Word(usize),
    /// The buckets of a word beyond the vocabulary: it counts as the mean of their vectors.
    Unknown(Vec<usize>),
}

/// Fits the words to the teacher, whose cache is the last argument.
pub fn fit_to_teacher(teacher: &str, descriptions: &str, glosses: &str, output: &str, cache: Option<&str>) -> Outcome {
    let descriptions = shuffled(texts(&fs::read_to_string(descriptions)?));
    let glosses = shuffled(definitions(&fs::read_to_string(glosses)?));
    let words = frequent_words(&[descriptions.as_slice(), &glosses].concat());
    let vocabulary: BTreeMap<&str, usize> =
        words.iter().take(WORDS).map(|word| word.stem.as_str()).collect::<BTreeSet<_>>().into_iter().zip(0..).collect();
    let learnt = learnt_texts(&descriptions, &glosses);
    let (descriptions, glosses) = (descriptions.len(), glosses.len());
    eprintln!("{descriptions} descriptions, {glosses} glosses, {} words, {} texts to learn", words.len(), learnt.len());

    let surfaces = words.iter().map(|word| word.surface.clone());
    let taught = taught(teacher, &surfaces.chain(learnt.iter().cloned()).collect::<Vec<_>>(), cache)?;
    let (alone, targets) = taught.split_at(words.len());
    let axes = principal_axes(targets);
    let (targets, alone) = (projected(targets, &axes), projected(alone, &axes));

    let targets = centred(targets);
    let rows: Vec<Row> = learnt.iter().map(|text| row(text, &vocabulary)).collect();
    let mut vectors = beginning(&words, &vocabulary, &alone);
    adapt_length(&rows, &targets, &mut vectors);
    fit(&rows, &targets, &mut vectors);
    fs::write(output, file(&vocabulary, &vectors))?;
    Ok(())
}

/// The first line of each description, and the first two sentences of its first paragraph, if they are short.
pub fn texts(descriptions: &str) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    let mut lines = descriptions.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("Description-en: ").map(str::trim) else { continue };
        if first.len() >= 10 {
            texts.insert(first.to_owned());
        }
        let mut paragraph = String::new();
        let is_prose = |line: &&str| {
            line.strip_prefix(' ').is_some_and(|rest| !rest.is_empty() && rest != "." && !rest.starts_with(' '))
        };
        while let Some(line) = lines.next_if(is_prose) {
            paragraph.push(' ');
            paragraph.push_str(line.trim());
        }
        let sentences = paragraph.split(". ").map(str::trim).take(2);
        texts.extend(sentences.filter(|sentence| (20..=200).contains(&sentence.len())).map(str::to_owned));
    }
    texts
}

/// Of WordNet's files: each word with its definition, and each example of its use. Species are left out.
pub fn definitions(data: &str) -> BTreeSet<String> {
    const SPECIES: [&str; 2] = ["05", "20"];
    let mut found = BTreeSet::new();
    for (entry, text) in data.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split_once(" | ")) {
        let mut members = entry.split(' ').skip(1);
        let (Some(kind), Some(word)) = (members.next(), members.nth(2)) else { continue };
        if SPECIES.contains(&kind) {
            continue;
        }
        let word = word.split('(').next().unwrap_or_default().replace('_', " ");
        let mut parts = text.split('"');
        let definition = parts.next().and_then(|part| part.split(';').next()).map_or("", str::trim);
        if !definition.is_empty() {
            found.insert(format!("{word}: {definition}"));
        }
        let examples = parts.step_by(2).map(str::trim).filter(|example| example.len() >= 15);
        found.extend(examples.map(str::to_owned));
    }
    found.into_iter().filter(|text| text.len() <= 200).collect()
}

/// In an order that has nothing to do with what they say.
fn shuffled(texts: BTreeSet<String>) -> Vec<String> {
    let mut shuffled: Vec<(u64, String)> = texts.into_iter().map(|text| (hash(&text), text)).collect();
    shuffled.sort_unstable();
    shuffled.into_iter().map(|(_, text)| text).collect()
}

/// FNV-1a.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// FNV-1a, its bits mixed once more.
fn hash(text: &str) -> u64 {
    let hash = fnv(text);
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Calls with the parts of a text, given what finds the number of a word.
fn for_each_part(text: &str, find: impl Fn(&str) -> Option<usize>, mut each: impl FnMut(Part)) {
    for_each_word(text, |word, is_whole| match find(word) {
        Some(word) => each(Part::Word(word)),
        // The parts of a name stand for it as well.
        None if is_whole => {}
        None => {
            let grams = grams(word);
            if !grams.is_empty() {
                each(Part::Unknown(grams));
            }
        }
    });
}

/// Calls with each word, stemmed, and whether it is a name that was also taken apart. Ideographs are words one by one.
fn for_each_word(text: &str, mut each: impl FnMut(&str, bool)) {
    table::for_each_word(text, |stem, written, is_whole| {
        let is_run = !is_whole && written.starts_with(|first: char| first >= '\u{3040}') && stem == written;
        if is_run {
            written.chars().for_each(|character| each(character.encode_utf8(&mut [0; 4]), false));
        } else {
            each(stem, is_whole);
        }
    });
}

/// The buckets of the n-grams of a word; none for words without letters.
fn grams(word: &str) -> Vec<usize> {
    if !word.contains(char::is_alphabetic) {
        return Vec::new();
    }
    let letters: Vec<char> = ['^'].into_iter().chain(word.chars()).chain(['$']).collect();
    let windows = GRAM_LENGTHS.into_iter().flat_map(|length| letters.windows(length));
    windows.map(|gram| (fnv(&gram.iter().collect::<String>()) % BUCKETS as u64) as usize).collect()
}

struct Word {
    stem: String,
    /// As it is written most often.
    surface: String,
    count: u64,
}

/// The most frequent words, those first.
fn frequent_words(texts: &[String]) -> Vec<Word> {
    let mut written: HashMap<String, u64> = HashMap::new();
    for text in texts {
        for part in text.split(|character: char| !character.is_ascii_alphabetic()).filter(|part| !part.is_empty()) {
            *written.entry(part.to_ascii_lowercase()).or_default() += 1;
        }
    }
    let mut surfaces: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for (surface, count) in written.into_iter().collect::<BTreeMap<_, _>>() {
        let mut stems = Vec::new();
        for_each_word(&surface, |stem, _| stems.push(stem.to_owned()));
        let [stem] = stems.as_slice() else { continue };
        let most = surfaces.entry(stem.clone()).or_default();
        if count > most.0 {
            *most = (count, surface);
        }
    }
    let mut counts: HashMap<String, u64> = HashMap::new();
    for text in texts {
        for_each_word(text, |stem, is_whole| {
            if !is_whole {
                *counts.entry(stem.to_owned()).or_default() += 1;
            }
        });
    }
    let with_count = |(stem, (_, surface)): (String, (u64, String))| {
        let count = counts.get(&stem).copied().unwrap_or_default();
        Word { stem, surface, count }
    };
    let mut words: Vec<Word> = surfaces.into_iter().map(with_count).collect();
    words.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.stem.cmp(&other.stem)));
    words.truncate(GRAM_WORDS);
    words
}

/// Inputs of the teacher: texts, and requests for what they begin with.
fn learnt_texts(descriptions: &[String], glosses: &[String]) -> Vec<String> {
    let mut learnt: Vec<String> =
        descriptions.iter().take(DESCRIPTIONS).chain(glosses.iter().take(GLOSSES)).cloned().collect();
    let alternating = descriptions.iter().zip(glosses).flat_map(|(one, other)| [one, other]);
    for (text, form) in alternating.take(REQUESTS).zip(REQUEST_FORMS.lines().cycle()) {
        let beginning = text.split_whitespace().take(8).collect::<Vec<_>>().join(" ");
        learnt.push(form.replace("{}", beginning.trim_end_matches(['.', ',', ':', ';'])));
    }
    learnt
}

/// Vectors of the teacher, those of earlier runs included.
fn taught(teacher: &str, texts: &[String], cache: Option<&str>) -> Outcome<Vec<Vec<f32>>> {
    let teacher = Encoder::open(Path::new(teacher))?;
    let size = teacher.dimensions();
    if let Some(bytes) = cache.and_then(|cache| fs::read(cache).ok()).filter(|it| it.len() == 4 * size * texts.len()) {
        let values: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
        return Ok(values.chunks(size).map(<[f32]>::to_vec).collect());
    }
    let mut vectors = Vec::with_capacity(texts.len());
    for chunk in texts.chunks(16) {
        vectors.extend(teacher.embed_all(&chunk.iter().map(String::as_str).collect::<Vec<_>>()));
        if vectors.len() % 4096 == 0 {
            eprintln!("the teacher has read {} of {}", vectors.len(), texts.len());
        }
    }
    if let Some(cache) = cache {
        fs::write(cache, vectors.iter().flatten().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())?;
    }
    Ok(vectors)
}

/// The directions in which vectors differ most from zero: eigenvectors of the sum of their squares, by the method of
/// Jacobi.
fn principal_axes(vectors: &[Vec<f32>]) -> Vec<Vec<f64>> {
    let size = vectors.first().map_or(0, Vec::len);
    let mut matrix = vec![vec![0.0_f64; size]; size];
    for vector in vectors {
        for (row, &one) in matrix.iter_mut().zip(vector) {
            row.iter_mut().zip(vector).for_each(|(sum, &other)| *sum += f64::from(one) * f64::from(other));
        }
    }
    let mut axes: Vec<Vec<f64>> =
        (0..size).map(|at| (0..size).map(|other| if at == other { 1.0 } else { 0.0 }).collect()).collect();
    for _ in 0..12 {
        for one in 0..size {
            for other in one + 1..size {
                rotate(&mut matrix, &mut axes, one, other);
            }
        }
    }
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&one, &other| matrix[other][other].total_cmp(&matrix[one][one]));
    order.into_iter().take(DIMENSIONS).map(|at| axes[at].clone()).collect()
}

/// Makes one element off the diagonal zero. `axes` are rows.
fn rotate(matrix: &mut [Vec<f64>], axes: &mut [Vec<f64>], one: usize, other: usize) {
    let off = matrix[one][other];
    if off == 0.0 {
        return;
    }
    let theta = (matrix[other][other] - matrix[one][one]) / (2.0 * off);
    let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    for row in matrix.iter_mut() {
        let (x, y) = (row[one], row[other]);
        (row[one], row[other]) = (cosine * x - sine * y, sine * x + cosine * y);
    }
    for rows in [matrix, axes] {
        for column in 0..rows[one].len() {
            let (x, y) = (rows[one][column], rows[other][column]);
            (rows[one][column], rows[other][column]) = (cosine * x - sine * y, sine * x + cosine * y);
        }
    }
}

fn projected(vectors: &[Vec<f32>], axes: &[Vec<f64>]) -> Vec<Vec<f32>> {
    let product = |vector: &[f32], axis: &[f64]| {
        vector.iter().zip(axis).map(|(one, other)| f64::from(*one) * other).sum::<f64>() as f32
    };
    vectors.iter().map(|vector| axes.iter().map(|axis| product(vector, axis)).collect()).collect()
}

/// Without half of their mean.
fn centred(mut vectors: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
    let count = vectors.len() as f64;
    let mean_at = |at: usize| (vectors.iter().map(|vector| f64::from(vector[at])).sum::<f64>() / count) as f32;
    let mean: Vec<f32> = (0..DIMENSIONS).map(mean_at).collect();
    for vector in &mut vectors {
        vector.iter_mut().zip(&mean).for_each(|(value, mean)| *value -= MEAN_LEFT_OUT * mean);
    }
    vectors
}

/// Terms of the sum that is the vector of a text: numbers of vectors, each with its weight.
type Row = Vec<(usize, f32)>;

fn row(text: &str, vocabulary: &BTreeMap<&str, usize>) -> Row {
    let (mut row, mut count): (Row, f32) = (Vec::new(), 0.0);
    for_each_part(
        text,
        |word| vocabulary.get(word).copied(),
        |part| {
            count += 1.0;
            match part {
                Part::Word(word) => row.push((word, 1.0)),
                Part::Unknown(buckets) => {
                    let share = 1.0 / buckets.len() as f32;
                    row.extend(buckets.into_iter().map(|bucket| (vocabulary.len() + bucket, share)));
                }
            }
        },
    );
    row.iter_mut().for_each(|(_, weight)| *weight /= count.sqrt());
    row
}

/// Initial vectors of words and buckets.
fn beginning(words: &[Word], vocabulary: &BTreeMap<&str, usize>, alone: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let known = words.len().min(WORDS);
    let mean: Vec<f32> = (0..DIMENSIONS)
        .map(|at| alone.iter().take(known).map(|vector| f64::from(vector[at])).sum::<f64>() / known as f64)
        .map(|mean| mean as f32)
        .collect();
    let total: u64 = words.iter().take(known).map(|word| word.count).sum();
    let mut vectors = vec![vec![0.0; DIMENSIONS]; vocabulary.len() + BUCKETS];
    let mut shares = vec![0.0; BUCKETS];
    for (word, alone) in words.iter().zip(alone) {
        let differing: Vec<f32> = alone.iter().zip(&mean).map(|(value, mean)| value - mean).collect();
        if let Some(&number) = vocabulary.get(word.stem.as_str()) {
            let length = differing.iter().map(|value| value * value).sum::<f32>().sqrt();
            let weight = FREQUENT / (FREQUENT + word.count as f64 / total as f64);
            vectors[number] = differing.iter().map(|value| value / length * weight as f32).collect();
        }
        for_each_part(
            &word.surface,
            |_| None,
            |part| {
                let Part::Unknown(buckets) = part else { return };
                let share = 1.0 / buckets.len() as f32;
                for bucket in buckets {
                    shares[bucket] += share;
                    let vector = vectors[vocabulary.len() + bucket].iter_mut();
                    vector.zip(&differing).for_each(|(sum, value)| *sum += share * value);
                }
            },
        );
    }
    for (vector, share) in vectors.iter_mut().skip(vocabulary.len()).zip(shares) {
        vector.iter_mut().for_each(|value| *value /= share.max(1e-6));
    }
    vectors
}

fn sum(row: &Row, vectors: &[Vec<f32>]) -> Vec<f32> {
    let mut sum = vec![0.0; DIMENSIONS];
    for &(number, weight) in row {
        sum.iter_mut().zip(&vectors[number]).for_each(|(sum, value)| *sum += weight * value);
    }
    sum
}

/// Multiplies all vectors by the number that brings the sums nearest to the targets.
fn adapt_length(rows: &[Row], targets: &[Vec<f32>], vectors: &mut [Vec<f32>]) {
    let (mut with_target, mut with_itself) = (0.0, 0.0);
    for (row, target) in rows.iter().zip(targets) {
        for (value, target) in sum(row, vectors).iter().zip(target) {
            with_target += f64::from(value * target);
            with_itself += f64::from(value * value);
        }
    }
    let factor = (with_target / with_itself) as f32;
    vectors.iter_mut().flatten().for_each(|value| *value *= factor);
}

/// Adds what ridge regression finds: conjugate gradients with the diagonal as preconditioner, each dimension for itself.
fn fit(rows: &[Row], targets: &[Vec<f32>], vectors: &mut [Vec<f32>]) {
    let count = vectors.len();
    let zero = || vec![vec![0.0_f32; DIMENSIONS]; count];
    let spread = |row: &Row, from: &[f32], to: &mut [Vec<f32>]| {
        for &(number, weight) in row {
            to[number].iter_mut().zip(from).for_each(|(sum, value)| *sum += weight * value);
        }
    };
    let (mut residual, mut diagonal) = (zero(), vec![RIDGE; count]);
    for (row, target) in rows.iter().zip(targets) {
        let missing: Vec<f32> = target.iter().zip(sum(row, vectors)).map(|(target, sum)| target - sum).collect();
        spread(row, &missing, &mut residual);
        row.iter().for_each(|&(number, weight)| diagonal[number] += weight * weight);
    }
    let scaled = |residual: &[Vec<f32>]| -> Vec<Vec<f32>> {
        let scaled = residual.iter().zip(&diagonal);
        scaled.map(|(row, diagonal)| row.iter().map(|value| value / diagonal).collect()).collect()
    };
    let mut conditioned = scaled(&residual);
    let mut direction = conditioned.clone();
    let mut length = products(&residual, &conditioned);
    for iteration in 0..ITERATIONS {
        let mut image = zero();
        rows.iter().for_each(|row| spread(row, &sum(row, &direction), &mut image));
        for (image, direction) in image.iter_mut().zip(&direction) {
            image.iter_mut().zip(direction).for_each(|(image, direction)| *image += RIDGE * direction);
        }
        let curvature = products(&direction, &image);
        let step: Vec<f32> =
            length.iter().zip(&curvature).map(|(one, other)| (one / other.max(1e-20)) as f32).collect();
        add(vectors, &direction, &step, 1.0);
        add(&mut residual, &image, &step, -1.0);
        conditioned = scaled(&residual);
        let next = products(&residual, &conditioned);
        for (direction, conditioned) in direction.iter_mut().zip(&conditioned) {
            for (at, (direction, conditioned)) in direction.iter_mut().zip(conditioned).enumerate() {
                *direction = conditioned + (next[at] / length[at].max(1e-20)) as f32 * *direction;
            }
        }
        length = next;
        eprintln!("iteration {iteration}: {:e}", length.iter().sum::<f64>());
    }
}

/// The product of each column with the same column of the other.
fn products(one: &[Vec<f32>], other: &[Vec<f32>]) -> Vec<f64> {
    let mut products = vec![0.0; DIMENSIONS];
    for (one, other) in one.iter().zip(other) {
        for (sum, (one, other)) in products.iter_mut().zip(one.iter().zip(other)) {
            *sum += f64::from(one * other);
        }
    }
    products
}

fn add(to: &mut [Vec<f32>], what: &[Vec<f32>], step: &[f32], sign: f32) {
    for (to, what) in to.iter_mut().zip(what) {
        for (to, (what, step)) in to.iter_mut().zip(what.iter().zip(step)) {
            *to += sign * step * what;
        }
    }
}

/// The words with their vectors as a file.
fn file(vocabulary: &BTreeMap<&str, usize>, vectors: &[Vec<f32>]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    for number in [DIMENSIONS, vocabulary.len(), BUCKETS] {
        file.extend((number as u32).to_le_bytes());
    }
    let mut end = 0;
    for word in vocabulary.keys() {
        end += word.len() as u32;
        file.extend(end.to_le_bytes());
    }
    vocabulary.keys().for_each(|word| file.extend(word.as_bytes()));
    let scales: Vec<f32> = vectors
        .iter()
        .map(|vector| vector.iter().fold(0.0, |most: f32, value| most.max(value.abs())) / 127.0)
        .collect();
    scales.iter().for_each(|scale| file.extend(scale.to_le_bytes()));
    for (vector, scale) in vectors.iter().zip(&scales) {
        file.extend(vector.iter().map(|value| ((value / scale.max(f32::MIN_POSITIVE)).round() as i8).cast_unsigned()));
    }
    file
}
