//! The words of the protocol, second version: what its messages are made of, as clients expect it.
//!
//! Each type derives its serialisation, its JSON schema and its TypeScript; nothing here decides anything.
