//! Folders of chats: safe names, and no two alike.

use std::collections::BTreeMap;

use proptest::prelude::*;
use troop_model::WorkspaceFolder;

use super::{names, of_chat};

#[test]
fn a_chat_has_a_folder_that_people_recognise() {
    for (chat, name) in [
        (None, "default"),
        (Some("c1"), "c1"),
        (Some("-100123"), "-100123"),
        (Some("default"), "_64efault"),
        (Some(""), "_"),
        (Some("_"), "_5f"),
        (Some("Team A/B"), "_54eam_20_41_2f_42"),
        (Some(".."), "_2e_2e"),
    ] {
        assert_eq!(of_chat(chat), name);
    }
    let long = of_chat(Some(&"x".repeat(201)));
    assert!(long.starts_with("__") && long.len() == 66, "{long}");
    assert_eq!(names(&WorkspaceFolder::shared()), ["shared"]);
    assert_eq!(names(&WorkspaceFolder::of_chat(Some("shared".into()))), ["chats", "shared"]);
}

proptest! {
    #[test]
    fn no_two_chats_share_a_folder_and_none_leads_out(chats in prop::collection::vec(prop_oneof![
        any::<String>(), "[a-z_0-9.]{0,4}", "(_|[0-9a-f]){0,6}", "x{190,210}",
    ], 1..40)) {
        let mut owners = BTreeMap::new();
        owners.insert(of_chat(None), None);
        for chat in chats {
            let name = of_chat(Some(&chat));
            prop_assert!(name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || b"-_".contains(&it)));
            prop_assert!(!name.is_empty() && name.len() <= 200);
            let owner = owners.entry(name).or_insert_with(|| Some(chat.clone()));
            prop_assert_eq!(owner.as_ref(), Some(&chat));
        }
    }
}
