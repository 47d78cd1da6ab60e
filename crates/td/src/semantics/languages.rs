//! Checks of texts in several languages.

use oxilangtag::LanguageTag;
use serde_json::Value;

use super::{Object, Path, Walk, listed};

impl<'a> Walk<'a> {
    /// Checks one of `titles` and `descriptions`, the member `name` of `owner`, which is at `path`.
    pub(super) fn check_translations(&mut self, owner: &'a Object, path: &Path<'_>, name: &'static str) {
        let Some(Value::Object(translations)) = owner.get(name) else {
            return;
        };
        let (default, rule) = match name {
            "titles" => ("title", "title-not-in-titles"),
            _ => ("description", "description-not-in-descriptions"),
        };
        if let Some(text @ Value::String(_)) = owner.get(default)
            && !translations.values().any(|translation| translation == text)
        {
            let message = format!("{text} is not in `{name}`; add it there under its language");
            self.warning(&path.member(default), rule, message);
        }
        let path = path.member(name);
        for tag in translations.keys() {
            self.check_language_tag(&path.member(tag), tag);
        }
        let reference = *self.translations.get_or_insert(translations);
        if reference.len() != translations.len() || !reference.keys().all(|tag| translations.contains_key(tag)) {
            let message = format!(
                "the languages ({}) differ from those of other texts in this description ({})",
                listed(translations),
                listed(reference)
            );
            self.warning(&path, "languages-differ", message);
        }
    }

    pub(super) fn check_language_tag(&mut self, path: &Path<'_>, tag: &str) {
        if LanguageTag::parse(tag).is_err() {
            let message = format!("{tag:?} is not a language tag (BCP 47), such as en or de-AT");
            self.warning(path, "language-tag", message);
        }
    }
}
