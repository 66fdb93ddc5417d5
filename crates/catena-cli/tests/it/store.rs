//! Databases that are damaged, too new or out of reach.

use serde_json::json;

use crate::support::Home;

#[test]
fn a_file_that_is_no_database_is_named_with_what_to_do() {
    let home = Home::new();
    std::fs::create_dir_all(home.data()).unwrap();
    std::fs::write(
        home.data().join("catena.db"),
        "this is not a database, it only stands where one should be".repeat(50),
    )
    .unwrap();
    let script = home.script("s.json", json!({"replies": [{"say": "hi"}]}));
    for args in [&["run", "x", "--script", &script][..], &["threads", "list"]] {
        home.run(args).exits(1).says("catena.db").says("not an SQLite database");
    }
    let ran = home.run(&["check"]).exits(2);
    assert!(ran.stdout.contains("not an SQLite database"), "{}", ran.stdout);
}

/// An empty SQLite database of one page, with these two numbers in its header.
fn database(application: &[u8; 4], version: u32) -> Vec<u8> {
    let mut page = vec![0_u8; 4096];
    page[..16].copy_from_slice(b"SQLite format 3\0");
    page[16..24].copy_from_slice(&[0x10, 0, 1, 1, 0, 64, 32, 32]);
    // One page, schema format 4, UTF-8.
    page[31] = 1;
    page[47] = 4;
    page[59] = 1;
    page[60..64].copy_from_slice(&version.to_be_bytes());
    page[68..72].copy_from_slice(application);
    // The root of the schema: a leaf without cells whose contents begin at the page's end.
    page[100] = 13;
    page[105] = 0x10;
    page
}

#[test]
fn a_database_of_a_newer_version_is_left_alone() {
    let home = Home::new();
    std::fs::create_dir_all(home.data()).unwrap();
    let path = home.data().join("catena.db");
    std::fs::write(&path, database(b"cate", 9_999)).unwrap();
    let script = home.script("s.json", json!({"replies": [{"say": "hi"}]}));
    home.run(&["run", "x", "--script", &script])
        .exits(1)
        .says("newer version");
    assert_eq!(std::fs::read(&path).unwrap()[60..64], 9_999_u32.to_be_bytes());
    // The very same file without the numbers is an empty one, and fine.
    std::fs::write(&path, database(&[0; 4], 0)).unwrap();
    home.run(&["run", "x", "--script", &script]).exits(0);
}

#[test]
fn a_directory_in_the_place_of_the_database_is_said() {
    let home = Home::new();
    std::fs::create_dir_all(home.data().join("catena.db")).unwrap();
    home.run(&["threads", "list"]).exits(1).says("it is a directory");
}
