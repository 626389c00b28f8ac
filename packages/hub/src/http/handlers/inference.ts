import { forwardRequestHeaders, type Limits, type Surface } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import { HubError } from "../../errors.ts";
import { ModelAsking } from "../../inference/asking.ts";
import { Dispatch } from "../../inference/dispatch.ts";
import type { DispatchDeps } from "../../inference/inference-call.ts";
import type { RequestBody } from "../../inference/request-body.ts";
import { RequestBodyReader } from "../../inference/request-head.ts";
import type { OperationContext } from "../../operations/context.ts";
import { type BodyLimits, readBody } from "../body.ts";
import { SocketClientResponse } from "../relay.ts";

export interface InferenceDeps {
  operations: OperationContext;
  limits: Limits;
  dispatch: DispatchDeps;
  bodies: HeldBodies;
  /** See {@link HubOptions.streamUsage}. */
  asksStreamUsage: boolean;
}

/** Bytes of request bodies this hub holds. Contract §6: at the limit, new ones wait outside. */
export class HeldBodies {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @throws HubError `hub_overloaded` */
  hold(bytes: number): void {
    if (this.#bytes + bytes > this.#maxBytes) {
      throw new HubError(
        "hub_overloaded",
        "The hub holds as many request bodies as it may (ROOMHUB_HELD_BODY_BYTES).",
      );
    }
    this.#bytes += bytes;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}

export interface InferenceInput {
  requestId: string;
  code: string;
  surface: Surface;
  clientKey: string;
}

/**
 * `POST …/chat/completions` and its like: read the request, find the room, hand both to dispatch. Interface §4.
 *
 * @param onRefused - what keeps it from dispatch, once the body is being read
 * @throws HubError when it was refused at once
 */
export function serveInference(
  request: IncomingMessage,
  response: ServerResponse,
  input: InferenceInput,
  deps: InferenceDeps,
  onRefused: (error: unknown) => void,
): void {
  const { operations, limits, dispatch, bodies } = deps;
  const startedMs = dispatch.nowMs();
  const room = operations.registry.room(input.code);
  refuseAtLimit(dispatch, limits);
  const reader = new RequestBodyReader(limits.jsonDepth);
  let heldBytes = 0;
  readBody(request, bodyLimits(limits), onChunk, onOver);

  function onChunk(chunk: Buffer): void {
    bodies.hold(chunk.length);
    heldBytes += chunk.length;
    reader.push(chunk);
  }
  function onOver(error?: unknown): void {
    if (error !== undefined) {
      refuse(error);
      return;
    }
    try {
      // Others may have begun while this one was still arriving.
      refuseAtLimit(dispatch, limits);
      begin(reader.end());
    } catch (refusal) {
      refuse(refusal);
    }
  }
  function refuse(error: unknown): void {
    release();
    onRefused(error);
  }
  function release(): void {
    bodies.release(heldBytes);
  }
  function begin(body: RequestBody): void {
    room.lastUsedAt = operations.wallMs();
    const { requestId, surface, clientKey } = input;
    const client = new SocketClientResponse(request, response, requestId, surface.errorShape);
    const headers = forwardRequestHeaders(request.headers);
    // JSON whatever the client called it: curl says form data, fetch says plain text. Contract §1.
    headers["content-type"] = "application/json";
    const { asksStreamUsage } = deps;
    const running = new Dispatch(dispatch, {
      requestId,
      room,
      asking: new ModelAsking({ surface, body, headers, asksStreamUsage }),
      hops: hopsOf(request),
      clientKey,
      startedMs,
      client,
      onSettled: release,
    });
    running.start();
    client.listen(running);
  }
}

/** @throws HubError `hub_overloaded` */
export function refuseAtLimit({ inFlight }: DispatchDeps, { inFlightPerHub }: Limits): void {
  if (inFlight.size < inFlightPerHub) return;
  throw new HubError("hub_overloaded", `The hub already runs ${inFlightPerHub} requests.`);
}

function bodyLimits(limits: Limits): BodyLimits {
  return {
    maxBytes: limits.inferenceBodyBytes,
    knob: "INFERENCE_BODY_BYTES",
    idleMs: limits.bodyIdleMs,
    totalMs: limits.bodyReadMs,
  };
}

/** Hubs this request already passed. Contract §3, "Loops". */
export function hopsOf(request: IncomingMessage): string[] {
  const header = request.headers["x-roomhub-hop"];
  if (header === undefined) return [];
  const text = Array.isArray(header) ? header.join(",") : header;
  return text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => /^[\w-]{1,64}$/.test(entry));
}
