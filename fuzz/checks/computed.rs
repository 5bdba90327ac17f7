//! Any template of a pack is rendered, is left out with a reason, or is refused; it ends, and a row of a file has the bytes
//! of the file.

use pellucid_engine::assemble::assemble;
use pellucid_engine::facts::Facts;
use pellucid_engine::fragment::Origin;
use pellucid_engine::pack::Pack;

const LAYOUT: &str =
    "name = \"mine\"\nfrom = \"codex\"\n[[slot]]\nid = \"only\"\ntarget = \"user\"\nfile = \"only.jinja\"\n";

pub fn check(data: &[u8], facts: &Facts) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let files = [("pack.toml", LAYOUT), ("only.jinja", text)];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into_iter().collect();
    let pack = match Pack::load_user(&files, "/packs/mine") {
        Ok(pack) => pack,
        Err(error) => {
            assert!(error.to_string().starts_with("/packs/mine/"), "{error}");
            return;
        }
    };
    let context = assemble(&pack, facts);
    assert_eq!(context, assemble(&pack, facts), "the same facts give the same bytes");
    for fragment in context.messages.iter().flat_map(|message| &message.fragments) {
        let Origin::File { path, range, .. } = &fragment.origin else { continue };
        let mut documents = facts.world.project_documents.iter().chain(&facts.world.home_document);
        let document = documents.find(|document| document.path == **path).expect("rows are of files that were given");
        let (start, end) = (range.start as usize, range.end as usize);
        assert_eq!(fragment.text.as_bytes(), &document.bytes[start..end]);
    }
}
