//! Patches with what they are applied to: every rule and every complaint once.
//!
//! `vectors` says what comes of them, `reference` compares that with the reference.

use crate::Tree;

/// A patch and the files before it.
#[derive(Debug)]
pub struct Case {
    pub name: &'static str,
    pub files: &'static [(&'static str, &'static str)],
    pub patch: Text,
    /// Whether this program differs from the reference on purpose.
    pub is_ours: bool,
}

/// How the patch is written here.
#[derive(Debug)]
pub enum Text {
    /// The text is given whole.
    Whole(&'static str),
    /// Between the first and the last line of every patch.
    Body(&'static str),
}

impl Case {
    pub fn text(&self) -> String {
        match self.patch {
            Text::Whole(text) => text.to_owned(),
            Text::Body(body) => format!("*** Begin Patch\n{body}*** End Patch\n"),
        }
    }

    pub fn tree(&self) -> Tree {
        self.files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }
}

type Files = &'static [(&'static str, &'static str)];

const fn body(name: &'static str, files: Files, body: &'static str) -> Case {
    Case { name, files, patch: Text::Body(body), is_ours: false }
}

const fn whole(name: &'static str, text: &'static str) -> Case {
    Case { name, files: &[], patch: Text::Whole(text), is_ours: false }
}

const fn ours(name: &'static str, files: Files, body: &'static str) -> Case {
    Case { name, files, patch: Text::Body(body), is_ours: true }
}

const A: Files = &[("a", "1\n2\n3\n")];

pub const CASES: &[Case] = &[
    // The envelope.
    whole("nothing", ""),
    whole("no patch", "hello"),
    whole("no end", "*** Begin Patch\n*** Add File: a\n+x\n"),
    whole("no begin", "*** Add File: a\n+x\n*** End Patch"),
    whole("only a beginning", "*** Begin Patch"),
    whole("space around", "\n\n  *** Begin Patch  \n*** Add File: a\n+x\n\t*** End Patch \n\n"),
    whole("here-document", "<<EOF\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF\n"),
    whole("here-document in quotes", "<<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF\n"),
    whole("here-document in double quotes", "<<\"EOF\"\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n EOF"),
    whole("here-document by another name", "<<END\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEND\n"),
    whole("here-document around something else", "<<EOF\nfoo\n*** End Patch\nEOF"),
    whole("here-document without an end inside", "<<EOF\n*** Begin Patch\n+x\nEOF"),
    whole("carriage returns", "*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** End Patch\r\n"),
    body("no hunks", &[], ""),
    // Heads.
    body("no head", A, "foo\n"),
    body("a blank line is no head", A, "\n*** Add File: b\n+x\n"),
    body("no name", A, "*** Add File:\n"),
    body("a head with space around", A, "  *** Delete File: a  \n"),
    body("space in front of a name belongs to it", A, "*** Update File:  a\n-1\n"),
    body("something after a deletion", A, "*** Delete File: a\njunk\n"),
    body("stars that are no head", A, "*** Update File: a\n-1\n+x\n*** foo\n"),
    // Additions.
    body("add", &[], "*** Add File: d/e/f\n+x\n+\n+ y\n"),
    body("add nothing", &[], "*** Add File: a\n"),
    body("add over a file", A, "*** Add File: a\n+x\n"),
    body("a blank line ends an addition", &[], "*** Add File: a\n+x\n\n+y\n"),
    body("add over a folder", &[("d/e", "")], "*** Add File: d\n+x\n"),
    body("add below a file", A, "*** Add File: a/b\n+x\n"),
    body("add with a slash at the end", &[], "*** Add File: b/\n+x\n"),
    // Deletions.
    body("delete", A, "*** Delete File: a\n"),
    body("delete nothing", A, "*** Delete File: b\n"),
    body("delete a folder", &[("d/e", "")], "*** Delete File: d\n"),
    body("delete twice", A, "*** Delete File: a\n*** Delete File: a\n"),
    // Updates.
    body("update", A, "*** Update File: a\n@@\n 1\n-2\n+two\n 3\n"),
    body("the first chunk needs no mark", A, "*** Update File: a\n-2\n+two\n"),
    body("a later chunk needs one", A, "*** Update File: a\n-2\n+two\nfoo\n-3\n"),
    body("blank lines between chunks", A, "*** Update File: a\n\n@@\n-1\n+x\n*** End of File\n"),
    body("blank lines after an end of file", A, "*** Update File: a\n-3\n+x\n*** End of File\n\n  \n@@\n-1\n"),
    body("a blank line is context", &[("a", "1\n\n2\n")], "*** Update File: a\n 1\n\n-2\n+x\n"),
    body("no chunks", A, "*** Update File: a\n"),
    body("no chunks but a move", A, "*** Update File: a\n*** Move to: b\n"),
    body("no lines", A, "*** Update File: a\n@@\n"),
    body("no lines before the end of file", A, "*** Update File: a\n@@\n*** End of File\n"),
    body("no lines in a second chunk", A, "*** Update File: a\n-1\n@@ 2\n*** Delete File: a\n"),
    body("a wrong first line", A, "*** Update File: a\nfoo\n"),
    body("a wrong first line after a mark", A, "*** Update File: a\n@@ 1\n@@ 2\n-3\n"),
    body("a mark without a space", A, "*** Update File: a\n@@foo\n-1\n"),
    body("update what is not there", A, "*** Update File: b\n-1\n"),
    body("update a folder", &[("d/e", "")], "*** Update File: d\n-1\n"),
    body("update a file without a newline at its end", &[("a", "1\n2")], "*** Update File: a\n-1\n+x\n"),
    body("remove every line", A, "*** Update File: a\n-1\n-2\n-3\n"),
    body("one empty line at the end is lost", &[("a", "1\n2\n\n\n")], "*** Update File: a\n-1\n+x\n"),
    // Places.
    body("context", &[("a", "x\ny\nx\nz\n")], "*** Update File: a\n@@ y\n-x\n+w\n"),
    body("context that is not there", A, "*** Update File: a\n@@ foo\n-1\n"),
    body("empty context", &[("a", "1\n\n1\n")], "*** Update File: a\n@@ \n-1\n+x\n"),
    body("lines that are not there", A, "*** Update File: a\n-x\n-y\n z\n"),
    body("chunks out of order", A, "*** Update File: a\n-3\n+x\n@@\n-1\n+y\n"),
    body("the first place counts", &[("a", "x\nx\n")], "*** Update File: a\n-x\n+1\n"),
    body("the end of file", &[("a", "x\nx\n")], "*** Update File: a\n-x\n+1\n*** End of File\n"),
    body("not the end of file", A, "*** Update File: a\n-1\n+x\n*** End of File\n"),
    body("trailing space", &[("a", "1  \n2\t\n")], "*** Update File: a\n 1\n-2\n+x\n"),
    body("space at both ends", &[("a", "  1\n\t2\n")], "*** Update File: a\n 1\n-2\n+x\n"),
    body(
        "typography",
        &[("a", "- q\n\"it's\" so\n")],
        "*** Update File: a\n@@ \u{2013} q\n-\u{201C}it\u{2019}s\u{201D}\u{A0}so\n+2\n",
    ),
    body("exact before loose", &[("a", " x\nx\n")], "*** Update File: a\n-x\n+1\n"),
    body("carriage returns in the file", &[("a", "1\r\n2\r\n")], "*** Update File: a\n-1\n+x\n"),
    body("a byte order mark", &[("a", "\u{FEFF}1\n")], "*** Update File: a\n-1\n+x\n"),
    body("a last empty line may be missing", A, "*** Update File: a\n-1\n+x\n\n@@\n-3\n+y\n"),
    body("only an empty line, which is missing", A, "*** Update File: a\n@@ 2\n-\n+x\n+\n"),
    body("pure addition", A, "*** Update File: a\n@@ 1\n+x\n"),
    body("pure addition to an empty file", &[("a", "")], "*** Update File: a\n+x\n"),
    body("pure addition before a last empty line", &[("a", "1\n2\n\n")], "*** Update File: a\n+x\n"),
    body("pure additions in order", A, "*** Update File: a\n+x\n@@\n+y\n@@\n-3\n+z\n"),
    body(
        "shared context at the end",
        &[("a", "x\ny\nw\nv\n")],
        "*** Update File: a\n x\n-y\n+z\n w\n@@\n w\n-v\n+u\n*** End of File\n",
    ),
    body("the same line twice", A, "*** Update File: a\n-3\n+x\n+y\n@@\n+add\n@@\n 2\n-3\n+c\n+d\n*** End of File\n"),
    // Moves.
    body("move", A, "*** Update File: a\n*** Move to: d/b\n@@\n-2\n+two\n"),
    body("move over a file", &[("a", "1\n"), ("b", "x\n")], "*** Update File: a\n*** Move to: b\n@@\n 1\n"),
    body("move over a folder", &[("a", "1\n"), ("b/c", "x\n")], "*** Update File: a\n*** Move to: b\n@@\n 1\n"),
    body("move below a file", &[("a", "1\n"), ("b", "x\n")], "*** Update File: a\n*** Move to: b/c\n@@\n 1\n"),
    body("move to nowhere", A, "*** Update File: a\n*** Move to: \n@@\n 1\n"),
    body("a move that is not at the margin", A, "*** Update File: a\n *** Move to: b\n@@\n-1\n"),
    // Several hunks.
    body(
        "in order",
        &[("a", "1\n"), ("b", "2\n"), ("c", "3\n")],
        "*** Delete File: a\n*** Update File: b\n-2\n+x\n*** Add File: n\n+x\n*** Update File: c\n*** Move to: m\n-3\n+x\n",
    ),
    body(
        "later hunks see earlier ones",
        &[],
        "*** Add File: a\n+1\n*** Update File: a\n-1\n+2\n*** Update File: a\n*** Move to: b\n-2\n+3\n*** Add File: a\n+x\n",
    ),
    body("a file makes room for a folder", A, "*** Delete File: a\n*** Add File: a/b\n+x\n"),
    body("a folder makes no room for a file", &[("a/b", "")], "*** Delete File: a/b\n*** Add File: a\n+x\n"),
    body("a file in the way of a later one", &[], "*** Add File: a\n+1\n*** Add File: a/b\n+x\n"),
    body("update below a new file", &[], "*** Add File: a\n+1\n*** Update File: a/b\n-x\n"),
    body("delete below a new file", &[], "*** Add File: a\n+1\n*** Delete File: a/b\n"),
    body("update below a file that is gone", A, "*** Delete File: a\n*** Update File: a/b\n-x\n"),
    body("update with a slash at the end", A, "*** Update File: a\n-1\n*** Update File: a/\n-2\n"),
    body("delete with a slash at the end", A, "*** Update File: a\n-1\n*** Delete File: a/\n"),
    body("the same file by other names", A, "*** Update File: ./a\n-1\n+x\n*** Update File: .//a\n-2\n+y\n"),
    // What the reference does halfway, and we do not at all.
    body("the second of two hunks fails", A, "*** Add File: b\n+x\n*** Update File: a\n-foo\n"),
    ours("move to itself", A, "*** Update File: a\n*** Move to: ./a\n@@\n-2\n+two\n"),
    ours("a folder that is taken back", A, "*** Update File: nowhere/../a\n-1\n+x\n"),
];
