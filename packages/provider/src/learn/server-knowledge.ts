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

/** The capabilities as they are reported; the two most requested ones are always included. */
export type ReportedCapabilities = Record<"openResponses" | "chatCompletions", CapabilityValue> &
  KnownCapabilities;

/** The user's choice for each surface; default: by what is known of the server. */
export type SurfaceModes = Readonly<Partial<Record<TranslatedSurface, SurfaceMode | undefined>>>;

const nonConformant: Record<TranslatedSurface, ReadonlySet<ServerProgram | undefined>> = {
  // Its events lack `sequence_number`, `output_index` and `content_index`, which SDKs require.
  openResponses: new Set(["llama.cpp"]),
  messages: new Set(),
};

/** `native-first`: native until the server responds that it has no such path, then translated. */
export type SurfaceWay = SurfaceMode | "native-first";

/**
 * What is known of one model server: found by looking it up, and learned from its responses since.
 *
 * What the server has (`native`) differs from what is reported: a missing surface is translated from chat, and what the
 * user declared is reported unchanged.
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
   * @param declared - by the user; may change
   * @param modes - chosen by the user; may change
   * @param onChange - `reported` has changed
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
    // A declared "supported" is tested by the first request; translation may make it true.
    return this.#declared()[name] === "unsupported" ? "unsupported" : known;
  }

  /**
   * How requests of a surface are served that chat can serve too. The first request tests what was found: a gateway may
   * pass only chat.
   */
  way(surface: TranslatedSurface): SurfaceWay {
    if (!this.mayTranslate(surface)) return "native";
    if (this.#modes()[surface] === "translated" || this.native(surface) === "unsupported")
      return "translated";
    if (nonConformant[surface].has(this.#program)) return "translated";
    return this.#learned[surface] === "supported" ? "native" : "native-first";
  }

  /** The user did not choose `native`, and the server may have chat. */
  mayTranslate(surface: TranslatedSurface): boolean {
    const isChosen = this.#modes()[surface] === "native";
    return !isChosen && this.native("chatCompletions") !== "unsupported";
  }

  /** undefined until it is recognised */
  get program(): ServerProgram | undefined {
    return this.#program;
  }

  /** A refusal says more than the field that the server uses in responses. undefined while neither is known */
  get acceptedReasoning(): AcceptedReasoning | undefined {
    return this.#reasoningLearned ?? this.#reasoningSeen;
  }

  get isLookDue(): boolean {
    return this.#state !== "looked";
  }

  /** A response has shown that the server has this capability. */
  hasResponded(name: CapabilityName): boolean {
    return this.#learned[name] === "supported";
  }

  /** The server was away, and may come back as another: look it up again. */
  doubt(): void {
    this.#state = "doubtful";
  }

  /**
   * A look at the server begins. What is learned from now on counts beside what is found; earlier lessons may be about
   * another server and are dropped.
   *
   * @param program - as its models list identifies it, for requests during the look
   */
  beginLook(program: ServerProgram | undefined): void {
    if (this.#state === "doubtful") this.#forget();
    this.#state = "looked";
    this.#program = program ?? this.#program;
  }

  find(found: KnownCapabilities, program: ServerProgram | undefined): void {
    this.#found = found;
    this.#program = program;
    this.reconsider();
  }

  /** For certain. */
  learn(name: CapabilityName, value: CapabilityValue): void {
    // Also if it was found before: a response makes it certain.
    if (this.#learned[name] === value) return;
    this.#learned[name] = value;
    this.reconsider();
  }

  /**
   * What one response says of its surface.
   *
   * @param text - the body, or its beginning when it is long
   */
  noteResponse(name: CapabilityName, status: number, text: string): void {
    if (status !== 501) return this.note(name, judgeResponse(status, text));
    // 501 comes from the server, never from a gateway in front of it. If the server is known to have the surface, look
    // again: the 501 may be about one field.
    if (name === "chatCompletions" || this.native(name) === "supported") this.doubt();
    this.learn(name, "unsupported");
  }

  /** What one response says. A single refusal by a server that has the surface proves nothing: the next response decides. */
  note(name: CapabilityName, verdict: CapabilityValue): void {
    if (verdict === "unknown") return;
    const isContradiction = verdict === "unsupported" && this.native(name) === "supported";
    // A server without chat is rare: the next look decides.
    const isUnlikely = verdict === "unsupported" && name === "chatCompletions";
    if (isUnlikely) this.doubt();
    this.learn(name, isContradiction || isUnlikely ? "unknown" : verdict);
  }

  /** The field in which the server sends reasoning. */
  seeReasoning(field: ReasoningField): void {
    this.#reasoningSeen = field;
  }

  /** The field that the server accepted after it had refused another. */
  learnReasoning(taken: AcceptedReasoning): void {
    this.#reasoningLearned = taken;
  }

  #forget(): void {
    this.#learned = {};
    this.#reasoningSeen = undefined;
    this.#reasoningLearned = undefined;
  }

  /** Reports what is known now, where that has changed: also when the user has declared or chosen something else. */
  reconsider(): void {
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
      // A reported value that no longer holds is reported as unknown.
      const isReported = this.#reported[name] !== undefined;
      if (value !== "unknown" || isReported) reported[name] = value;
    }
    return reported;
  }

  /** A translated surface is supported if chat is; its responses are not stored. */
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
        // Paths below one that does not exist.
        return this.native("openResponses") === "unsupported" ? "unsupported" : this.native(name);
      default:
        return this.native(name);
    }
  }
}
