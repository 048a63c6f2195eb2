#!/usr/bin/env node
// Starts the program of the package for this platform, with the same arguments, signals and exit code.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");

const name = `loops-cli-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/loops`);
} catch {
  console.error(
    `loops: the package ${name} is missing. There are packages for linux and darwin, x64 and arm64; ` +
      "npm leaves them out with --omit=optional or --no-optional: install again without it.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => {
  console.error(`loops: ${program}: ${err.message}`);
  process.exit(1);
});
// A signal of the terminal reaches both; one that was sent to this process alone is passed on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => {
    if (signal === "SIGTERM" || signal === "SIGHUP" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("exit", (code, signal) => {
  process.exit(signal === null ? code : 128 + os.constants.signals[signal]);
});
