import { forwardRequestHeaders, type Limits, type Surface } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import { HubError } from "../../errors.ts";
import { ModelAsking } from "../../inference/request/asking.ts";
import { Dispatch } from "../../inference/dispatch.ts";
import type { DispatchDeps, InferenceCall } from "../../inference/inference-call.ts";
import type { RequestBody } from "../../inference/request/request-body.ts";
import { RequestBodyReader } from "../../inference/request/request-head.ts";
import type { OperationContext } from "../../operations/context.ts";
import { type BodySink, inferenceBodyLimits, readBody } from "../body.ts";
import type { LeavingAnswers } from "../leaving-answers.ts";
import { SocketClientResponse } from "../relay.ts";

export interface InferenceDeps {
  operations: OperationContext;
  limits: Limits;
  dispatch: DispatchDeps;
  bodies: HeldBodies;
  leaving: LeavingAnswers;
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
  const room = deps.operations.registry.room(input.code);
  refuseAtLimit(deps.dispatch, deps.limits);
  const arriving = new ArrivingRequest({ request, response, room, input, deps, onRefused });
  readBody(request, response, inferenceBodyLimits(deps.limits), arriving);
}

interface Arrival {
  request: IncomingMessage;
  response: ServerResponse;
  room: InferenceCall["room"];
  input: InferenceInput;
  deps: InferenceDeps;
  onRefused: (error: unknown) => void;
}

/** From the head of a request to its last byte. */
class ArrivingRequest implements BodySink {
  readonly #arrival: Arrival;
  readonly #startedMs: number;
  readonly #reader: RequestBodyReader;
  #heldBytes = 0;

  constructor(arrival: Arrival) {
    const { dispatch, limits } = arrival.deps;
    this.#arrival = arrival;
    this.#startedMs = dispatch.nowMs();
    this.#reader = new RequestBodyReader(limits.jsonDepth, true);
  }

  onChunk(chunk: Buffer): void {
    this.#arrival.deps.bodies.hold(chunk.length);
    this.#heldBytes += chunk.length;
    this.#reader.push(chunk);
  }

  onOver(error?: unknown): void {
    if (error !== undefined) {
      this.#refuse(error);
      return;
    }
    const { dispatch, limits } = this.#arrival.deps;
    try {
      // Others may have begun while this one was still arriving.
      refuseAtLimit(dispatch, limits);
      this.#begin(this.#reader.end());
    } catch (refusal) {
      this.#refuse(refusal);
    }
  }

  #refuse(error: unknown): void {
    this.#arrival.deps.bodies.release(this.#heldBytes);
    this.#arrival.onRefused(error);
  }

  #begin(body: RequestBody): void {
    const { request, response, room, input, deps } = this.#arrival;
    const { requestId, surface, clientKey } = input;
    const { asksStreamUsage, bodies, leaving } = deps;
    const { errorShape } = surface;
    room.lastUsedAt = deps.operations.wallMs();
    const client = new SocketClientResponse(request, response, requestId, errorShape, leaving);
    const headers = forwardRequestHeaders(request.headers);
    // JSON whatever the client called it: curl says form data, fetch says plain text. Contract §1.
    headers["content-type"] = "application/json";
    const running = new Dispatch(deps.dispatch, {
      requestId,
      room,
      asking: new ModelAsking({ surface, body, headers, asksStreamUsage }),
      hops: hopsOf(request),
      clientKey,
      startedMs: this.#startedMs,
      client,
      onSettled: releaser(bodies, this.#heldBytes),
    });
    running.start();
    client.listen(running);
  }
}

/** Apart from the request, which would live as long as its answer if this referred to it. */
function releaser(bodies: HeldBodies, bytes: number): () => void {
  return () => bodies.release(bytes);
}

/** @throws HubError `hub_overloaded` */
export function refuseAtLimit({ inFlight }: DispatchDeps, { inFlightPerHub }: Limits): void {
  if (inFlight.size < inFlightPerHub) return;
  throw new HubError("hub_overloaded", `The hub already runs ${inFlightPerHub} requests.`);
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
