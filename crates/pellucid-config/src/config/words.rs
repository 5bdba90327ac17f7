//! Words that only the configuration knows.

use pellucid_protocol::word_enum;

word_enum! {
    /// Which mechanism confines commands.
    SandboxBackend {
        /// The strongest that works.
        Auto = "auto",
        /// Namespaces of our own.
        Namespaces = "namespaces",
        /// The program `bwrap`.
        Bubblewrap = "bubblewrap",
        /// Landlock alone.
        Landlock = "landlock",
    }
}

word_enum! {
    /// A kind of login.
    LoginMethod {
        /// With an account.
        ChatGpt = "chatgpt",
        /// With a key.
        Api = "api",
    }
}

word_enum! {
    /// Where a login is kept.
    CredentialStore {
        /// In a file.
        File = "file",
        /// In the system's keyring.
        Keyring = "keyring",
        /// In the keyring if there is one.
        Auto = "auto",
        /// Nowhere.
        Ephemeral = "ephemeral",
    }
}
