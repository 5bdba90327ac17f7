//! `features`: list every switch in table order, and set one in the user's `config.toml`.

use std::process::ExitCode;

use pellucid_config::edit::Edit;
use pellucid_config::edit::ValueEdit;
use pellucid_config::value::Value;
use pellucid_protocol::feature::ALIASES;
use pellucid_protocol::feature::Feature;
use pellucid_protocol::feature::FeatureStage;

use crate::args::features::FeaturesArgs;
use crate::args::features::FeaturesCommand;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::edits;
use crate::print;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;

pub fn run(shared: &Shared, args: &FeaturesArgs) -> Result<ExitCode, ProgramFailure> {
    let start = Start::new(shared, &StartArgs::default())?;
    match &args.command {
        FeaturesCommand::List => print::out(&list(&start))?,
        FeaturesCommand::Enable { feature } => set(&start, feature, true)?,
        FeaturesCommand::Disable { feature } => set(&start, feature, false)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(start: &Start) -> String {
    let width = |of: fn(&Feature) -> usize| Feature::ALL.iter().map(of).max().unwrap_or(0);
    let (keys, stages) = (width(|it| it.key().len()), width(|it| it.stage().as_str().len()));
    let mut text = String::new();
    for feature in Feature::ALL {
        let (key, stage) = (feature.key(), feature.stage().as_str());
        let is_on = start.config.features.is_on(*feature);
        text += &format!("{key:keys$}  {stage:stages$}  {is_on}\n");
    }
    text
}

/// Sets a feature at the top of the user's file, also while a profile is active.
fn set(start: &Start, key: &str, is_on: bool) -> Result<(), ProgramFailure> {
    let alias = || ALIASES.iter().find(|(alias, _)| *alias == key).map(|(_, feature)| *feature);
    let Some(feature) = Feature::from_key(key).or_else(alias) else {
        return Err(ProgramFailure::new(format!(
            "Unknown feature flag: {key}\nhint: `pellucid features list` shows those that exist"
        )));
    };
    let file = &start.config.folders.user_file;
    edits::change(file, |_| vec![Edit::top("features", ValueEdit::Replace(is_on.into())).under(key)])?;
    let verb = if is_on { "Enabled" } else { "Disabled" };
    print::out(&format!("{verb} feature `{key}` in config.toml.\n"))?;
    let is_hidden = start.config.value("suppress_unstable_features_warning").and_then(Value::as_bool) == Some(true);
    if is_on && feature.stage() == FeatureStage::UnderDevelopment && !is_hidden {
        style::line(&format!(
            "warning: `{key}` is under development: it is unfinished and may change. To hide this warning, write \
             `suppress_unstable_features_warning = true` in {}",
            file.display()
        ));
    }
    Ok(())
}
