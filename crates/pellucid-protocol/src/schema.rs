//! Schemas of word enums: a JSON string of one of the words.
//!
//! Only with the feature `schema`; without it nothing of this is compiled.

#[cfg(feature = "schema")]
#[doc(hidden)]
pub use schemars;

/// Implements the schema of a word enum.
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

/// Does nothing, because the feature `schema` is off.
#[cfg(not(feature = "schema"))]
#[doc(hidden)]
#[macro_export]
macro_rules! word_schema {
    ($name:ident, $($word:literal),+) => {};
}
