import {
  type Capabilities,
  InferenceProtocol,
  isObject,
  SURFACE_WORDS,
  type SurfaceWord,
} from "@roomhub/protocol";
import { InvalidArgumentError } from "commander";

type Declared = Partial<Capabilities>;

const words: readonly string[] = Object.values(SURFACE_WORDS);
/** A server that supports chat may support these too; otherwise requests are translated to chat. */
const foundWithChat = ["openResponses", "completions", "messages"];

/** That a model server has these surfaces and no others. */
export function capabilitiesFor(served: readonly SurfaceWord[]): Declared {
  const isFound = (protocol: InferenceProtocol) =>
    served.includes("chat") && foundWithChat.includes(protocol);
  const declared: Declared = {};
  for (const protocol of InferenceProtocol.options) {
    const isServed = served.includes(SURFACE_WORDS[protocol]);
    if (isServed || !isFound(protocol)) declared[protocol] = isServed ? "supported" : "unsupported";
  }
  return declared;
}

/** What each task of a model is served for, in the words of speaches (`ModelTask` in api_types.py) and LocalAI. */
const tasks: Readonly<Record<string, readonly SurfaceWord[]>> = {
  "automatic-speech-recognition": ["transcription", "translation"],
  "text-to-speech": ["speech"],
  transcript: ["transcription"],
  tts: ["speech"],
  image: ["images"],
  rerank: ["rerank"],
  embeddings: ["embeddings"],
};

/**
 * Which models of a list are not for text, and what for, by id: where speaches has a `task`, and LocalAI `capabilities`.
 *
 * @param data - of the list
 */
export function capabilitiesByModel(data: unknown): ReadonlyMap<string, Declared> {
  const byModel = new Map<string, Declared>();
  for (const entry of Array.isArray(data) ? (data as unknown[]) : []) {
    if (!isObject(entry) || typeof entry["id"] !== "string") continue;
    const { id, task, capabilities = [task] } = entry;
    const its = Array.isArray(capabilities) ? (capabilities as unknown[]) : [];
    if (its.includes("chat") || its.includes("completion")) continue;
    const served = its.flatMap((name) => tasks[String(name)] ?? []);
    if (served.length > 0) byModel.set(id, capabilitiesFor(served));
  }
  return byModel;
}

/** What a model server is known to have, in words. */
export function servedWords(capabilities: Declared): SurfaceWord[] {
  const has = (protocol: InferenceProtocol) => capabilities[protocol] === "supported";
  return InferenceProtocol.options.filter(has).map((protocol) => SURFACE_WORDS[protocol]);
}

/** At the end of a line that says what is shared. */
export function servingText(capabilities: Declared | null | undefined): string {
  return capabilities == null ? "" : `, for ${servedWords(capabilities).join(", ")}`;
}

/** Reads `--serves chat,embeddings`. */
export function servesArgument(text: string): Declared {
  const served = text.split(",").map((word) => word.trim());
  const unknown = served.find((word) => !words.includes(word));
  if (unknown !== undefined) {
    throw new InvalidArgumentError(`${JSON.stringify(unknown)} is none of ${words.join(", ")}.`);
  }
  return capabilitiesFor(served as SurfaceWord[]);
}
