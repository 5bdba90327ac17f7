//! Images from disk, made small enough for a model.
//!
//! A PNG or JPEG that fits goes out byte for byte. Everything else that can be decoded is encoded again, scaled down
//! if needed. An unusable file is described instead.
//!
//! Not here: the text for an image that cannot be used, and its place in a message.

use std::fmt::Display;
use std::fs;
use std::io;
use std::io::Cursor;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::DynamicImage;
use image::ExtendedColorType;
use image::ImageEncoder;
use image::ImageError;
use image::ImageFormat;
use image::ImageReader;
use image::ImageResult;
use image::Limits;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::error::ImageFormatHint;
use image::imageops::FilterType;
use pellucid_engine::digest::Digest;
use pellucid_engine::facts::LoadedImage;

use crate::mime;

const WIDTH_MAX: u32 = 2048;
const HEIGHT_MAX: u32 = 768;
const JPEG_QUALITY: u8 = 85;
/// Larger files are not opened: no image of this size is meant for a model.
const FILE_BYTES_MAX: u64 = 100 * 1024 * 1024;
/// How much a decoder may allocate, so that a small file cannot claim to be a huge image.
const DECODER_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Loads an image. Errors name the path as given.
pub fn load_image(path: &Path) -> LoadedImage {
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            return LoadedImage::Unreadable { error: about("read", path, &error) };
        }
    };
    let sha256 = Digest::of([bytes.as_slice()]);
    match fit(bytes) {
        Ok((mime, bytes)) => {
            LoadedImage::Ready { data_url: format!("data:{mime};base64,{}", STANDARD.encode(bytes)), sha256 }
        }
        Err(error @ ImageError::Decoding(_)) => LoadedImage::Invalid { error: about("decode", path, &error) },
        Err(error) => match mime::guess(path) {
            Some(mime) if mime.starts_with("image/") => {
                LoadedImage::Unsupported { mime: mime.to_owned(), error: unknown(path, Some(mime), &error) }
            }
            mime => LoadedImage::NotAnImage { mime: mime.map(str::to_owned), error: unknown(path, None, &error) },
        },
    }
}

/// Why a file is no image that can be read, for people. Its name alone says nothing of that.
fn unknown(path: &Path, mime: Option<&str>, error: &ImageError) -> String {
    let is_known = matches!(error, ImageError::Unsupported(why) if why.format_hint() != ImageFormatHint::Unknown);
    let why = match (error, mime) {
        (ImageError::Unsupported(_), Some(mime)) if !is_known => {
            format!("its bytes are not those of {mime}, nor of another image format that can be read")
        }
        (ImageError::Unsupported(_), None) if !is_known => {
            "its bytes are not those of an image format that can be read".to_owned()
        }
        _ => error.to_string(),
    };
    about("decode", path, &why)
}

fn about(verb: &str, path: &Path, error: &dyn Display) -> String {
    format!("failed to {verb} image at {}: {error}", path.display())
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if metadata.len() > FILE_BYTES_MAX && !metadata.is_dir() {
        return Err(too_large(metadata.len()));
    }
    pellucid_files::read(path, FILE_BYTES_MAX)
}

fn too_large(size: u64) -> io::Error {
    let text = format!("the file has {size} bytes, more than the {FILE_BYTES_MAX} that are read");
    io::Error::new(io::ErrorKind::FileTooLarge, text)
}

/// The media type and bytes of the image to send.
fn fit(bytes: Vec<u8>) -> ImageResult<(&'static str, Vec<u8>)> {
    let format = image::guess_format(&bytes)?;
    let image = decode(&bytes, format)?;
    let fits = image.width() <= WIDTH_MAX && image.height() <= HEIGHT_MAX;
    match (format, fits) {
        (ImageFormat::Png, true) => Ok(("image/png", bytes)),
        (ImageFormat::Jpeg, true) => Ok(("image/jpeg", bytes)),
        (ImageFormat::Jpeg, false) => Ok(("image/jpeg", encode_jpeg(&shrink(&image))?)),
        (_, true) => Ok(("image/png", encode_png(&image)?)),
        (_, false) => Ok(("image/png", encode_png(&shrink(&image))?)),
    }
}

fn decode(bytes: &[u8], format: ImageFormat) -> ImageResult<DynamicImage> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODER_BYTES_MAX);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    reader.decode()
}

fn shrink(image: &DynamicImage) -> DynamicImage {
    image.resize(WIDTH_MAX, HEIGHT_MAX, FilterType::Triangle)
}

fn encode_png(image: &DynamicImage) -> ImageResult<Vec<u8>> {
    let mut encoded = Vec::new();
    let (width, height) = (image.width(), image.height());
    PngEncoder::new(&mut encoded).write_image(&image.to_rgba8(), width, height, ExtendedColorType::Rgba8)?;
    Ok(encoded)
}

fn encode_jpeg(image: &DynamicImage) -> ImageResult<Vec<u8>> {
    let mut encoded = Vec::new();
    JpegEncoder::new_with_quality(&mut encoded, JPEG_QUALITY).encode_image(image)?;
    Ok(encoded)
}

#[cfg(test)]
mod tests {
    use expect_test::Expect;
    use expect_test::expect;
    use image::GrayImage;
    use image::RgbImage;

    use super::*;
    use crate::fixture::Fixture;

    fn painted(width: u32, height: u32) -> DynamicImage {
        RgbImage::from_fn(width, height, |x, y| image::Rgb([x as u8, y as u8, 7])).into()
    }

    fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    /// Loads a file of this name with these bytes.
    fn load(name: &str, bytes: &[u8]) -> (Fixture, LoadedImage) {
        let fixture = Fixture::new("");
        fixture.write(name, bytes);
        let loaded = load_image(&fixture.path(name));
        (fixture, loaded)
    }

    fn check(name: &str, bytes: &[u8], expected: &Expect) {
        let (fixture, loaded) = load(name, bytes);
        let text = match loaded {
            LoadedImage::Ready { data_url, .. } => describe(&data_url, bytes),
            LoadedImage::Unreadable { error } => format!("unreadable: {error}"),
            LoadedImage::Invalid { error } => format!("invalid: {error}"),
            LoadedImage::NotAnImage { mime, error } => format!("no image: {mime:?}: {error}"),
            LoadedImage::Unsupported { mime, error } => format!("unsupported: {mime}: {error}"),
        };
        expected.assert_eq(&fixture.shown(text));
    }

    fn describe(data_url: &str, original: &[u8]) -> String {
        let (mime, data) = data_url.strip_prefix("data:").unwrap().split_once(";base64,").unwrap();
        let bytes = STANDARD.decode(data).unwrap();
        if bytes == original {
            return format!("{mime}, the original bytes");
        }
        let format = image::guess_format(&bytes).unwrap();
        let image = image::load_from_memory(&bytes).unwrap();
        format!("{mime}, {format:?} of {}x{}", image.width(), image.height())
    }

    #[test]
    fn an_image_that_fits_stays_as_it_is() {
        check("a.png", &encoded(&painted(2048, 2), ImageFormat::Png), &expect!["image/png, the original bytes"]);
        check("a.jpg", &encoded(&painted(3, 2), ImageFormat::Jpeg), &expect!["image/jpeg, the original bytes"]);
        check("a.txt", &encoded(&painted(3, 2), ImageFormat::Png), &expect!["image/png, the original bytes"]);
    }

    #[test]
    fn a_large_image_is_scaled_down_in_its_own_format() {
        check("a.png", &encoded(&painted(100, 1000), ImageFormat::Png), &expect!["image/png, Png of 77x768"]);
        check("a.jpg", &encoded(&painted(4096, 20), ImageFormat::Jpeg), &expect!["image/jpeg, Jpeg of 2048x10"]);
        let gray = DynamicImage::from(GrayImage::new(2049, 10));
        check("gray.jpg", &encoded(&gray, ImageFormat::Jpeg), &expect!["image/jpeg, Jpeg of 2048x10"]);
    }

    #[test]
    fn other_formats_become_png() {
        check("a.gif", &encoded(&painted(3, 2), ImageFormat::Gif), &expect!["image/png, Png of 3x2"]);
        check("a.webp", &encoded(&painted(3, 2), ImageFormat::WebP), &expect!["image/png, Png of 3x2"]);
        check("large.gif", &encoded(&painted(2, 800), ImageFormat::Gif), &expect!["image/png, Png of 2x768"]);
    }

    #[test]
    fn broken_data_of_a_known_format_is_invalid() {
        let mut broken = encoded(&painted(4, 4), ImageFormat::Png);
        let data = broken.windows(4).position(|w| w == b"IDAT").unwrap() + 4;
        broken[data] ^= 0xff;
        check(
            "a.png",
            &broken,
            &expect![
                "invalid: failed to decode image at $/a.png: Format error decoding Png: Corrupt deflate stream. BadZlibHeader"
            ],
        );
        check(
            "a.gif",
            b"GIF89a\x01",
            &expect!["invalid: failed to decode image at $/a.gif: Format error decoding Gif: Unexpected End of File"],
        );
    }

    #[test]
    fn data_that_ends_early_is_told_by_its_name() {
        let whole = encoded(&painted(4, 4), ImageFormat::Png);
        check(
            "a.png",
            &whole[..20],
            &expect!["unsupported: image/png: failed to decode image at $/a.png: unexpected end of file"],
        );
        check(
            "a.png",
            b"",
            &expect![
                "unsupported: image/png: failed to decode image at $/a.png: its bytes are not those of image/png, nor of another image format that can be read"
            ],
        );
    }

    #[test]
    fn what_cannot_be_decoded_is_told_by_its_name() {
        check(
            "fake.png",
            b"no image",
            &expect![
                "unsupported: image/png: failed to decode image at $/fake.png: its bytes are not those of image/png, nor of another image format that can be read"
            ],
        );
        check(
            "drawing.svg",
            b"<svg/>",
            &expect![
                "unsupported: image/svg+xml: failed to decode image at $/drawing.svg: its bytes are not those of image/svg+xml, nor of another image format that can be read"
            ],
        );
        check(
            "notes.txt",
            b"text",
            &expect![[
                r#"no image: Some("text/plain"): failed to decode image at $/notes.txt: its bytes are not those of an image format that can be read"#
            ]],
        );
        check(
            "noext",
            b"text",
            &expect![
                "no image: None: failed to decode image at $/noext: its bytes are not those of an image format that can be read"
            ],
        );
    }

    #[test]
    fn a_small_file_may_not_claim_a_huge_image() {
        let mut huge = encoded(&painted(1, 1), ImageFormat::Png);
        let size = huge.windows(4).position(|w| w == b"IHDR").unwrap() + 4;
        huge[size..size + 8].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
        // The checksum of the header, for 60,000 by 60,000 dots.
        let checksum = crc32(&huge[size - 4..size + 13]);
        huge[size + 13..size + 17].copy_from_slice(&checksum.to_be_bytes());
        check(
            "a.png",
            &huge,
            &expect!["unsupported: image/png: failed to decode image at $/a.png: Memory limit exceeded"],
        );
    }

    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(crc & 1)))
        })
    }

    #[test]
    fn files_that_cannot_be_read() {
        let fixture = Fixture::new("folder.png/");
        let error = |path: &str| match load_image(&fixture.path(path)) {
            LoadedImage::Unreadable { error } => fixture.shown(error),
            other => format!("{other:?}"),
        };
        expect!["failed to read image at $/missing.png: No such file or directory (os error 2)"]
            .assert_eq(&error("missing.png"));
        expect!["failed to read image at $/folder.png: Is a directory (os error 21)"].assert_eq(&error("folder.png"));
        expect!["failed to read image at /dev/null: it is not a regular file"].assert_eq(&error("/dev/null"));

        let sparse = fs::File::create(fixture.path("sparse.png")).unwrap();
        sparse.set_len(FILE_BYTES_MAX + 1).unwrap();
        expect![
            "failed to read image at $/sparse.png: the file has 104857601 bytes, more than the 104857600 that are read"
        ]
        .assert_eq(&error("sparse.png"));
    }
}
