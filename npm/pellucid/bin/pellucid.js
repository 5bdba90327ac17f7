#!/usr/bin/env node
// Starts the program of this platform's package, and ends as it ends.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { dirname, join } from "node:path";

const PACKAGES = {
  "linux x64": "@pellucid/linux-x64",
  "linux arm64": "@pellucid/linux-arm64",
  "android x64": "@pellucid/linux-x64",
  "android arm64": "@pellucid/linux-arm64",
};

/** Signals that ask a program to end. The terminal sends the first to the whole group, others reach the launcher alone. */
const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP"];

function fail(message, hint) {
  console.error(`error: ${message}\nhint: ${hint}`);
  process.exit(1);
}

/** The path of the program. */
function program() {
  const name = PACKAGES[`${process.platform} ${process.arch}`];
  if (!name) {
    fail(
      `pellucid has no package for ${process.platform} on ${process.arch}`,
      `there are packages for ${Object.keys(PACKAGES).join(", ")}; elsewhere build it from source`,
    );
  }
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), "bin", "pellucid");
  } catch {
    fail(
      `the package ${name} with the program is not installed`,
      `install pellucid again, without --omit=optional or --no-optional`,
    );
  }
}

/** Who installed the launcher, so that the program can say how it is updated. */
function manager() {
  const isBun = /\bbun\//.test(process.env.npm_config_user_agent ?? "") || import.meta.url.includes("/.bun/");
  return isBun ? "bun" : "npm";
}

const path = program();

// Before the program starts, so that a signal that comes with its first output is not missed.
let child;
for (const signal of FORWARDED) {
  process.on(signal, () => child.kill(signal));
}

child = spawn(path, process.argv.slice(2), {
  stdio: "inherit",
  env: { ...process.env, PELLUCID_INSTALLED_BY: manager() },
});

child.on("error", (error) => {
  fail(`could not start ${path}: ${error.message}`, "install pellucid again");
});

child.on("exit", (code, signal) => {
  if (!signal) {
    process.exit(code ?? 1);
  }
  // Ending by the same signal lets shells and supervisors see what happened to the program.
  FORWARDED.forEach((it) => process.removeAllListeners(it));
  process.kill(process.pid, signal);
  // A signal that this process survives still ends it, with the status that shells use.
  setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 1000);
});
