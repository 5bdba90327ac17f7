//! `features list`: every switch, in table order.

use std::process::ExitCode;

use pellucid_protocol::feature::Feature;

use crate::args::FeaturesArgs;
use crate::args::FeaturesCommand;
use crate::args::Shared;
use crate::args::TurnArgs;
use crate::print;
use crate::start::Failure;
use crate::start::Start;

pub fn run(shared: &Shared, args: &FeaturesArgs) -> Result<ExitCode, Failure> {
    let FeaturesCommand::List = args.command;
    let start = Start::new(shared, &TurnArgs::default())?;
    let width = |of: fn(&Feature) -> usize| Feature::ALL.iter().map(of).max().unwrap_or(0);
    let (keys, stages) = (width(|it| it.key().len()), width(|it| it.stage().as_str().len()));
    let mut text = String::new();
    for feature in Feature::ALL {
        let (key, stage) = (feature.key(), feature.stage().as_str());
        let is_on = start.config.features.is_on(*feature);
        text += &format!("{key:keys$}  {stage:stages$}  {is_on}\n");
    }
    print::out(&text)?;
    Ok(ExitCode::SUCCESS)
}
