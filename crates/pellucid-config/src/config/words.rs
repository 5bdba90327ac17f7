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
    /// Whether inputs are kept for the next session.
    HistoryPersistence {
        /// They are.
        SaveAll = "save-all",
        /// They are not.
        None = "none",
    }
}

word_enum! {
    /// The editor that file names link to.
    FileOpener {
        /// Visual Studio Code.
        VsCode = "vscode",
        /// Its preview.
        VsCodeInsiders = "vscode-insiders",
        /// Windsurf.
        Windsurf = "windsurf",
        /// Cursor.
        Cursor = "cursor",
        /// No links.
        None = "none",
    }
}

impl FileOpener {
    /// The scheme of its links.
    pub const fn scheme(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            opener => Some(opener.as_str()),
        }
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

word_enum! {
    /// Where logins to MCP servers are kept.
    OauthStore {
        /// In the keyring if there is one.
        Auto = "auto",
        /// In a file.
        File = "file",
        /// In the system's keyring.
        Keyring = "keyring",
    }
}

word_enum! {
    /// How the terminal notifies.
    NotificationMethod {
        /// As it can.
        Auto = "auto",
        /// With a message.
        Osc9 = "osc9",
        /// With a bell.
        Bel = "bel",
    }
}

word_enum! {
    /// Whether the terminal's second screen is used.
    ScreenMode {
        /// Where it serves.
        Auto = "auto",
        /// It is.
        Always = "always",
        /// It is not.
        Never = "never",
    }
}
