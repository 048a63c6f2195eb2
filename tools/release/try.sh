#!/usr/bin/env bash
# Tries each thing that users install, in a root of its own: it is installed, runs the README's example, has its completion and manual
# pages in place, and leaves nothing but records when it is removed. Then the same commit is built again at another path,
# and must give the same bytes. It wants root for the mount namespaces, and changes nothing outside them.
#
#   tools/release/try.sh DIST [REBUILD-FLAG...]
set -euo pipefail
fail() { echo "FAIL: $*" >&2; exit 1; }
ok() { echo "ok    $*"; }

# rebuild DIST FLAG...: makes the same release from a clone at another path.
rebuild() {
  local dist=$1 nfpm=$PWD/bin/nfpm sums again left=none
  shift
  if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
    echo "left out: the build at another path, for there are changes that are not committed"
    return
  fi
  again=$(mktemp -d)
  git clone -q . "$again/clone"
  (cd "$again/clone" && mkdir bin && go -C tools/release build -o "$PWD/bin/release" . && bin/release -out dist -nfpm "$nfpm" "$@")
  sums=$(cd "$dist" && echo loops_*_checksums.txt)
  [ -e "$again/clone/dist/${sums%_checksums.txt}_oci.tar" ] || left=_oci.tar
  diff <(grep -v "$left" "$dist/$sums") "$again/clone/dist/$sums" || fail "another build of the same commit gave other bytes"
  rm -rf "$again"
  ok "the same bytes, built at another path"
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ "${1-}" != --inside ]; then
  unshare --mount --net tools/release/try.sh --inside "$1"
  rebuild "$@"
  exit
fi
dist=$(cd "$2" && pwd)
version=$(sed -n 's/.*"version": "\(.*\)".*/\1/p' "$dist/latest.json")
arch=$(go env GOARCH)
[ "$arch" = amd64 ] && npm=linux-x64 || npm=linux-$arch
work=$(mktemp -d)
trap 'umount --recursive --lazy "$work" 2> /dev/null || true; rm -rf "$work"' EXIT

# fresh makes a root that is this machine's, where what is changed is kept apart, in $work/changed.
fresh() {
  umount --recursive --lazy "$work" 2> /dev/null || true
  mount -t tmpfs none "$work" && mkdir "$work/root" "$work/changed" "$work/overlay"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$work/changed,workdir=$work/overlay" "$work/root"
  mount --rbind /dev "$work/root/dev" && mount -t proc none "$work/root/proc" && mount -t tmpfs none "$work/root/tmp"
  mkdir "$work/root/tmp/dist" "$work/root/tmp/example" && mount --bind "$dist" "$work/root/tmp/dist"
  cp .loops.example/hello.yaml "$work/root/tmp/example/"
}

# clean SCRIPT: runs it there, with the PATH and the home of a machine that has no Go.
clean() {
  env -i HOME=/tmp/home PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin TERM=dumb /usr/sbin/chroot "$work/root" bash -euc "cd /tmp/example; $1"
}

try='loops version | grep -q "^loops '"$version"' "; loops run ./hello.yaml > out; grep -q "Loop completed" out; loops history hello | grep -q completed'

(cd "$dist" && sha256sum --quiet -c "loops_${version}_checksums.txt") || fail "checksums"
ok "checksums"

# Nothing but a shell and what stands beside it everywhere.
fresh
clean "sh /tmp/dist/install.sh --to /tmp/home/.local; export PATH=/tmp/home/.local/bin:\$PATH; $try
  test -s /tmp/home/.local/share/man/man1/loops-run.1.gz; bash -c '. /tmp/home/.local/share/bash-completion/completions/loops; complete -p loops' > /dev/null"
clean "cp -r /tmp/dist /tmp/bad; for f in /tmp/bad/loops_*.tar.gz; do printf x >> \$f; done; ! sh /tmp/bad/install.sh --to /tmp/no 2> err; grep -q 'is not the released file' err; test ! -e /tmp/no"
ok "install.sh"

fresh
mkdir "$work/root/tmp/feature" && cp docs/contrib/devcontainer/src/loops/install.sh "$work/root/tmp/feature/"
clean "FROM=/tmp/dist VERSION= sh /tmp/feature/install.sh > /dev/null; test -x /usr/local/bin/loops; $try"
ok "devcontainer feature"

fresh
clean "dpkg -i /tmp/dist/loops_${version}_linux_$arch.deb > /dev/null; $try; zcat /usr/share/man/man1/loops-run.1.gz | grep -q '^.TH'
  bash -c '. /usr/share/bash-completion/completions/loops; complete -p loops' > /dev/null; test -s '/usr/lib/systemd/user/loops-sweep@.timer'"
clean "dpkg -P loops > /dev/null; test ! -e /usr/bin/loops"
left=$(cd "$work/changed" && find . -type f -name '*loops*' | sort)
[ -z "$left" ] || fail "dpkg -P left: $left"
ok "deb"

if command -v rpm > /dev/null; then
  fresh
  clean "rpm --initdb; rpm -i --nodeps /tmp/dist/loops_${version}_linux_$arch.rpm; $try; rpm -V --nodeps loops"
  clean "rpm -e loops; test ! -e /usr/bin/loops; test ! -e /usr/share/man/man1/loops.1.gz"
  ok "rpm"
fi

fresh
clean "echo '{}' > package.json; npm install --offline --no-audit --no-fund --loglevel=error /tmp/dist/loops-cli-$version.tgz /tmp/dist/loops-cli-$npm-$version.tgz > /dev/null
  export PATH=/tmp/example/node_modules/.bin:\$PATH; $try; code=0; loops run nosuch 2> /dev/null || code=\$?; test \$code = 4
  npm uninstall --offline --no-audit --no-fund loops-cli loops-cli-$npm > /dev/null; test ! -e node_modules/.bin/loops; test -d .loops/.history"
ok "npm"

if [ -f "$dist/loops_${version}_oci.tar" ]; then
  umount --recursive --lazy "$work" && mount -t tmpfs none "$work" && mkdir "$work/oci" "$work/root"
  tar -xf "$dist/loops_${version}_oci.tar" -C "$work/oci"
  python3 tools/release/unpack.py "$work/oci" "$arch" "$work/root"
  cp .loops.example/hello.yaml "$work/root/work/"
  mount --rbind /dev "$work/root/dev" && mount -t proc none "$work/root/proc"
  env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/loops /usr/sbin/chroot --userspec=65532:65532 "$work/root" \
    bash -euc "cd /work; $try; git --version > /dev/null; test -s /etc/ssl/certs/ca-certificates.crt; ! touch /etc/x 2> /dev/null"
  ok "image"
fi
