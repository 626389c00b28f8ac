import type { Usage } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import type { ClientResponse } from "../client-response.ts";
import type { ClientWriter } from "./client-writer.ts";
import { JsonResponse } from "./json-response.ts";
import type { HeaderMap } from "./response-headers.ts";

interface JsonRelayOptions {
  participantId: string;
  status: number;
  /** for the client */
  headers: HeaderMap;
  /** the longest body */
  maxBytes: number;
}

/** A JSON response on its way to the client: a short one as a whole with its length, a longer one as it arrives. */
export class JsonRelay {
  readonly #client: ClientResponse;
  readonly #writer: ClientWriter;
  readonly #options: JsonRelayOptions;
  readonly #json: JsonResponse;

  constructor(client: ClientResponse, writer: ClientWriter, options: JsonRelayOptions) {
    this.#client = client;
    this.#writer = writer;
    this.#options = options;
    this.#json = new JsonResponse(options.participantId);
  }

  get firstContentMs(): number | undefined {
    return this.#json.firstContentMs;
  }

  /** bytes so far */
  get length(): number {
    return this.#json.length;
  }

  get responseId(): string | undefined {
    return this.#json.responseId;
  }

  get usage(): Usage {
    return this.#json.usage;
  }

  /** @throws HubError `response_too_large` */
  push(chunk: Buffer, nowMs: number): void {
    const { status, headers, maxBytes } = this.#options;
    const out = this.#json.push(chunk, nowMs);
    if (this.#json.length > maxBytes) {
      throw new HubError(
        "response_too_large",
        `The response is longer than ${maxBytes} bytes (limit ROOMHUB_RESPONSE_BODY_BYTES).`,
      );
    }
    if (out === undefined) return;
    if (!this.#client.isHeadWritten) this.#client.writeHead(status, headers);
    this.#writer.write(out);
  }

  /** @throws HubError when it is not JSON, or not complete */
  end(onHandedOver: () => void): void {
    const { status, headers } = this.#options;
    const rest = this.#json.end();
    this.#writer.finish();
    if (!this.#client.isHeadWritten) {
      this.#client.respond(status, headers, rest, onHandedOver);
      return;
    }
    if (rest.length > 0) this.#writer.write(rest);
    this.#client.end(onHandedOver);
  }
}
