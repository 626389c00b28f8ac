import { readFileSync } from "node:fs";
import { llamaRecording } from "../../support/providers/recorded-llama.ts";
import type { ProviderShape } from "./provider-shape.ts";

/** The recorded scenes of a model. */
export type Scene = "text" | "tool-call" | "structured";
export type Dialect = "chat" | "responses" | "messages";

/** The same response in both of its forms. */
export interface Recording {
  /** the JSON response, as text */
  json: string;
  /** data of the stream's events, in order; `[DONE]` is one */
  events: readonly string[];
  /** the same of a chat stream without `stream_options`, where it was recorded */
  uncounted?: readonly string[];
}

/** Recordings of one model server, read when they are first needed. */
export interface Recordings {
  /** @throws Error when there is no such recording */
  of(dialect: Dialect, scene: Scene): Recording;
  has(dialect: Dialect, scene: Scene): boolean;
  /** `models.json`, `embeddings.json`, fingerprints by path */
  file(name: string): string;
}

export function recordingsOf(shape: ProviderShape): Recordings {
  return shape.recordings === "llama-server" ? new LlamaRecordings() : new FolderRecordings(shape);
}

/** Files of `fixtures/<recordings>/`. */
class FolderRecordings implements Recordings {
  readonly #folder: URL;
  readonly #cache = new Map<string, Recording>();

  constructor({ recordings }: ProviderShape) {
    this.#folder = new URL(`fixtures/${recordings}/`, import.meta.url);
  }

  of(dialect: Dialect, scene: Scene): Recording {
    const name = `${dialect}-${scene}`;
    const known = this.#cache.get(name);
    if (known !== undefined) return known;
    const json = this.file(`${name}.json`);
    const events = this.file(`${name}.jsonl`).trimEnd().split("\n");
    const recording = { json, events };
    this.#cache.set(name, recording);
    return recording;
  }

  has(): boolean {
    return true;
  }

  file(name: string): string {
    return readFileSync(new URL(name, this.#folder), "utf8");
  }
}

const scenes: Record<Scene, string> = {
  text: "oslo",
  "tool-call": "oslo-tool",
  structured: "oslo-json",
};

/** What a real llama-server sent, byte for byte: `tests/fixtures/llama.cpp/`. */
class LlamaRecordings implements Recordings {
  of(dialect: Dialect, scene: Scene): Recording {
    const name = `${scenes[scene]}-${dialect}`;
    const json = textOf(name);
    if (dialect !== "chat") return { json, events: eventsOf(`${name}-stream`) };
    const uncounted = eventsOf(`${name}-stream`);
    return { json, events: eventsOf(`${name}-stream-usage`), uncounted };
  }

  /** Its own `/responses` ignores `text.format`. */
  has(dialect: Dialect, scene: Scene): boolean {
    return dialect !== "responses" || scene !== "structured";
  }

  file(name: string): string {
    if (name === "models.json") return textOf("models");
    const answers = ["props", "slots", "health"].map((path) => `"/${path}":${textOf(path)}`);
    return `{${answers.join(",")}}`;
  }
}

function textOf(name: string): string {
  return llamaRecording(name).body.toString("utf8");
}

function eventsOf(name: string): string[] {
  const lines = textOf(name).split("\n");
  return lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
}
