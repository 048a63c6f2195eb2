# Finds out which version is to be installed, and where, so that a cache can be asked for it.
# LOOPS_FROM and LOOPS_VERSION are inputs of the action; what it finds becomes its outputs.
set -euo pipefail
version=$LOOPS_VERSION
if [ -z "$version" ] && [ -n "$LOOPS_FROM" ]; then
  case $LOOPS_FROM in
    http://* | https://*) latest=$(curl -fsSL --retry 3 "$LOOPS_FROM/latest.json") ;;
    *) latest=$(cat "$LOOPS_FROM/latest.json") ;;
  esac
  version=$(sed -n 's/.*"version": *"\([^"]*\)".*/\1/p' <<< "$latest")
fi
if [ -z "$version" ] && ! command -v loops > /dev/null; then
  echo "::error::loops is not on the PATH, and neither from nor version says where it comes from"
  exit 1
fi
{
  echo "version=$version"
  echo "prefix=$RUNNER_TEMP/loops"
} >> "$GITHUB_OUTPUT"
