//! Files that a person drops in: text, images and PDF documents become parts of a message.

use std::path::{Path, PathBuf};

use base64::Engine;
use catena_core::message::{Data, File, Image, Message, Part};
use catena_core::model::Model;
use tokio::io::AsyncReadExt;

use crate::error::{CliError, Result};
use crate::stdin;

/// Bytes of a text file; more does not fit into any model's window, at some four bytes to a token.
const TEXT_LIMIT: u64 = 4 * 1024 * 1024;
/// Bytes of an image or a document; what providers take in one request.
const BINARY_LIMIT: u64 = 20 * 1024 * 1024;

/// Images that providers read, by how their files begin.
const IMAGES: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
];

/// Reads files as parts of a message; `-` is standard input.
///
/// # Errors
/// As [`attach`].
pub(crate) async fn attach_all(paths: &[PathBuf]) -> Result<Vec<Part>> {
    let mut parts = Vec::with_capacity(paths.len());
    for path in paths {
        parts.push(match path == Path::new("-") {
            true => Part::File(text_file("stdin".into(), stdin::read().await?)),
            false => attach(path).await?,
        });
    }
    Ok(parts)
}

/// Reads a file as a part of a message. What it is follows from its contents, not from its name.
///
/// # Errors
/// If it cannot be read, is too large, or is neither text, an image nor a PDF document.
pub(crate) async fn attach(path: &Path) -> Result<Part> {
    let metadata = tokio::fs::metadata(path).await.map_err(CliError::file("read", path))?;
    if !metadata.is_file() {
        return Err(CliError::Usage(format!("`{}` is not a file", path.display())));
    }
    let too_large = |limit: u64| {
        let limit = limit / (1024 * 1024);
        Err(CliError::Usage(format!(
            "`{}` is larger than {limit} MB; attach a part of it",
            path.display()
        )))
    };
    if metadata.len() > BINARY_LIMIT {
        return too_large(BINARY_LIMIT);
    }
    // What a file says of its size is not always true.
    let bytes = at_most(path, BINARY_LIMIT).await?;
    if bytes.len() as u64 > BINARY_LIMIT {
        return too_large(BINARY_LIMIT);
    }
    let name = path
        .file_name()
        .map_or_else(|| "file".into(), |name| name.to_string_lossy().into_owned());
    match part(name, bytes) {
        Some(Part::File(File {
            data: Data::Text(text), ..
        })) if text.len() as u64 > TEXT_LIMIT => too_large(TEXT_LIMIT),
        Some(part) => Ok(part),
        None => Err(CliError::Usage(format!(
            "`{}` is neither text in UTF-8, an image (PNG, JPEG, GIF, WebP) nor a PDF document",
            path.display()
        ))),
    }
}

/// What the model will not see of an attachment; none if it reads it.
pub(crate) fn unseen(part: &Part, model: &dyn Model) -> Option<String> {
    let profile = model.profile();
    let what = match part {
        Part::Image(_) if !profile.images => "images",
        Part::File(File {
            data: Data::Base64(_), ..
        }) if !profile.files => "documents",
        _ => return None,
    };
    Some(format!(
        "{} does not read {what}: it will only be told that one is there",
        model.name()
    ))
}

/// A person's message: the files first, then what is asked about them.
pub(crate) fn message(text: &str, files: Vec<Part>) -> Message {
    let mut parts = files;
    if !text.is_empty() || parts.is_empty() {
        parts.push(Part::text(text));
    }
    Message::user_parts(parts)
}

fn part(name: String, bytes: Vec<u8>) -> Option<Part> {
    let base64 = |bytes: &[u8]| Data::Base64(base64::engine::general_purpose::STANDARD.encode(bytes));
    if let Some((_, media_type)) = IMAGES.iter().find(|(start, kind)| is_image(&bytes, start, kind)) {
        return Some(Part::Image(Image {
            media_type: (*media_type).to_owned(),
            data: base64(&bytes),
        }));
    }
    if bytes.starts_with(b"%PDF-") {
        return Some(Part::File(File {
            name,
            media_type: "application/pdf".into(),
            data: base64(&bytes),
        }));
    }
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Some(Part::File(text_file(name, text)))
}

fn text_file(name: String, text: String) -> File {
    File {
        name,
        media_type: "text/plain".into(),
        data: Data::Text(text),
    }
}

fn is_image(bytes: &[u8], start: &[u8], kind: &str) -> bool {
    // Other files than images begin with RIFF as well.
    bytes.starts_with(start) && (kind != "image/webp" || bytes.get(8..12) == Some(b"WEBP"))
}

/// The file's bytes, and not more than one beyond the limit.
pub(crate) async fn at_most(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = tokio::fs::File::open(path)
        .await
        .map_err(CliError::file("read", path))?;
    let read = file.take(limit + 1).read_to_end(&mut bytes).await;
    read.map_err(CliError::file("read", path))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_is_follows_from_its_contents() {
        let kind = |bytes: &[u8]| match part("f.txt".into(), bytes.to_vec()) {
            Some(Part::Image(image)) => image.media_type,
            Some(Part::File(file)) => file.media_type,
            _ => "none".into(),
        };
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n..."), "image/png");
        assert_eq!(kind(b"RIFF....WEBPVP8 "), "image/webp");
        assert_eq!(kind(b"RIFF....WAVEfmt "), "text/plain");
        assert_eq!(kind(b"%PDF-1.7"), "application/pdf");
        assert_eq!(kind("größe".as_bytes()), "text/plain");
        assert_eq!(kind(b"\xff\xfe\x00"), "none");
        assert_eq!(kind(b"a\0b"), "none");
    }

    #[test]
    fn files_come_before_the_question() {
        let message = message("what is it?", vec![Part::text("file")]);
        assert_eq!(message.text(), "filewhat is it?");
    }

    #[tokio::test]
    async fn a_directory_is_refused_by_name() {
        let error = attach(Path::new("/")).await.err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("`/` is not a file"));
    }
}
