# Runs the loop. Its exit code is the step's; loops itself sets the outputs run, outcome and exit-code.
set -euo pipefail
args=()
while IFS= read -r line; do
  [ -z "$line" ] || args+=("$line")
done <<< "$LOOPS_ARGS"
# An argument that holds a blank behind its flag is on one line, as --context note=two words does.
words=()
for arg in ${args[@]+"${args[@]}"}; do
  case $arg in
    -*' '*) words+=("${arg%% *}" "${arg#* }") ;;
    *) words+=("$arg") ;;
  esac
done
exec loops -C "$LOOPS_DIRECTORY" run --format github ${words[@]+"${words[@]}"} -- "$LOOPS_LOOP"
