//! A model behind an OpenAI-compatible server on this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use serde_json::Value;

use crate::support::{Home, Ran};

/// Answers one request with these words; yields its address, and the request's headers and body.
fn serve(words: &'static str) -> (String, JoinHandle<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "the request was cut off");
        }
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        let mut body = vec![0; length.unwrap().parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": words}}]});
        let end = serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        let answer = format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n");
        let header = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
        write!(stream, "{header}content-length: {}\r\n\r\n{answer}", answer.len()).unwrap();
        (head, serde_json::from_slice(&body).unwrap())
    });
    (url, served)
}

#[test]
fn a_server_of_ones_own_answers_and_reads_the_file() {
    let home = Home::new();
    home.file("notes.txt", "the code is 7421");
    let (url, served) = serve("It is 7421.");
    let ran = home
        .run(&[
            "run",
            "What is the code?",
            "--file",
            "notes.txt",
            "--model",
            "mine",
            "--base-url",
            &url,
        ])
        .exits(0);
    assert_eq!(ran.stdout, "It is 7421.\n");
    let (_, request) = served.join().unwrap();
    assert_eq!(request["model"], "mine");
    assert!(
        request["messages"].to_string().contains("the code is 7421"),
        "{request}"
    );
}

#[test]
fn a_configured_model_gets_its_key_from_the_variable_that_is_named() {
    let home = Home::new();
    let (url, served) = serve("Hello.");
    home.file(
        "catena.toml",
        format!("[models.default]\nmodel = \"compatible:m\"\nbase_url = \"{url}\"\napi_key_env = \"MY_KEY\"\n[agents.assistant]\n"),
    );
    home.run(&["run", "hi"]).exits(2).says("MY_KEY");
    let ran = Ran::from(
        home.command(&["-vvv", "run", "hi"])
            .env("MY_KEY", "sk-very-secret")
            .output()
            .unwrap(),
    )
    .exits(0);
    assert_eq!(ran.stdout, "Hello.\n");
    assert!(!ran.stderr.contains("sk-very-secret"), "{}", ran.stderr);
    let (head, _) = served.join().unwrap();
    assert!(
        head.to_lowercase().contains("authorization: bearer sk-very-secret"),
        "{head}"
    );
}
