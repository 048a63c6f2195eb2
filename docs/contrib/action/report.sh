# Writes the page about the run that becomes the artifact.
set -euo pipefail
page=$RUNNER_TEMP/$LOOPS_RUN.html
loops -C "$LOOPS_DIRECTORY" report "$LOOPS_RUN" -o "$page"
echo "page=$page" >> "$GITHUB_OUTPUT"
