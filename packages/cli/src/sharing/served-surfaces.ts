import {
  type Capabilities,
  InferenceProtocol,
  SURFACE_WORDS,
  type SurfaceWord,
} from "@roomhub/protocol";
import { InvalidArgumentError } from "commander";

type Declared = Partial<Capabilities>;

const words: readonly string[] = Object.values(SURFACE_WORDS);
/** A server that chats may have these, and they can be made from chat. */
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
