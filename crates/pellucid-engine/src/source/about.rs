//! What each source gives, in a line, for the reference page of packs.

/// What a source gives; empty for one that nobody described.
pub fn about(name: &str) -> &'static str {
    match name {
        "apps" => "how connected apps are mentioned",
        "base_instructions" => "the base instructions: configured ones, else those of the model, in its tone",
        "skills_list" => "the skills that the model may use, and how",
        "child_agents" => "a note that instruction files may lie below the working directory",
        "collaboration" => "the instructions of the way of working together",
        "commit_trailer" => "how commit messages name the agent",
        "developer_instructions" => "the configuration's `developer_instructions`, as they are",
        "environment" => "working directory, shell and network rules",
        "home_document" => "the user's own `AGENTS.md`",
        "js_repl" => "how to use the JavaScript tool",
        "memory_summary" => "what earlier sessions left to remember",
        "permissions" => "sandbox, approvals and writable folders",
        "personality" => "the tone, where the base instructions do not carry it",
        "project_docs" => "the project's `AGENTS.md` files, from its root to the working directory",
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
