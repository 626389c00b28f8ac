#!/usr/bin/env node
// Decides which Node runs which copy of the program: `dist` when installed from npm, the sources in a checkout.
// Old syntax on purpose: this file must parse on an unsupported Node, in order to report it.
import { spawn } from "child_process";
import { existsSync, lstatSync, readFileSync } from "fs";
import { dirname, join } from "path";
import { fileURLToPath, pathToFileURL } from "url";

var needed = [22, 21];
var packageDir = dirname(dirname(fileURLToPath(import.meta.url)));
var workspaceDir = dirname(dirname(packageDir));
var node = isRecentEnough(process.versions.node) ? process.execPath : nodeOfCheckout();

if (node === undefined) {
  console.error(
    "roomhub needs Node " +
      needed.join(".") +
      " or newer; this is Node " +
      process.versions.node +
      ". Install one from https://nodejs.org",
  );
  process.exitCode = 1;
} else if (process.argv.length === 3 && process.argv[2] === "--version") {
  // Programs that look for this one ask often, and need nothing else of it.
  console.log(JSON.parse(readFileSync(join(packageDir, "package.json"), "utf8")).version);
} else if (isCheckout()) {
  run(node, [
    "--conditions=@roomhub/source",
    "--disable-warning=ExperimentalWarning",
    join(packageDir, "src", "bin.ts"),
  ]);
} else {
  import(pathToFileURL(join(packageDir, "dist", "bin.js")).href).catch(function (error) {
    console.error(
      isBareCheckout() && error.code === "ERR_MODULE_NOT_FOUND"
        ? "This checkout is not installed yet. Run npm ci in " + workspaceDir + " first."
        : "roomhub could not start: " + error.message,
    );
    process.exit(1);
  });
}

/** A workspace links its own packages; an installed package is a copy. */
function isCheckout() {
  try {
    return (
      isBareCheckout() && lstatSync(join(workspaceDir, "node_modules", "roomhub")).isSymbolicLink()
    );
  } catch {
    // No such link: installed from npm.
    return false;
  }
}

/** Whether the sources are present, with dependencies installed or not. */
function isBareCheckout() {
  return (
    join(workspaceDir, "packages", "cli") === packageDir &&
    existsSync(join(packageDir, "src", "bin.ts"))
  );
}

/** The workspace brings its own Node as a development dependency. */
function nodeOfCheckout() {
  if (!isCheckout()) return undefined;
  var path = join(
    workspaceDir,
    "node_modules",
    "node",
    "bin",
    process.platform === "win32" ? "node.exe" : "node",
  );
  return existsSync(path) ? path : undefined;
}

function isRecentEnough(version) {
  var parts = version.split(".").map(Number);
  return parts[0] > needed[0] || (parts[0] === needed[0] && parts[1] >= needed[1]);
}

function run(command, flags) {
  // Stripping types and compiling are more than half of what a command costs.
  var cache = { NODE_COMPILE_CACHE: join(workspaceDir, "node_modules", ".cache", "roomhub") };
  var child = spawn(command, flags.concat(process.argv.slice(2)), {
    stdio: "inherit",
    env: Object.assign(cache, process.env),
  });
  var hasTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  // Ctrl+C reaches every process of a terminal's foreground group already; forwarding would send it twice.
  listen("SIGINT", !hasTerminal);
  listen("SIGHUP", !hasTerminal);
  listen("SIGTERM", true);
  if (process.env.npm_lifecycle_event !== undefined) endWithShell(child);

  function listen(signal, isForwarded) {
    process.on(signal, function () {
      if (isForwarded) child.kill(signal);
    });
  }

  child.on("error", function (error) {
    console.error("roomhub could not start " + command + ": " + error.message);
    process.exit(1);
  });
  child.on("exit", function (code, signal) {
    if (signal === null) process.exit(code);
    // Exits by the same signal, so that the shell sees it.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** npm sends SIGTERM to the shell that it runs a script in, and most shells end by it without passing it on. */
function endWithShell(child) {
  var shell = process.ppid;
  var timer = setInterval(function () {
    if (process.ppid === shell) return;
    clearInterval(timer);
    child.kill("SIGTERM");
  }, 250);
  timer.unref();
}
