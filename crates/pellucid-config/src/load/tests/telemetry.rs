//! Telemetry: what files, variables and an administrator make of it.

use super::*;

/// What is exported, without defaults, and the warnings.
fn telemetry(world: &World) -> impl FnOnce(&Config) -> String {
    let env = world.options.env.clone();
    move |config| {
        let resolved = config.telemetry(&env);
        let mut text = String::new();
        if let Some(it) = resolved.settings {
            for (name, collector) in [("logs", &it.logs), ("traces", &it.traces), ("metrics", &it.metrics)] {
                let Some(collector) = collector else { continue };
                let headers: Vec<String> =
                    collector.headers.iter().map(|(name, value)| format!(" {name}={}", value.reveal())).collect();
                let (encoding, timeout) = (collector.encoding, collector.timeout);
                let _ = writeln!(text, "{name}: {} {encoding} {timeout:?}{}", collector.endpoint, headers.join(""));
                if collector.tls != pellucid_protocol::telemetry::CollectorTls::default() {
                    let _ = writeln!(text, "  {:?}", collector.tls);
                }
            }
            let _ = writeln!(
                text,
                "{} {} {} {} prompt {} propagate {} {:?} {:?} {:?}",
                it.environment,
                it.schema,
                it.content,
                it.semconv,
                it.shows_prompt,
                it.propagates,
                it.service_name,
                it.resource,
                it.parent
            );
        }
        for warning in resolved.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
        text
    }
}

#[track_caller]
fn check_telemetry(files: &[(&str, &str)], variables: &[(&str, &str)], expected: &Expect) {
    let world = world(files).env(variables);
    world.check(telemetry(&world), expected);
}

const LOGS: &str = "[otel]\nexporter = { otlp-http = { endpoint = \"https://c.test/logs\", protocol = \"json\", headers = { x-key = \"k\" } } }\n";

#[test]
fn without_a_collector_there_is_no_telemetry() {
    check_telemetry(&[], &[("OTEL_SERVICE_NAME", "a"), ("TRACEPARENT", "x")], &expect![""]);
    check_telemetry(&[("home/config.toml", "[otel]\nenvironment = \"prod\"\n")], &[], &expect![""]);
    check_telemetry(
        &[("home/config.toml", "[otel]\nexporter = \"none\"\nmetrics_exporter = \"none\"\n")],
        &[],
        &expect![""],
    );
}

#[test]
fn files_name_collectors_and_what_they_get() {
    check_telemetry(
        &[("home/config.toml", LOGS)],
        &[],
        &expect![[r#"
        logs: https://c.test/logs json 10s x-key=k
        traces: https://c.test/logs json 10s x-key=k
        dev codex none 1.41.0 prompt false propagate false None [] None
    "#]],
    );
    let more = "trace_exporter = \"none\"\nlog_user_prompt = true\nschema = \"both\"\ncontent = \"digests\"\nsemconv = \"1.36.0\"\npropagate = true\nenvironment = \"prod\"\n\
                [otel.metrics_exporter.otlp-http]\nendpoint = \"http://c.test/m\"\nprotocol = \"binary\"\n\
                tls = { ca-certificate = \"ca.pem\", some = \"x\" }\n";
    check_telemetry(
        &[("home/config.toml", &format!("pack = \"ads\"\n{LOGS}{more}"))],
        &[("TRACEPARENT", "00-a-b-01")],
        &expect![[r#"
            logs: https://c.test/logs json 10s x-key=k
            metrics: http://c.test/m binary 10s
              CollectorTls { ca_certificate: Some("$R/home/ca.pem"), client_certificate: None, client_private_key: None }
            prod both digests 1.36.0 prompt true propagate true None [] Some("00-a-b-01")
            warning: `otel.metrics_exporter`: `tls.some` is not known, so it has no effect; known are `ca-certificate`, `client-certificate`, `client-private-key`
        "#]],
    );
    let counted = "[analytics]\nenabled = false\n[otel]\nmetrics_exporter = { otlp-http = { endpoint = \"http://a\", protocol = \"json\" } }\n";
    check_telemetry(&[("home/config.toml", counted)], &[], &expect![""]);
}

#[test]
fn what_cannot_be_used_is_a_warning() {
    let grpc = "[otel]\nexporter = { otlp-grpc = { endpoint = \"http://a:4317\" } }\nmetrics_exporter = \"statsig\"\n";
    check_telemetry(
        &[("home/config.toml", grpc)],
        &[],
        &expect![[r#"
        warning: `otel.exporter` names `otlp-grpc`: this version exports over HTTP only, so nothing is exported; use `otlp-http`
        warning: `otel.trace_exporter` names `otlp-grpc`: this version exports over HTTP only, so nothing is exported; use `otlp-http`
        warning: `otel.metrics_exporter` names `statsig`: the collector of a vendor, which Pellucid never sends to, so nothing is exported; use `otlp-http`
    "#]],
    );
    let bad = "[otel]\nexporter = { otlp-http = { endpoint = \"localhost:4318\", protocol = \"json\" } }\ntrace_exporter = \"none\"\n";
    check_telemetry(
        &[("home/config.toml", bad)],
        &[],
        &expect![[r#"
        warning: `otel.exporter`: `endpoint` is no address, so nothing is exported; it begins with `http://` or `https://` and a host
    "#]],
    );
}

#[test]
fn a_wrong_type_is_an_error_with_its_place() {
    check_error(
        "[otel]\ncontent = \"all\"\n",
        &[],
        &expect![[r#"
        config.toml cannot be loaded:
        $R/home/config.toml:2:11: unknown variant `all`, expected one of `none`, `digests`, `full`
          |
        2 | content = "all"
          |           ^^^^^"#]],
    );
    check_error(
        "[otel]\npropagate = \"yes\"\n",
        &[],
        &expect![[r#"
        config.toml cannot be loaded:
        $R/home/config.toml:2:13: invalid type: string "yes", expected a boolean
          |
        2 | propagate = "yes"
          |             ^^^^^"#]],
    );
    check_error(
        "[otel.exporter.otlp-http]\nendpoint = \"http://a\"\nprotocol = \"grpc\"\n",
        &[],
        &expect![[r#"
        config.toml cannot be loaded:
        $R/home/config.toml:3:12: unknown variant `grpc`, expected `binary` or `json`
          |
        3 | protocol = "grpc"
          |            ^^^^^^"#]],
    );
    check_error(
        "[otel.exporter.otlp-http]\nprotocol = \"json\"\n",
        &[],
        &expect![[r#"
        config.toml cannot be loaded:
        $R/home/config.toml:1:1: missing field `endpoint`
          |
        1 | [otel.exporter.otlp-http]
          | ^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
}

#[test]
fn variables_count_where_no_file_says_anything() {
    let all = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c.test:4318/"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20k, x=1,broken"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t.test/own"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "500"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=mine,team=a%2Cb"),
        ("OTEL_METRICS_EXPORTER", "none"),
    ];
    check_telemetry(
        &[],
        &all,
        &expect![[r#"
        logs: http://c.test:4318/v1/logs binary 500ms authorization=Bearer k x=1
        traces: https://t.test/own json 500ms authorization=Bearer k x=1
        dev codex none 1.41.0 prompt false propagate false Some("mine") [("team", "a,b")] None
    "#]],
    );
    check_telemetry(
        &[("home/config.toml", LOGS)],
        &all,
        &expect![[r#"
        logs: https://c.test/logs json 500ms x-key=k
        traces: https://c.test/logs json 500ms x-key=k
        dev codex none 1.41.0 prompt false propagate false Some("mine") [("team", "a,b")] None
    "#]],
    );
    let disabled = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c.test"), ("OTEL_SDK_DISABLED", "true")];
    check_telemetry(&[], &disabled, &expect![""]);
    let grpc = [("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://c.test"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
    check_telemetry(
        &[],
        &grpc,
        &expect![[r#"
        warning: OTEL_EXPORTER_OTLP_PROTOCOL: `grpc` is not supported, so nothing is exported; use `http/protobuf` or `http/json`
    "#]],
    );
}

#[test]
fn an_administrator_forces_collectors_and_forbids_contents() {
    let required = "[otel]\nforbid_content = true\nmetrics_exporter = \"none\"\n[otel.exporter.otlp-http]\nendpoint = \"https://admin.test/v1/logs\"\nprotocol = \"binary\"\nheaders = { x = \"1\" }\n";
    let mine = "log_user_prompt = true\ncontent = \"full\"\nmetrics_exporter = { otlp-http = { endpoint = \"http://a\", protocol = \"json\" } }\n";
    check_telemetry(
        &[("etc/requirements.toml", required), ("home/config.toml", &format!("{LOGS}{mine}"))],
        &[],
        &expect![[r#"
            logs: https://admin.test/v1/logs binary 10s x=1
            traces: https://admin.test/v1/logs binary 10s x=1
            dev codex none 1.41.0 prompt false propagate false None [] None
            warning: `otel.content` is `none` and not `full` as configured: $R/etc/requirements.toml forbids contents
            warning: `otel.log_user_prompt` is `false` and not `true` as configured: $R/etc/requirements.toml forbids contents
        "#]],
    );
    check_telemetry(
        &[("etc/requirements.toml", "[otel]\nexporter = \"statsig\"\n")],
        &[],
        &expect![[r#"
        config.toml cannot be loaded: Error parsing requirements file $R/etc/requirements.toml: TOML parse error at line 2, column 12
          |
        2 | exporter = "statsig"
          |            ^^^^^^^^^
        unknown variant `statsig`, expected `none` or `otlp-http`"#]],
    );
}

#[test]
fn a_project_cannot_export_by_itself() {
    let files = [
        ("home/config.toml", "projects.'$R/work'.trust_level = 'trusted'\n"),
        ("work/.codex/config.toml", LOGS),
        ("work/.git/HEAD", ""),
    ];
    check_telemetry(&files, &[], &expect![""]);
}
