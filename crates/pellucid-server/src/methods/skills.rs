//! `skills/list`, `skills/config/write`, `skills/remote/list`, `skills/remote/export`.
//!
//! Not here: finding and reading skills (`pellucid-workspace`, `pellucid-engine`).

use std::path::Path;
use std::path::PathBuf;

use pellucid_agent::skills;
use pellucid_engine::skills as inner;
use pellucid_workspace::skills::SkillRoot;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::config::switch_skill;
use super::current;
use crate::rpc::RpcError;
use crate::server::Server;

/// The parameters of `skills/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SkillsListParams {
    /// The folders; if empty, the server's working directory.
    pub cwds: Vec<String>,
    /// Whether skills are read again. They always are.
    pub force_reload: bool,
    /// Further folders with skills.
    pub per_cwd_extra_user_roots: Option<Vec<SkillsListExtraRootsForCwd>>,
}

/// Further folders with skills for one of `cwds`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkillsListExtraRootsForCwd {
    /// The folder of `cwds` that these roots belong to.
    pub cwd: String,
    /// The absolute paths of folders with skills.
    pub extra_user_roots: Vec<String>,
}

/// The result of `skills/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SkillsListResponse {
    /// An entry for each folder.
    pub data: Vec<SkillsListEntry>,
}

/// The skills of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SkillsListEntry {
    pub cwd: String,
    pub skills: Vec<SkillMetadata>,
    /// The skills that could not be loaded.
    pub errors: Vec<SkillErrorInfo>,
}

/// A skill that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkillMetadata {
    pub name: String,
    /// When the skill should be used.
    pub description: String,
    /// The description in fewer words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_description: Option<String>,
    /// How a user interface shows the skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<SkillInterface>,
    /// The tools that the skill needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<SkillDependencies>,
    /// The path of the skill's `SKILL.md`.
    pub path: String,
    /// Who provides the skill.
    pub scope: SkillScope,
    /// Whether the skill is switched on.
    pub enabled: bool,
}

/// How a user interface shows a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkillInterface {
    /// The skill's name for people.
    pub display_name: Option<String>,
    /// A short description for people.
    pub short_description: Option<String>,
    /// The path of the small icon.
    pub icon_small: Option<String>,
    /// The path of the large icon.
    pub icon_large: Option<String>,
    /// The colour of the skill's tile, as `#rrggbb`.
    pub brand_color: Option<String>,
    /// A prompt that the user interface suggests.
    pub default_prompt: Option<String>,
}

/// The tools that a skill needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SkillDependencies {
    pub tools: Vec<SkillToolDependency>,
}

/// A tool that a skill needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SkillToolDependency {
    /// The kind of tool, such as `mcp`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The name of the tool or server.
    pub value: String,
    /// Why the skill needs the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The transport of an MCP server, such as `stdio`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The program that runs the MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The address of the MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Who provides a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum SkillScope {
    /// The user's home folder.
    User,
    /// The project's repository.
    Repo,
    /// Skills that come with the program.
    System,
    /// The administrator of the machine.
    Admin,
}

/// A skill that could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SkillErrorInfo {
    /// The file or folder of the skill.
    pub path: String,
    /// Why the skill could not be loaded.
    pub message: String,
}

/// The parameters of `skills/config/write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SkillsConfigWriteParams {
    /// The path of the skill's `SKILL.md`.
    pub path: String,
    /// Whether the skill is switched on.
    pub enabled: bool,
}

/// The result of `skills/config/write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkillsConfigWriteResponse {
    /// Whether the skill is switched on now.
    pub effective_enabled: bool,
}

/// The parameters of `skills/remote/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SkillsRemoteReadParams {
    /// Whose skills are listed.
    pub hazelnut_scope: HazelnutScope,
    /// The product that the skills are for.
    pub product_surface: ProductSurface,
    /// Whether only skills that are switched on are listed.
    pub enabled: bool,
}

/// Whose skills of a ChatGPT account are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HazelnutScope {
    #[default]
    Example,
    /// The skills of the workspace.
    WorkspaceShared,
    /// All skills that are shared with the account.
    AllShared,
    Personal,
}

/// A product of the provider that skills are for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ProductSurface {
    Chatgpt,
    #[default]
    Codex,
    Api,
    Atlas,
}

/// The result of `skills/remote/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SkillsRemoteReadResponse {
    pub data: Vec<RemoteSkillSummary>,
}

/// A skill of a ChatGPT account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RemoteSkillSummary {
    pub id: String,
    pub name: String,
    /// When the skill should be used.
    pub description: String,
}

/// The parameters of `skills/remote/export`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SkillsRemoteWriteParams {
    pub hazelnut_id: String,
}

/// The result of `skills/remote/export`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct SkillsRemoteWriteResponse {
    pub id: String,
    /// The folder into which the skill was copied.
    pub path: PathBuf,
}

/// Handles `skills/list`.
///
/// # Errors
/// When a further folder is not absolute.
pub async fn list(server: &Server, params: SkillsListParams) -> Result<SkillsListResponse, RpcError> {
    let SkillsListParams { mut cwds, force_reload: _, per_cwd_extra_user_roots } = params;
    let extra = per_cwd_extra_user_roots.unwrap_or_default();
    if let Some(path) =
        extra.iter().flat_map(|extra| &extra.extra_user_roots).find(|path| !Path::new(path).is_absolute())
    {
        let message = format!("skills/list: `extraUserRoots` takes absolute paths, not `{path}`");
        return Err(RpcError::invalid(message));
    }
    if cwds.is_empty() {
        cwds.push(server.ground.cwd.to_string_lossy().into_owned());
    }
    let data = cwds.into_iter().map(|cwd| {
        let extra = extra.iter().filter(|extra| extra.cwd == cwd).flat_map(|extra| &extra.extra_user_roots);
        let roots = extra.map(|path| SkillRoot { path: path.into(), scope: inner::SkillOwner::User }).collect();
        entry(server, cwd, roots)
    });
    Ok(SkillsListResponse { data: data.collect() })
}

/// Handles `skills/config/write`.
///
/// # Errors
/// When the file cannot be written.
pub async fn config_write(
    server: &Server,
    params: SkillsConfigWriteParams,
) -> Result<SkillsConfigWriteResponse, RpcError> {
    switch_skill(&server.ground, Path::new(&params.path), params.enabled)?;
    Ok(SkillsConfigWriteResponse { effective_enabled: params.enabled })
}

/// Handles `skills/remote/list`.
///
/// # Errors
/// Always: Pellucid cannot access the skills of an account.
pub async fn remote_list(
    _server: &Server,
    _params: SkillsRemoteReadParams,
) -> Result<SkillsRemoteReadResponse, RpcError> {
    Err(no_remote("failed to list remote skills"))
}

/// Handles `skills/remote/export`.
///
/// # Errors
/// Always: Pellucid cannot access the skills of an account.
pub async fn remote_export(
    server: &Server,
    _params: SkillsRemoteWriteParams,
) -> Result<SkillsRemoteWriteResponse, RpcError> {
    let folder = server.ground.home.join("skills");
    Err(no_remote(&format!("failed to download remote skill; put it into {}", folder.display())))
}

fn no_remote(what: &str) -> RpcError {
    RpcError::internal(format!(
        "{what}: skills of a ChatGPT account need a sign-in with ChatGPT, which is not supported"
    ))
}

fn entry(server: &Server, cwd: String, extra: Vec<SkillRoot>) -> SkillsListEntry {
    let config = match current(server, Some(Path::new(&cwd))) {
        Ok(config) => config,
        Err(error) => {
            let errors = vec![SkillErrorInfo { path: cwd.clone(), message: error.message }];
            return SkillsListEntry { cwd, skills: Vec::new(), errors };
        }
    };
    let mut search = skills::search(&config, &server.ground.env);
    for root in extra {
        if search.roots.iter().all(|other| other.path != root.path) {
            search.roots.push(root);
        }
    }
    let found = search.load();
    let errors = found
        .problems
        .iter()
        .map(|problem| SkillErrorInfo { path: problem.path.clone(), message: problem.fault.to_string() });
    SkillsListEntry { cwd, skills: found.all().iter().map(shown).collect(), errors: errors.collect() }
}

fn shown(skill: &inner::Skill) -> SkillMetadata {
    let metadata = skill.metadata.as_deref();
    let tools = metadata.map(|metadata| &metadata.tools).filter(|tools| !tools.is_empty());
    SkillMetadata {
        name: skill.name.clone(),
        description: skill.description.clone(),
        short_description: skill.short_description.clone(),
        interface: metadata.and_then(|metadata| metadata.interface.as_ref()).map(|interface| SkillInterface {
            display_name: interface.display_name.clone(),
            short_description: interface.short_description.clone(),
            icon_small: icon(skill, interface.icon_small.as_deref()),
            icon_large: icon(skill, interface.icon_large.as_deref()),
            brand_color: interface.brand_color.clone(),
            default_prompt: interface.default_prompt.clone(),
        }),
        dependencies: tools.map(|tools| SkillDependencies {
            tools: tools
                .iter()
                .map(|tool| SkillToolDependency {
                    kind: tool.kind.clone(),
                    value: tool.value.clone(),
                    description: tool.description.clone(),
                    transport: tool.transport.clone(),
                    command: tool.command.clone(),
                    url: tool.url.clone(),
                })
                .collect(),
        }),
        path: skill.path.clone(),
        scope: match skill.scope {
            inner::SkillOwner::Repo => SkillScope::Repo,
            inner::SkillOwner::User => SkillScope::User,
            inner::SkillOwner::System => SkillScope::System,
            inner::SkillOwner::Admin => SkillScope::Admin,
        },
        enabled: skill.is_enabled(),
    }
}

/// The path of an icon: icons are in the skill's folder.
fn icon(skill: &inner::Skill, path: Option<&str>) -> Option<String> {
    let folder = Path::new(&skill.path).parent()?;
    Some(pellucid_files::normal(&folder.join(path?)).to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;
    use crate::methods::fixture::World;
    use crate::methods::fixture::world;

    const GREET: (&str, &str) =
        ("home/skills/greet/SKILL.md", "---\nname: greet\ndescription: Greet people.\n---\n\nSay good day.\n");
    const TIDY: (&str, &str) = (
        "work/.codex/skills/tidy/SKILL.md",
        "---\nname: tidy\ndescription: Tidy up.\nmetadata:\n  short-description: Tidy\n---\n",
    );

    async fn listed(world: &World, params: serde_json::Value) -> String {
        let params = serde_json::from_str(&world.filled(&params.to_string())).unwrap();
        world.answer(list(&world.server, params).await)
    }

    #[tokio::test]
    async fn each_folder_has_its_skills_and_what_is_wrong() {
        let world = world(&[GREET, TIDY, ("work/.git/HEAD", ""), ("home/skills/broken/SKILL.md", "nothing\n")], &[]);
        expect![[r#"
            {
              "data": [
                {
                  "cwd": "$R/work",
                  "skills": [
                    {
                      "name": "tidy",
                      "description": "Tidy up.",
                      "shortDescription": "Tidy",
                      "path": "$R/work/.codex/skills/tidy/SKILL.md",
                      "scope": "repo",
                      "enabled": true
                    },
                    {
                      "name": "greet",
                      "description": "Greet people.",
                      "path": "$R/home/skills/greet/SKILL.md",
                      "scope": "user",
                      "enabled": true
                    }
                  ],
                  "errors": [
                    {
                      "path": "$R/home/skills/broken/SKILL.md",
                      "message": "missing YAML frontmatter delimited by ---"
                    }
                  ]
                },
                {
                  "cwd": "$R/user",
                  "skills": [
                    {
                      "name": "greet",
                      "description": "Greet people.",
                      "path": "$R/home/skills/greet/SKILL.md",
                      "scope": "user",
                      "enabled": true
                    }
                  ],
                  "errors": [
                    {
                      "path": "$R/home/skills/broken/SKILL.md",
                      "message": "missing YAML frontmatter delimited by ---"
                    }
                  ]
                }
              ]
            }"#]]
        .assert_eq(&listed(&world, json!({"cwds": ["$R/work", "$R/user"]})).await);
    }

    #[tokio::test]
    async fn further_folders_count_for_the_folder_that_they_are_named_for() {
        let files = [
            ("extra/one/SKILL.md", "---\nname: one\ndescription: One.\n---\n"),
            (
                "extra/one/agents/openai.yaml",
                "interface:\n  display_name: One\n  icon_small: ./assets/a.png\ndependencies:\n  tools:\n    - type: mcp\n      value: x\n      url: http://x\n",
            ),
            ("extra/one/assets/a.png", ""),
        ];
        let world = world(&files, &[]);
        let extra = json!([{"cwd": "$R/work", "extraUserRoots": ["$R/extra"]}]);
        let params = json!({"cwds": ["$R/work", "$R/user"], "perCwdExtraUserRoots": extra});
        expect![[r#"
            {
              "data": [
                {
                  "cwd": "$R/work",
                  "skills": [
                    {
                      "name": "one",
                      "description": "One.",
                      "interface": {
                        "displayName": "One",
                        "shortDescription": null,
                        "iconSmall": "$R/extra/one/assets/a.png",
                        "iconLarge": null,
                        "brandColor": null,
                        "defaultPrompt": null
                      },
                      "dependencies": {
                        "tools": [
                          {
                            "type": "mcp",
                            "value": "x",
                            "url": "http://x"
                          }
                        ]
                      },
                      "path": "$R/extra/one/SKILL.md",
                      "scope": "user",
                      "enabled": true
                    }
                  ],
                  "errors": []
                },
                {
                  "cwd": "$R/user",
                  "skills": [],
                  "errors": []
                }
              ]
            }"#]]
        .assert_eq(&listed(&world, params).await);
        let relative = json!({"perCwdExtraUserRoots": [{"cwd": "$R/work", "extraUserRoots": ["extra"]}]});
        expect!["-32600: skills/list: `extraUserRoots` takes absolute paths, not `extra`"]
            .assert_eq(&listed(&world, relative).await);
    }

    #[tokio::test]
    async fn a_skill_is_switched_off_and_on() {
        let world = world(&[GREET, ("home/config.toml", "model = \"x\"\n")], &[]);
        let switch = async |enabled| {
            let path = world.filled("$R/home/skills/greet/SKILL.md");
            config_write(&world.server, SkillsConfigWriteParams { path, enabled }).await.unwrap()
        };
        let is_on = async || list(&world.server, SkillsListParams::default()).await.unwrap().data[0].skills[0].enabled;
        assert!(is_on().await);
        assert!(!switch(false).await.effective_enabled);
        assert!(!is_on().await);
        expect![[r#"
            model = "x"

            [[skills.config]]
            path = "$R/home/skills/greet/SKILL.md"
            enabled = false
        "#]]
        .assert_eq(&world.read("home/config.toml"));
        assert!(switch(true).await.effective_enabled);
        assert!(is_on().await);
        assert_eq!(world.read("home/config.toml"), "model = \"x\"\n");
    }

    #[tokio::test]
    async fn a_configuration_that_cannot_be_used_is_an_error_of_its_folder() {
        let world = world(&[GREET, ("home/config.toml", "model = 5\n")], &[]);
        expect![[r#"
            {
              "data": [
                {
                  "cwd": "$R/work",
                  "skills": [],
                  "errors": [
                    {
                      "path": "$R/work",
                      "message": "error deriving config: $R/home/config.toml:1:9: invalid type: integer `5`, expected a string"
                    }
                  ]
                }
              ]
            }"#]].assert_eq(&listed(&world, json!({})).await);
    }

    #[tokio::test]
    async fn skills_of_an_account_are_refused() {
        let world = world(&[], &[]);
        expect!["-32603: failed to list remote skills: skills of a ChatGPT account need a sign-in with ChatGPT, which is not supported"].assert_eq(&world.answer(remote_list(&world.server, SkillsRemoteReadParams::default()).await));
        let params = SkillsRemoteWriteParams { hazelnut_id: "x".to_owned() };
        expect!["-32603: failed to download remote skill; put it into $R/home/skills: skills of a ChatGPT account need a sign-in with ChatGPT, which is not supported"].assert_eq(&world.answer(remote_export(&world.server, params).await));
    }
}
