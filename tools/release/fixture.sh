#!/usr/bin/env bash
# Lets a program record runs that end in every way, on files, SQLite and PostgreSQL, as a project at /srv/p on the host "fixture":
# what later versions must read. FOLDER gets the project and a dump of each database.
#
#   tools/release/fixture.sh PROGRAM FOLDER
set -euo pipefail
if [ "${1-}" != --inside ]; then
  program=$(realpath "$1")
  mkdir -p "$2"
  folder=$(realpath "$2")
  self=$(realpath "${BASH_SOURCE[0]}")
  exec unshare --mount --uts --net bash "$self" --inside "$program" "$folder" "$(dirname "$self")/fixture"
fi
program=$2 folder=$3 loops=$4
hostname fixture
ip link set lo up
mount -t tmpfs none /srv
mkdir -p /srv/bin && cp "$program" /srv/bin/loops
export PATH=/srv/bin:$PATH HOME=/srv/home TZ=UTC LC_ALL=C.UTF-8
mkdir "$HOME"

# expect CODE COMMAND...: what it prints is not part of the fixture.
expect() {
  local want=$1 code=0
  shift
  timeout 30 "$@" > /srv/out 2>&1 < /dev/null || code=$?
  [ "$code" = "$want" ] || { echo "$*: exit code $code, want $want"; tail -20 /srv/out; exit 1; }
}
# alive LOOP: begins a run in the background, and waits until its action is at work.
alive() {
  rm -f begun
  loops run -b "$1" > /srv/out 2>&1 < /dev/null || { tail -20 /srv/out; exit 1; }
  for _ in $(seq 100); do
    [ ! -e begun ] || return 0
    sleep 0.05
  done
  echo "$1 does not begin"
  cat /srv/out
  exit 1
}
# owner LOOP: the pid of the process that carries the run of a loop that is at work.
owner() { loops list --running --json | python3 -c 'import json,sys; print([r["pid"] for r in json.load(sys.stdin) if r["loop_name"] == sys.argv[1] and r["alive"]][0])' "$1"; }
ended() {
  for _ in $(seq 100); do
    kill -0 "$1" 2> /dev/null || return 0
    sleep 0.05
  done
  echo "$1 does not end"
  exit 1
}

# record NAME: a new project, its runs, and a copy of it.
record() {
  echo "$1"
  cd / && rm -rf /srv/p && mkdir -p /srv/p/.loops && cd /srv/p
  local file
  for file in "$loops"/*.yaml; do # but for what this version does not know
    ! loops validate "$file" > /srv/out 2>&1 || cp "$file" .loops/
  done
  expect 0 loops run completed
  expect 0 loops run completed "an input" --context n=7
  expect 1 loops run failed
  expect 1 loops run error
  expect 5 loops run capped
  expect 5 loops run summarised
  expect 6 loops run timeout
  expect 7 loops run stalled
  expect 8 loops run budget
  expect 10 loops run handoff
  expect 0 loops run parent
  expect 0 loops run large
  expect 0 loops run routes
  expect 0 loops fork completed --at 2
  for signal in INT TERM; do
    alive sleeper
    pid=$(owner sleeper)
    kill -s "$signal" "$pid"
    ended "$pid"
    sleep 1 # ids have seconds
  done
  for loop in killed parent-killed looping listing branching asking; do
    [ -e ".loops/$loop.yaml" ] || continue
    alive "$loop"
    pid=$(owner "$loop")
    kill -9 "$pid"
    ended "$pid"
  done
  alive paused
  pid=$(owner paused)
  expect 0 loops pause paused
  kill -9 "$pid"
  ended "$pid"
  pkill -9 -f 'sleep 100[0-9]' || true
  rm -f begun
  cp -r /srv/p "$folder/$1"
}

record dir

export LOOPS_STORE=sqlite:/srv/runs.db
record sqlite
python3 - "$folder/sqlite.sql" <<'P'
import sqlite3, sys
with open(sys.argv[1], "w") as f:
    for line in sqlite3.connect("/srv/runs.db").iterdump():
        f.write(line + "\n")
P

bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/initdb | tail -1)")
mkdir /srv/pg && chown postgres /srv/pg && cd /srv/pg
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
as "$bin/initdb" -D /srv/pg/data -A trust -U postgres > /srv/out
as "$bin/pg_ctl" -w -D /srv/pg/data -o "-k /srv/pg -c listen_addresses=127.0.0.1 -c port=54999" -l /srv/pg/log start > /srv/out
export LOOPS_STORE=postgres://postgres@127.0.0.1:54999/postgres?lease=2s
record postgres
"$bin/pg_dump" -h 127.0.0.1 -p 54999 -U postgres --no-owner --no-privileges --inserts postgres > "$folder/postgres.sql"
as "$bin/pg_ctl" -w -D /srv/pg/data -m fast stop > /srv/out
