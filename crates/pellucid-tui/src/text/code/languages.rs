//! The languages: their names, words and signs.

/// How the lines of a language are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Words, numbers, texts and comments.
    Code,
    /// Text with tags.
    Markup,
    /// Lines with signs.
    Diff,
    /// Commands behind `$`, and what they wrote.
    Session,
}

/// A kind of text.
#[derive(Debug)]
pub(super) struct Quote {
    pub begin: &'static str,
    pub end: &'static str,
    /// Whether a backslash takes the next character into the text.
    pub has_escapes: bool,
    /// Whether the text may have line ends.
    pub has_lines: bool,
}

/// What a reader has to know of a language.
#[derive(Debug)]
pub(super) struct Language {
    pub names: &'static [&'static str],
    pub form: Form,
    /// Words of the language, between blanks.
    words: &'static str,
    pub comments: &'static [&'static str],
    pub blocks: &'static [(&'static str, &'static str)],
    pub quotes: &'static [Quote],
    /// The sign before the names of variables.
    pub sigil: Option<char>,
    /// The sign behind the name of a value at the beginning of a line.
    pub key_sign: Option<char>,
    /// Whether single quotes are around single characters.
    pub has_characters: bool,
    /// Whether a comment begins only behind a blank.
    pub comments_after_blank: bool,
    ignores_case: bool,
}

impl Language {
    /// Whether a word belongs to the language.
    pub(super) fn has_word(&self, word: &str) -> bool {
        let is_same = |known: &str| known == word || self.ignores_case && known.eq_ignore_ascii_case(word);
        self.words.split(' ').any(is_same)
    }
}

const fn quote(begin: &'static str, end: &'static str, has_escapes: bool, has_lines: bool) -> Quote {
    Quote { begin, end, has_escapes, has_lines }
}

const DOUBLE: Quote = quote("\"", "\"", true, false);
const SINGLE: Quote = quote("'", "'", true, false);
const PLAIN_SINGLE: Quote = quote("'", "'", false, false);
const LONG_DOUBLE: Quote = quote("\"\"\"", "\"\"\"", true, true);
const LONG_SINGLE: Quote = quote("'''", "'''", true, true);
const BACKTICK: Quote = quote("`", "`", true, true);

/// A language with the comments and texts of C.
const C_LIKE: Language = Language {
    names: &[],
    form: Form::Code,
    words: "",
    comments: &["//"],
    blocks: &[("/*", "*/")],
    quotes: &[DOUBLE],
    sigil: None,
    key_sign: None,
    has_characters: true,
    comments_after_blank: false,
    ignores_case: false,
};

/// A language with the comments of a shell and both kinds of quotes.
const SCRIPT: Language =
    Language { comments: &["#"], blocks: &[], quotes: &[DOUBLE, SINGLE], has_characters: false, ..C_LIKE };

const SHELL: Language = Language {
    words: "if then else elif fi for in do done while until case esac function select time return exit export local readonly declare unset set shift break continue trap source alias eval exec",
    quotes: &[quote("\"", "\"", true, true), quote("'", "'", false, true)],
    sigil: Some('$'),
    comments_after_blank: true,
    ..SCRIPT
};

/// The table of languages.
pub(super) const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while yield bool char str i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64",
        quotes: &[
            quote("r##\"", "\"##", false, true),
            quote("r#\"", "\"#", false, true),
            quote("r\"", "\"", false, true),
            quote("\"", "\"", true, true),
        ],
        ..C_LIKE
    },
    Language {
        names: &["python", "py", "python3", "pyi"],
        words: "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield True False None self",
        quotes: &[LONG_DOUBLE, LONG_SINGLE, DOUBLE, SINGLE],
        ..SCRIPT
    },
    Language {
        names: &["javascript", "js", "jsx", "mjs", "cjs", "typescript", "ts", "tsx", "mts", "vue", "svelte"],
        words: "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let namespace new null number of private protected public readonly return set static string super switch this throw true try type typeof undefined unknown var void while yield",
        quotes: &[BACKTICK, DOUBLE, SINGLE],
        has_characters: false,
        ..C_LIKE
    },
    Language {
        names: &["c", "h", "cpp", "c++", "cc", "cxx", "hpp", "cuda", "objective-c", "objc"],
        words: "alignas auto bool break case catch char class concept const constexpr continue default delete do double else enum explicit export extern false final float for friend goto if inline int long mutable namespace new noexcept nullptr operator override private protected public register requires return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while NULL size_t define include ifdef ifndef endif pragma undef elif",
        ..C_LIKE
    },
    Language {
        names: &["java", "kotlin", "kt", "kts", "scala", "groovy", "dart"],
        words: "abstract as assert async await boolean break byte case catch char class companion const continue data def default do double else enum extends false final finally float for fun given if implements import in instanceof int interface internal is lateinit lazy long match new null object open override package private protected public record required return sealed short static super suspend switch synchronized this throw throws trait true try type val var void volatile when while with yield",
        quotes: &[LONG_DOUBLE, DOUBLE],
        ..C_LIKE
    },
    Language {
        names: &["csharp", "c#", "cs", "fsharp", "fs", "f#"],
        words: "abstract as async await base bool break byte case catch char checked class const continue decimal default delegate do double else enum event explicit extern false finally fixed float for foreach get goto if implicit in int interface internal is let lock long match member module namespace new null object of open operator out override params private protected public readonly record ref return sbyte sealed set short sizeof static string struct switch then this throw true try type typeof uint ulong unchecked unsafe ushort using var virtual void volatile when where while with yield",
        quotes: &[LONG_DOUBLE, quote("@\"", "\"", false, true), DOUBLE],
        ..C_LIKE
    },
    Language {
        names: &["go", "golang"],
        words: "any bool break byte case chan const continue default defer else error fallthrough false float32 float64 for func go goto if import int int8 int16 int32 int64 interface iota len make map nil package range return rune select string struct switch true type uint uint8 uint16 uint32 uint64 var",
        quotes: &[quote("`", "`", false, true), DOUBLE],
        ..C_LIKE
    },
    Language {
        names: &["swift"],
        words: "actor any as associatedtype async await break case catch class continue default defer deinit do else enum extension false fileprivate final for func guard if import in init inout internal is lazy let mutating nil open operator override private protocol public repeat return self Self some static struct subscript super switch throw throws true try typealias var weak where while",
        quotes: &[LONG_DOUBLE, DOUBLE],
        ..C_LIKE
    },
    Language {
        names: &["zig", "v", "odin"],
        words: "and anytype asm bool break catch comptime const continue defer else enum errdefer error export extern false fn for if import in inline match mut noalias null opaque or orelse packed proc pub return self struct switch test threadlocal true try type undefined union unreachable usingnamespace var void volatile while u8 u16 u32 u64 i8 i16 i32 i64 usize isize f32 f64",
        ..C_LIKE
    },
    Language {
        names: &["php"],
        words: "abstract and array as break case catch class clone const continue declare default do echo else elseif enum extends false final finally fn for foreach function global if implements include instanceof insteadof interface isset list match namespace new null or print private protected public readonly require return static switch this throw trait true try unset use var while xor yield",
        comments: &["//", "#"],
        quotes: &[DOUBLE, SINGLE],
        sigil: Some('$'),
        has_characters: false,
        ..C_LIKE
    },
    Language {
        names: &["ruby", "rb", "crystal"],
        words: "alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo require rescue retry return self super then true undef unless until when while yield attr_accessor attr_reader puts",
        blocks: &[("=begin", "=end")],
        comments_after_blank: true,
        ..SCRIPT
    },
    Language {
        names: &["elixir", "ex", "exs"],
        words: "after alias and case catch cond def defmacro defmodule defp defstruct do else end false fn for if import in nil not or quote raise receive require rescue true try unless unquote use when with",
        quotes: &[LONG_DOUBLE, DOUBLE],
        ..SCRIPT
    },
    Language {
        names: &["perl", "pl", "r", "julia", "jl"],
        words: "and begin break catch const continue do else elseif elsif end export FALSE false finally for foreach function global if import in last let local macro module my next nothing NULL or our package print return struct sub TRUE true try type undef unless until use using while",
        quotes: &[LONG_DOUBLE, DOUBLE, SINGLE],
        sigil: Some('$'),
        comments_after_blank: true,
        ..SCRIPT
    },
    Language { names: &["sh", "bash", "shell", "zsh", "fish", "ksh", "dash"], ..SHELL },
    Language { names: &["console", "shell-session", "sh-session", "terminal"], form: Form::Session, ..SHELL },
    Language {
        names: &["powershell", "ps1", "pwsh"],
        words: "begin break catch class continue do else elseif end enum exit filter finally for foreach function if in param process return switch throw trap try until using while",
        blocks: &[("<#", "#>")],
        quotes: &[quote("\"", "\"", false, false), PLAIN_SINGLE],
        sigil: Some('$'),
        ignores_case: true,
        ..SCRIPT
    },
    Language {
        names: &["dockerfile", "docker", "containerfile"],
        words: "from as run cmd label maintainer expose env add copy entrypoint volume user workdir arg onbuild stopsignal healthcheck shell",
        sigil: Some('$'),
        comments_after_blank: true,
        ignores_case: true,
        ..SCRIPT
    },
    Language {
        names: &["makefile", "make", "mk", "cmake", "just", "justfile"],
        words: "define else endef endif export ifdef ifeq ifndef ifneq include override private unexport vpath function if foreach set project add_executable add_library target_link_libraries",
        sigil: Some('$'),
        comments_after_blank: true,
        ..SCRIPT
    },
    Language {
        names: &["sql", "mysql", "postgres", "postgresql", "sqlite", "plsql"],
        words: "add all alter analyze and as asc begin between by case check column commit constraint create cross database default delete desc distinct drop else end exists explain false foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then true union unique update using values view when where with bigint boolean date integer int text timestamp varchar",
        comments: &["--"],
        quotes: &[PLAIN_SINGLE, quote("\"", "\"", false, false)],
        has_characters: false,
        ignores_case: true,
        ..C_LIKE
    },
    Language {
        names: &["json", "jsonc", "json5", "jsonl", "ndjson"],
        words: "true false null",
        quotes: &[DOUBLE],
        key_sign: Some(':'),
        has_characters: false,
        ..C_LIKE
    },
    Language {
        names: &["yaml", "yml"],
        words: "true false null yes no on off",
        quotes: &[DOUBLE, PLAIN_SINGLE],
        key_sign: Some(':'),
        comments_after_blank: true,
        ..SCRIPT
    },
    Language {
        names: &["toml", "ini", "cfg", "conf", "properties", "env", "dotenv", "editorconfig"],
        words: "true false",
        comments: &["#", ";"],
        quotes: &[LONG_DOUBLE, LONG_SINGLE, DOUBLE, PLAIN_SINGLE],
        key_sign: Some('='),
        comments_after_blank: true,
        ..SCRIPT
    },
    Language {
        names: &["nix", "hcl", "terraform", "tf"],
        words: "assert else false for if import in inherit let module null output provider rec resource then true variable with data locals",
        blocks: &[("/*", "*/")],
        quotes: &[quote("''", "''", false, true), quote("\"", "\"", true, true)],
        ..SCRIPT
    },
    Language {
        names: &["html", "xml", "svg", "xhtml", "plist", "htm"],
        form: Form::Markup,
        comments: &[],
        blocks: &[],
        quotes: &[quote("\"", "\"", false, false), PLAIN_SINGLE],
        has_characters: false,
        ..C_LIKE
    },
    Language {
        names: &["css", "scss", "less", "sass"],
        words: "important media import keyframes supports font charset page use include mixin extend if else for each return",
        comments: &[],
        quotes: &[DOUBLE, SINGLE],
        key_sign: Some(':'),
        has_characters: false,
        ..C_LIKE
    },
    Language {
        names: &["graphql", "gql", "proto", "protobuf", "thrift"],
        words: "bool bytes double enum extend false fragment import input int32 int64 interface message mutation on oneof option optional package query repeated required reserved returns rpc scalar schema service stream string subscription syntax true type uint32 uint64 union",
        comments: &["//", "#"],
        quotes: &[LONG_DOUBLE, DOUBLE, SINGLE],
        has_characters: false,
        ..C_LIKE
    },
    Language {
        names: &["lua", "luau"],
        words: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while",
        comments: &["--"],
        blocks: &[("--[[", "]]")],
        quotes: &[quote("[[", "]]", false, true), DOUBLE, SINGLE],
        has_characters: false,
        ..C_LIKE
    },
    Language {
        names: &["haskell", "hs", "elm", "purescript"],
        words: "case class data default deriving do else foreign if import in infix infixl infixr instance let module newtype of port then type where qualified as hiding",
        comments: &["--"],
        blocks: &[("{-", "-}")],
        ..C_LIKE
    },
    Language {
        names: &["ocaml", "ml", "reason"],
        words: "and as assert begin class constraint do done downto else end exception external false for fun function functor if in include inherit initializer lazy let match method module mutable new nonrec object of open or private rec sig struct then to true try type val virtual when while with",
        comments: &[],
        blocks: &[("(*", "*)")],
        ..C_LIKE
    },
    Language {
        names: &["lisp", "clojure", "clj", "cljs", "scheme", "racket", "elisp", "emacs-lisp"],
        words: "and begin case cond def defmacro defn defun defvar define do else false fn if lambda let loop nil not or quote recur require set true when",
        comments: &[";"],
        blocks: &[("#|", "|#")],
        quotes: &[quote("\"", "\"", true, true)],
        has_characters: false,
        ..C_LIKE
    },
    Language { names: &["diff", "patch", "udiff"], form: Form::Diff, ..SCRIPT },
];
