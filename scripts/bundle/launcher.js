#!/usr/bin/env node
// Old syntax on purpose: this file must parse on an unsupported Node, in order to report it.
var parts = process.versions.node.split(".").map(Number);
if (parts[0] > 22 || (parts[0] === 22 && parts[1] >= 21)) {
  import("../dist/bin.js").catch(function (error) {
    console.error("roomhub could not start: " + error.message);
    process.exit(1);
  });
} else {
  console.error(
    "roomhub needs Node 22.21 or newer; this is Node " +
      process.versions.node +
      ". Install one from https://nodejs.org",
  );
  process.exitCode = 1;
}
