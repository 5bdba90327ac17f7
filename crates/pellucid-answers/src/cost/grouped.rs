//! Sums of what requests cost, by session, turn, request, part, source or tool.

use std::collections::BTreeMap;

use pellucid_engine::prices::PriceTable;
use pellucid_protocol::price::Money;
use pellucid_protocol::usage::UsageSplit;
use serde_json::Value;
use serde_json::json;

use super::CostedRequest;
use super::ReadText;
use super::SCHEMA;
use super::UsedPrice;
use super::ledger;
use super::money_json;

/// What costs are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostBy {
    /// The session that sent the requests.
    Session,
    /// The turn that sent the requests.
    Turn,
    /// Each request alone.
    Request,
    /// The part of the requests, and the answers.
    Part,
    /// The origin of the bytes, and the model for answers.
    Source,
    /// The tool that bytes describe or that made them.
    Tool,
}

/// What requests cost.
#[derive(Debug, Clone, PartialEq)]
pub struct CostAnswer {
    /// What the groups are.
    pub by: CostBy,
    /// The groups; by session, turn and request in the order of time, otherwise the most expensive first.
    pub groups: Vec<CostGroup>,
    /// All requests together.
    pub total: CostGroup,
    /// How many requests there are.
    pub n_requests: usize,
    /// How many of these have no figures of the provider, so that they are in no sum.
    pub n_unreported: usize,
    /// How many input tokens this program estimates for the requests with figures; 0 if the bytes of one are not known.
    pub estimated: u64,
    /// The prices that were used.
    pub prices: Vec<UsedPrice>,
}

/// Tokens and their price.
#[derive(Debug, Clone, PartialEq)]
pub struct CostGroup {
    /// The name of the group.
    pub name: String,
    /// The numbers of the first and the last request of the group in their sessions.
    pub numbers: (usize, usize),
    /// The tokens, as the provider charged them.
    pub usage: UsageSplit,
    /// What the tokens cost; absent where a price is unknown.
    pub cost: Option<Money>,
}

/// The name of the group for bytes that cannot be rebuilt.
const UNKNOWN: &str = "(not known)";

/// The name of the group for what is of no tool.
const NO_TOOL: &str = "(no tool)";

impl CostAnswer {
    /// Adds up what requests cost.
    pub fn of(requests: &[CostedRequest], by: CostBy, prices: &PriceTable) -> Self {
        let mut sums = Sums::default();
        let (mut n_unreported, mut estimated, mut has_all_bytes) = (0, 0, true);
        let mut total = CostGroup::new("total".to_owned());
        let mut costs = Vec::new();
        for request in requests {
            let Some(usage) = &request.figures.usage else {
                n_unreported += 1;
                continue;
            };
            estimated += request.figures.tokens as u64;
            has_all_bytes &= request.figures.bytes > 0;
            let price = request.price(prices);
            total.add(usage, request.figures.number);
            let cost = price.and_then(|price| request.figures.cost(price));
            costs.push(cost.clone());
            for (name, dealt) in dealt(request, usage, by) {
                let cost = match price {
                    Some(_) if dealt == *usage => cost.clone(),
                    price => price.map(|price| price.cost(&dealt)),
                };
                sums.add(name, request.figures.number, &dealt, cost);
            }
        }
        total.cost = costs.into_iter().collect::<Option<Vec<_>>>().and_then(Money::sum);
        let asked = requests.iter().filter(|request| request.figures.usage.is_some());
        Self {
            by,
            groups: sums.into_groups(by),
            total,
            n_requests: requests.len(),
            n_unreported,
            // Without its bytes, the tokens of a request are those of the provider.
            estimated: if has_all_bytes { estimated } else { 0 },
            prices: UsedPrice::all(prices, asked.map(|request| (request.figures.model.as_str(), request.day()))),
        }
    }

    /// The input tokens that the provider counted.
    pub fn counted(&self) -> i64 {
        ledger::input(&self.total.usage)
    }

    /// How many tokens the provider counted for each that this program estimates.
    pub fn factor(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
        (self.estimated > 0).then(|| self.counted() as f64 / self.estimated as f64)
    }

    /// Whether a price is unknown.
    pub fn has_unknown_price(&self) -> bool {
        self.prices.iter().any(|price| price.from.is_none())
    }

    /// The answer as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "schema": SCHEMA,
            "by": self.by.as_str(),
            "groups": self.groups.iter().map(CostGroup::to_json).collect::<Vec<_>>(),
            "total": self.total.to_json(),
            "requests": self.n_requests,
            "requests_without_figures": self.n_unreported,
            "tokens_estimated": self.estimated,
            "tokens_counted": self.counted(),
            "factor": self.factor().map(|factor| format!("{factor:.4}")),
            "prices": UsedPrice::to_json(&self.prices),
        })
    }
}

impl CostBy {
    /// The word for it, as people type it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Turn => "turn",
            Self::Request => "request",
            Self::Part => "part",
            Self::Source => "source",
            Self::Tool => "tool",
        }
    }

    fn name(self, text: &ReadText) -> &str {
        match self {
            Self::Source => &text.source,
            Self::Tool => text.tool.as_deref().unwrap_or(NO_TOOL),
            Self::Session | Self::Turn | Self::Request | Self::Part => &text.part,
        }
    }

    fn answer(self) -> &'static str {
        match self {
            Self::Source => "model",
            Self::Tool => NO_TOOL,
            Self::Session | Self::Turn | Self::Request | Self::Part => "answer",
        }
    }
}

impl CostGroup {
    /// A group without requests.
    fn new(name: String) -> Self {
        Self { name, numbers: (usize::MAX, 0), usage: UsageSplit::default(), cost: None }
    }

    /// Adds the tokens of a request, or of a part of it.
    fn add(&mut self, usage: &UsageSplit, number: usize) {
        self.usage.add(usage);
        self.numbers = (self.numbers.0.min(number), self.numbers.1.max(number));
    }

    /// The group as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "read": self.usage.cached_read,
            "written": self.usage.cache_write,
            "uncached": self.usage.uncached,
            "answered": self.usage.output,
            "cost": money_json(self.cost.as_ref()),
        })
    }
}

/// The tokens of a request by the groups that they belong to.
fn dealt(request: &CostedRequest, usage: &UsageSplit, by: CostBy) -> Vec<(String, UsageSplit)> {
    let figures = &request.figures;
    match by {
        CostBy::Session => vec![(request.session.to_string(), *usage)],
        CostBy::Turn => vec![(format!("{} {}", request.session, figures.turn), *usage)],
        CostBy::Request => vec![(format!("{}#{}", request.session, figures.number), *usage)],
        CostBy::Part | CostBy::Source | CostBy::Tool => {
            let answer = UsageSplit { output: usage.output, ..UsageSplit::default() };
            let mut dealt = vec![(by.answer().to_owned(), answer)];
            if request.read.is_empty() {
                dealt.push((UNKNOWN.to_owned(), UsageSplit { output: 0, ..*usage }));
                return dealt;
            }
            let shares = ledger::shares(usage, &request.read);
            dealt.extend(request.read.iter().map(|text| by.name(text).to_owned()).zip(shares));
            dealt
        }
    }
}

/// Sums by name, in the order in which names came first.
#[derive(Default)]
struct Sums {
    places: BTreeMap<String, usize>,
    groups: Vec<(CostGroup, Vec<Option<Money>>)>,
}

impl Sums {
    fn add(&mut self, name: String, number: usize, usage: &UsageSplit, cost: Option<Money>) {
        let place = *self.places.entry(name.clone()).or_insert_with(|| {
            self.groups.push((CostGroup::new(name), Vec::new()));
            self.groups.len() - 1
        });
        let (group, costs) = &mut self.groups[place];
        group.add(usage, number);
        match (costs.last_mut(), cost) {
            // One sum is enough as long as it can be made.
            (Some(sum @ Some(_)), Some(cost)) => match sum.as_ref().and_then(|sum| sum.plus(&cost)) {
                Some(together) => *sum = Some(together),
                None => costs.push(Some(cost)),
            },
            (_, cost) => costs.push(cost),
        }
    }

    fn into_groups(self, by: CostBy) -> Vec<CostGroup> {
        let sum = |(group, costs): (CostGroup, Vec<Option<Money>>)| CostGroup {
            cost: costs.into_iter().collect::<Option<Vec<_>>>().and_then(Money::sum),
            ..group
        };
        let mut groups: Vec<CostGroup> = self.groups.into_iter().map(sum).collect();
        if matches!(by, CostBy::Part | CostBy::Source | CostBy::Tool) {
            let weight = |group: &CostGroup| ledger::input(&group.usage) + group.usage.output;
            groups.sort_by(|one, two| {
                let by_cost = match (&one.cost, &two.cost) {
                    (Some(one), Some(two)) => two.compare(one),
                    _ => None,
                };
                by_cost
                    .filter(|order| order.is_ne())
                    .unwrap_or_else(|| weight(two).cmp(&weight(one)))
                    .then_with(|| one.name.cmp(&two.name))
            });
        }
        groups
    }
}
