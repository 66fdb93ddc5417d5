//! Messages, part by part.

use std::collections::HashMap;

use catena_core::message::{
    AssistantMessage, Data, File, Image, Message, Part, Reasoning, ToolCall, ToolMessage, ToolStatus,
};
use catena_core::model::ReasoningReplay;
use rig_core::message::{
    AssistantContent, AssistantMessage as RigAssistant, CallId, Document, DocumentMediaType, DocumentSourceKind,
    Image as RigImage, ImageMediaType, Message as RigMessage, MimeType, Opaque, Reasoning as RigReasoning, Text,
    ToolCall as RigCall, ToolFunction, ToolName, ToolResult, ToolResultContent, UserContent,
};
use serde_json::{Map, Value};

use super::super::native::{OF_CALL, OF_TEXT};
use super::{Encoder, UNNAMED, is_ours};

impl Encoder<'_> {
    pub(super) fn push(&self, message: &Message, history: &mut Vec<RigMessage>) {
        match message {
            Message::System(system) => history.push(RigMessage::system(text_of(&system.parts))),
            Message::User(user) => history.push(RigMessage::User {
                content: user_content(&user.parts),
            }),
            Message::Tool(tool) => {
                let Some(result) = result(tool).map(UserContent::ToolResult) else {
                    return;
                };
                match history.last_mut() {
                    Some(RigMessage::User { content })
                        if content.iter().all(|part| matches!(part, UserContent::ToolResult(_))) =>
                    {
                        content.push(result);
                    }
                    _ => history.push(RigMessage::User { content: vec![result] }),
                }
            }
            Message::Assistant(assistant) => history.extend(self.assistant(assistant)),
        }
    }

    /// A message of the model; none if nothing of it may be sent.
    fn assistant(&self, message: &AssistantMessage) -> Option<RigMessage> {
        let own = message
            .model
            .as_deref()
            .and_then(|name| name.split_once(':'))
            .is_some_and(|(by, _)| by == self.profile.provider);
        let calls_of = self.beside_calls(message);
        let has_calls = message.calls().next().is_some();
        let mut content = Vec::with_capacity(message.parts.len());
        for (at, part) in message.parts.iter().enumerate() {
            match part {
                Part::Text(text) if text.text.is_empty() => {}
                Part::Text(text) => {
                    let block = AssistantContent::Text(Text::new(text.text.clone()));
                    content.push(match self.beside_text(message.parts.get(at + 1)).filter(|_| own) {
                        Some(beside) => block.with_native(self.native.text(&text.text, &beside)),
                        None => block,
                    });
                }
                Part::Reasoning(thought) => content.extend(self.thought(thought, own, has_calls)),
                Part::ToolCall(call) => content.extend(self.call(call, own, calls_of.get(call.id.as_str()))),
                Part::Image(picture) => content.push(match image(picture) {
                    Ok(image) => AssistantContent::Image(image),
                    Err(text) => AssistantContent::Text(Text::new(text)),
                }),
                Part::File(file) => content.push(AssistantContent::Text(Text::new(file_note(file)))),
                Part::Provider(_) => {
                    if let Some(item) = self.own_block(part).filter(|item| own && !is_ours(item)) {
                        content.push(AssistantContent::Opaque(Opaque {
                            item: item.clone(),
                            replay: true,
                        }));
                    }
                }
                _ => {}
            }
        }
        // Claiming the message lets rig send its items back as they are; everything another provider vouched for is gone by now.
        let origin = own.then(|| self.origin.clone());
        (!content.is_empty()).then(|| RigMessage::Assistant(RigAssistant::new(content).with_origin(origin)))
    }

    /// A thought goes back unchanged to the provider that wrote it, or not at all.
    fn thought(&self, thought: &Reasoning, own: bool, has_calls: bool) -> Option<AssistantContent> {
        let theirs = own && thought.provider.as_deref() == Some(&*self.profile.provider);
        if !theirs {
            return None;
        }
        let item = match self.profile.reasoning_replay {
            ReasoningReplay::Never => None,
            ReasoningReplay::Signed if self.thoughts_unbound => None,
            ReasoningReplay::Signed => self.native.signed(thought),
            ReasoningReplay::TextWithCalls => {
                (has_calls && !thought.text.is_empty()).then(|| self.native.plain(&thought.text))
            }
        }?;
        let redacted = thought.text.is_empty() && thought.encrypted.is_some();
        let block = RigReasoning {
            text: thought.text.clone(),
            redacted,
            native: None,
        };
        Some(AssistantContent::Reasoning(block).with_native(item))
    }

    fn call(&self, call: &ToolCall, own: bool, beside: Option<&Map<String, Value>>) -> Option<AssistantContent> {
        let function = ToolFunction::new(tool_name(&call.name)?, call.input.clone());
        let block = AssistantContent::ToolCall(RigCall::new(CallId::from_wire(call.id.as_str()), function));
        Some(
            match self.native.call(call, beside).filter(|_| own && !call.name.is_empty()) {
                Some(item) => block.with_native(item),
                None => block,
            },
        )
    }

    fn beside_text(&self, next: Option<&Part>) -> Option<Map<String, Value>> {
        let block = self.own_block(next?)?;
        match block["type"] == OF_TEXT {
            true => block["item"].as_object().cloned(),
            false => None,
        }
    }

    fn beside_calls(&self, message: &AssistantMessage) -> HashMap<String, Map<String, Value>> {
        let blocks = message
            .parts
            .iter()
            .filter_map(|part| self.own_block(part))
            .filter(|block| block["type"] == OF_CALL);
        blocks
            .filter_map(|block| Some((block["call"].as_str()?.to_owned(), block["item"].as_object()?.clone())))
            .collect()
    }

    pub(super) fn own_block<'p>(&self, part: &'p Part) -> Option<&'p Value> {
        match part {
            Part::Provider(block) if block.provider == self.profile.provider => Some(&block.block),
            _ => None,
        }
    }
}

fn user_content(parts: &[Part]) -> Vec<UserContent> {
    let mut content: Vec<UserContent> = parts.iter().filter_map(user_part).collect();
    // FC-137: never null, and never a word that nobody said.
    if content.is_empty() {
        content.push(UserContent::text(""));
    }
    content
}

fn user_part(part: &Part) -> Option<UserContent> {
    Some(match part {
        Part::Text(text) => UserContent::text(text.text.clone()),
        Part::Image(picture) => match image(picture) {
            Ok(image) => UserContent::Image(image),
            Err(text) => UserContent::text(text),
        },
        Part::File(file) => match document(file) {
            Some(document) => UserContent::Document(document),
            None => UserContent::text(file_note(file)),
        },
        _ => return None,
    })
}

fn result(tool: &ToolMessage) -> Option<ToolResult> {
    let mut content: Vec<ToolResultContent> = tool.parts.iter().filter_map(result_part).collect();
    // FC-137: not null either. rig writes `(no tool output)` here, since Anthropic refuses an empty text.
    if content.is_empty() {
        content.push(ToolResultContent::Text(Text::new("")));
    }
    Some(ToolResult {
        call: CallId::from_wire(tool.call.as_str()),
        name: tool_name(&tool.name)?,
        content,
        is_error: tool.status == ToolStatus::Error,
    })
}

fn result_part(part: &Part) -> Option<ToolResultContent> {
    let text = |text: String| ToolResultContent::Text(Text::new(text));
    Some(match part {
        Part::Text(words) => text(words.text.clone()),
        Part::Image(picture) => match image(picture) {
            Ok(image) => ToolResultContent::Image(image),
            Err(note) => text(note),
        },
        Part::File(file) => text(file_note(file)),
        _ => return None,
    })
}

/// A picture, or the words in its place.
fn image(picture: &Image) -> Result<RigImage, String> {
    let data = match &picture.data {
        Data::Base64(data) => DocumentSourceKind::Base64(data.clone()),
        Data::Url(url) => DocumentSourceKind::Url(url.clone()),
        // A drawing in text, such as SVG: models read its source.
        Data::Text(text) => return Err(text.clone()),
    };
    let media_type = ImageMediaType::from_mime_type(
        &picture
            .media_type
            .to_ascii_lowercase()
            .replace("image/jpg", "image/jpeg"),
    );
    match (media_type, &data) {
        (None, DocumentSourceKind::Base64(_)) => {
            Err(format!("(an image of type {} that cannot be sent)", picture.media_type))
        }
        (media_type, _) => Ok(RigImage {
            data,
            media_type,
            ..RigImage::default()
        }),
    }
}

fn document(file: &File) -> Option<Document> {
    let media_type = DocumentMediaType::from_mime_type(&file.media_type);
    let data = match &file.data {
        Data::Base64(data) => DocumentSourceKind::Base64(data.clone()),
        Data::Url(url) => DocumentSourceKind::Url(url.clone()),
        // As text it reaches every provider, with its name.
        Data::Text(_) => return None,
    };
    media_type.as_ref()?;
    let title = serde_json::json!({"title": file.name});
    Some(Document {
        data,
        media_type,
        additional_params: Some(title),
    })
}

/// A file in words: its text if it is one, otherwise that it is there.
fn file_note(file: &File) -> String {
    match &file.data {
        Data::Text(text) => format!("File `{}`:\n\n{text}", file.name),
        Data::Base64(_) | Data::Url(_) => {
            format!("(file `{}` of type {} that cannot be sent)", file.name, file.media_type)
        }
    }
}

fn text_of(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect()
}

/// Always one: a call and its result must stay together, whatever the model called.
fn tool_name(name: &str) -> Option<ToolName> {
    ToolName::new(if name.is_empty() { UNNAMED } else { name }).ok()
}
