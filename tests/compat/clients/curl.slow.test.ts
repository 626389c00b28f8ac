import { spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { describeClient } from "../describe-client.ts";
import { type RawAnswer, rawChatOperations, type RawRequest } from "./raw-operations.ts";

const missing = spawnSync("curl", ["--version"]).status === 0 ? undefined : "there is no curl here";

describeClient({
  name: "curl",
  speaks: "chat",
  missing,
  does: rawChatOperations((request) => curl([], request)),
});

// It requests an upgrade to h2c with every request, which must not be treated as a WebSocket.
describeClient({
  name: "curl --http2",
  speaks: "chat",
  missing,
  does: rawChatOperations((request) => curl(["--http2"], request)),
});

/** `-d` without a content type, as in every example on the web: curl calls it form data. */
async function curl(options: string[], request: RawRequest): Promise<RawAnswer> {
  const body = request.body === undefined ? [] : ["-d", "@-"];
  const args = ["-sS", "-N", ...options, ...body, "-w", "%{stderr}%{http_code}", request.url];
  const child = spawn("curl", args, { stdio: ["pipe", "pipe", "pipe"] });
  const status = text(child.stderr);
  child.stdin.end(request.body === undefined ? "" : JSON.stringify(request.body));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (request.onLine(line) === "go on") continue;
    child.kill("SIGINT"); // ctrl-c
    break;
  }
  return { status: Number(await status), body: lines.join("\n") };
}
