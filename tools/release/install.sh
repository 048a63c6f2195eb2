#!/bin/sh
# Installs loops: finds the archive for this machine, verifies its checksum, puts the program, its manual pages and its completions
# in place. Nothing else is changed, and nothing is downloaded if this file lies beside the archives.
#
#   sh install.sh [--from FOLDER|URL] [--to FOLDER] [--version VERSION]
set -eu

from="" to="${PREFIX:-$HOME/.local}" version=""
url="@URL@"

say() { printf '%s\n' "$*"; }
fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }

while [ $# -gt 0 ]; do
  case $1 in
    --from | --to | --version)
      [ $# -ge 2 ] || fail "$1 wants a value"
      case $1 in --from) from=$2 ;; --to) to=$2 ;; *) version=$2 ;; esac
      shift 2
      ;;
    -h | --help)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p;}' "$0"
      say ""
      say "  --from      a folder or a URL with the files of a release (default: the folder of this file, else $url)"
      say "  --to        the program goes to FOLDER/bin, its pages and completions to FOLDER/share (default: \$PREFIX or ~/.local)"
      say "  --version   which one, where there are several (default: what latest.json names)"
      exit 0
      ;;
    *) fail "$1: there is no such flag; see: sh install.sh --help" ;;
  esac
done

case $(uname -s) in
  Linux) os=linux ;;
  Darwin) os=darwin ;;
  *) fail "there is no program for $(uname -s); build it with Go: go build ./cmd/loops" ;;
esac
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "there is no program for $(uname -m); build it with Go: go build ./cmd/loops" ;;
esac

if [ -z "$from" ]; then
  here=$(cd "$(dirname "$0")" && pwd)
  if [ -f "$here/latest.json" ]; then from=$here; else from=$url; fi
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

# fetch NAME: the file of the release, in $work.
fetch() {
  case $from in
    http://* | https://*)
      if command -v curl > /dev/null; then
        curl -fsSL --retry 3 -o "$work/$1" "$from/$1" || fail "$from/$1 could not be downloaded"
      elif command -v wget > /dev/null; then
        wget -q -O "$work/$1" "$from/$1" || fail "$from/$1 could not be downloaded"
      else
        fail "neither curl nor wget is here: download the files and name their folder with --from"
      fi
      ;;
    *)
      [ -f "$from/$1" ] || fail "$from/$1: there is no such file; name the folder of the release with --from"
      cp "$from/$1" "$work/$1"
      ;;
  esac
}

sum() {
  if command -v sha256sum > /dev/null; then
    sha256sum "$1"
  elif command -v shasum > /dev/null; then
    shasum -a 256 "$1"
  elif command -v openssl > /dev/null; then
    openssl dgst -sha256 -r "$1"
  else
    fail "nothing here computes SHA-256 (sha256sum, shasum or openssl); the download cannot be verified"
  fi | cut -c 1-64
}

if [ -z "$version" ]; then
  fetch latest.json
  version=$(sed -n 's/.*"version": *"\([^"]*\)".*/\1/p' "$work/latest.json")
  [ -n "$version" ] || fail "$from/latest.json names no version"
fi
archive=loops_${version}_${os}_${arch}.tar.gz
fetch "loops_${version}_checksums.txt"
fetch "$archive"
want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/loops_${version}_checksums.txt")
[ -n "$want" ] || fail "loops_${version}_checksums.txt does not have $archive"
got=$(sum "$work/$archive")
[ "$got" = "$want" ] || fail "$archive is not the released file: its SHA-256 is $got and should be $want. Nothing was installed"

mkdir "$work/files"
tar -xzf "$work/$archive" -C "$work/files" 2> "$work/tar" || fail "$archive could not be unpacked: $(cat "$work/tar")"
"$work/files/loops" version > "$work/says" || fail "the program does not run on this machine"

# put FILE PATH MODE: in place at once, so that a program that runs is not written over.
put() {
  mkdir -p "$(dirname "$2")" || fail "$(dirname "$2") cannot be made; name another folder with --to"
  cp "$1" "$2.new" && chmod "$3" "$2.new" && mv -f "$2.new" "$2" || fail "$2 cannot be written; name another folder with --to"
}
put "$work/files/loops" "$to/bin/loops" 755
for page in "$work/files/man/"*; do put "$page" "$to/share/man/man1/$(basename "$page")" 644; done
put "$work/files/completions/loops.bash" "$to/share/bash-completion/completions/loops" 644
put "$work/files/completions/loops.zsh" "$to/share/zsh/site-functions/_loops" 644
put "$work/files/completions/loops.fish" "$to/share/fish/vendor_completions.d/loops.fish" 644

say "Installed $(cat "$work/says") as $to/bin/loops"
case :$PATH: in
  *:"$to/bin":*) ;;
  *) say "$to/bin is not on the PATH. Add it: export PATH=\"$to/bin:\$PATH\"" ;;
esac
