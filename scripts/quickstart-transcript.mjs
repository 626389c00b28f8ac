// Rewrites the transcript in docs/guides/quickstart.md and its picture: runs the real command in real terminals (tmux),
// as a host, a friend and a developer would, and replaces room, addresses and times by fixed ones.
// With --picture it only draws the picture, from the existing transcript.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { firstMinute, quickstartTranscript, settled } from "./transcript-picture.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const guide = join(root, "docs", "guides", "quickstart.md");
const begin = "<!-- begin: node scripts/quickstart-transcript.mjs -->";
const end = "<!-- end -->";

const me = userInfo().username;
const socket = `roomhub-quickstart-${process.pid}`;
if (!process.argv.includes("--picture")) await record();
drawPicture();

async function record() {
  const folder = mkdtempSync(join(tmpdir(), "roomhub-quickstart-"));
  const ollama = await startStandIn();
  try {
    writeTranscript(await play(folder, ollama.address().port));
  } finally {
    ollama.close();
    ollama.closeAllConnections();
    // Without terminals there is no server to stop.
    try {
      tmux("kill-server");
    } catch {}
    rmSync(folder, { recursive: true, force: true });
  }
}

async function play(folder, ollamaPort) {
  const host = await openTerminal(folder, "ana", { ROOMHUB_PORT: "0", OLLAMA_HOST: "127.0.0.1:9" });
  type(host, "npx roomhub up --lan");
  await shows(host, /Requests appear here/);
  await shows(host, /handed out: [0-9a-f]{128}/);
  const curl = /^ *(curl -N .*)$/m.exec(screen(host))?.[1] ?? "";

  const developer = await openTerminal(folder, "carla", {});
  type(developer, curl);
  await shows(developer, /data: \[DONE\]\s+carla\$/);

  const friend = await openTerminal(folder, "ben", { OLLAMA_HOST: `127.0.0.1:${ollamaPort}` });
  type(friend, /^ *(npx -y .* join .*)$/m.exec(screen(host))?.[1] ?? "");
  await shows(friend, /Enter: confirm/);
  press(friend, "Enter");
  await shows(friend, /connected; p pauses/);
  type(developer, curl.replace('"*"', '"llama3.2:3b"'));
  await shows(friend, /ok 200/);
  await shows(host, /llama3\.2:3b .* ok /);
  const [code = ""] = /(?<=^Room )\w+/m.exec(screen(host)) ?? [];
  const screens = {
    host: screen(host),
    developer: shortened(screen(developer)),
    friend: screen(friend),
  };
  for (const terminal of [friend, host]) {
    press(terminal, "C-c");
    await shows(terminal, new RegExp(`\\n${terminal}\\$ *$`));
  }
  return { code, ...screens };
}

function writeTranscript({ code, host, developer, friend }) {
  const text = [host, developer, friend].map((screen) => settled(screen, code, me)).join("\n\n");
  const page = readFileSync(guide, "utf8");
  const [before, rest] = page.split(begin);
  const [, after] = rest.split(end);
  writeFileSync(guide, `${before}${begin}\n\n\`\`\`text\n${text}\n\`\`\`\n\n${end}${after}`);
}

function drawPicture() {
  const images = join(root, "docs", "images");
  mkdirSync(images, { recursive: true });
  const transcript = quickstartTranscript(readFileSync(guide, "utf8"));
  writeFileSync(join(images, "first-minute.svg"), firstMinute(transcript));
}

/** The beginning and the end of a long stream. */
function shortened(screen) {
  const lines = screen.split("\n").filter((line) => line !== "");
  const kept = [];
  for (const line of lines) {
    const isEnd = line === "data: [DONE]" || line.includes('"finish_reason":"stop"');
    const pieces = kept.filter((other) => other.startsWith("data:")).length;
    if (!line.startsWith("data:") || isEnd || pieces < 3) kept.push(line);
    else if (kept.at(-1) !== "…") kept.push("…");
    if (line === "data: [DONE]") break;
  }
  return kept.join("\n");
}

/** A shell whose `npx` runs the checkout's own command, whatever it is given, under a name of its own. */
async function openTerminal(folder, name, env) {
  const npx = `npx() { while [[ $1 != *roomhub* ]]; do shift; done; shift; '${process.execPath}' '${join(root, "packages/cli/bin/roomhub.js")}' "$@"; }`;
  const rc = join(folder, `${name}.sh`);
  writeFileSync(rc, `PS1='${name}$ '\n${npx}\n`);
  const settings = {
    ROOMHUB_EPHEMERAL: "1",
    XDG_STATE_HOME: folder,
    USER: name,
    LOGNAME: name,
    ...env,
  };
  const variables = Object.entries(settings).flatMap((pair) => ["-e", pair.join("=")]);
  const shell = `bash --noprofile --rcfile '${rc}'`;
  tmux("new-session", "-d", "-s", name, "-x", "110", "-y", "70", "-c", folder, ...variables, shell);
  await shows(name, new RegExp(`^${name}\\$`));
  return name;
}

function type(terminal, line) {
  tmux("send-keys", "-t", terminal, "-l", line);
  press(terminal, "Enter");
}

function press(terminal, key) {
  tmux("send-keys", "-t", terminal, key);
}

/** The text of the terminal, long lines in one piece. */
function screen(terminal) {
  const lines = tmux("capture-pane", "-p", "-J", "-S", "-500", "-t", terminal).split("\n");
  return lines
    .map((line) => line.trimEnd())
    .join("\n")
    .trimEnd();
}

async function shows(terminal, pattern) {
  for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 100) {
    if (pattern.test(screen(terminal))) return;
    await pause(100);
  }
  throw new Error(`${terminal}'s terminal does not show ${pattern}:\n${screen(terminal)}`);
}

function tmux(...args) {
  return execFileSync("tmux", ["-L", socket, "-f", "/dev/null", ...args], { encoding: "utf8" });
}

/** Replaces Ben's Ollama, so that this script needs none. */
function startStandIn() {
  const models = ["llama3.2:3b", "qwen3:8b"];
  const server = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      if (request.url === "/v1/models") {
        const data = models.map((id) => ({ id, object: "model", created: 1, owned_by: "library" }));
        return sendJson(response, 200, { object: "list", data });
      }
      if (request.url === "/api/version") return sendJson(response, 200, { version: "0.30.0" });
      const body = request.method === "POST" ? JSON.parse(Buffer.concat(parts).toString()) : {};
      if (body.stream === true) void sendWords(response, body);
      else sendJson(response, 400, { error: { message: "model is required" } });
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

async function sendWords(response, { model, stream_options: options }) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const sendChunk = (fields) => {
    const chunk = {
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model,
      ...fields,
    };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  const send = (choice) => sendChunk({ choices: [{ index: 0, finish_reason: null, ...choice }] });
  const words = ["Hello! ", "How ", "can ", "I ", "help ", "you ", "today?"];
  for (const word of words) {
    send({ delta: { role: "assistant", content: word } });
    await pause(30);
  }
  send({ delta: {}, finish_reason: "stop" });
  if (options?.include_usage === true) {
    const counts = { prompt_tokens: 9, completion_tokens: words.length };
    sendChunk({ choices: [], usage: { ...counts, total_tokens: 9 + words.length } });
  }
  response.end("data: [DONE]\n\n");
}

function sendJson(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
