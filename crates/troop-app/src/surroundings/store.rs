//! Where teams are kept: the URL of a store, and the readable files beside it.

use std::path::{Path, PathBuf};

use troop_model::{Hint, HintOption};
use troop_runtime::Layout;
use troop_store::{StoreError, StoreUrl};

use crate::{Error, Result};

/// The readable files beside a `files:` store, and which program's format they follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadableFiles {
    pub folder: PathBuf,
    pub layout: Layout,
}

/// Parses the URL of a store. A URL that makes no sense is misuse, wherever it was written.
pub fn parse_store(url: &str) -> Result<StoreUrl> {
    StoreUrl::parse(split_layout(url).0).map_err(|error| {
        if let StoreError::Refused { what, hint } = error {
            Error::misuse(what, hint)
        } else {
            error.into()
        }
    })
}

/// The readable files beside a store of files: `files:FOLDER?layout=seeds`, or Claude Code's layout.
pub fn readable_files(url: &str) -> Result<Option<ReadableFiles>> {
    let (url, layout) = split_layout(url);
    let StoreUrl::Files(folder) = parse_store(url)? else { return Ok(None) };
    let layout = match layout.map(str::parse::<Layout>).transpose() {
        Ok(layout) => layout.unwrap_or_default(),
        Err(error) => {
            let store = HintOption::new("store", format!("{url}?layout=claude"));
            return Err(Error::misuse(error.to_string(), Hint::from("say ").and_option(store)));
        }
    };
    Ok(Some(ReadableFiles { folder, layout }))
}

/// The URL of a store with its path resolved from a folder, so that it means the same everywhere.
#[must_use]
pub fn store_from_folder(store: &str, folder: &Path) -> String {
    match store.split_once(':') {
        Some((scheme @ ("sqlite" | "files"), path)) if !path.is_empty() => {
            format!("{scheme}:{}", folder.join(path.trim_start_matches("//")).display())
        }
        _ => store.to_owned(),
    }
}

/// The URL of a store, and the layout that is written behind it.
fn split_layout(url: &str) -> (&str, Option<&str>) {
    match url.split_once("?layout=") {
        Some((url, layout)) if url.starts_with("files:") => (url, Some(layout)),
        _ => (url, None),
    }
}
