import { readFileSync } from "node:fs";
import type { ProviderShape } from "./provider-shape.ts";

/** What a model was recorded doing. */
export type Scene = "text" | "tool-call" | "structured";
export type Dialect = "chat" | "responses" | "messages";

/** The same answer in both of its forms. */
export interface Recording {
  /** the JSON answer, as text */
  json: string;
  /** data of the stream's events, in order; `[DONE]` is one */
  events: readonly string[];
}

/** Files of `fixtures/<recordings>/`, read when they are first wanted. */
export class Recordings {
  readonly #folder: URL;
  readonly #cache = new Map<string, Recording>();

  constructor({ recordings }: ProviderShape) {
    this.#folder = new URL(`fixtures/${recordings}/`, import.meta.url);
  }

  /** @throws Error when there is no such recording */
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

  file(name: string): string {
    return readFileSync(new URL(name, this.#folder), "utf8");
  }
}
