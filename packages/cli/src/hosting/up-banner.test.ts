import { expect, test } from "vitest";
import type { CliContext } from "../context.ts";
import { aRoom, capture, makeWorld } from "../test-context.fixture.ts";
import { upBanner, type UpFacts } from "./up-banner.ts";

const facts: UpFacts = {
  localUrl: "http://127.0.0.1:5050",
  sharedUrls: [],
  isAnnounced: false,
  room: aRoom({ name: "Ana's room" }),
  participantId: "ana-llama3.2-3b",
  model: "llama3.2:3b",
  server: "Ollama",
  isDemo: false,
  hub: { hubUrl: "http://127.0.0.1:5050", isHandedOut: true },
  watchUrl: "http://127.0.0.1:5050/rooms/ABC234/watch",
};
const open: UpFacts = {
  ...facts,
  sharedUrls: [
    { url: "http://192.168.1.5:5050", label: "eth0" },
    { url: "http://172.17.0.1:5050", label: "docker0" },
  ],
  isAnnounced: true,
  hub: { hubUrl: "http://192.168.1.5:5050", isHandedOut: true },
  watchUrl: "http://192.168.1.5:5050/rooms/ABC234/watch",
  room: aRoom({ name: "Ana's room", passwordProtected: true }),
};

function banner(of: UpFacts, columns?: number, env: CliContext["env"] = {}, rows?: number): string {
  const stdout = capture(columns, rows);
  const context = { ...makeWorld({ env }).context, stdout, commandName: "npx roomhub" };
  return `\n${upBanner(context, of)}`.replaceAll("\u001b", "ESC");
}

test("on this machine only, in a pipe", () => {
  expect(banner(facts)).toMatchInlineSnapshot(`
    "
    Room ABC234  Ana's room
    Model llama3.2:3b from Ollama as ana-llama3.2-3b
    Hub   http://127.0.0.1:5050 (this machine only)
          To open it to your network: npx roomhub up --lan
    Chat  npx roomhub chat

    Share another model
      npx roomhub join http://127.0.0.1:5050/rooms/ABC234
    Send a request
      curl -N http://127.0.0.1:5050/rooms/ABC234/v1/chat/completions -d '{"model":"*","stream":true,"messages":[{"role":"user","content":"Hello!"}]}'
    Point any OpenAI client at it
      export OPENAI_BASE_URL=http://127.0.0.1:5050/rooms/ABC234/v1 OPENAI_API_KEY=roomhub

    Code      ABC234
    Page      http://127.0.0.1:5050/rooms/ABC234
    Base URL  http://127.0.0.1:5050/rooms/ABC234/v1
    Watch     http://127.0.0.1:5050/rooms/ABC234/watch

    Requests appear here; Ctrl+C stops. All of this again: npx roomhub invite ABC234
    "
  `);
});

test("with the demo model, on a terminal", () => {
  const demo = { ...facts, model: "demo", participantId: "ana-demo", isDemo: true };
  expect(banner(demo, 80)).toMatchInlineSnapshot(`
    "
    ESC[1mRoom ABC234ESC[22m  Ana's room
    Model ESC[33ma built-in demoESC[39m as ana-demo: no chat model found on this machine
          A model replaces it as soon as one runs here, such as that of Ollama:
            curl -fsSL https://ollama.com/install.sh | sh
            ollama run llama3.2
          LM Studio: https://lmstudio.ai, load a model, then: lms server start
          llama.cpp: brew install llama.cpp, then: llama-server -m MODEL.gguf
    Hub   http://127.0.0.1:5050 (this machine only)
          To open it to your network: npx roomhub up --lan
    Chat  npx roomhub chat

    ESC[2mShare another modelESC[22m
      npx roomhub join http://127.0.0.1:5050/rooms/ABC234
    ESC[2mSend a requestESC[22m
      curl -N http://127.0.0.1:5050/rooms/ABC234/v1/chat/completions -d '{"model":"*","stream":true,"messages":[{"role":"user","content":"Hello!"}]}'
    ESC[2mPoint any OpenAI client at itESC[22m
      export OPENAI_BASE_URL=http://127.0.0.1:5050/rooms/ABC234/v1 OPENAI_API_KEY=roomhub

    Code      ABC234
    Page      http://127.0.0.1:5050/rooms/ABC234
    Base URL  http://127.0.0.1:5050/rooms/ABC234/v1
    Watch     http://127.0.0.1:5050/rooms/ABC234/watch

    ESC[2mRequests appear here; Ctrl+C stops. All of this again: npx roomhub invite ABC234ESC[22m
    "
  `);
});

test("open to the network and with a password, in a pipe", () => {
  expect(banner(open)).toMatchInlineSnapshot(`
    "
    Room ABC234  Ana's room
    Model llama3.2:3b from Ollama as ana-llama3.2-3b
    Hub   http://192.168.1.5:5050 (eth0)
          http://172.17.0.1:5050 (docker0)
          Open to anyone who can reach it. Where installed, roomhub join finds it
    Chat  npx roomhub chat

    Share a model from another machine (prompts for the join password)
      npx -y http://192.168.1.5:5050/roomhub.tgz join http://192.168.1.5:5050/rooms/ABC234
    Send a request
      curl -N http://192.168.1.5:5050/rooms/ABC234/v1/chat/completions -d '{"model":"*","stream":true,"messages":[{"role":"user","content":"Hello!"}]}'
    Point any OpenAI client at it
      export OPENAI_BASE_URL=http://192.168.1.5:5050/rooms/ABC234/v1 OPENAI_API_KEY=roomhub

    Code      ABC234
    Page      http://192.168.1.5:5050/rooms/ABC234
    Base URL  http://192.168.1.5:5050/rooms/ABC234/v1
    Watch     http://192.168.1.5:5050/rooms/ABC234/watch

    Requests appear here; Ctrl+C stops. All of this again: npx roomhub invite ABC234
    "
  `);
});

test("open to the network, on a terminal that has room for the QR code", () => {
  expect(banner(open, 80, { NO_COLOR: "1" }, 46)).toMatchInlineSnapshot(`
    "
    Room ABC234  Ana's room
    Model llama3.2:3b from Ollama as ana-llama3.2-3b
    Hub   http://192.168.1.5:5050 (eth0)
          http://172.17.0.1:5050 (docker0)
          Open to anyone who can reach it. Where installed, roomhub join finds it
    Chat  npx roomhub chat

    Share a model from another machine (prompts for the join password)
      npx -y http://192.168.1.5:5050/roomhub.tgz join http://192.168.1.5:5050/rooms/ABC234
    Send a request
      curl -N http://192.168.1.5:5050/rooms/ABC234/v1/chat/completions -d '{"model":"*","stream":true,"messages":[{"role":"user","content":"Hello!"}]}'
    Point any OpenAI client at it
      export OPENAI_BASE_URL=http://192.168.1.5:5050/rooms/ABC234/v1 OPENAI_API_KEY=roomhub

      █████████████████████████████████
      ██ ▄▄▄▄▄ ██▄▀▀ ▄ ▀▄▀█  █ ▄▄▄▄▄ ██
      ██ █   █ █▄  ▀▄  ▀▀█▄▀▀█ █   █ ██
      ██ █▄▄▄█ ██▀▄██▀▄  ▄  ▄█ █▄▄▄█ ██
      ██▄▄▄▄▄▄▄█ ▀ █ ▀ █▄▀ ▀▄█▄▄▄▄▄▄▄██
      ██▄▄ ▀▄▄▄▄ █  ██ ██ ▀██▄ ▀█▀▄█▀██
      ██▄█▀ █▄▄▄ ▄█▀█▄██▄ ▄▀▀   ▄▀▄ ▄██
      ██  ▄█  ▄▄███▀ ▀███▄████  █ ▀▄ ██
      ██▀ ▀▄█▀▄▀█ █▄ ▀ ██ ▀█▄▀██▀▀█ ▄██
      ███ ▀█▄▄▄▄  ▀ ██ ▀ ▄█▄█▀ ▀██▀▄ ██
      ██▄▀▀ ▄▄▄▄▀█▄▀█▄██▄ ▀▀▀ ▀▀█ █ ▄██
      ██▄█▄███▄▄ ▀█▀ ▀█▀ ▄██ ▄▄▄ █▀▀▀██
      ██ ▄▄▄▄▄ █ ▀█▄ ▀ ▀█▀▀  █▄█  █ ▄██
      ██ █   █ █▄▄▀ ██ ▀  ▀▀  ▄▄  █  ██
      ██ █▄▄▄█ █  ▄▀█▄██▀   ▀ ██▄ ▄▀▄██
      ██▄▄▄▄▄▄▄█▄▄▄█▄██▄▄▄▄█▄▄▄██▄█▄▄██
      ▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀

    Code      ABC234
    Page      http://192.168.1.5:5050/rooms/ABC234
    Base URL  http://192.168.1.5:5050/rooms/ABC234/v1
    Watch     http://192.168.1.5:5050/rooms/ABC234/watch

    Requests appear here; Ctrl+C stops. All of this again: npx roomhub invite ABC234
    "
  `);
});

test("behind a proxy, and not announced", () => {
  const sharedUrls = [{ url: "https://hub.example.org", label: "public" }];
  const hub = { hubUrl: "https://hub.example.org", isHandedOut: true };
  const text = banner({ ...open, sharedUrls, hub, isAnnounced: false });
  expect(text).toContain(
    "npx -y https://hub.example.org/roomhub.tgz join https://hub.example.org/rooms/ABC234\n",
  );
  expect(text).not.toContain("finds it");
});

test("the QR code is shown where all of the banner fits, with the digest that follows and the cursor", () => {
  const noColor = { NO_COLOR: "1" };
  const shown = banner(open, 80, noColor, 45).trim().split("\n");
  const rows = shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 80)), 0);
  expect(rows + 3 + 1).toBe(45);
  expect(banner(open, 80, noColor, 44)).not.toContain("█");
});

test("at 80 columns and 24 rows it ends with code, page, base URL and link to watch", () => {
  const at = "http://192.168.1.5:5050/rooms/ABC234";
  const lines = banner(open, 80, { NO_COLOR: "1" }, 24).split("\n");
  expect(lines.slice(-7, -3)).toEqual([
    "Code      ABC234",
    `Page      ${at}`,
    `Base URL  ${at}/v1`,
    `Watch     ${at}/watch`,
  ]);
});

test("a chat on this machine names the room where the hub has another port than usual", () => {
  expect(banner(facts)).toContain("\nChat  npx roomhub chat\n");
  const localUrl = "http://127.0.0.1:6060";
  expect(banner({ ...facts, localUrl })).toContain(
    "\nChat  npx roomhub chat http://127.0.0.1:6060/rooms/ABC234\n",
  );
});

test.each([
  ["linux", "curl -fsSL https://ollama.com/install.sh | sh", "brew install llama.cpp"],
  ["darwin", "https://ollama.com/download, then:", "brew install llama.cpp"],
  ["win32", "winget install Ollama.Ollama", "winget install llama.cpp"],
] as const)("with the demo alone it says what to install on %s", (platform, ollama, llama) => {
  const context = { ...makeWorld({ platform }).context, stdout: capture(80) };
  const text = upBanner(context, { ...facts, isDemo: true });
  expect(text).toContain(`        ${ollama}\n        ollama run llama3.2\n`);
  expect(text).toContain(`llama.cpp: ${llama}, then: llama-server -m MODEL.gguf\n`);
});

test("names cannot steer the terminal", () => {
  const evil = { ...facts, model: "\u001b[2J", room: aRoom({ name: "a\u202eb" }) };
  expect(banner(evil)).not.toMatch(/ESC|\u202e/);
});

test("a closed room is not open to anyone", () => {
  const text = banner({ ...open, room: { ...open.room, closed: true } });
  expect(text).toContain("Closed: its use needs a key.");
  expect(text).not.toContain("Open to anyone");
});
