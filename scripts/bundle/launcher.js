#!/usr/bin/env node
// Old syntax on purpose: this file must parse on an unsupported Node, in order to report it. CommonJS, because Node starts that
// sooner.
var parts = process.versions.node.split(".").map(Number);
if (parts[0] < 22 || (parts[0] === 22 && parts[1] < 21)) {
  console.error(
    "roomhub needs Node 22.21 or newer; this is Node " +
      process.versions.node +
      ". Install one from https://nodejs.org",
  );
  process.exitCode = 1;
} else if (process.argv.length === 3 && process.argv[2] === "--version") {
  // Programs that look for this one ask often, and need nothing else of it.
  console.log(require("../package.json").version);
} else {
  import("../dist/bin.js").catch(function (error) {
    console.error("roomhub could not start: " + error.message);
    process.exit(1);
  });
}
