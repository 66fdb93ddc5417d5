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

#[test]
fn a_database_of_a_newer_version_is_left_alone() {
    let home = Home::new();
    let script = home.script("s.json", json!({"replies": [{"say": "hi"}]}));
    home.run(&["run", "x", "--script", &script]).exits(0);
    let path = home.data().join("catena.db");
    for log in ["catena.db-wal", "catena.db-shm"] {
        assert!(!home.data().join(log).exists(), "the database was not closed: {log}");
    }
    // The version stands in the header, at byte 60, big-endian.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    home.run(&["run", "x", "--script", &script])
        .exits(1)
        .says("newer version");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_directory_in_the_place_of_the_database_is_said() {
    let home = Home::new();
    std::fs::create_dir_all(home.data().join("catena.db")).unwrap();
    home.run(&["threads", "list"]).exits(1).says("it is a directory");
}
