import { link, open, rename, symlink } from "node:fs/promises";
import { constants } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../support/programs/run-command.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { llama } from "./binary.ts";
import { type ServerProcess, startServerProcess } from "./server-process.ts";
import { writeTinyEar } from "./tiny-ear.ts";
import { type TinyModelKind, writeTinyModel } from "./tiny-model.ts";

export interface LlamaServerOptions {
  /** Where it listens; a free one by default. */
  port?: number | undefined;
  /** The name of its model; `undefined` leaves it without one: it takes the name of its file. */
  alias?: string | undefined;
  /** the file's name */
  file?: string | undefined;
  apiKey?: string | undefined;
  /** How many requests at once. */
  slots?: number | undefined;
  /** It stays in the middle of loading until `load()`. */
  isHeld?: boolean | undefined;
  /** Two models, `one` and `two`, none of them loaded. */
  isRouter?: boolean | undefined;
  /** A model that reranks, and nothing else. */
  isReranker?: boolean | undefined;
  /** Its model takes sound. */
  canHear?: boolean | undefined;
  /** further options of its command line */
  args?: readonly string[] | undefined;
}

export interface Slot {
  id: number;
  is_processing: boolean;
}

export function isBusy(slots: readonly Slot[]): boolean {
  return slots.some(({ is_processing }) => is_processing);
}

/** A real llama-server as a process of its own. */
export interface LlamaServer extends ServerProcess {
  /** its base URL, as a participant's endpoint */
  readonly url: string;
  /** Lets a held one load its model, and waits until it has. */
  load(): Promise<void>;
  slots(): Promise<Slot[]>;
  post(path: string, body: Record<string, unknown>): Promise<Response>;
}

/** Resolves when its model is loaded, or when it reports that it is loading, for a held one. */
export async function startLlamaServer(options: LlamaServerOptions = {}): Promise<LlamaServer> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const modelArguments =
    options.isRouter === true
      ? await prepareRouter(folder.path)
      : await prepareModel(folder.path, options);
  const ear = join(folder.path, "ear.gguf");
  if (options.canHear === true) await writeTinyEar(ear);
  const child = stack.use(
    await startServerProcess({
      program: llama.path,
      port: options.port,
      // One thread: with more, on a machine that has other work, they wait for each other.
      args: [
        ...["--offline", "--no-ui", "--parallel", String(options.slots ?? 2)],
        ...["--threads", "1", "--threads-batch", "1", ...modelArguments],
        ...(options.alias === undefined ? [] : ["--alias", options.alias]),
        ...(options.apiKey === undefined ? [] : ["--api-key", options.apiKey]),
        ...(options.canHear === true ? ["--mmproj", ear] : []),
        ...(options.isReranker === true ? ["--reranking"] : []),
        ...(options.args ?? []),
      ],
      status: options.isHeld === true ? 503 : 200,
    }),
  );
  const owned = stack.move();
  return {
    ...child,
    // It changes, so it is not copied with the others.
    get output() {
      return child.output;
    },
    url: `http://127.0.0.1:${child.port}/v1`,
    async load() {
      await releaseModel(folder.path, options);
      await child.untilHealth(200);
    },
    async slots() {
      return (await (await child.get("/slots")).json()) as Slot[];
    },
    post: (path, body) =>
      fetch(`http://127.0.0.1:${child.port}${path}`, {
        method: "POST",
        body: JSON.stringify(body),
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const nameOfFile = ({ file = "tiny.gguf" }: LlamaServerOptions) => file;

/** @returns the arguments that name the model */
async function prepareModel(folder: string, options: LlamaServerOptions): Promise<string[]> {
  const path = join(folder, nameOfFile(options));
  if (options.isHeld !== true) {
    await placeModel(path, options.isReranker === true ? "reranker" : "chat");
    return ["--model", path];
  }
  // It looks at the model's size before it loads it, and waits for a pipe that has no writer: as long as it is to.
  const gate = join(folder, "gate");
  const made = await runCommand("mkfifo", [gate]);
  if (made.exitCode !== 0) throw new Error(`mkfifo failed: ${made.stderr}`);
  await link(gate, path);
  return ["--model", path];
}

async function releaseModel(folder: string, options: LlamaServerOptions): Promise<void> {
  const next = join(folder, "next.gguf");
  await placeModel(next);
  await rename(next, join(folder, nameOfFile(options)));
  // Opened and closed: an empty file, whose size it does without. What it loads then is the model.
  const gate = await open(join(folder, "gate"), constants.O_WRONLY | constants.O_NONBLOCK);
  await gate.close();
}

async function prepareRouter(folder: string): Promise<string[]> {
  await Promise.all(["one", "two"].map((name) => placeModel(join(folder, `${name}.gguf`))));
  return ["--models-dir", folder];
}

async function placeModel(path: string, kind: TinyModelKind = "chat"): Promise<void> {
  const own = kind === "chat" ? process.env["LLAMA_MODEL"] : undefined;
  if (own === undefined || own === "") await writeTinyModel(path, kind);
  else await symlink(own, path);
}
