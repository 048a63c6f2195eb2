# Installs the version that where.sh found, unless the cache had it, and puts it on the PATH of the steps that follow.
set -euo pipefail
[ -n "$LOOPS_VERSION" ] || exit 0 # the one that is on the PATH is used
if [ ! -x "$LOOPS_PREFIX/bin/loops" ]; then
  installer=$GITHUB_ACTION_PATH/tools/release/install.sh
  flags=(--to "$LOOPS_PREFIX" --version "$LOOPS_VERSION")
  [ -z "$LOOPS_FROM" ] || flags+=(--from "$LOOPS_FROM")
  sh "$installer" "${flags[@]}"
fi
echo "$LOOPS_PREFIX/bin" >> "$GITHUB_PATH"
