//! A line about each source, for the reference page of packs.

/// The description of a source, for the reference page; empty if it has none.
pub fn about(name: &str) -> &'static str {
    match name {
        "apps" => "how connected apps are mentioned",
        "base_instructions" => "the base instructions: configured ones, else those of the model, in its tone",
        "skills_list" => "the skills that the model may use, and how",
        "child_agents" => "a note that instruction files may lie below the working directory",
        "collaboration" => "the instructions of the collaboration mode",
        "commit_trailer" => "how commit messages name the agent",
        "developer_instructions" => "the configuration's `developer_instructions`, as they are",
        "environment" => "working directory, shell and network rules",
        "home_document" => "the user's own `AGENTS.md`",
        "host" => "what the program that uses the engine as a library gives for the slot",
        "js_repl" => "how to use the JavaScript tool",
        "memory_summary" => "what earlier sessions left to remember",
        "permissions" => "sandbox, approvals and writable folders",
        "personality" => "the tone, where the base instructions do not carry it",
        "project_docs" => "the project's `AGENTS.md` files, from its root to the working directory",
        "system_prompt" => {
            "what the configuration has as instructions, else the pack's `system.md`; in mode `none` its `identity.md`"
        }
        "injected_sections" => "sections that sources and callers inject, with those of the pack among them",
        "injected_items" => {
            "sections that sources and callers inject, and what was recalled; nothing unless something is injected"
        }
        "injected_preamble" => "messages that sources and callers inject, for target `messages`",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_source_is_described() {
        for name in crate::source::names() {
            assert_ne!(super::about(&name), "", "{name}");
        }
    }
}
