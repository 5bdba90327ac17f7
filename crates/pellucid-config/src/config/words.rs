//! Words that only the configuration uses.

use pellucid_protocol::word_enum;

word_enum! {
    /// The mechanism that confines commands.
    SandboxBackend {
        /// The strongest mechanism that works here.
        Auto = "auto",
        /// Linux namespaces, set up by Pellucid.
        Namespaces = "namespaces",
        /// The program `bwrap`.
        Bubblewrap = "bubblewrap",
        /// Landlock without namespaces.
        Landlock = "landlock",
    }
}

word_enum! {
    /// Where the settings of a resumed session come from.
    ResumeSettings {
        /// The configuration, as in the Codex CLI.
        Configured = "configured",
        /// The last turn of the session, unless the command line says otherwise.
        Session = "session",
    }
}

word_enum! {
    /// Whose past sessions a session remembers.
    MemoryScope {
        /// Those of the same project.
        Project = "project",
        /// Those of every project.
        All = "all",
    }
}

word_enum! {
    /// A kind of login.
    LoginMethod {
        /// A ChatGPT account.
        ChatGpt = "chatgpt",
        /// An API key.
        Api = "api",
    }
}

word_enum! {
    /// Where a login is stored.
    CredentialStore {
        /// A file in the home folder.
        File = "file",
        /// The keyring of the system.
        Keyring = "keyring",
        /// The keyring if the system has one, else a file.
        Auto = "auto",
        /// Nowhere; the login ends with the process.
        Ephemeral = "ephemeral",
    }
}
