import { isDuration, readUsage, type Usage } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import { JsonScanner, type JsonMember, valueOf } from "../json/json-scan.ts";
import { WantedKeys, wantedKeys } from "../json/wanted-keys.ts";
import type { WholeBody } from "./whole-relay.ts";

const maxReadBytes = 8_192;
/** With one of these members a body is a result, even when it has an `error` too. */
const resultFields = ["object", "choices", "output", "data", "results", "text"];
const wanted = new WantedKeys([
  ...wantedKeys(["id", "usage", "error", "duration"], maxReadBytes),
  ...wantedKeys(resultFields, 0),
]);
/** A body is held up to this length, so that a bad one can still become an error with the right status. */
const heldBytes = 64 * 1024;

/**
 * A JSON response on its way to the client. A small one is held until it is complete JSON; a longer one is relayed
 * after 64 KiB, and a later fault can only break the connection. Contract §6.
 */
export class JsonResponse implements WholeBody {
  readonly #scanner = new JsonScanner({ wanted, maxDepth: 512 });
  readonly #participantId: string;
  #held: Buffer[] = [];
  #heldLength = 0;
  #isHolding = true;
  length = 0;
  firstContentMs: number | undefined;
  /** known after {@link end} */
  usage: Usage = {};
  /** its top-level `id`, known after {@link end} */
  responseId: string | undefined;
  readonly #pictures: PictureCount | undefined;

  constructor(participantId: string, countsPictures: boolean) {
    this.#participantId = participantId;
    this.#pictures = countsPictures ? new PictureCount() : undefined;
  }

  /**
   * @returns what may go to the client now
   * @throws HubError `provider_invalid_response`, as soon as it is certain
   */
  push(chunk: Buffer, nowMs: number): Buffer | undefined {
    this.firstContentMs ??= nowMs;
    this.length += chunk.length;
    this.#pictures?.see(chunk);
    if (!this.#scanner.push(chunk)) throw this.#notJson();
    if (!this.#isHolding) return chunk;
    this.#held.push(Buffer.from(chunk));
    this.#heldLength += chunk.length;
    if (this.#heldLength <= heldBytes) return undefined;
    this.#isHolding = false;
    return this.#takeHeld();
  }

  /**
   * The provider ended the response.
   *
   * @returns what was still held
   * @throws HubError `provider_invalid_response`, or `provider_error` for an error with status 200
   */
  end(): Buffer {
    if (!this.#scanner.end()) throw this.#notJson();
    const error = errorIn(this.#scanner.last("error"));
    const isResult = resultFields.some((key) => this.#scanner.has(key));
    if (error !== undefined && !isResult) {
      throw new HubError(
        "provider_error",
        `The provider of ${this.#participantId} responded 200 with an error: ${error}`,
      );
    }
    const id = shortValue(this.#scanner.last("id"));
    this.usage = readUsage(shortValue(this.#scanner.last("usage")));
    const seconds = shortValue(this.#scanner.last("duration"));
    if (isDuration(seconds)) this.usage.audioSeconds ??= seconds;
    if (this.#pictures !== undefined) this.usage.images = this.#pictures.count;
    this.responseId = typeof id === "string" && id !== "" ? id : undefined;
    return this.#takeHeld();
  }

  #notJson(): HubError {
    return new HubError(
      "provider_invalid_response",
      `The provider of ${this.#participantId} responded with a body that is not JSON.`,
    );
  }

  #takeHeld(): Buffer {
    const body = this.#held.length === 1 ? (this.#held[0] as Buffer) : Buffer.concat(this.#held);
    this.#held = [];
    return body;
  }
}

/** Counts pictures: inside a JSON string quotes are escaped, so that no text matches. */
class PictureCount {
  count = 0;
  #carried = "";

  see(chunk: Buffer): void {
    const text = this.#carried + chunk.toString("latin1");
    let end = 0;
    for (const { index, 0: match } of text.matchAll(/"(?:b64_json|url)"\s{0,4}:\s{0,4}"[^"]/g)) {
      this.count++;
      end = index + match.length;
    }
    this.#carried = text.slice(Math.max(end, text.length - 24));
  }
}

/** @returns undefined when there is none, or a long one */
function shortValue(member: JsonMember | undefined): unknown {
  return member === undefined ? undefined : valueOf(member);
}

/** The message of a top-level `error`; undefined when it says that there is none. */
function errorIn(member: JsonMember | undefined): string | undefined {
  if (member === undefined) return undefined;
  if (member.raw === undefined) return "no short message";
  const error = valueOf(member);
  if (error === null || error === false || error === "") return undefined;
  const message = typeof error === "string" ? error : (error as { message?: unknown }).message;
  return typeof message === "string" ? message.slice(0, 512) : "no message";
}
