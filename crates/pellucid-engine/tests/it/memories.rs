//! Memories: what holds for every chat, and how packs ask for them.

use pellucid_engine::memory::Chat;
use pellucid_engine::memory::ChatLimits;
use pellucid_engine::memory::Stop;
use pellucid_engine::memory::StrategyOutcome;
use pellucid_engine::memory::ask::Answers;
use pellucid_engine::memory::ask::MemoryAnswer;
use pellucid_engine::memory::ask::MemoryQuestion;
use pellucid_engine::memory::card_settings::CardSettings;
use pellucid_engine::memory::count::EntryCounter;
use pellucid_engine::memory::data::CardData;
use pellucid_engine::memory::data::DetailData;
use pellucid_engine::memory::entry::ChatEntry;
use pellucid_engine::memory::entry::ChatRole;
use pellucid_engine::memory::lexical;
use pellucid_engine::memory::ranking::KnownVectors;
use pellucid_engine::memory::rate_limiter::AfterFailure;
use pellucid_engine::memory::rate_limiter::Options;
use pellucid_engine::memory::rate_limiter::RateLimiter;
use pellucid_engine::memory::rate_limiter::TaskEnd;
use pellucid_engine::memory::recall;
use pellucid_engine::memory::request;
use pellucid_engine::memory::running_summary;
use pellucid_engine::memory::summaries_and_details;
use pellucid_engine::memory::summary_cards;
use pellucid_engine::memory::summary_cards::Chance;
use pellucid_engine::memory::texts::MemoryTexts;
use pellucid_engine::memory::window;
use pellucid_engine::pack::Pack;
use pellucid_engine::pack::PackFiles;
use pellucid_engine::tokens::Estimate;
use proptest::prelude::*;

fn count() -> EntryCounter<'static> {
    EntryCounter::new(&Estimate, "model")
}

fn texts() -> MemoryTexts {
    MemoryTexts::of(&Pack::builtin("risuai").unwrap())
}

/// Runs a strategy with answers that need no model.
fn finish<T>(mut run: impl FnMut(&mut Answers<'_>) -> Result<T, Stop>) -> Result<T, &'static str> {
    let mut given = Vec::new();
    loop {
        match run(&mut Answers::new(&given)) {
            Ok(done) => return Ok(done),
            Err(Stop::Fails(failure)) => return Err(failure.code),
            Err(Stop::Asks(MemoryQuestion::Summaries(all))) => {
                given.push(MemoryAnswer::Summaries(all.iter().map(|messages| lexical::summary(messages)).collect()));
            }
            Err(Stop::Asks(MemoryQuestion::Vectors { texts, .. })) => {
                given.push(MemoryAnswer::Vectors(Ok(texts.iter().map(|text| lexical::vector(text)).collect())));
            }
        }
    }
}

fn chats() -> impl Strategy<Value = Vec<ChatEntry>> {
    let word = prop::sample::select(vec!["dragon", "ship", "tower", "gold", "river", "storm"]);
    let text = prop::collection::vec(word, 1..40).prop_map(|words| words.join(" "));
    prop::collection::vec(text, 1..40).prop_map(|texts| {
        let role = |n: usize| if n.is_multiple_of(2) { ChatRole::User } else { ChatRole::Assistant };
        texts
            .iter()
            .enumerate()
            .map(|(n, text)| ChatEntry::new(role(n), text.as_str()).with_memo(format!("m{n}")))
            .collect()
    })
}

/// Whether the entries after the memory are the newest ones of the chat, untouched.
fn is_suffix(outcome: &[ChatEntry], chat: &[ChatEntry]) -> bool {
    let kept: Vec<ChatEntry> = outcome.iter().filter(|entry| entry.role != ChatRole::System).cloned().collect();
    chat.ends_with(&kept)
}

proptest! {
    // Chats are long and vectors wide; a few dozen of them say enough.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_plain_window_fits_or_fails(chat in chats(), max in 1.0..800.0_f64) {
        let tokens = count().entries(&chat);
        match window::window(chat.clone(), tokens, max, &count()) {
            Ok(window) => {
                prop_assert!(window.tokens <= max);
                prop_assert_eq!(count().entries(&window.entries), window.tokens);
                prop_assert!(is_suffix(&window.entries, &chat));
            }
            Err(failure) => prop_assert_eq!(failure.code, "too_many_tokens"),
        }
    }

    #[test]
    fn cards_never_exceed_the_window_and_never_lose_the_newest(
        chat in chats(),
        max in 20.0..1500.0_f64,
        memory in 0.0..0.6_f64,
        recent in 0.0..1.0_f64,
        seed in any::<u64>(),
        is_experimental in any::<bool>(),
    ) {
        let settings = CardSettings {
            memory_ratio: memory,
            recent_ratio: recent,
            similar_ratio: (1.0 - recent) / 2.0,
            experimental: is_experimental,
            ..CardSettings::default()
        };
        let known = KnownVectors::new();
        let tokens = count().entries(&chat);
        let limits = ChatLimits { max, response: 0.0 };
        let run = || {
            let mut data = CardData::default();
            let outcome = finish(|answers| {
                data = CardData::default();
                let chat = Chat { entries: &chat, tokens, limits, count: &count(), known: &known, texts: &texts() };
                let chance = Chance::Seeded(seed);
                let input = summary_cards::Input { chat, settings: &settings, prompt: "p", chance };
                summary_cards::summary_cards(&input, &mut data, answers)
            });
            (outcome, data)
        };
        let (outcome, data) = run();
        let (again, data_again) = run();
        prop_assert_eq!(&outcome, &again);
        prop_assert_eq!(&data, &data_again);
        if let Ok(StrategyOutcome { entries, tokens, .. }) = outcome {
            prop_assert!(tokens <= max);
            // Without cards the system itself does not count the empty message about them.
            prop_assert!(data.summaries.is_empty() || count().entries(&entries) <= max);
            prop_assert!(is_suffix(&entries, &chat));
            prop_assert!(entries.iter().filter(|entry| entry.role != ChatRole::System).count() >= chat.len().min(3));
            // Every message is in the window or on a card.
            let n_on_cards: usize = data.summaries.iter().map(|summary| summary.chat_memos.len()).sum();
            let n_kept = entries.iter().filter(|entry| entry.role != ChatRole::System).count();
            prop_assert_eq!(n_on_cards + n_kept, chat.len());
        }
    }

    #[test]
    fn other_memories_give_the_same_for_the_same(chat in chats(), max in 60.0..1500.0_f64) {
        let known = KnownVectors::new();
        let tokens = count().entries(&chat);
        let limits = ChatLimits { max, response: 0.0 };
        let count = count();
        let run = Chat { entries: &chat, tokens, limits, count: &count, known: &known, texts: &texts() };
        let v2 = || finish(|answers| {
            let settings = summaries_and_details::DetailSettings { allocated_tokens: 40.0, chunk_size: 120.0, prompt: "p".to_owned() };
            summaries_and_details::summaries_and_details(&run, DetailData::default(), &settings, answers)
        });
        prop_assert_eq!(v2(), v2());
        let recall = || finish(|answers| {
            let settings = recall::RecallSettings { tokens: 30.0, is_split: true };
            recall::recall(&run, &settings, answers)
        });
        let recalled = recall();
        prop_assert_eq!(&recalled, &recall());
        if let Ok(outcome) = recalled {
            prop_assert!(outcome.tokens <= max);
        }
        for mode in [running_summary::SummaryMode::Alone, running_summary::SummaryMode::WithFragments] {
            let settings = running_summary::RunningSummarySettings {
                mode,
                chunk_tokens_max: 100.0,
                removes_punctuation: true,
                prompt: "p".to_owned(),
                user: "user".to_owned(),
                character: "model".to_owned(),
                cast: running_summary::Cast::One,
            };
            let first =
                finish(|answers| running_summary::running_summary(&run, None, &settings, answers));
            if let Ok(outcome) = &first {
                prop_assert!(outcome.tokens <= max);
                // What is stored can be taken up.
                let stored = outcome.data.memory.as_deref();
                let next =
                    finish(|answers| running_summary::running_summary(&run, stored, &settings, answers));
                prop_assert!(next.is_ok() || next == Err("not_enough_tokens"), "{:?}", next);
            }
        }
    }

    #[test]
    fn a_limiter_starts_everything_once_and_never_too_much_at_once(
        at_once in 1..4_usize,
        more in 0..4_usize,
        durations in prop::collection::vec(1..3000_u64, 1..12),
    ) {
        let per_minute = at_once + more;
        let options = Options {
            tasks_per_minute: per_minute as f64,
            tasks_at_once: at_once as f64,
            after_failure: AfterFailure::GoOn,
        };
        let mut limiter = RateLimiter::new(options).unwrap();
        let mut running: Vec<(u64, usize)> = Vec::new();
        let mut starts: Vec<(usize, u64)> = Vec::new();
        let mut looks: Vec<u64> = Vec::new();
        let mut take = |now: pellucid_engine::memory::rate_limiter::Now,
                        now_ms: u64,
                        running: &mut Vec<(u64, usize)>,
                        looks: &mut Vec<u64>| {
            for task in now.start {
                running.push((now_ms + durations[task], task));
                starts.push((task, now_ms));
            }
            looks.extend(now.look_again_ms.map(|wait| now_ms + wait));
        };
        for _ in &durations {
            let now = limiter.submit(0);
            take(now, 0, &mut running, &mut looks);
        }
        while let Some(now_ms) = running.iter().map(|(at, _)| *at).chain(looks.iter().copied()).min() {
            prop_assert!(running.len() <= at_once);
            if let Some(at) = running.iter().position(|(end, _)| *end == now_ms) {
                running.remove(at);
                let now = limiter.end(TaskEnd::Done, now_ms);
                take(now, now_ms, &mut running, &mut looks);
            } else {
                looks.retain(|at| *at > now_ms);
                let now = limiter.look(now_ms);
                take(now, now_ms, &mut running, &mut looks);
            }
        }
        prop_assert_eq!(starts.iter().map(|(task, _)| *task).collect::<Vec<_>>(), (0..durations.len()).collect::<Vec<_>>());
        for window in starts.windows(per_minute + 1) {
            prop_assert!(window[per_minute].1 - window[0].1 > 60_000);
        }
    }
}

#[test]
fn any_layout_can_remember_with_a_few_lines() {
    let layout =
        "name = \"mine\"\nfrom = \"codex\"\n[memory]\nmax_context = 8000\n[memory.preset]\nmaxChatsPerSummary = 4\n";
    let files = PackFiles::from([("pack.toml".to_owned(), layout.to_owned())]);
    let pack = Pack::load_user(&files, "/packs/mine").unwrap();
    let memory = pack.layout.memory.as_ref().unwrap();
    assert_eq!((memory.max_context, memory.cards().messages_per_card), (Some(8000.0), 4.0));
    assert!(memory.prompt(&pack).starts_with("Summarise"), "the words of the risuai pack stand in");
}

#[test]
fn a_prompt_of_any_layout_can_be_a_list_of_messages() {
    let layout = "name = \"mine\"\nfrom = \"codex\"\n[memory]\nmax_context = 8000\n";
    let prompt = "<|im_start|>system\nFold it.<|im_end|>\n<|im_start|>user\nText: {{slot}}<|im_end|>";
    let files = [("pack.toml", layout), ("memory/card.md", prompt)];
    let files: PackFiles = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let pack = Pack::load_user(&files, "/packs/mine").unwrap();
    let prompt = pack.layout.memory.as_ref().unwrap().prompt(&pack);
    let asked = request::messages("<|im_start|>a<|im_end|>", &prompt);
    let asked: Vec<_> = asked.into_iter().map(|it| (it.role, it.content)).collect();
    let expected = [(ChatRole::System, "Fold it."), (ChatRole::User, "Text: <|im_start|>a<|im_end|>")];
    assert_eq!(asked, expected.map(|(role, text)| (role, text.to_owned())));
}

#[test]
fn words_of_other_files_mean_the_same_as_ours() {
    let memory = |lines: &str| {
        let layout = format!("name = \"mine\"\nfrom = \"codex\"\n[memory]\n{lines}\n");
        let pack = Pack::load_user(&PackFiles::from([("pack.toml".to_owned(), layout)]), "/packs/mine");
        pack.map(|pack| pack.layout.memory.unwrap()).map_err(|error| error.to_string())
    };
    for (theirs, ours) in [
        ("supa", "running_summary"),
        ("hypa_v1", "summary_and_fragments"),
        ("hypa_v2", "summaries_and_details"),
        ("hypa_v3", "cards"),
        ("hanurai", "recall"),
        ("window", "window"),
    ] {
        let of = |word: &str| memory(&format!("strategy = \"{word}\"")).map(|memory| memory.strategy());
        assert_eq!(of(theirs), of(ours), "{theirs}");
        assert!(of(ours).is_ok());
    }
    let ours =
        "[memory.cards]\nmessages_per_card = 4\nmemory_ratio = 0.3\nskip_user_messages = true\nexperimental = true";
    let theirs = "[memory.preset]\nmaxChatsPerSummary = 4\nmemoryTokensRatio = 0.3\ndoNotSummarizeUserMessage = true\nuseExperimentalImpl = true";
    assert_eq!(memory(ours).map(|it| it.cards()), memory(theirs).map(|it| it.cards()));
    let both = memory("[memory.cards]\nmemory_ratio = 0.3\nmemoryTokensRatio = 0.3").unwrap_err();
    assert!(both.contains("duplicate field `memory_ratio`"), "{both}");
    let unknown = memory("strategy = \"hypa_v9\"").unwrap_err();
    assert!(unknown.contains("unknown variant `hypa_v9`, expected one of `window`, `running_summary`"), "{unknown}");
}

#[test]
fn a_key_that_no_preset_has_is_refused() {
    let layout = "name = \"mine\"\nfrom = \"risuai\"\n[memory.preset]\nmaxChats = 4\n";
    let files = PackFiles::from([("pack.toml".to_owned(), layout.to_owned())]);
    let error = Pack::load_user(&files, "/packs/mine").unwrap_err().to_string();
    assert!(
        error.contains("unknown field `maxChats`, expected one of") && error.contains("`summary_prompt`"),
        "{error}"
    );
}

#[track_caller]
fn check_transcript(cast: running_summary::Cast, expected: &str) {
    let said = |role, text: &str, memo: &str| ChatEntry::new(role, text).with_memo(memo);
    let entries = [
        said(ChatRole::User, "Who is there?", "a"),
        said(ChatRole::Assistant, "We are.", "b"),
        said(ChatRole::User, "Oh.", "c"),
    ];
    let (count, known) = (count(), KnownVectors::new());
    let chat = Chat {
        entries: &entries,
        tokens: 200.0,
        limits: ChatLimits { max: 150.0, response: 0.0 },
        count: &count,
        known: &known,
        texts: &texts(),
    };
    let settings = running_summary::RunningSummarySettings {
        mode: running_summary::SummaryMode::Alone,
        chunk_tokens_max: 12.0,
        removes_punctuation: true,
        prompt: "p".to_owned(),
        user: "Ann".to_owned(),
        character: "Bob".to_owned(),
        cast,
    };
    match running_summary::running_summary(&chat, None, &settings, &mut Answers::new(&[])) {
        Err(Stop::Asks(MemoryQuestion::Summaries(asked))) => assert_eq!(asked[0][0].content, expected),
        other => panic!("no summary is asked for: {other:?}"),
    }
}

#[test]
fn no_name_stands_before_what_a_group_says() {
    check_transcript(running_summary::Cast::One, "Ann: Who is there?\n\nBob: We are.\n\n");
    check_transcript(running_summary::Cast::Group, "Ann: Who is there?\n\n: We are.\n\n");
}
