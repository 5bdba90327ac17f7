//! A list of models that a server gave earlier, kept as `models_cache.json` in the home folder.
//!
//! The list is valid for five minutes and only for the version that wrote it, because another version may understand
//! other models. One unreadable entry invalidates the whole list, because a list with gaps would change which model a
//! name means.
//!
//! Not here: downloading and writing the list.

use std::time::SystemTime;

use jiff::Timestamp;
use pellucid_protocol::model::ModelInfo;
use serde::Deserialize;

use crate::catalogue::Catalogue;

/// The file's name in the home folder.
pub const FILE_NAME: &str = "models_cache.json";

/// How long a list is valid, in seconds.
const FRESH_SECONDS: i64 = 300;

/// Why a list was not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotUsed {
    /// The text is not the expected JSON.
    #[error("the models cache is not valid: {0}")]
    Invalid(String),
    /// Another version wrote the list.
    #[error("the models cache was written by version {0}")]
    OtherVersion(String),
    /// The list is too old.
    #[error("the models cache is {age_seconds} seconds old")]
    Stale {
        /// The age of the list.
        age_seconds: i64,
    },
}

impl Catalogue {
    /// Adds the list in `text` to the table, if it is still valid.
    ///
    /// # Errors
    ///
    /// When the list is not used; the catalogue is unchanged then.
    pub fn overlay(&mut self, text: &str, client_version: &str, now: SystemTime) -> Result<(), NotUsed> {
        let invalid = |error: &dyn std::fmt::Display| NotUsed::Invalid(error.to_string());
        let file: CacheFile = serde_json::from_str(text).map_err(|error| invalid(&error))?;
        if file.client_version.as_deref() != Some(client_version) {
            return Err(NotUsed::OtherVersion(file.client_version.unwrap_or_else(|| "unknown".to_owned())));
        }
        let fetched_at: Timestamp = file.fetched_at.parse().map_err(|error: jiff::Error| invalid(&error))?;
        let now = Timestamp::try_from(now).map_err(|error| invalid(&error))?;
        let age_seconds = now.as_second().saturating_sub(fetched_at.as_second());
        // A time in the future means that the clock was set back; the list is new enough then.
        if age_seconds > FRESH_SECONDS {
            return Err(NotUsed::Stale { age_seconds });
        }
        self.extend(file.models);
        Ok(())
    }
}

#[derive(Deserialize)]
struct CacheFile {
    fetched_at: String,
    #[serde(default)]
    client_version: Option<String>,
    models: Vec<ModelInfo>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use expect_test::Expect;
    use expect_test::expect;
    use serde_json::Value;
    use serde_json::json;

    use super::*;
    use crate::catalogue::CatalogueMatch;

    const FETCHED: u64 = 1_800_000_000;

    fn entry(slug: &str) -> Value {
        json!({
            "slug": slug, "display_name": slug, "shell_type": "local", "visibility": "list",
            "truncation_policy": { "mode": "bytes", "limit": 5 }, "upgrade": null, "unknown": 1,
        })
    }

    fn cache(models: &[Value]) -> Value {
        json!({ "fetched_at": "2027-01-15T08:00:00.000Z", "etag": null, "client_version": "1.2.3", "models": models })
    }

    #[track_caller]
    fn check_overlay(text: &str, age_seconds: i64, expected: Expect) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(FETCHED.checked_add_signed(age_seconds).unwrap());
        let mut catalogue = Catalogue::builtin();
        let actual = match catalogue.overlay(text, "1.2.3", now) {
            Ok(()) => format!("used, {} models", catalogue.models().len()),
            Err(error) => {
                assert_eq!(catalogue, Catalogue::builtin());
                error.to_string()
            }
        };
        expected.assert_eq(&actual);
    }

    #[test]
    fn a_fresh_list_replaces_and_appends() {
        let mut catalogue = Catalogue::builtin();
        let text = cache(&[entry("gpt-5"), entry("harbour-1")]).to_string();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(FETCHED);
        catalogue.overlay(&text, "1.2.3", now).unwrap();
        assert_eq!(catalogue.models().len(), 11);
        for name in ["gpt-5", "harbour-12"] {
            let (model, found) = catalogue.lookup(name);
            assert_eq!((model.truncation_policy.limit, found), (5, CatalogueMatch::Known));
        }
    }

    #[test]
    fn a_list_counts_for_five_minutes() {
        let text = cache(&[entry("x")]).to_string();
        check_overlay(&text, 300, expect!["used, 11 models"]);
        check_overlay(&text, 301, expect!["the models cache is 301 seconds old"]);
        check_overlay(&text, -3600, expect!["used, 11 models"]);
    }

    #[test]
    fn a_list_of_another_version_is_left_alone() {
        let mut file = cache(&[entry("x")]);
        file["client_version"] = json!("1.2.2");
        check_overlay(&file.to_string(), 0, expect!["the models cache was written by version 1.2.2"]);
        file.as_object_mut().unwrap().remove("client_version");
        check_overlay(&file.to_string(), 0, expect!["the models cache was written by version unknown"]);
    }

    #[test]
    fn one_bad_entry_spoils_the_list() {
        let mut bad = entry("bad");
        bad["shell_type"] = json!("weird");
        check_overlay(
            &cache(&[entry("x"), bad]).to_string(),
            0,
            expect![
                "the models cache is not valid: unknown variant `weird`, expected one of `default`, `local`, `unified_exec`, `disabled`, `shell_command` at line 1 column 290"
            ],
        );
        check_overlay("{", 0, expect!["the models cache is not valid: EOF while parsing an object at line 1 column 1"]);
        let mut file = cache(&[]);
        file["fetched_at"] = json!("yesterday");
        check_overlay(
            &file.to_string(),
            0,
            expect![
                "the models cache is not valid: failed to parse four digit integer as year: invalid digit, expected 0-9 but got y"
            ],
        );
    }
}
