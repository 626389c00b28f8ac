import type { CapabilityValue, SurfaceMode } from "@roomhub/protocol";
import type { TranslatedSurface } from "../translation/surface-translation.ts";
import type { ServerProgram } from "./fingerprints.ts";
import {
  CAPABILITY_NAMES,
  type CapabilityName,
  isDeclared,
  type KnownCapabilities,
} from "./known-capabilities.ts";
import { judgeResponse } from "./surface-verdict.ts";
import type { ReasoningField, AcceptedReasoning } from "../translation/chat/chat-message.ts";

/** As others see it: what clients request most is always there. */
export type ReportedCapabilities = Record<"openResponses" | "chatCompletions", CapabilityValue> &
  KnownCapabilities;

/** The user's choices, by surface; what is left out is decided by what is known of the server. */
export type SurfaceModes = Readonly<Partial<Record<TranslatedSurface, SurfaceMode | undefined>>>;

const nonConformant: Record<TranslatedSurface, ReadonlySet<ServerProgram | undefined>> = {
  // Its events lack `sequence_number`, `output_index` and `content_index`, without which SDKs fail.
  openResponses: new Set(["llama.cpp"]),
  messages: new Set(),
};

/** `native-first`: translated once the server responds that it has no such path. */
export type SurfaceWay = SurfaceMode | "native-first";

/**
 * What is known of one model server: found by looking, and learned from its responses since.
 *
 * What the server has itself (`native`) is kept apart from what is reported: responses it does not have are made from
 * its chat, and what the user declared is reported as it is.
 */
export class ServerKnowledge {
  readonly #declared: () => Readonly<Record<string, unknown>>;
  readonly #modes: () => SurfaceModes;
  readonly #onChange: () => void;
  #program: ServerProgram | undefined;
  #state: "not looked" | "looked" | "doubtful" = "not looked";
  #found: KnownCapabilities = {};
  #learned: KnownCapabilities = {};
  #reasoningSeen: ReasoningField | undefined;
  #reasoningLearned: AcceptedReasoning | undefined;
  #reported: ReportedCapabilities = { openResponses: "unknown", chatCompletions: "unknown" };

  /**
   * @param declared - the user's word, which may change
   * @param modes - the user's choices, which may change too
   * @param onChange - `reported` is another
   */
  constructor(
    declared: () => Readonly<Record<string, unknown>>,
    modes: () => SurfaceModes,
    onChange: () => void,
  ) {
    this.#declared = declared;
    this.#modes = modes;
    this.#onChange = onChange;
    this.#reported = this.#compose();
  }

  get reported(): Readonly<ReportedCapabilities> {
    return this.#reported;
  }

  native(name: CapabilityName): CapabilityValue {
    const known = this.#learned[name] ?? this.#found[name] ?? "unknown";
    // A declared "supported" is put to the test by the first request: translation may make it true.
    return this.#declared()[name] === "unsupported" ? "unsupported" : known;
  }

  /**
   * How a request of a surface is served that chat can serve too. What a look found is put to the test by the first request: a gateway may pass
   * only chat.
   */
  way(surface: TranslatedSurface): SurfaceWay {
    if (!this.mayTranslate(surface)) return "native";
    if (this.#modes()[surface] === "translated" || this.native(surface) === "unsupported")
      return "translated";
    if (nonConformant[surface].has(this.#program)) return "translated";
    return this.#learned[surface] === "supported" ? "native" : "native-first";
  }

  /** The user did not choose the server's own, and there is a chat to make it from. */
  mayTranslate(surface: TranslatedSurface): boolean {
    const isChosen = this.#modes()[surface] === "native";
    return !isChosen && this.native("chatCompletions") !== "unsupported";
  }

  /** as it says itself; undefined until it was looked at, and for what is not recognised */
  get program(): ServerProgram | undefined {
    return this.#program;
  }

  /** What it refused says more than the name it uses itself. undefined while it has done neither */
  get acceptedReasoning(): AcceptedReasoning | undefined {
    return this.#reasoningLearned ?? this.#reasoningSeen;
  }

  get isLookDue(): boolean {
    return this.#state !== "looked";
  }

  /** A response has shown that the server has it. */
  hasResponded(name: CapabilityName): boolean {
    return this.#learned[name] === "supported";
  }

  /** The server was away: it may come back as another. */
  doubt(): void {
    this.#state = "doubtful";
  }

  /**
   * A look at the server begins. What is learned meanwhile counts beside what it finds; what another taught does not.
   *
   * @param program - as its models list gives it away: requests that come during the look are served by that
   */
  beginLook(program: ServerProgram | undefined): void {
    if (this.#state === "doubtful") this.#forget();
    this.#state = "looked";
    this.#program = program ?? this.#program;
  }

  find(found: KnownCapabilities, program: ServerProgram | undefined): void {
    this.#found = found;
    this.#program = program;
    this.#publish();
  }

  /** What the user declared or chose is another. */
  reconsider(): void {
    this.#publish();
  }

  /** For certain. */
  learn(name: CapabilityName, value: CapabilityValue): void {
    // Not compared with what was found: a response that says the same makes it certain.
    if (this.#learned[name] === value) return;
    this.#learned[name] = value;
    this.#publish();
  }

  /**
   * What one response says of its surface.
   *
   * @param text - the body, or its beginning when it is long
   */
  noteResponse(name: CapabilityName, status: number, text: string): void {
    if (status !== 501) return this.note(name, judgeResponse(status, text));
    // "Not implemented" comes from the server itself, never from a gateway in front of it. A server known to have the
    // surface is looked at again: its 501 may be about one field.
    if (name === "chatCompletions" || this.native(name) === "supported") this.doubt();
    this.learn(name, "unsupported");
  }

  /** What one response says. One "no" of a server that has it may have a reason of its own: the next response decides. */
  note(name: CapabilityName, verdict: CapabilityValue): void {
    if (verdict === "unknown") return;
    const isContradiction = verdict === "unsupported" && this.native(name) === "supported";
    // A server without chat is rare, so one response does not prove it: the next look decides.
    const isUnlikely = verdict === "unsupported" && name === "chatCompletions";
    if (isUnlikely) this.doubt();
    this.learn(name, isContradiction || isUnlikely ? "unknown" : verdict);
  }

  /** The server's own field for reasoning. */
  seeReasoning(field: ReasoningField): void {
    this.#reasoningSeen = field;
  }

  /** How it takes them, having refused another way. */
  learnReasoning(taken: AcceptedReasoning): void {
    this.#reasoningLearned = taken;
  }

  #forget(): void {
    this.#learned = {};
    this.#reasoningSeen = undefined;
    this.#reasoningLearned = undefined;
  }

  #publish(): void {
    const reported = this.#compose();
    if (JSON.stringify(reported) === JSON.stringify(this.#reported)) return;
    this.#reported = reported;
    this.#onChange();
  }

  #compose(): ReportedCapabilities {
    const declared = this.#declared();
    const reported: ReportedCapabilities = { openResponses: "unknown", chatCompletions: "unknown" };
    for (const name of CAPABILITY_NAMES) {
      const declaration = declared[name];
      const value = isDeclared(declaration) ? declaration : this.#served(name);
      // A reported value that no longer holds must be reported as unknown.
      const isReported = this.#reported[name] !== undefined;
      if (value !== "unknown" || isReported) reported[name] = value;
    }
    return reported;
  }

  /** What is translated is as good as the chat it is made from, and not stored. */
  #served(name: CapabilityName): CapabilityValue {
    const isTranslating = this.way("openResponses") === "translated";
    switch (name) {
      case "openResponses":
      case "messages":
        return this.native(this.way(name) === "translated" ? "chatCompletions" : name);
      case "storedResponses":
        return isTranslating ? "unsupported" : this.native(name);
      case "responsesCompact":
      case "responsesInputTokens":
        // Paths below one that is not there.
        return this.native("openResponses") === "unsupported" ? "unsupported" : this.native(name);
      default:
        return this.native(name);
    }
  }
}
