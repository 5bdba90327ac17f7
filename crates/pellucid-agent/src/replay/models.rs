//! Which models a record's requests ask, without their items.

use std::collections::BTreeMap;
use std::path::Path;

use pellucid_store::requests::chain::Chain;
use pellucid_store::requests::entry::LogEntry;
use pellucid_store::requests::parts::PartStore;

/// The models of the requests of a record, by the numbers of their lines. A request is missing whose frame cannot be read.
pub fn models(home: &Path, chain: &Chain) -> BTreeMap<u64, String> {
    let parts = PartStore::new(home);
    let mut frames: BTreeMap<&str, Option<String>> = BTreeMap::new();
    let mut models = BTreeMap::new();
    for link in &chain.links {
        match &link.entry {
            LogEntry::Frame(frame) => {
                let model = super::frame(frame, &parts).ok().and_then(|frame| frame.model());
                frames.insert(&frame.digest, model);
            }
            LogEntry::Request(request) => {
                let addressed = || request.watched.as_ref().and_then(|watched| watched.model.clone());
                let model = frames.get(request.frame.as_str()).cloned().flatten();
                models.extend(model.or_else(addressed).map(|model| (link.n, model)));
            }
            _ => {}
        }
    }
    models
}
