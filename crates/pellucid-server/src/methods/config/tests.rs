//! Reading and writing in small worlds.

use expect_test::Expect;
use expect_test::expect;
use serde_json::json;

use super::*;
use crate::methods::fixture::World;
use crate::methods::fixture::world;

async fn read_answer(world: &World, cwd: Option<&str>, include_layers: bool) -> String {
    let params = ConfigReadParams { include_layers, cwd: cwd.map(|cwd| world.filled(cwd)) };
    world.answer(config_read(&world.server, params).await)
}

#[tokio::test]
async fn some_keys_are_always_there() {
    let world = world(
        &[("home/config.toml", "[profiles.p]\nmodel = \"x\"\nfoo = 1\n[tools]\n[apps.a]\n[tui]\nanimations = true\n")],
        &[],
    );
    expect![[r#"
        {
          "config": {
            "model": null,
            "review_model": null,
            "model_context_window": null,
            "model_auto_compact_token_limit": null,
            "model_provider": null,
            "approval_policy": null,
            "sandbox_mode": null,
            "sandbox_workspace_write": null,
            "forced_chatgpt_workspace_id": null,
            "forced_login_method": null,
            "web_search": null,
            "tools": {
              "web_search": null,
              "view_image": null
            },
            "profile": null,
            "profiles": {
              "p": {
                "model": "x",
                "model_provider": null,
                "approval_policy": null,
                "model_reasoning_effort": null,
                "model_reasoning_summary": null,
                "model_verbosity": null,
                "web_search": null,
                "chatgpt_base_url": null,
                "foo": 1
              }
            },
            "instructions": null,
            "developer_instructions": null,
            "compact_prompt": null,
            "model_reasoning_effort": null,
            "model_reasoning_summary": null,
            "model_verbosity": null,
            "analytics": null,
            "apps": {
              "a": {
                "enabled": true,
                "disabled_reason": null
              }
            },
            "tui": {
              "animations": true
            }
          },
          "origins": {
            "profiles.p.foo": {
              "name": {
                "type": "user",
                "file": "$R/home/config.toml"
              },
              "version": "hash1"
            },
            "profiles.p.model": {
              "name": {
                "type": "user",
                "file": "$R/home/config.toml"
              },
              "version": "hash1"
            },
            "tui.animations": {
              "name": {
                "type": "user",
                "file": "$R/home/config.toml"
              },
              "version": "hash1"
            }
          }
        }"#]]
    .assert_eq(&read_answer(&world, None, false).await);
}

#[tokio::test]
async fn the_strongest_layer_comes_first() {
    let world = world(
        &[
            (
                "home/config.toml",
                "model = \"user\"\nnotify = [\"a\"]\n[projects.\"$R/work\"]\ntrust_level = \"trusted\"\n",
            ),
            ("work/.git/HEAD", ""),
            ("work/.codex/config.toml", "model = \"project\"\n"),
        ],
        &["model_verbosity=high"],
    );
    let answer: serde_json::Value = serde_json::from_str(&read_answer(&world, Some("$R/work"), true).await).unwrap();
    let shown = serde_json::to_string_pretty(&json!([answer["origins"], answer["layers"]])).unwrap();
    expect![[r#"
        [
          {
            "model": {
              "name": {
                "type": "project",
                "dotCodexFolder": "$R/work/.codex"
              },
              "version": "hash1"
            },
            "model_verbosity": {
              "name": {
                "type": "sessionFlags"
              },
              "version": "hash2"
            },
            "notify.0": {
              "name": {
                "type": "user",
                "file": "$R/home/config.toml"
              },
              "version": "hash3"
            },
            "projects.$R/work.trust_level": {
              "name": {
                "type": "user",
                "file": "$R/home/config.toml"
              },
              "version": "hash3"
            }
          },
          [
            {
              "name": {
                "type": "sessionFlags"
              },
              "version": "hash2",
              "config": {
                "model_verbosity": "high"
              }
            },
            {
              "name": {
                "type": "project",
                "dotCodexFolder": "$R/work/.codex"
              },
              "version": "hash1",
              "config": {
                "model": "project"
              }
            },
            {
              "name": {
                "type": "user",
                "file": "$R/home/config.toml"
              },
              "version": "hash3",
              "config": {
                "model": "user",
                "notify": [
                  "a"
                ],
                "projects": {
                  "$R/work": {
                    "trust_level": "trusted"
                  }
                }
              }
            },
            {
              "name": {
                "type": "system",
                "file": "/etc/codex/config.toml"
              },
              "version": "hash4",
              "config": {}
            }
          ]
        ]"#]]
    .assert_eq(&shown);
}

#[tokio::test]
async fn without_a_folder_there_is_no_project() {
    let world = world(
        &[
            ("home/config.toml", "[projects.\"$R/work\"]\ntrust_level = \"trusted\"\n"),
            ("work/.git/HEAD", ""),
            ("work/.codex/config.toml", "model = \"project\"\n"),
        ],
        &[],
    );
    let model = |answer: String| serde_json::from_str::<serde_json::Value>(&answer).unwrap()["config"]["model"].clone();
    assert_eq!(model(read_answer(&world, None, false).await), json!(null));
    assert_eq!(model(read_answer(&world, Some("."), false).await), json!("project"));
}

#[tokio::test]
async fn a_project_that_is_not_trusted_is_listed_and_does_not_count() {
    let world = world(&[("work/.git/HEAD", ""), ("work/.codex/config.toml", "model = \"project\"\n")], &[]);
    let answer: serde_json::Value = serde_json::from_str(&read_answer(&world, Some("$R/work"), true).await).unwrap();
    assert_eq!(answer["origins"], json!({}));
    expect![[r#"
        {
          "name": {
            "type": "project",
            "dotCodexFolder": "$R/work/.codex"
          },
          "version": "hash1",
          "config": {
            "model": "project"
          },
          "disabledReason": "$R/work has no trust level; set `trust_level = \"trusted\"` under `[projects.\"$R/work\"]` in $R/home/config.toml to use this file"
        }"#]].assert_eq(&serde_json::to_string_pretty(&answer["layers"][0]).unwrap());
}

#[test]
fn a_version_is_a_hash_of_sorted_json() {
    let world = world(&[("home/config.toml", "b = 1\na = [true]\n")], &[]);
    let answer = read(&options(&world.server.ground, None), true).unwrap();
    let versions: Vec<_> = answer.layers.unwrap().into_iter().map(|layer| layer.version).collect();
    // `sha256sum` of `{"a":[true],"b":1}` and of `{}`.
    expect![[r#"
        sha256:708747538ba81fd60b5aac8c646370de5e24abf70ab1872f67458a5a4f3af05d
        sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"#]]
    .assert_eq(&versions.join("\n"));
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_an_error() {
    let world = world(&[("home/config.toml", "model = 5\n")], &[]);
    expect!["-32603: invalid configuration: $R/home/config.toml:1:9: invalid type: integer `5`, expected a string"]
        .assert_eq(&read_answer(&world, None, false).await);
    world.write("home/config.toml", "model = [\n");
    expect!["-32603: failed to read configuration layers: $R/home/config.toml:1:10: unclosed array, expected `]`"]
        .assert_eq(&read_answer(&world, None, false).await);
}

async fn write(world: &World, path: &str, value: serde_json::Value, more: serde_json::Value) -> String {
    let mut params = json!({"keyPath": path, "value": value, "mergeStrategy": "replace"});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let params = serde_json::from_str(&world.filled(&params.to_string())).unwrap();
    world.answer(config_value_write(&world.server, params).await)
}

#[track_caller]
fn check_file(world: &World, expected: &Expect) {
    expected.assert_eq(&world.read("home/config.toml"));
}

#[tokio::test]
async fn a_value_is_written_in_its_place() {
    let world = world(&[("home/config.toml", "# Mine.\nmodel = \"a\" # fast\n")], &[]);
    expect![[r#"
        {
          "status": "ok",
          "version": "hash1",
          "filePath": "$R/home/config.toml",
          "overriddenMetadata": null
        }"#]]
    .assert_eq(&write(&world, "model", json!("b"), json!({})).await);
    write(&world, "features.sqlite", json!(true), json!({"filePath": "../home/./config.toml"})).await;
    check_file(
        &world,
        &expect![[r##"
        # Mine.
        model = "b" # fast

        [features]
        sqlite = true
    "##]],
    );
    write(&world, "features.sqlite", json!(null), json!({})).await;
    check_file(
        &world,
        &expect![[r##"
        # Mine.
        model = "b" # fast

        [features]
    "##]],
    );
}

#[tokio::test]
async fn a_file_that_is_not_there_is_made() {
    let world = world(&[], &[]);
    write(&world, "model", json!("b"), json!({})).await;
    check_file(
        &world,
        &expect![[r#"
        model = "b"
    "#]],
    );
}

#[tokio::test]
async fn a_bad_value_can_be_mended() {
    let world = world(&[("home/config.toml", "model = 5\n")], &[]);
    write(&world, "model", json!("b"), json!({})).await;
    check_file(
        &world,
        &expect![[r#"
        model = "b"
    "#]],
    );
}

#[tokio::test]
async fn what_is_refused_leaves_the_file() {
    let text = "model = \"a\"\n";
    let world = world(&[("home/config.toml", text)], &[]);
    expect![[r#"-32600: the configuration would be invalid: $R/home/config.toml:2:19: unknown variant `sometimes`, expected one of `untrusted`, `on-failure`, `on-request`, `never` {"config_write_error_code":"configValidationError"}"#]].assert_eq(&write(&world, "approval_policy", json!("sometimes"), json!({})).await);
    expect![[r#"-32600: the file has changed since it was read; read it again and repeat the change {"config_write_error_code":"configVersionConflict"}"#]].assert_eq(&write(&world, "model", json!("b"), json!({"expectedVersion": "sha256:0"})).await);
    expect![[r#"-32600: only the user's own configuration can be written: $R/home/config.toml {"config_write_error_code":"configLayerReadonly"}"#]].assert_eq(&write(&world, "model", json!("b"), json!({"filePath": "other.toml"})).await);
    expect![[r#"-32600: the path of a key must not be empty {"config_write_error_code":"configValidationError"}"#]]
        .assert_eq(&write(&world, "", json!("b"), json!({})).await);
    expect![[r#"-32600: `model` is not a table, so nothing can be set in it {"config_write_error_code":"configValidationError"}"#]].assert_eq(&write(&world, "model.x", json!("b"), json!({})).await);
    expect![[r#"-32600: there is no `a` {"config_write_error_code":"configPathNotFound"}"#]]
        .assert_eq(&write(&world, "a.b.c", json!(null), json!({})).await);
    expect![[
        r#"-32600: `a` cannot be set: null is not a value of TOML {"config_write_error_code":"configValidationError"}"#
    ]]
    .assert_eq(&write(&world, "a", json!([null]), json!({})).await);
    assert_eq!(world.read("home/config.toml"), text);
}

#[tokio::test]
async fn a_version_holds_until_the_next_change() {
    let world = world(&[("home/config.toml", "model_instructions_file = \"rel.md\"\n")], &[]);
    let listed = read(&options(&world.server.ground, None), true).unwrap().layers.unwrap();
    let expected = json!({"expectedVersion": listed[0].version});
    let first = write(&world, "model", json!("b"), expected.clone()).await;
    let second = write(&world, "model", json!("c"), expected).await;
    assert!(first.contains("\"ok\""), "{first}");
    assert!(second.contains("configVersionConflict"), "{second}");
}

#[tokio::test]
async fn a_batch_is_written_as_a_whole_or_not() {
    let world = world(&[("home/config.toml", "model = \"a\"\n")], &[]);
    let edit =
        |path: &str, value| ConfigEdit { key_path: path.to_owned(), value, merge_strategy: MergeStrategy::Upsert };
    let batch = |edits| ConfigBatchWriteParams { edits, file_path: None, expected_version: None };
    let bad = batch(vec![edit("model", json!("b")), edit("approval_policy", json!("bad"))]);
    assert!(config_batch_write(&world.server, bad).await.is_err());
    check_file(
        &world,
        &expect![[r#"
        model = "a"
    "#]],
    );
    let good = batch(vec![edit("model", json!("b")), edit("tui", json!({"animations": false}))]);
    assert!(config_batch_write(&world.server, good).await.is_ok());
    check_file(
        &world,
        &expect![[r#"
        model = "b"

        [tui]
        animations = false
    "#]],
    );
}

#[tokio::test]
async fn a_stronger_layer_is_named() {
    let world = world(&[("home/config.toml", "model = \"a\"\n")], &["model=flag"]);
    expect![[r#"
        {
          "status": "okOverridden",
          "version": "hash1",
          "filePath": "$R/home/config.toml",
          "overriddenMetadata": {
            "message": "overridden by the command line",
            "overridingLayer": {
              "name": {
                "type": "sessionFlags"
              },
              "version": "hash2"
            },
            "effectiveValue": "flag"
          }
        }"#]]
    .assert_eq(&write(&world, "model", json!("b"), json!({})).await);
    assert!(write(&world, "model", json!("flag"), json!({})).await.contains("\"ok\""));
    assert!(write(&world, "model", json!(null), json!({})).await.contains("\"okOverridden\""));
    assert!(write(&world, "review_model", json!("b"), json!({})).await.contains("\"ok\""));
}
