import type { Usage } from "@roomhub/protocol";
import type { WholeBody } from "./whole-relay.ts";

const none = Buffer.alloc(0);

/** A response of sound or text: its bytes are passed as they come, and nothing is read in them. */
export class PlainResponse implements WholeBody {
  readonly usage: Usage = {};
  readonly responseId = undefined;
  length = 0;
  firstContentMs: number | undefined;

  push(chunk: Buffer, nowMs: number): Buffer {
    this.firstContentMs ??= nowMs;
    this.length += chunk.length;
    return chunk;
  }

  end(): Buffer {
    return none;
  }
}
