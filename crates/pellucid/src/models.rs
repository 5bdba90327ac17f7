//! `models list`: the models that are known, with window, efforts and price, and the one that is configured.

use std::collections::BTreeSet;
use std::process::ExitCode;

use jiff::Zoned;
use pellucid_agent::gather;
use pellucid_engine::prices::PriceTable;
use pellucid_model::catalogue::Catalogue;
use pellucid_model::catalogue::CatalogueMatch;
use pellucid_protocol::model::ModelInfo;
use pellucid_protocol::model::ModelVisibility;
use pellucid_protocol::price::Money;
use pellucid_protocol::settings::ReasoningEffort;
use pellucid_protocol::usage::UsageSplit;
use serde_json::Value;
use serde_json::json;

use crate::args::models::ModelsArgs;
use crate::args::models::ModelsCommand;
use crate::args::models::ModelsListArgs;
use crate::args::shared::Shared;
use crate::args::turn::StartArgs;
use crate::pack::table::aligned;
use crate::prices;
use crate::print;
use crate::screen::OutputFormat;
use crate::start::ProgramFailure;
use crate::start::Start;
use crate::style;

/// The number of tokens that prices are given for.
const PRICED_TOKENS: i64 = 1_000_000;

pub fn run(shared: &Shared, args: &ModelsArgs) -> Result<ExitCode, ProgramFailure> {
    let ModelsCommand::List(args) = &args.command;
    let turn = StartArgs { profile: args.profile.clone(), ..StartArgs::default() };
    let start = Start::new(shared, &turn)?;
    let home = &start.config.folders.home;
    let listed = Listed::of(&start, &gather::catalogue(home), &prices::table(home)?, args);
    let text = if args.json { format!("{}\n", listed.json()) } else { listed.text() };
    print::report(&text, OutputFormat::of(args.json))?;
    Ok(ExitCode::SUCCESS)
}

/// The models, and what is configured.
struct Listed {
    models: Vec<ListedModel>,
    model: String,
    provider: String,
    effort: Option<&'static str>,
    is_known: bool,
}

struct ListedModel {
    info: ModelInfo,
    is_configured: bool,
    is_default: bool,
    price: Option<ListedPrice>,
}

/// What a million tokens cost.
struct ListedPrice {
    input: Money,
    cached: Money,
    output: Money,
    from: String,
}

impl Listed {
    fn of(start: &Start, catalogue: &Catalogue, prices: &PriceTable, args: &ModelsListArgs) -> Self {
        let settings = &start.config.model;
        let default = catalogue.default_model();
        let slug = settings.slug.clone().unwrap_or_else(|| default.to_owned());
        let today = Zoned::now().strftime("%Y-%m-%d").to_string();
        let (configured, found) = catalogue.lookup(&slug);
        let mut shown: Vec<ModelInfo> = catalogue
            .models()
            .iter()
            .filter(|model| args.all || model.visibility == ModelVisibility::List || model.slug == slug)
            .cloned()
            .collect();
        shown.sort_by(|one, other| one.priority.cmp(&other.priority).then_with(|| one.slug.cmp(&other.slug)));
        if !shown.iter().any(|model| model.slug == slug) {
            // A name that only begins like an entry, or that no entry has: it is used all the same.
            shown.insert(0, configured);
        }
        let listed = |info: ModelInfo| ListedModel {
            is_configured: info.slug == slug,
            is_default: info.slug == default,
            price: price(prices, &info.slug, &today),
            info,
        };
        Self {
            models: shown.into_iter().map(listed).collect(),
            effort: settings.reasoning_effort.map(ReasoningEffort::as_str),
            provider: settings.provider_id.clone(),
            is_known: found == CatalogueMatch::Known,
            model: slug,
        }
    }

    fn json(&self) -> Value {
        let models: Vec<Value> = self.models.iter().map(ListedModel::json).collect();
        json!({
            "schema": "pellucid.models/1",
            "configured": {
                "model": self.model,
                "provider": self.provider,
                "effort": self.effort,
                "in_catalogue": self.is_known,
            },
            "models": models,
        })
    }

    fn text(&self) -> String {
        let mut headings = vec!["", "MODEL", "WINDOW", "EFFORTS", "INPUT", "CACHED", "OUTPUT", "FROM"];
        let mut rows: Vec<Vec<String>> = self.models.iter().map(ListedModel::row).collect();
        let dates: BTreeSet<&str> =
            self.models.iter().filter_map(|it| Some(it.price.as_ref()?.from.as_str())).collect();
        // One date for all prices is below the table, which then fits 80 columns.
        let dated = match (dates.len(), dates.first()) {
            (1, Some(date)) => {
                headings.pop();
                rows.iter_mut().for_each(|row| drop(row.pop()));
                format!(", from {date}")
            }
            _ => String::new(),
        };
        let mut text = aligned(&headings, &rows, &[2]);
        let effort = self.effort.map_or_else(|| "the model's default effort".to_owned(), |it| format!("effort {it}"));
        text += &format!("\n* configured: {} from provider {}, {effort}\n", self.model, self.provider);
        if !self.is_known {
            text += "  the catalogue does not have this model, so its limits are defaults\n";
        }
        text + &format!("[effort] applies unless another is set; prices are for a million tokens{dated}\n")
    }
}

impl ListedModel {
    fn row(&self) -> Vec<String> {
        let efforts = self.info.supported_reasoning_levels.iter().map(|level| {
            let is_default = self.info.default_reasoning_level == Some(level.effort);
            let effort = level.effort.as_str();
            if is_default { format!("[{effort}]") } else { effort.to_owned() }
        });
        let efforts = efforts.collect::<Vec<_>>().join(" ");
        let or_dash = |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned());
        let price = |of: fn(&ListedPrice) -> String| or_dash(self.price.as_ref().map(of));
        vec![
            if self.is_configured { "*" } else { " " }.to_owned(),
            self.info.slug.clone(),
            or_dash(self.info.context_window.map(style::thousands)),
            or_dash(Some(efforts)),
            price(|it| it.input.to_string()),
            price(|it| it.cached.to_string()),
            price(|it| it.output.to_string()),
            price(|it| it.from.clone()),
        ]
    }

    fn json(&self) -> Value {
        let price = self.price.as_ref().map(|price| {
            json!({
                "currency": &*price.input.currency,
                "tokens": PRICED_TOKENS,
                "input": price.input.decimal(),
                "cached_read": price.cached.decimal(),
                "output": price.output.decimal(),
                "from": price.from,
            })
        });
        let efforts: Vec<&str> =
            self.info.supported_reasoning_levels.iter().map(|level| level.effort.as_str()).collect();
        json!({
            "slug": self.info.slug,
            "name": self.info.display_name,
            "description": self.info.description,
            "window": self.info.context_window,
            "usable_window": self.info.effective_window(),
            "efforts": efforts,
            "default_effort": self.info.default_reasoning_level.map(ReasoningEffort::as_str),
            "is_default": self.is_default,
            "is_configured": self.is_configured,
            "price": price,
        })
    }
}

/// What a million tokens of each kind cost; absent if no price is known.
fn price(prices: &PriceTable, model: &str, day: &str) -> Option<ListedPrice> {
    let entry = prices.of(model, day)?;
    let nothing = UsageSplit { cached_read: 0, cache_write: None, uncached: 0, output: 0 };
    Some(ListedPrice {
        input: entry.cost(&UsageSplit { uncached: PRICED_TOKENS, ..nothing }),
        cached: entry.cost(&UsageSplit { cached_read: PRICED_TOKENS, ..nothing }),
        output: entry.cost(&UsageSplit { output: PRICED_TOKENS, ..nothing }),
        from: entry.from.clone(),
    })
}
