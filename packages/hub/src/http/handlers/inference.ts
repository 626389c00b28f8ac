import {
  forwardRequestHeaders,
  PRIORITY_HEADER,
  type Limits,
  REQUIRE_HEADER,
  type Surface,
  type World,
} from "@roomhub/protocol";
import type { IncomingMessage } from "node:http";
import { crc32 } from "node:zlib";
import {
  admit,
  beginModelRequest,
  type InferenceContext,
  type InferenceRoom,
} from "../../inference/begin.ts";
import type { MoveRequest } from "../../inference/inference-call.ts";
import type { BodyBudget } from "../../inference/body-budget.ts";
import type { RequestBody } from "../../inference/request/request-body.ts";
import { isOfBatch, requiresOf } from "../../inference/request/needs.ts";
import { claimsOf, type Source } from "../../inference/sender/senders.ts";
import { asHubError } from "../../errors.ts";
import type { Dispatch } from "../../inference/dispatch.ts";
import { FormBodyReader } from "../../inference/request/form-body.ts";
import { RequestBodyReader } from "../../inference/request/request-head.ts";
import { Upload } from "../../inference/request/upload.ts";
import {
  type BodyReading,
  type BodySink,
  inferenceBodyLimits,
  readBody,
  uploadLimits,
} from "../body.ts";
import { type ResponseOptions, SocketClientResponse } from "../relay.ts";
import type { Admitted } from "../route.ts";
import { discardRest } from "../unread-rest.ts";

export interface InferenceDeps extends Pick<ResponseOptions, "flushing" | "turnEnd"> {
  world: World;
  inference: InferenceContext;
  limits: Limits;
  /** See {@link HubOptions.streamUsage}. */
  requestsStreamUsage: boolean;
}

/** A request for a participant. */
export interface RelayedRequest extends Admitted, Pick<ResponseOptions, "delivery"> {
  code: string;
  source: Source;
  /** how long ago it came to another hub, which piped it here; 0 for one of this hub's own clients */
  ageMs: number;
  /** undefined where rooms do not move */
  onMoved: MoveRequest | undefined;
}

interface InferenceInput extends RelayedRequest {
  surface: Surface;
}

/**
 * `POST …/chat/completions` and its like: read the request, find the room, hand both to dispatch. Interface §4.
 *
 * What keeps it from dispatch once the body is being read goes to `refuse`.
 *
 * @throws HubError when it was refused at once
 */
export function serveInference(input: InferenceInput, deps: InferenceDeps): void {
  const room = admit(deps.inference, input.code, input.access);
  new ArrivingRequest(input, room, deps).read();
}

/** From the head of a request to its last byte. */
class ArrivingRequest implements BodySink {
  readonly #input: InferenceInput;
  readonly #room: InferenceRoom;
  readonly #deps: InferenceDeps;
  readonly #startedMs: number;
  readonly #reader: RequestBodyReader | FormBodyReader;
  #reading: BodyReading | undefined;
  #heldBytes = 0;
  #isAddressed = false;
  /** of a form that is sent on while it arrives, and what became of it */
  #upload: Upload | undefined;
  #dispatch: Dispatch | undefined;

  constructor(input: InferenceInput, room: InferenceRoom, deps: InferenceDeps) {
    const { inference, limits } = deps;
    this.#input = input;
    this.#room = room;
    this.#deps = deps;
    this.#startedMs = inference.dispatch.nowMs() - input.ageMs;
    const type = formType(input);
    const length = input.request.headers["content-length"];
    this.#reader =
      type === undefined
        ? new RequestBodyReader(limits.jsonDepth, true, crc32)
        : new FormBodyReader(type, length, limits.multipartHoldBytes);
  }

  read(): void {
    const { request, response } = this.#input;
    const { world, limits, inference } = this.#deps;
    const isForm = this.#reader instanceof FormBodyReader;
    const bodyLimits = isForm
      ? uploadLimits(limits, inference.bodies)
      : inferenceBodyLimits(limits);
    this.#reading = readBody(world, request, response, bodyLimits, this);
  }

  onChunk(chunk: Buffer): boolean {
    if (this.#upload !== undefined) {
      this.#reader.push(chunk);
      return this.#upload.push(chunk);
    }
    this.#deps.inference.bodies.hold(chunk.length);
    this.#heldBytes += chunk.length;
    this.#reader.push(chunk);
    this.#noteAddress();
    return true;
  }

  /** A form that is here by the end of this turn is sent as one, and only when nothing is wrong with it. */
  #noteAddress(): void {
    const reader = this.#reader;
    if (this.#isAddressed || !(reader instanceof FormBodyReader) || !reader.isAddressed) return;
    this.#isAddressed = true;
    queueMicrotask(() => this.#beginUpload(reader));
  }

  #beginUpload(reader: FormBodyReader): void {
    const { request, response } = this.#input;
    const { inference, flushing } = this.#deps;
    const reading = this.#reading;
    if (reading?.isOver !== false || request.complete) return;
    reading.pause();
    try {
      const { body, chunks, bytes } = reader.begin();
      const { bodies: budget, dispatch } = inference;
      const heldBytes = this.#heldBytes;
      const upload = new Upload({
        ...{ chunks, heldBytes, bytes, budget, source: reading, nowMs: dispatch.nowMs },
      });
      this.#begin({ ...body, upload }, () => {
        reading.stop();
        upload.release();
      });
      this.#upload = upload;
    } catch (refusal) {
      return reading.fail(refusal);
    }
    // A response may be complete before its request.
    response.once("prefinish", () => {
      if (!request.complete) discardRest(flushing, request);
    });
  }

  onOver(error?: unknown): void {
    if (this.#dispatch !== undefined) return this.#uploaded(this.#dispatch, error);
    if (error !== undefined) return this.#refuse(error);
    try {
      const { bodies } = this.#deps.inference;
      this.#begin(this.#reader.end(), releaser(bodies, this.#heldBytes));
    } catch (refusal) {
      this.#refuse(refusal);
    }
  }

  #uploaded(dispatch: Dispatch, error: unknown): void {
    if (error === undefined) return this.#upload?.end();
    const failure = asHubError(error, this.#deps.inference.dispatch.reportBug);
    if (failure.code === "client_disconnected") dispatch.onGone();
    else dispatch.fail(failure);
  }

  #refuse(error: unknown): void {
    this.#deps.inference.bodies.release(this.#heldBytes);
    this.#input.refuse(error);
  }

  #begin(body: RequestBody, onSettled: () => void): void {
    const { request, response, requestId, access, surface, source, delivery, onMoved } =
      this.#input;
    const { inference, requestsStreamUsage, flushing, turnEnd } = this.#deps;
    const room = this.#room;
    const hasLeft = inference.dispatch.isLeaving?.(room.code) === true;
    if (hasLeft && onMoved !== undefined && body.upload === undefined) {
      onSettled();
      return onMoved(room.code, { body: body.chunks, startedMs: this.#startedMs });
    }
    const { errorShape } = surface;
    const client = new SocketClientResponse(request, response, {
      ...{ requestId, errorShape, flushing, turnEnd, delivery },
    });
    const headers = forwardRequestHeaders(request.headers);
    // JSON whatever the client called it: curl says form data, fetch says plain text. Contract §1.
    if (!body.isForm) headers["content-type"] = "application/json";
    const dispatch = beginModelRequest(inference, {
      ...{ requestId, room, access, source, headers, surface, body, requestsStreamUsage },
      requires: requiresOf(request.headers[REQUIRE_HEADER]),
      isBatch: isOfBatch(request.headers[PRIORITY_HEADER], body),
      hops: hopsOf(request),
      claims: claimsOf(request.headers),
      startedMs: this.#startedMs,
      ...{ client, onSettled, onMoved },
    });
    if (body.upload !== undefined) this.#dispatch = dispatch;
    client.listen(dispatch);
  }
}

/** The content type of a form, where a form may come. */
function formType({ request, surface }: InferenceInput): string | undefined {
  const type = request.headers["content-type"] ?? "";
  return surface.takesForm && /^multipart\/form-data\b/i.test(type) ? type : undefined;
}

/** Apart from the request, which would live as long as its answer if this referred to it. */
function releaser(bodies: BodyBudget, bytes: number): () => void {
  return () => bodies.release(bytes);
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
