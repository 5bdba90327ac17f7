//! Schemas of words: an enum of words is a JSON string of the same words.
//!
//! Only with the feature `schema`; without it there is nothing here, and nothing is compiled for it.

#[cfg(feature = "schema")]
#[doc(hidden)]
pub use schemars;

/// Gives an enum of words its schema.
#[cfg(feature = "schema")]
#[doc(hidden)]
#[macro_export]
macro_rules! word_schema {
    ($name:ident, $($word:literal),+) => {
        impl $crate::schema::schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut $crate::schema::schemars::SchemaGenerator) -> $crate::schema::schemars::Schema {
                $crate::schema::schemars::json_schema!({ "type": "string", "enum": Self::WORDS })
            }
        }
    };
}

/// Gives an enum of words no schema.
#[cfg(not(feature = "schema"))]
#[doc(hidden)]
#[macro_export]
macro_rules! word_schema {
    ($name:ident, $($word:literal),+) => {};
}
