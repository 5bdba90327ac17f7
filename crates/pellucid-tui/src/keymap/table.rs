//! Every action of the client: its name, where it can be done, its keys, and one line of help.

/// Where an action can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// While a message is written.
    Composer,
    /// In a list that opened while typing.
    Popup,
    /// In a numbered list: an approval, a question or a menu.
    Options,
    /// In a full-screen page of text.
    Pager,
    /// In the list of waiting messages.
    Waiting,
    /// In the list of sessions.
    Picker,
    /// On the page with the rows of the next request.
    Look,
    /// On the page with the bytes of the next request, beside the keys of a page of text.
    Bytes,
    /// On the page with a summary on trial, beside the keys of a page of text.
    Summary,
    /// On the page about going back, beside the keys of a page of text.
    Back,
    /// On the page with an earlier request, beside the keys of a page with rows.
    Time,
}

impl Place {
    /// Every place, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::Composer,
        Self::Popup,
        Self::Waiting,
        Self::Options,
        Self::Pager,
        Self::Bytes,
        Self::Look,
        Self::Time,
        Self::Summary,
        Self::Back,
        Self::Picker,
    ];

    /// The heading of the place's keys.
    pub fn title(self) -> &'static str {
        match self {
            Self::Composer => "While you write",
            Self::Popup => "In a list that opened while typing",
            Self::Options => "In a question or menu",
            Self::Pager => "On a page of text",
            Self::Waiting => "In the list of waiting messages",
            Self::Picker => "In the list of sessions",
            Self::Look => "On the page with the rows of the next request",
            Self::Bytes => "On the page with the bytes of the next request",
            Self::Summary => "On the page with a summary on trial",
            Self::Back => "On the page about going back",
            Self::Time => "On the page with an earlier request",
        }
    }
}

/// What a key can do.
#[expect(missing_docs, reason = "the table says what each action does")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Up,
    Down,
    DeleteBefore,
    DeleteAfter,
    KillWordBefore,
    KillWordAfter,
    KillToStart,
    KillToEnd,
    Yank,
    Undo,
    Redo,
    NewLine,
    Send,
    Queue,
    Escape,
    Cancel,
    End,
    Editor,
    Transcript,
    PasteImage,
    NextMode,
    EditQueued,
    Waiting,
    WaitingUp,
    WaitingDown,
    WaitingRaise,
    WaitingLower,
    WaitingEdit,
    WaitingDelete,
    WaitingSend,
    WaitingLeave,
    ShowPaste,
    Suspend,
    PopupUp,
    PopupDown,
    PopupComplete,
    PopupTake,
    PopupClose,
    OptionUp,
    OptionDown,
    OptionTake,
    OptionCancel,
    OptionAbort,
    OptionWhole,
    OptionExplain,
    OptionBlanks,
    OptionAmend,
    OptionNote,
    PagerUp,
    PagerDown,
    PagerPageUp,
    PagerPageDown,
    PagerHalfUp,
    PagerHalfDown,
    PagerStart,
    PagerEnd,
    PagerSearch,
    PagerNext,
    PagerPrevious,
    PagerOlder,
    PagerNewer,
    PagerConfirm,
    PagerFiles,
    PagerBlanks,
    PagerLeave,
    PickerUp,
    PickerDown,
    PickerPageUp,
    PickerPageDown,
    PickerSort,
    PickerErase,
    PickerTake,
    PickerNew,
    PickerEnd,
    Context,
    Preview,
    BytesForm,
    BytesWhy,
    LookUp,
    LookDown,
    LookPageUp,
    LookPageDown,
    LookStart,
    LookEnd,
    LookOpen,
    LookWhy,
    LookPreview,
    LookExact,
    LookCache,
    LookPacks,
    LookLeave,
    SummaryStore,
    SummaryEdit,
    BackConversation,
    BackFiles,
    BackBoth,
    TimeOlder,
    TimeNewer,
    TimeFirst,
    TimeLast,
    TimeFork,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct ActionRow {
    /// The action itself.
    pub action: Action,
    /// The name in the configuration.
    pub name: &'static str,
    /// Where the action can be done.
    pub place: Place,
    /// The keys unless the configuration says otherwise.
    pub keys: &'static [&'static str],
    /// What the action does, in a few words.
    pub help: &'static str,
}

const fn row(
    action: Action,
    name: &'static str,
    place: Place,
    keys: &'static [&'static str],
    help: &'static str,
) -> ActionRow {
    ActionRow { action, name, place, keys, help }
}

/// The table of actions, in the order of the sheet of keys.
pub const ACTIONS: &[ActionRow] = {
    use Action as A;
    use Place::Back;
    use Place::Bytes;
    use Place::Composer;
    use Place::Look;
    use Place::Options;
    use Place::Pager;
    use Place::Picker;
    use Place::Popup;
    use Place::Summary;
    use Place::Time;
    use Place::Waiting;
    &[
        row(A::Send, "composer.send", Composer, &["enter"], "send the message, or run the command"),
        row(
            A::NewLine,
            "composer.new-line",
            Composer,
            &["ctrl-j", "shift-enter", "alt-enter", "ctrl-m"],
            "begin a new line",
        ),
        row(A::Queue, "composer.queue", Composer, &["tab"], "keep the message for the next turn"),
        row(A::EditQueued, "composer.edit-queued", Composer, &["alt-up"], "edit the newest waiting message"),
        row(A::Escape, "composer.escape", Composer, &["esc"], "interrupt the turn; twice: go back to a message"),
        row(A::Cancel, "composer.cancel", Composer, &["ctrl-c"], "clear the draft, interrupt, or end"),
        row(A::End, "composer.end", Composer, &["ctrl-d"], "end, if the draft is empty; else delete after the cursor"),
        row(A::Editor, "composer.editor", Composer, &["ctrl-g"], "write the draft in $VISUAL or $EDITOR"),
        row(A::Transcript, "composer.transcript", Composer, &["ctrl-t"], "show the whole transcript"),
        row(
            A::Context,
            "composer.context",
            Composer,
            &["ctrl-o"],
            "show what the model will see; again: every row of it",
        ),
        row(A::Preview, "composer.preview", Composer, &["alt-o"], "show the bytes that enter would send"),
        row(A::PasteImage, "composer.paste-image", Composer, &["ctrl-v", "alt-v"], "attach the image of the clipboard"),
        row(A::ShowPaste, "composer.show-paste", Composer, &["alt-p"], "show the text of a large paste in place"),
        row(
            A::NextMode,
            "composer.next-mode",
            Composer,
            &["shift-tab"],
            "change between the default mode and plan mode",
        ),
        row(A::Suspend, "composer.suspend", Composer, &["ctrl-z"], "suspend the program"),
        row(A::Undo, "composer.undo", Composer, &["ctrl-_", "ctrl-/"], "undo the last change of the draft"),
        row(A::Redo, "composer.redo", Composer, &["alt-_", "alt-/"], "do again what was undone"),
        row(A::Left, "composer.left", Composer, &["left", "ctrl-b"], "one character to the left"),
        row(A::Right, "composer.right", Composer, &["right", "ctrl-f"], "one character to the right"),
        row(
            A::WordLeft,
            "composer.word-left",
            Composer,
            &["alt-b", "ctrl-left", "alt-left"],
            "to the start of the word",
        ),
        row(
            A::WordRight,
            "composer.word-right",
            Composer,
            &["alt-f", "ctrl-right", "alt-right"],
            "to the end of the word",
        ),
        row(A::LineStart, "composer.line-start", Composer, &["ctrl-a", "home"], "to the start of the line"),
        row(A::LineEnd, "composer.line-end", Composer, &["ctrl-e", "end"], "to the end of the line"),
        row(A::Up, "composer.up", Composer, &["up", "ctrl-p"], "one line up, or an older message"),
        row(A::Down, "composer.down", Composer, &["down", "ctrl-n"], "one line down, or a newer message"),
        row(
            A::DeleteBefore,
            "composer.delete-before",
            Composer,
            &["backspace", "ctrl-h"],
            "delete the character before the cursor",
        ),
        row(A::DeleteAfter, "composer.delete-after", Composer, &["delete"], "delete the character after the cursor"),
        row(
            A::KillWordBefore,
            "composer.kill-word-before",
            Composer,
            &["ctrl-w", "alt-backspace", "ctrl-backspace", "ctrl-alt-h"],
            "cut the word before the cursor",
        ),
        row(
            A::KillWordAfter,
            "composer.kill-word-after",
            Composer,
            &["alt-delete", "ctrl-delete", "alt-d"],
            "cut the word after the cursor",
        ),
        row(A::KillToStart, "composer.kill-to-start", Composer, &["ctrl-u"], "cut to the start of the line"),
        row(A::KillToEnd, "composer.kill-to-end", Composer, &["ctrl-k"], "cut to the end of the line"),
        row(A::Yank, "composer.yank", Composer, &["ctrl-y"], "insert what was cut last"),
        row(A::Waiting, "composer.waiting", Composer, &["alt-q"], "move, edit, delete or send waiting messages"),
        row(A::WaitingUp, "waiting.up", Waiting, &["up", "k", "ctrl-p"], "the message above"),
        row(A::WaitingDown, "waiting.down", Waiting, &["down", "j", "ctrl-n"], "the message below"),
        row(A::WaitingRaise, "waiting.raise", Waiting, &["shift-up", "K"], "move the marked message up"),
        row(A::WaitingLower, "waiting.lower", Waiting, &["shift-down", "J"], "move the marked message down"),
        row(A::WaitingEdit, "waiting.edit", Waiting, &["enter", "e"], "edit the marked message in its place"),
        row(A::WaitingDelete, "waiting.delete", Waiting, &["d", "delete", "backspace"], "delete the marked message"),
        row(A::WaitingSend, "waiting.send", Waiting, &["s"], "send the marked message now"),
        row(A::WaitingLeave, "waiting.leave", Waiting, &["esc", "q", "ctrl-c", "alt-q"], "close the list"),
        row(A::PopupUp, "popup.up", Popup, &["up", "ctrl-p"], "the entry above"),
        row(A::PopupDown, "popup.down", Popup, &["down", "ctrl-n"], "the entry below"),
        row(A::PopupComplete, "popup.complete", Popup, &["tab"], "complete the word"),
        row(A::PopupTake, "popup.take", Popup, &["enter"], "take the entry"),
        row(A::PopupClose, "popup.close", Popup, &["esc"], "close the list"),
        row(A::OptionUp, "options.up", Options, &["up", "ctrl-p"], "the option above"),
        row(A::OptionDown, "options.down", Options, &["down", "ctrl-n"], "the option below"),
        row(A::OptionTake, "options.take", Options, &["enter"], "choose the marked option"),
        row(A::OptionCancel, "options.cancel", Options, &["esc"], "choose to refuse, or close the list"),
        row(A::OptionAbort, "options.abort", Options, &["ctrl-c"], "refuse, and forget questions that wait"),
        row(A::OptionWhole, "options.whole", Options, &["ctrl-a"], "show the whole request on a page"),
        row(A::OptionExplain, "options.explain", Options, &["?"], "explain why the question is asked"),
        row(A::OptionBlanks, "options.blanks", Options, &["w"], "hide or show changes of blanks in a diff"),
        row(
            A::OptionAmend,
            "options.amend",
            Options,
            &["e"],
            "edit the command, or choose among the changes of a patch",
        ),
        row(A::OptionNote, "options.note", Options, &["tab"], "write a note that goes with the answer"),
        row(A::PagerUp, "pager.up", Pager, &["up", "k"], "one line up"),
        row(A::PagerDown, "pager.down", Pager, &["down", "j"], "one line down"),
        row(A::PagerPageUp, "pager.page-up", Pager, &["page-up", "shift-space", "ctrl-b"], "one page up"),
        row(A::PagerPageDown, "pager.page-down", Pager, &["page-down", "space", "ctrl-f"], "one page down"),
        row(A::PagerHalfUp, "pager.half-up", Pager, &["ctrl-u"], "half a page up"),
        row(A::PagerHalfDown, "pager.half-down", Pager, &["ctrl-d"], "half a page down"),
        row(A::PagerStart, "pager.start", Pager, &["home", "g"], "to the first line"),
        row(A::PagerEnd, "pager.end", Pager, &["end", "G"], "to the last line"),
        row(A::PagerSearch, "pager.search", Pager, &["/"], "search; upper case counts if you type it"),
        row(A::PagerNext, "pager.next", Pager, &["n"], "the next place that was found"),
        row(A::PagerPrevious, "pager.previous", Pager, &["N"], "the place before that was found"),
        row(A::PagerOlder, "pager.older", Pager, &["esc", "left"], "mark an older message of yours"),
        row(A::PagerNewer, "pager.newer", Pager, &["right"], "mark a newer message of yours"),
        row(A::PagerConfirm, "pager.confirm", Pager, &["enter"], "go back to the marked message"),
        row(A::PagerFiles, "pager.files", Pager, &["f"], "go back to the marked message with files; shows them first"),
        row(A::PagerBlanks, "pager.blanks", Pager, &["w"], "hide or show changes of blanks in a diff"),
        row(A::PagerLeave, "pager.leave", Pager, &["q", "ctrl-t", "ctrl-c"], "leave the page"),
        row(A::BytesForm, "bytes.form", Bytes, &["r"], "the bytes of a request as a tree, or as they are sent"),
        row(A::BytesWhy, "bytes.why", Bytes, &["w"], "why the found line, or the one at the top, is there"),
        row(A::LookUp, "look.up", Look, &["up", "k", "ctrl-p"], "the row above"),
        row(A::LookDown, "look.down", Look, &["down", "j", "ctrl-n"], "the row below"),
        row(A::LookPageUp, "look.page-up", Look, &["page-up", "ctrl-b"], "one page up"),
        row(A::LookPageDown, "look.page-down", Look, &["page-down", "ctrl-f"], "one page down"),
        row(A::LookStart, "look.start", Look, &["home", "g"], "to the first row"),
        row(A::LookEnd, "look.end", Look, &["end", "G"], "to the last row"),
        row(A::LookOpen, "look.open", Look, &["enter", "space", "left", "right"], "open or close the group"),
        row(A::LookWhy, "look.why", Look, &["w"], "why the marked row is there, or is left out"),
        row(A::LookPreview, "look.preview", Look, &["p"], "the bytes of the request"),
        row(A::LookExact, "look.exact", Look, &["e"], "count tokens by the model's encoding, or estimate them"),
        row(A::LookCache, "look.cache", Look, &["c"], "what came of the provider's cache so far"),
        row(A::LookPacks, "look.packs", Look, &["x"], "the same facts under every pack"),
        row(A::LookLeave, "look.leave", Look, &["q", "esc", "ctrl-o", "ctrl-c"], "leave the page"),
        row(A::SummaryStore, "summary.store", Summary, &["enter"], "put the summary in place of the history"),
        row(A::SummaryEdit, "summary.edit", Summary, &["ctrl-g", "e"], "change the summary in $VISUAL or $EDITOR"),
        row(
            A::BackConversation,
            "back.conversation",
            Back,
            &["c"],
            "take back the messages, and leave files as they are",
        ),
        row(A::BackFiles, "back.files", Back, &["f"], "restore the files, and keep the messages"),
        row(A::BackBoth, "back.both", Back, &["b"], "take back the messages and restore the files"),
        row(A::TimeOlder, "time.older", Time, &["left", "h"], "the request before"),
        row(A::TimeNewer, "time.newer", Time, &["right", "l"], "the request after"),
        row(A::TimeFirst, "time.first", Time, &["["], "the first request of the session"),
        row(A::TimeLast, "time.last", Time, &["]"], "the last request of the session"),
        row(A::TimeFork, "time.fork", Time, &["f"], "continue on a copy that ends with this turn"),
        row(A::PickerUp, "picker.up", Picker, &["up", "ctrl-p"], "the session above"),
        row(A::PickerDown, "picker.down", Picker, &["down", "ctrl-n"], "the session below"),
        row(A::PickerPageUp, "picker.page-up", Picker, &["page-up"], "one page up"),
        row(A::PickerPageDown, "picker.page-down", Picker, &["page-down"], "one page down"),
        row(A::PickerSort, "picker.sort", Picker, &["tab"], "sort by the other time"),
        row(
            A::PickerErase,
            "picker.erase",
            Picker,
            &["backspace", "ctrl-h"],
            "delete the last character of the search",
        ),
        row(A::PickerTake, "picker.take", Picker, &["enter"], "continue the marked session"),
        row(A::PickerNew, "picker.new", Picker, &["esc"], "begin a new session"),
        row(A::PickerEnd, "picker.end", Picker, &["ctrl-c", "ctrl-d"], "end the program"),
    ]
};
