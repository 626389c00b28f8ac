import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { describeClient } from "../describe-client.ts";
import { type RawAnswer, rawChatOperations, type RawRequest } from "./raw-operations.ts";

const script = fileURLToPath(new URL("python-client.py", import.meta.url));

const python = { running: undefined as PythonClient | undefined };
afterAll(() => python.running?.close());

describeClient({
  name: "Python, requests",
  speaks: "chat",
  missing: isMissing("import requests"),
  does: rawChatOperations((request) => exchange("requests", request)),
});

describeClient({
  name: "Python, http.client",
  speaks: "chat",
  missing: isMissing("import http.client"),
  does: rawChatOperations((request) => exchange("http.client", request)),
});

type Library = "requests" | "http.client";

function exchange(library: Library, request: RawRequest): Promise<RawAnswer> {
  python.running ??= new PythonClient();
  return python.running.ask(library, request);
}

function isMissing(statement: string): string | undefined {
  const { status } = spawnSync("python3", ["-c", statement]);
  return status === 0 ? undefined : `python3 here cannot "${statement}"`;
}

/** One interpreter for all requests, one at a time: it takes long to start. */
class PythonClient {
  readonly #child: ChildProcess;
  readonly #lines: Interface;

  constructor() {
    const child = spawn("python3", [script], { stdio: ["pipe", "pipe", "inherit"] });
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout });
  }

  ask(library: Library, { method, url, body, onLine }: RawRequest): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error("python3 ended"));
      this.#child.once("exit", onExit);
      const onOutput = (output: string) => {
        const told = JSON.parse(output) as { line: string } | RawAnswer;
        if ("line" in told) {
          this.#child.stdin?.write(`${onLine(told.line)}\n`);
          return;
        }
        this.#lines.off("line", onOutput);
        this.#child.off("exit", onExit);
        resolve(told);
      };
      this.#lines.on("line", onOutput);
      const command = { library, method, url, body: body ?? null };
      this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
    });
  }

  close(): void {
    this.#child.kill("SIGKILL");
  }
}
