//! The language version declared by a document.

use serde_json::{Map, Value};

use super::{
    super::{
        Profile,
        places::At,
        version::{VERSION_MEMBERS, Version},
    },
    reader::{Reader, kind_of},
};

impl<'d> Reader<'d, '_> {
    /// The version that a document says it is written for, or that it is read as.
    pub(super) fn document_version(&mut self, members: &'d Map<String, Value>, at: &At<'_, 'd>) -> Version {
        let Some((name, value)) = VERSION_MEMBERS.iter().find_map(|name| members.get_key_value(*name)) else {
            self.warning(at, "missing-version", || {
                format!("`{}` is missing; the configuration is read as version {}", VERSION_MEMBERS[0], Version::NEWEST)
            });
            return Version::NEWEST;
        };
        let at = at.member(name);
        let Some(version) = value.as_str().and_then(Version::parse) else {
            self.error(&at, "malformed-version", || {
                let found = value.as_str().map_or(kind_of(value).to_owned(), |text| format!("{text:?}"));
                format!("a version must be a string such as \"25.4.1\" (year, quarter, patch), not {found}")
            });
            return Version::NEWEST;
        };
        self.check_known(version, &at)
    }

    fn check_known(&mut self, version: Version, at: &At<'_, 'd>) -> Version {
        match (version.is_known(), self.profile) {
            (true, Profile::Sdk) if version == Version::DRAFT => Version::V25_4_1,
            (true, Profile::Spec) if version.is_draft() => {
                self.warning(at, "draft-version", || {
                    format!(
                        "{version} is a draft of the first release; the configuration is read as version {}",
                        Version::V25_4_1
                    )
                });
                Version::V25_4_1
            }
            (true, _) => version,
            (false, Profile::Spec) if !version.is_draft() => {
                self.warning(at, "unknown-version", || {
                    format!(
                        "unknown version {version}; the newest known version is {}, so rules of later versions are not \
                         checked",
                        Version::NEWEST
                    )
                });
                version
            }
            (false, _) => {
                self.error(at, "unknown-version", || {
                    format!("there is no version {version}; the newest known version is {}", Version::NEWEST)
                });
                version
            }
        }
    }
}
