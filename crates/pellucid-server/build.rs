//! Compresses the schemas of the protocol, which the program needs only to write them into files.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() -> std::io::Result<()> {
    let types = "src/schema/types.json";
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={types}");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut packed = ZlibEncoder::new(File::create(folder.join("types.zz"))?, Compression::best());
    packed.write_all(&std::fs::read(types)?)?;
    packed.finish().map(drop)
}
