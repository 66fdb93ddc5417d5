use serde_json::json;

use super::*;

#[test]
fn text_is_the_text_parts_joined() {
    let message = Message::user_parts(vec![
        "a".into(),
        Part::Image(Image {
            media_type: "image/png".into(),
            data: Data::Base64("AAAA".into()),
        }),
        "b".into(),
    ]);
    assert_eq!(message.text(), "ab");
}

#[test]
fn a_message_keeps_everything_on_the_wire() {
    let message = Message::Assistant(AssistantMessage {
        id: "m1".into(),
        name: Some("assistant".into()),
        parts: vec![
            Part::Reasoning(Reasoning {
                text: String::new(),
                signature: Some("s1".into()),
                provider: Some("anthropic".into()),
                ..Reasoning::default()
            }),
            Part::Provider(ProviderBlock {
                provider: "anthropic".into(),
                block: json!({"type": "server_tool_use"}),
            }),
            Part::text("hello"),
            Part::ToolCall(ToolCall {
                invalid: Some(InvalidInput {
                    text: "{".into(),
                    reason: "ends early".into(),
                }),
                ..ToolCall::new("c1", "f", json!({}))
            }),
        ],
        stop: StopReason::ToolCalls,
        model: Some("anthropic:claude".into()),
        usage: Usage {
            input: 3,
            output: 4,
            ..Usage::default()
        },
    });
    let text = serde_json::to_string(&message).unwrap();
    assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
}

#[test]
fn reasoning_alone_says_nothing() {
    let thought = Part::Reasoning(Reasoning {
        text: "hm".into(),
        ..Reasoning::default()
    });
    assert!(AssistantMessage::new(vec![thought]).is_empty());
    assert!(!AssistantMessage::new(vec!["x".into()]).is_empty());
}

#[test]
fn debug_does_not_print_file_contents() {
    let part = Part::Image(Image {
        media_type: "image/png".into(),
        data: Data::Base64("SECRET".into()),
    });
    assert!(!format!("{part:?}").contains("SECRET"));
}
