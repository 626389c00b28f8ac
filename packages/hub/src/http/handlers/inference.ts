import { forwardRequestHeaders, type Limits, type Surface } from "@roomhub/protocol";
import type { IncomingMessage, ServerResponse } from "node:http";
import { HubError } from "../../errors.ts";
import { ModelAsking } from "../../inference/asking.ts";
import { Dispatch } from "../../inference/dispatch.ts";
import type { DispatchDeps } from "../../inference/inference-call.ts";
import type { RequestBody } from "../../inference/request-body.ts";
import { RequestBodyReader } from "../../inference/request-head.ts";
import type { OperationContext } from "../../operations/context.ts";
import { readBody } from "../body.ts";
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

/** `POST …/chat/completions` and its like: read the request, find the room, hand both to dispatch. Interface §4. */
export async function serveInference(
  request: IncomingMessage,
  response: ServerResponse,
  input: { requestId: string; code: string; surface: Surface; clientKey: string },
  deps: InferenceDeps,
): Promise<void> {
  const { operations, limits, dispatch, bodies } = deps;
  const startedMs = dispatch.nowMs();
  const room = operations.registry.room(input.code);
  refuseAtLimit(dispatch, limits);
  let heldBytes = 0;
  let body: RequestBody;
  try {
    body = await readRequest(request, limits, (bytes) => {
      bodies.hold(bytes);
      heldBytes += bytes;
    });
    // Others may have begun while this one was still arriving.
    refuseAtLimit(dispatch, limits);
  } catch (error) {
    bodies.release(heldBytes);
    throw error;
  }
  room.lastUsedAt = operations.wallMs();
  const client = new SocketClientResponse(request, response, input.surface.errorShape);
  const running = new Dispatch(dispatch, {
    requestId: input.requestId,
    room,
    asking: new ModelAsking({
      surface: input.surface,
      body,
      // JSON whatever the client called it: curl says form data, fetch says plain text. Contract §1.
      headers: { ...forwardRequestHeaders(request.headers), "content-type": "application/json" },
      asksStreamUsage: deps.asksStreamUsage,
    }),
    hops: hopsOf(request),
    clientKey: input.clientKey,
    startedMs,
    client,
    onSettled: () => bodies.release(heldBytes),
  });
  running.start();
  client.listen(running);
}

/** @throws HubError `hub_overloaded` */
export function refuseAtLimit({ inFlight }: DispatchDeps, { inFlightPerHub }: Limits): void {
  if (inFlight.size < inFlightPerHub) return;
  throw new HubError("hub_overloaded", `The hub already runs ${inFlightPerHub} requests.`);
}

async function readRequest(
  request: IncomingMessage,
  limits: Limits,
  onBytes: (bytes: number) => void,
): Promise<RequestBody> {
  const reader = new RequestBodyReader(limits.jsonDepth);
  const bodyLimits = {
    maxBytes: limits.inferenceBodyBytes,
    knob: "INFERENCE_BODY_BYTES",
    idleMs: limits.bodyIdleMs,
    totalMs: limits.bodyReadMs,
  };
  await readBody(request, bodyLimits, (chunk) => {
    onBytes(chunk.length);
    reader.push(chunk);
  });
  return reader.end();
}

/** Hubs this request already passed. Contract §3, "Loops". */
export function hopsOf(request: IncomingMessage): string[] {
  const header = request.headers["x-roomhub-hop"];
  const text = Array.isArray(header) ? header.join(",") : (header ?? "");
  return text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => /^[\w-]{1,64}$/.test(entry));
}
