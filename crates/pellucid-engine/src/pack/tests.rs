//! What is refused in packs, with the place and the words: every key that could never have an effect, every name that is
//! not known, and every file that is not there.

use expect_test::Expect;
use expect_test::expect;

use super::*;

const FOLDER: &str = "/packs/mine";

fn files(of: &[(&str, &str)]) -> PackFiles {
    of.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// What is said of a pack of these files.
fn error(of: &[(&str, &str)]) -> String {
    let error = match Pack::load_user(&files(of), FOLDER) {
        Ok(pack) => format!("fine: {}", pack.name),
        Err(error) => error.to_string(),
    };
    // Which names are known is the subject of other tests.
    error.split("; known: ").next().unwrap_or_default().to_owned()
}

/// What is said of a layout over the pack `codex`.
fn of_layout(base: &str, rest: &str) -> String {
    error(&[("pack.toml", &format!("name = 'mine'\nfrom = '{base}'\n{rest}"))])
}

#[track_caller]
fn check_layouts(base: &str, layouts: &[&str], expected: &Expect) {
    let lines: Vec<String> = layouts.iter().map(|rest| of_layout(base, rest)).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn a_slot_needs_one_thing_that_fills_it() {
    check_layouts(
        "codex",
        &[
            "[[slot]]\nid = 'a'\ntarget = 'user'\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'environment'\nfile = 'x.md'\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\nfile = 'x.md'\n[[slot.parts]]\nsource = 'environment'\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\nfile = 'x.md'\n",
            "[[slot]]\nid = 'a'\ntarget = 'sidebar'\nsource = 'environment'\n",
            "[[slot]]\ntarget = 'user'\nsource = 'environment'\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'environment'\ncolour = 'red'\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'environment'\nbudget = { bytes = 9, keep = 'tail' }\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'environment'\nbudget = { bytes = -1, keep = 'head' }\n",
        ],
        &expect![[r#"
            /packs/mine/pack.toml:4:6: slot `a` needs `source`, `file` or `parts`, and one of them
            /packs/mine/pack.toml:4:6: slot `a` needs `source`, `file` or `parts`, and one of them
            /packs/mine/pack.toml:4:6: slot `a` needs `source`, `file` or `parts`, and one of them
            x.md: the pack has no such file
            /packs/mine/pack.toml:5:10: unknown variant `sidebar`, expected one of `instructions`, `developer`, `user`, `messages`
            /packs/mine/pack.toml:3:1: missing field `id`
            /packs/mine/pack.toml:7:1: unknown field `colour`, expected one of `id`, `role`, `target`, `source`, `file`, `gate`, `template`, `budget`, `parts`, `again_turns`, `depth`, `from`, `before`, `after`
            /packs/mine/pack.toml:7:30: unknown variant `tail`, expected `head`
            /packs/mine/pack.toml:7:20: invalid value: integer `-1`, expected usize"#]],
    );
}

#[test]
fn names_that_are_not_known_are_named_with_their_line() {
    check_layouts(
        "codex",
        &[
            "[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'weather'\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\n[[slot.parts]]\nsource = 'weather'\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'environment'\ngate = ['feature:flight']\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'environment'\nrole = 'king'\n",
            "[updates]\norder = ['mood']\n",
            "[[tool]]\nfile = 'fly'\n",
            "[[tool]]\nfile = 'wait'\ngate = ['nobody']\n",
            "[tools_only]\ngate = ['mcp:any']\ntools = ['fly']\n",
            "[tools_only]\ngate = ['any']\ntools = []\n",
            "[skills]\nsame_name = 'last'\n",
            "[given_tools]\nform = 'loose'\n",
            "[given_tools]\nmcp = 'later'\n",
            "[compaction]\nstrategy = 'forget'\n",
            "[compaction]\nfallback = 'hope'\n",
            "[reinject]\nvariant = 'none'\n",
            "[memory]\nstrategy = 'elephant'\n",
            "[project_docs]\nallocation = 'fair'\n",
            "[[injection]]\ntype = 'hologram'\n",
        ],
        &expect![[r#"
            /packs/mine/pack.toml:6: unknown source `weather`
            /packs/mine/pack.toml:7: unknown source `weather`
            /packs/mine/pack.toml:7: unknown gate `feature:flight`
            /packs/mine/pack.toml:7: unknown role `king`
            /packs/mine/pack.toml:4: unknown update `mood`
            tools/fly.toml: the pack has no such file
            /packs/mine/pack.toml:5: unknown gate `nobody`
            /packs/mine/pack.toml:5: unknown tool `fly`
            /packs/mine/pack.toml:4: unknown gate `any`
            /packs/mine/pack.toml:4:13: unknown variant `last`, expected `all` or `first`
            /packs/mine/pack.toml:4:8: unknown variant `loose`, expected `as_given` or `canonical`
            /packs/mine/pack.toml:4:7: unknown variant `later`, expected `direct` or `deferred`
            /packs/mine/pack.toml:4:12: unknown variant `forget`, expected `summarise` or `window`
            /packs/mine/pack.toml:4:12: unknown variant `hope`, expected `none` or `local`
            /packs/mine/pack.toml:3:1: `variant`: there is no [reinject.variants.none]
            /packs/mine/pack.toml:4:12: unknown variant `elephant`, expected one of `window`, `running_summary`, `supa`, `hypa_v1`, `summary_and_fragments`, `hypa_v2`, `summaries_and_details`, `cards`, `hypa_v3`, `hanurai`, `recall`
            /packs/mine/pack.toml:4:14: unknown variant `fair`, expected one of `root-first`, `nearest-first`, `proportional`
            /packs/mine/pack.toml:4: unknown injection `hologram`"#]],
    );
}

#[test]
fn keys_that_could_never_have_an_effect_are_refused() {
    check_layouts(
        "codex",
        &[
            "[[slot]]\nid = 'a'\ntarget = 'messages'\nsource = 'environment'\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'injected_preamble'\n",
            "[[slot]]\nid = 'a'\ntarget = 'messages'\nsource = 'injected_preamble'\ntemplate = 'x.md'\n",
            "[[slot]]\nid = 'a'\ntarget = 'messages'\nsource = 'injected_preamble'\nrole = 'base'\n",
            "[[slot]]\nid = 'a'\ntarget = 'instructions'\nsource = 'environment'\nagain_turns = 3\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\n[[slot.parts]]\nsource = 'environment'\nbefore = 'x'\n",
            "[[slot]]\nid = 'a'\ntarget = 'instructions'\nsource = 'project_docs'\nrole = 'user_instructions'\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'project_docs'\n",
            "[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'environment'\nrole = 'permissions'\n",
            "[instructions]\njoin = '--'\n[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'environment'\n",
            "[bootstrap]\nnames = []\nunit = \"bytes\"\nmax_chars = 1\nhead_ratio = 1\ntail_ratio = 0\nmarker = \"\"\nmissing = \"\"\n",
            "[bootstrap]\nmax_chars = 1\ntotal_max_chars = 2\n",
            "[[injection]]\ntype = 'provided'\n[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'environment'\n",
            "[given_tools]\ndirect_tokens = 5\n",
            "[given_tools]\nmcp = 'deferred'\n[[tool]]\nfile = 'find_tools'\n",
            "[compaction]\nreserved_output_tokens = 5\n",
            "[compaction]\nsummary_max_output_tokens = 5\n",
            "[[model]]\nslugs = ['a', 'a']\ntemplate = []\ndefault = ''\nfriendly = ''\npragmatic = ''\n",
        ],
        &expect![[r#"
            /packs/mine/pack.toml:4:6: slot `a`: source `environment` gives text, which target `messages` has no place for
            /packs/mine/pack.toml:4:6: slot `a`: source `injected_preamble` gives messages; write `target = "messages"`
            /packs/mine/pack.toml:4:6: slot `a`: target `messages` uses no `template`
            /packs/mine/pack.toml:7:8: slot `a`: target `messages` cannot have a role; give it to a slot that makes one text
            /packs/mine/pack.toml:7:15: slot `a`: target `instructions` is in every request, so `again_turns` has no effect
            /packs/mine/pack.toml:8:10: slot `a`: nothing comes before the first part, so its `before` has no effect
            /packs/mine/pack.toml:7:8: slot `a`: role `user_instructions` needs target `developer` or `user`
            /packs/mine/pack.toml:4:6: slot `a` has instruction files, so it needs `role = "user_instructions"`; without it they are not written into the session file
            /packs/mine/pack.toml:7:8: slot `a`: the role `permissions` has no effect; add `permissions` to `order` in [updates], or remove the role
            /packs/mine/pack.toml:4:8: `join` has no effect, since fewer than two slots have target `instructions`
            /packs/mine/pack.toml:3:1: [bootstrap] has no effect without a template that looks at `files`
            /packs/mine/pack.toml:3:1: [bootstrap] needs `names`
            /packs/mine/pack.toml:4:8: [[injection]] has no effect without a slot of source `injected_sections` or `injected_preamble`
            /packs/mine/pack.toml:4:17: `direct_tokens` has no effect unless `mcp = "deferred"`
            /packs/mine/pack.toml:4:7: `mcp = "deferred"` needs the tools `find_tools` and `call_tool`, and this layout does not list call_tool; add them as [[tool]] with gate = ["mcp:deferred"]
            /packs/mine/pack.toml:4:26: `reserved_output_tokens` has no effect unless `strategy = "window"`
            /packs/mine/pack.toml:4:29: `summary_max_output_tokens` has no effect unless `strategy = "window"`
            /packs/mine/pack.toml:1:1: two [[model]] name `a`, so one of them has no effect"#]],
    );
}

#[test]
fn what_is_there_twice_is_refused() {
    let slot = |rest: &str| format!("[[slot]]\ntarget = 'user'\nsource = 'environment'\n{rest}");
    check_layouts(
        "codex",
        &[
            &[slot("id = 'a'\n"), slot("id = 'a'\n")].concat(),
            &[slot("id = 'a'\nrole = 'user_instructions'\n"), slot("id = 'b'\nrole = 'user_instructions'\n")].concat(),
            "[[tool]]\nfile = 'wait'\n[[tool]]\nfile = 'wait'\n",
            "[updates]\norder = ['permissions', 'permissions']\n",
        ],
        &expect![[r#"
            /packs/mine/pack.toml:10:6: a slot before this one has the id `a` too
            /packs/mine/pack.toml:12:8: slot `a` has the role `user_instructions` already
            /packs/mine/pack.toml:6:8: the tool `wait` is listed twice
            /packs/mine/pack.toml:4:25: the update `permissions` is listed twice"#]],
    );
}

#[test]
fn an_update_needs_a_slot_that_it_can_tell() {
    check_layouts(
        "codex",
        &[
            "[updates]\norder = ['permissions']\n[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'environment'\n",
            "[updates]\norder = ['permissions']\n[[slot]]\nid = 'a'\ntarget = 'developer'\nsource = 'permissions'\n",
            "[updates]\norder = ['permissions']\n[[slot]]\nid = 'a'\ntarget = 'developer'\nsource = 'permissions'\nrole = 'permissions'\n",
        ],
        &expect![[r#"
            /packs/mine/pack.toml:4:10: the update `permissions` has no slot to describe: write `role = "permissions"`
            /packs/mine/pack.toml:4:10: the update `permissions` has no slot to describe: write `role = "permissions"`, perhaps in slot `a`
            fine: mine"#]],
    );
}

#[test]
fn settings_of_a_memory_that_its_strategy_does_not_read_are_refused() {
    let memory = |strategy: &str, key: &str| format!("[memory]\nstrategy = '{strategy}'\n{key}\n");
    let all: Vec<String> = [
        ("hypa_v3", "chunk_tokens = 9"),
        ("supa", "chunk_tokens = 9"),
        ("supa", "allocated_tokens = 9"),
        ("hypa_v2", "allocated_tokens = 9"),
        ("hypa_v2", "recall_tokens = 9"),
        ("hanurai", "recall_paragraphs = 9"),
        ("hanurai", "recall_tokens = 9"),
        ("hypa_v2", "remove_punctuation = true"),
        ("hanurai", "summaries = 'model'"),
        ("supa", "summaries = 'lexical'\nsummary_model = 'm'"),
        ("supa", "vectors = 'lexical'"),
        ("hypa_v1", "vectors = 'lexical'\nvector_model = 'm'"),
        ("hypa_v1", "[memory.preset]\n"),
    ]
    .iter()
    .map(|(strategy, key)| {
        format!("{strategy} {}: {}", key.replace('\n', ", "), of_layout("risuai", &memory(strategy, key)))
    })
    .collect();
    expect![[r#"
        hypa_v3 chunk_tokens = 9: /packs/mine/pack.toml:3:1: `chunk_tokens` has no effect without a strategy that reads it
        supa chunk_tokens = 9: fine: mine
        supa allocated_tokens = 9: /packs/mine/pack.toml:3:1: `allocated_tokens` has no effect without `strategy = "summaries_and_details"`
        hypa_v2 allocated_tokens = 9: fine: mine
        hypa_v2 recall_tokens = 9: /packs/mine/pack.toml:3:1: `recall_tokens` has no effect without `strategy = "recall"`
        hanurai recall_paragraphs = 9: /packs/mine/pack.toml:5:21: invalid type: integer `9`, expected a boolean
        hanurai recall_tokens = 9: fine: mine
        hypa_v2 remove_punctuation = true: /packs/mine/pack.toml:3:1: `remove_punctuation` has no effect without a strategy that reads it
        hanurai summaries = 'model': /packs/mine/pack.toml:3:1: `summaries` has no effect without a strategy that summarises
        supa summaries = 'lexical', summary_model = 'm': /packs/mine/pack.toml:3:1: `summary_model` has no effect without `summaries = "model"`
        supa vectors = 'lexical': /packs/mine/pack.toml:3:1: `vectors` has no effect without a strategy that compares texts
        hypa_v1 vectors = 'lexical', vector_model = 'm': /packs/mine/pack.toml:3:1: `vector_model` has no effect without `vectors = "provider"`
        hypa_v1 [memory.preset], : /packs/mine/pack.toml:3:1: `cards` has no effect without `strategy = "cards"`"#]].assert_eq(&all.join("\n"));
}

#[test]
fn settings_of_a_tool_that_no_request_would_show_are_refused() {
    let tool = |text: &str| error(&[("pack.toml", "name = 'mine'\nfrom = 'codex'\n"), ("tools/wait.toml", text)]);
    let parameter = "[[parameter]]\nname = 'p'\n";
    let all: Vec<String> = [
        "kind = 'local_shell'\ndescription = 'x'\n".to_owned(),
        "kind = 'web_search'\nname = 'x'\n".to_owned(),
        "kind = 'function'\ngrammar = 'x.lark'\n".to_owned(),
        "kind = 'custom'\ngrammar = 'x.lark'\n".to_owned(),
        format!("kind = 'custom'\n{parameter}type = 'string'\n"),
        format!("kind = 'function'\n{parameter}type = 'object'\ndescription = 'x'\n"),
        format!("kind = 'function'\n{parameter}type = 'string'\nitems = 'string'\n"),
        format!("kind = 'function'\n{parameter}type = 'array'\n[[parameter.property]]\nname = 'q'\ntype = 'string'\n"),
        format!("kind = 'function'\n{parameter}type = 'array'\nitems = 'object'\n[[parameter.property]]\nname = 'q'\ntype = 'string'\nitems = 'number'\n"),
        format!("kind = 'function'\n{parameter}type = 'map'\n"),
        format!("kind = 'function'\n{parameter}"),
        "kind = 'magic'\n".to_owned(),
        "description = 'x'\n".to_owned(),
        "kind = 'function'\ncolour = 'red'\n".to_owned(),
        "kind = 'function'\n".to_owned(),
    ]
    .iter()
    .map(|text| tool(text))
    .collect();
    expect![[r#"
        /packs/mine/tools/wait.toml:1:1: `description` has no effect in a tool of kind `local_shell`
        /packs/mine/tools/wait.toml:1:1: `name` has no effect in a tool of kind `web_search`
        /packs/mine/tools/wait.toml:1:1: `grammar` has no effect in a tool of kind `function`
        x.lark: the pack has no such file
        /packs/mine/tools/wait.toml:1:1: `parameter` has no effect in a tool of kind `custom`
        /packs/mine/tools/wait.toml:1:1: parameter `p`: `description` has no effect with `type = "object"`
        /packs/mine/tools/wait.toml:1:1: parameter `p`: `items` has no effect with `type = "string"`
        /packs/mine/tools/wait.toml:1:1: parameter `p`: `property` has no effect with `type = "array"`
        /packs/mine/tools/wait.toml:1:1: parameter `p.q`: `items` has no effect with `type = "string"`
        /packs/mine/tools/wait.toml:4:8: unknown variant `map`, expected one of `string`, `number`, `boolean`, `array`, `object`
        /packs/mine/tools/wait.toml:2:1: missing field `type`
        /packs/mine/tools/wait.toml:1:8: unknown variant `magic`, expected one of `function`, `custom`, `local_shell`, `web_search`
        /packs/mine/tools/wait.toml:1:1: missing field `kind`
        /packs/mine/tools/wait.toml:2:1: unknown field `colour`, expected one of `name`, `kind`, `description`, `grammar`, `parameter`
        fine: mine"#]].assert_eq(&all.join("\n"));
}

#[test]
fn files_that_are_wrong_in_themselves_are_named() {
    let mine = ("pack.toml", "name = 'mine'\nfrom = 'codex'\n");
    let all = [
        error(&[]),
        error(&[("pack.toml", "")]),
        error(&[("pack.toml", "name = 'mine")]),
        error(&[("pack.toml", "name = 7\n")]),
        error(&[("pack.toml", "name = 'mine'\nfrom = 'nowhere'\n")]),
        error(&[("pack.toml", "name = 'mine'\nfrom = 'codex'\nfrom = 'codex'\n")]),
        error(&[("pack.toml", "name = 'mine'\n[[slot]]\nid = 'a'\ntarget = 'user'\nsource = 'environment'\n")]),
        error(&[mine, ("user_instructions.md", "{{ who }}")]),
        error(&[mine, ("models.json", "[1, 2")]),
        error(&[mine, ("models.json", "{\"models\":[{\"base_instructions\":\"x\"}]}")]),
        error(&[mine, ("notes.txt", "x")]),
        error(&[mine]),
    ];
    expect![[r#"
        fine: mine
        /packs/mine/pack.toml:1:1: missing field `name`
        /packs/mine/pack.toml:1:13: invalid literal string, expected `'`
        /packs/mine/pack.toml:1:8: invalid type: integer `7`, expected a string
        /packs/mine/pack.toml:2: unknown pack `nowhere`
        /packs/mine/pack.toml:3:1: duplicate key
        images/unreadable.md: the pack has no such file
        /packs/mine/user_instructions.md:1: unknown variable `{{ who }}`; known here: `{{ text }}`, `{{ directory }}`
        /packs/mine/models.json:1:2: invalid type: integer `1`, expected a sequence
        /packs/mine/models.json:1:36: missing field `slug`
        fine: mine
        fine: mine"#]]
    .assert_eq(&all.join("\n"));
}

#[test]
fn every_error_names_its_file() {
    let all = [
        &[("pack.toml", "name = 'mine")][..],
        &[("pack.toml", "name = 'mine'\nfrom = 'codex'\n[updates]\norder = ['mood']\n")],
        &[("pack.toml", "name = 'mine'\nfrom = 'codex'\n[[tool]]\nfile = 'fly'\n")],
        &[("pack.toml", "name = 'mine'\nfrom = 'codex'\n"), ("user_instructions.md", "{{ who }}")],
        &[("pack.toml", "name = 'mine'\nfrom = 'codex'\n"), ("user_instructions.md", "none")],
    ];
    let named: Vec<String> =
        all.iter().filter_map(|of| Some(Pack::load_user(&files(of), FOLDER).err()?.file().to_owned())).collect();
    expect![[r#"
        /packs/mine/pack.toml
        /packs/mine/pack.toml
        tools/fly.toml
        /packs/mine/user_instructions.md
        /packs/mine/user_instructions.md"#]]
    .assert_eq(&named.join("\n"));
}

#[test]
fn a_check_finds_more_than_the_first_error() {
    let of = files(&[
        ("pack.toml", "name = 'mine'\nfrom = 'codex'\n"),
        ("user_instructions.md", "{{ who }}"),
        ("models.json", "["),
        ("tools/wait.toml", "kind = 5\n"),
        ("notes.txt", "x"),
    ]);
    let (pack, errors) = Pack::check_user(&of, FOLDER);
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    expect![[r#"
        /packs/mine/user_instructions.md:1: unknown variable `{{ who }}`; known here: `{{ text }}`, `{{ directory }}`
        /packs/mine/tools/wait.toml:1:8: wanted string or table
        /packs/mine/models.json:1:1: EOF while parsing a list"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(pack.map(|pack| pack.name).as_deref(), Some("mine"), "what is wrong is left out");
    let (pack, errors) = Pack::check_user(&files(&[("pack.toml", "name = 'mine'\nfrom = 'codex'\n")]), FOLDER);
    assert_eq!((pack.map(|pack| pack.name).as_deref(), errors.len()), (Some("mine"), 0));
}

#[test]
fn every_pack_of_the_program_loads_and_is_a_pack_of_a_user_as_well() {
    for name in Pack::builtin_names() {
        let pack = Pack::builtin(name).unwrap();
        assert_eq!(pack.name, name);
        assert_eq!(pack.files_on_disk().count(), 0, "{name}");
        let of = Pack::builtin_files(name).unwrap();
        let own = Pack::load_user(&of, FOLDER).unwrap();
        assert_eq!(own.layout.slots, pack.layout.slots, "{name}");
        assert_eq!(own.files_on_disk().count(), of.len(), "{name}");
        let (_, errors) = Pack::check_user(&of, FOLDER);
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new(), "{name}");
    }
    assert!(Pack::builtin("nothing").is_none() && Pack::builtin_files("nothing").is_none());
}

#[test]
fn every_file_of_every_pack_is_missed_when_it_is_gone_or_stands_in_from_beneath() {
    for name in Pack::builtin_names() {
        let of = Pack::builtin_files(name).unwrap();
        for file in of.keys() {
            let mut less = of.clone();
            less.remove(file);
            if let Err(error) = Pack::load(&less) {
                let message = error.to_string();
                assert!(message.starts_with(error.file()), "{name} without {file}: {message}");
            }
        }
    }
}

#[test]
fn every_role_is_read_by_its_name() {
    for (role, name, about) in ROLES {
        assert_eq!((SlotRole::parse(name), role.as_str()), (Some(*role), *name));
        assert!(!about.is_empty());
    }
    assert_eq!(SlotRole::names().len(), ROLES.len());
    assert_eq!([SlotRole::parse("Base"), SlotRole::parse("")], [None, None]);
}

#[test]
fn every_slot_of_every_pack_has_one_name_and_is_found_by_it() {
    for name in Pack::builtin_names() {
        let pack = Pack::builtin(name).unwrap();
        let all = pack.slot_texts();
        assert!(all.is_sorted_by_key(|slot| slot.name.clone()), "{name}");
        let mut names: Vec<&str> = all.iter().map(|slot| slot.name.as_str()).collect();
        names.dedup();
        assert_eq!(names.len(), all.len(), "{name}: a name is there once");
        for slot in &all {
            assert_eq!((slot.text.is_some(), slot.is_users), (slot.origin.is_some(), false), "{name} {}", slot.name);
            assert!(!slot.about.is_empty(), "{name} {}", slot.name);
        }
        let some = all.iter().find(|slot| slot.text.is_some()).unwrap();
        assert_eq!(pack.slot_text(&some.name).as_ref(), Ok(some));
        assert_eq!(pack.slot_text(&some.file).map(|slot| slot.file).as_ref(), Ok(&some.file));
    }
}

#[test]
fn a_slot_of_the_users_own_is_marked_and_a_wrong_name_finds_the_nearest() {
    let of = files(&[
        ("pack.toml", "name = 'mine'\nfrom = 'codex'\n"),
        ("turn/aborted.md", "Stopped."),
        ("tools/view_image.md", "Look."),
        ("models.json", "{\"models\":[]}"),
    ]);
    let pack = Pack::load_user(&of, FOLDER).unwrap();
    let users: Vec<(String, Option<String>)> = pack
        .slot_texts()
        .into_iter()
        .filter(|slot| slot.is_users)
        .map(|slot| (slot.name, slot.origin.map(|it| it.to_string())))
        .collect();
    expect![[r#"
        [
            (
                "models",
                Some(
                    "/packs/mine/models.json",
                ),
            ),
            (
                "tools/view_image",
                Some(
                    "/packs/mine/tools/view_image.md",
                ),
            ),
            (
                "turn/aborted",
                Some(
                    "/packs/mine/turn/aborted.md",
                ),
            ),
        ]"#]]
    .assert_eq(&format!("{users:#?}"));
    assert_eq!(pack.slot_text("turn/abortd"), Err(Some("turn/aborted".to_owned())));
    assert_eq!(pack.slot_text("something else entirely"), Err(None));
    assert_eq!(
        pack.slot_text("tools/view_image.path").map(|slot| slot.about).as_deref(),
        Ok("the parameter `path` of the tool `view_image`")
    );
}

#[test]
fn texts_for_a_model_are_those_of_the_longest_name_that_begins_its_own() {
    let models = r#"{"models":[
        {"slug":"gpt-5","base_instructions":"five","description":"d","supported_reasoning_levels":[{"effort":"low"}]},
        {"slug":"gpt-5.2","base_instructions":"five two"},
        {"slug":"o","later":1}
    ]}"#;
    let of = files(&[("pack.toml", "name = 'mine'\nfrom = 'codex'\n"), ("models.json", models)]);
    let pack = Pack::load_user(&of, FOLDER).unwrap();
    let entry = |slug: &str| pack.model_entry(slug).map(|it| it.slug.as_str());
    assert_eq!([entry("gpt-5"), entry("gpt-5.2"), entry("gpt-5.3")], [Some("gpt-5"), Some("gpt-5.2"), None]);
    let found = |slug: &str| pack.models.as_ref().unwrap().find(slug).map(|it| it.slug.as_str());
    assert_eq!(
        [found("gpt-5.2-codex"), found("gpt-5.1"), found("o3"), found("claude")],
        [Some("gpt-5.2"), Some("gpt-5"), Some("o"), None]
    );
    assert_eq!(
        pack.model_entry("o").map(|it| (it.base_instructions.clone(), it.file.to_string())),
        Some((None, "/packs/mine/models.json".to_owned()))
    );
}

#[test]
fn files_that_nothing_reads_are_named_with_what_was_probably_meant() {
    let of = files(&[
        ("pack.toml", "name = 'mine'\nfrom = 'codex'\n"),
        ("turn/abortd.md", "x"),
        ("tools/view_imag.md", "x"),
        ("something/else/entirely.txt", "x"),
        ("README.md", "for people"),
        ("licenses.txt", "x"),
        ("docs/README.md", "x"),
        ("tools/wait.toml", "kind = 'function'\n"),
    ]);
    let pack = Pack::load_user(&of, FOLDER).unwrap();
    let lines: Vec<String> = pack.unknown_files().iter().map(ToString::to_string).collect();
    expect![[r#"
        /packs/mine/docs/README.md: no slot has this name, so nothing reads the file; `pellucid pack show` lists the slots
        /packs/mine/something/else/entirely.txt: no slot has this name, so nothing reads the file; `pellucid pack show` lists the slots
        /packs/mine/tools/view_imag.md: no slot has this name, so nothing reads the file; did you mean tools/view_image.md?
        /packs/mine/turn/abortd.md: no slot has this name, so nothing reads the file; did you mean turn/aborted.md?"#]].assert_eq(&lines.join("\n"));
    assert_eq!(Pack::builtin("codex").unwrap().unknown_files(), []);
}

#[test]
fn every_source_has_a_name_of_its_own_and_says_what_it_gives() {
    let names = source::names();
    let mut once = names.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), names.len());
    for name in &names {
        assert_eq!(source::find(name).map(|it| it.name), Some(name.as_str()));
        assert!(!source::about(name).is_empty(), "{name}");
    }
    assert!(source::find("weather").is_none());
}

#[test]
fn slots_that_say_where_they_go_are_added_to_those_beneath() {
    let slot = |id: &str, more: &str| format!("[[slot]]\nid = '{id}'\ntarget = 'developer'\nfile = 'a.md'\n{more}\n");
    let layout = [
        slot("one", "after = 'permissions'"),
        slot("two", "after = 'permissions'"),
        slot("three", "before = 'permissions'"),
        slot("deep", "depth = 2"),
    ];
    let layout = format!("name = 'mine'\nfrom = 'codex'\n{}", layout.concat());
    let pack = Pack::load_user(&files(&[("pack.toml", &layout), ("a.md", "A.\n")]), FOLDER).unwrap();
    let ids: Vec<&str> = pack.layout.slots.iter().map(|slot| &*slot.id).collect();
    let at = ids.iter().position(|id| *id == "permissions").unwrap();
    assert_eq!(ids[at - 1..at + 3], ["three", "permissions", "one", "two"]);
    assert_eq!(ids.last(), Some(&"deep"));
    assert_eq!(pack.layout.updates, Pack::builtin("codex").unwrap().layout.updates, "what belongs to slots stays");
}

#[test]
fn places_that_mean_nothing_are_refused() {
    let of = |lines: &str| {
        let slot = format!("[[slot]]\nid = 'a'\nfile = 'a.md'\n{lines}\n");
        error(&[("pack.toml", &format!("name = 'mine'\nfrom = 'codex'\n{slot}")), ("a.md", "A.\n")])
    };
    let all: Vec<String> = [
        "target = 'developer'\nafter = 'nothing'",
        "target = 'developer'\nafter = 'base'\ndepth = 1",
        "target = 'developer'\nafter = 'base'\nbefore = 'base'",
        "target = 'developer'\nfrom = 'start'",
        "target = 'developer'\ndepth = -1",
        "target = 'developer'\ndepth = 1\nfrom = 'middle'",
        "target = 'instructions'\ndepth = 1",
        "target = 'developer'\ndepth = 1\nagain_turns = 2",
        "target = 'developer'\ndepth = 1\nrole = 'base'",
        "target = 'developer'\nafter = 'base'\n[[slot]]\nid = 'b'\ntarget = 'developer'\nfile = 'a.md'",
        "target = 'developer'\nafter = 'base'\n[[slot]]\nid = 'a'\ntarget = 'developer'\nfile = 'a.md'\ndepth = 1",
    ]
    .iter()
    .map(|lines| of(lines))
    .collect();
    expect![[r#"
        /packs/mine/pack.toml:7: unknown slot `nothing`
        /packs/mine/pack.toml:7:9: slot `a`: a slot has one of `before`, `after` and `depth`
        /packs/mine/pack.toml:8:10: slot `a`: a slot has one of `before`, `after` and `depth`
        /packs/mine/pack.toml:7:8: slot `a`: `from` has no effect without `depth`
        /packs/mine/pack.toml:7:9: invalid value: integer `-1`, expected usize
        /packs/mine/pack.toml:8:8: unknown variant `middle`, expected `start` or `end`
        /packs/mine/pack.toml:7:9: slot `a`: `depth` needs target `developer`, `user` or `messages`
        /packs/mine/pack.toml:7:9: slot `a`: a text with `depth` is placed again in every turn, so `again_turns` has no effect
        /packs/mine/pack.toml:7:9: slot `a`: a text with `depth` is made again in every turn, so `role` has no effect
        /packs/mine/pack.toml:7:9: slot `a`: another slot has no `before`, `after` or `depth`, so the slots of this file replace those beneath, in their order
        /packs/mine/pack.toml:9:6: a slot before this one has the id `a` too"#]]
    .assert_eq(&all.join("\n"));
}
