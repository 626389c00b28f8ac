import type { Usage } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import type { ClientWriter } from "./client-writer.ts";
import type { HeaderMap } from "./response-headers.ts";

/** The body of a response that is no stream, as it arrives: JSON that is checked, or bytes that are passed as they are. */
export interface WholeBody {
  /** bytes so far */
  readonly length: number;
  /** ms of the first byte */
  readonly firstContentMs: number | undefined;
  readonly responseId: string | undefined;
  readonly usage: Usage;
  /** @returns what may go to the client now */
  push(chunk: Buffer, nowMs: number): Buffer | undefined;
  /** @returns what was held */
  end(): Buffer;
}

interface WholeRelayOptions {
  status: number;
  /** for the client */
  headers: HeaderMap;
  /** the longest body, and the limit that says so, as its environment variable names it */
  maxBytes: number;
  knob: string;
}

/** A response that is no stream on its way to the client: a short one with its length, a longer one as it arrives. */
export class WholeRelay {
  readonly #writer: ClientWriter;
  readonly #options: WholeRelayOptions;
  readonly body: WholeBody;

  constructor(writer: ClientWriter, body: WholeBody, options: WholeRelayOptions) {
    this.#writer = writer;
    this.#options = options;
    this.body = body;
  }

  /** @throws HubError `response_too_large` */
  push(chunk: Buffer, nowMs: number): void {
    const { status, headers, maxBytes, knob } = this.#options;
    const out = this.body.push(chunk, nowMs);
    if (this.body.length > maxBytes) {
      throw new HubError(
        "response_too_large",
        `The response is longer than ${maxBytes} bytes (limit ROOMHUB_${knob}).`,
      );
    }
    if (out === undefined) return;
    if (!this.#writer.client.isHeadWritten) this.#writer.client.writeHead(status, headers);
    this.#writer.write(out, true);
  }

  /** @throws HubError when its body is not what it has to be, or not complete */
  end(onHandedOver: () => void): void {
    const { status, headers } = this.#options;
    const rest = this.body.end();
    this.#writer.finish();
    if (!this.#writer.client.isHeadWritten) {
      this.#writer.client.respond(status, headers, rest, onHandedOver);
      return;
    }
    if (rest.length > 0) this.#writer.write(rest);
    this.#writer.client.end(onHandedOver);
  }
}
