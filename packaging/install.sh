#!/bin/sh
# Installs Pellucid: takes the archive of this machine's platform, compares its checksum, unpacks it.
# It runs no command as another user and changes no file outside of the prefix.
set -eu

version='@VERSION@'
address='@ADDRESS@'
prefix="${HOME:-}/.local"

usage() {
  cat <<END
usage: sh install.sh [--from FOLDER|ADDRESS] [--prefix DIR] [--uninstall]

  --from    the folder or the address with the archive and the file SHA256SUMS
            (default: ${address:-none, because this release has no address})
  --prefix  the folder to install into (default: ~/.local)
  --uninstall  remove what this script installed into the prefix
END
}

fail() {
  echo "error: $1" >&2
  [ $# -lt 2 ] || echo "hint: $2" >&2
  exit 1
}

needs_value() {
  [ "$2" -ge 2 ] || fail "$1 needs a value"
}

is_removal=no
while [ $# -gt 0 ]; do
  case $1 in
    --from) needs_value "$1" $#; address=$2; shift 2 ;;
    --prefix) needs_value "$1" $#; prefix=$2; shift 2 ;;
    --uninstall) is_removal=yes; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; fail "unexpected argument $1" ;;
  esac
done
case $prefix in
  /?*) ;;
  *) fail "the prefix is no absolute path: $prefix" "--prefix names a folder, such as /usr/local" ;;
esac

list=$prefix/share/pellucid/installed-files
if [ $is_removal = yes ]; then
  [ -f "$list" ] || fail "nothing was installed into $prefix by this script"
  while IFS= read -r file; do
    case $file in
      bin/* | share/*) rm -f -- "$prefix/$file" ;;
    esac
  done <"$list"
  rm -f -- "$list"
  rmdir -- "$prefix/share/pellucid/completions" "$prefix/share/pellucid" "$prefix/share/doc/pellucid" 2>/dev/null || :
  echo "removed from $prefix; your configuration and sessions are as they were"
  exit 0
fi

system=$(uname -s)
machine=$(uname -m)
[ "$system" = Linux ] || fail "there is no package for $system" "build Pellucid from source: docs/install.md"
case $machine in
  x86_64 | amd64) machine=x86_64 ;;
  aarch64 | arm64) machine=aarch64 ;;
  *) fail "there is no package for the processor $machine" "build Pellucid from source: docs/install.md" ;;
esac
name=pellucid-$version-$machine-unknown-linux-musl

[ -n "$address" ] ||
  fail "this release has no address to download from" "--from names the folder or the address with $name.tar.gz"

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fetch() { # FILE
  case $address in
    http://* | https://*)
      if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --output "$folder/$1" "${address%/}/$1"
      elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$folder/$1" "${address%/}/$1"
      else
        fail "neither curl nor wget is installed" "download $name.tar.gz and SHA256SUMS, and name their folder by --from"
      fi || fail "could not download ${address%/}/$1"
      ;;
    *) cp -- "$address/$1" "$folder/$1" || fail "could not read $address/$1" ;;
  esac
}

checksum() { # FILE
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum "$1"
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 "$1"
  elif command -v openssl >/dev/null 2>&1; then
    openssl dgst -sha256 -r "$1"
  else
    fail "sha256sum, shasum and openssl are not installed, so the archive cannot be checked"
  fi | cut -d ' ' -f 1
}

fetch SHA256SUMS
fetch "$name.tar.gz"
expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$folder/SHA256SUMS")
[ -n "$expected" ] || fail "SHA256SUMS has no line for $name.tar.gz"
found=$(checksum "$folder/$name.tar.gz")
[ "$found" = "$expected" ] ||
  fail "the checksum of $name.tar.gz is $found, and SHA256SUMS says $expected" "download both files again"

tar -xzf "$folder/$name.tar.gz" -C "$folder" || fail "could not unpack $name.tar.gz"
"$folder/$name/bin/pellucid" --version >/dev/null || fail "the program does not run here"

(cd "$folder/$name" && find . -type f) | sed 's|^\./||' | LC_ALL=C sort >"$folder/files"
while IFS= read -r file; do
  mkdir -p -- "$prefix/$(dirname -- "$file")" || fail "could not make a folder in $prefix"
  # A program that runs keeps its file: the new one takes the name.
  cp -- "$folder/$name/$file" "$prefix/$file.new-$$" || fail "could not write $prefix/$file"
  mv -f -- "$prefix/$file.new-$$" "$prefix/$file" || fail "could not write $prefix/$file"
done <"$folder/files"
mkdir -p -- "$prefix/share/pellucid"
cp -- "$folder/files" "$list"

echo "installed pellucid $version into $prefix/bin"
case :${PATH:-}: in
  *:"$prefix/bin":*) ;;
  *) echo "$prefix/bin is not in PATH; add it, or run $prefix/bin/pellucid" ;;
esac
echo "try: pellucid demo"
