//! What a thread holds in memory: while it is loaded, and while it is unloaded.
//!
//! Live bytes are counted, not pages of the process, so that no machine and no allocator changes the figures.

use allocation_counter::measure;

use super::unload::Play;
use super::*;

/// How many threads are counted. Tables that double now and then are shared by as many.
const N_THREADS: usize = 64;

/// How many bytes a thread may hold after two turns: 44,000 were counted while it is loaded and 25,000 while it is unloaded, and
/// what the client and the mock hold varies by 4,000.
const LOADED_MAX: i64 = 48_000;
const UNLOADED_MAX: i64 = 29_000;

/// A runtime whose tasks all run on the thread whose allocations are counted.
fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn threads_with_two_turns(play: &mut Play, count: usize) -> Vec<String> {
    let mut threads = Vec::new();
    for _ in 0..count {
        let thread = play.thread().await;
        for words in ["One.", "Two."] {
            let reply = vec![play.say("Done.")];
            play.turn(&thread, words, json!({}), reply).await;
        }
        play.seen.clear();
        threads.push(thread);
    }
    threads
}

#[test]
fn a_thread_holds_few_bytes_and_fewer_when_it_is_unloaded() {
    let runtime = runtime();
    let mut play = runtime.block_on(Play::begin("codex", "responses", false));
    // What all threads share is made by the first ones.
    runtime.block_on(threads_with_two_turns(&mut play, 4));
    let mut threads = Vec::new();
    let loaded = measure(|| threads = runtime.block_on(threads_with_two_turns(&mut play, N_THREADS)));
    let freed = measure(|| {
        runtime.block_on(async {
            for thread in &threads {
                play.loaded(thread).ask_to_unload();
                play.unloaded(thread).await;
            }
        });
    });
    let of_thread = |bytes: i64| bytes / i64::try_from(N_THREADS).unwrap();
    let loaded_bytes = of_thread(loaded.bytes_current);
    let unloaded_bytes = loaded_bytes + of_thread(freed.bytes_current);
    println!("a loaded thread holds {loaded_bytes} bytes, an unloaded one {unloaded_bytes}");
    assert!(loaded_bytes <= LOADED_MAX, "a loaded thread holds {loaded_bytes} bytes");
    assert!(unloaded_bytes <= UNLOADED_MAX, "an unloaded thread holds {unloaded_bytes} bytes");
}
