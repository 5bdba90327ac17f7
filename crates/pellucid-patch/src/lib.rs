//! Patches in the format of the `apply_patch` tool.
//!
//! Not here: who may change what. Whoever calls decides that before anything is written.
