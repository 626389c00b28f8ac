import { isObject, type JsonObject, type Limits, parseJson } from "@roomhub/protocol";
import { crc32 } from "node:zlib";
import { HubError } from "../../errors.ts";
import type { RequestBody } from "../../inference/request/request-body.ts";
import { RequestBodyReader } from "../../inference/request/request-head.ts";
import type { BodyBudget } from "../../inference/body-budget.ts";

/** A `response.create` message, read. */
export interface TurnMessage {
  /** the request's members, without the ones below and {@link socketMembers} */
  fields: Record<string, unknown>;
  input: unknown;
  /** undefined when the turn begins a conversation */
  previousResponseId: string | undefined;
  /** The client requests no output, only an id to continue from. */
  isWarmUp: boolean;
}

/** One turn as an ordinary request for a stream. */
export interface TurnRequest {
  body: RequestBody;
  /** the conversation up to the response, as items; undefined when the hub does not know all of it */
  items: Buffer | undefined;
}

/** Members that only a socket has: `stream` is implied, and nothing runs in the background. */
const socketMembers: ReadonlySet<string> = new Set(["type", "stream", "background", "generate"]);
/** Members that name earlier items without containing them. */
const hiddenContext = ["conversation", "prompt"];

/**
 * @param message - UTF-8
 * @throws HubError `invalid_json`, `invalid_type` or `bad_request`
 */
export function readTurnMessage(message: Buffer): TurnMessage {
  const members = parseMessage(message);
  const { type, input, generate, stream_id: lane } = members;
  if (type !== "response.create") {
    throw new HubError("invalid_type", 'A message must have the type "response.create".', {
      param: "type",
    });
  }
  if (lane !== undefined) {
    throw new HubError("bad_request", "Turns on this socket run one after the other.", {
      param: "stream_id",
      hint: "Open a socket for each conversation, and leave stream_id out.",
    });
  }
  const previous = members["previous_response_id"];
  const isPrevious = typeof previous === "string" && previous !== "";
  const known = new Set([...socketMembers, "input", "previous_response_id"]);
  return {
    fields: Object.fromEntries(
      Object.entries(members).filter(
        ([name, value]) =>
          // The provider refuses what is not an id.
          !known.has(name) ||
          (name === "previous_response_id" && !isPrevious && value !== null && value !== ""),
      ),
    ),
    input,
    previousResponseId: isPrevious ? previous : undefined,
    isWarmUp: generate === false,
  };
}

function parseMessage(message: Buffer): JsonObject {
  const value = parseJson(message.toString("utf8"));
  if (isObject(value)) return value;
  if (value === undefined) throw new HubError("invalid_json", "The message is not valid JSON.");
  throw new HubError("invalid_type", "The message must be a JSON object.");
}

/**
 * The request for a turn. Its JSON is written anew: the one surface where bytes do not pass unchanged.
 *
 * @param before - the conversation up to the previous response, when the socket remembers it: it precedes the input,
 * and the id is not sent. Otherwise the id is sent, and the provider knows or refuses it
 * @throws HubError `invalid_type`, `field_too_large`, `missing_required_parameter` or `request_too_large`
 */
export function turnRequest(
  message: TurnMessage,
  before: Buffer | undefined,
  limits: Pick<Limits, "inferenceBodyBytes" | "jsonDepth">,
): TurnRequest {
  const { fields, input, previousResponseId } = message;
  const items = itemsOf(input);
  if (before === undefined) {
    const request = {
      ...{ ...fields, input },
      ...(previousResponseId === undefined ? {} : { previous_response_id: previousResponseId }),
      stream: true,
    };
    const body = readBody([encode(request)], limits);
    return { body, items: isSelfContained(message) ? items : undefined };
  }
  if (items === undefined) {
    throw new HubError("invalid_type", "input must be a text or a list of items.", {
      param: "input",
    });
  }
  const all = joinItems([before, items]);
  const head = encode({ ...fields, stream: true });
  const open = Buffer.concat([head.subarray(0, -1), Buffer.from(',"input":[')]);
  return { body: readBody([open, all, Buffer.from("]}")], limits), items: all };
}

/** Whether the message holds the model's whole context. */
function isSelfContained({ fields, previousResponseId }: TurnMessage): boolean {
  return previousResponseId === undefined && hiddenContext.every((name) => fields[name] == null);
}

/** @returns JSON of the items without their brackets; undefined when it is neither text nor a list */
function itemsOf(input: unknown): Buffer | undefined {
  if (input === undefined || input === null) return Buffer.alloc(0);
  if (typeof input === "string") {
    return encode({ type: "message", role: "user", content: input });
  }
  return Array.isArray(input) ? encode(input).subarray(1, -1) : undefined;
}

function encode(value: object): Buffer {
  try {
    return Buffer.from(JSON.stringify(value));
  } catch (thrown) {
    // The parser has no recursion, the encoder has.
    if (!(thrown instanceof RangeError)) throw thrown;
    throw new HubError("field_too_large", "The message is nested too deeply.");
  }
}

function readBody(
  chunks: readonly Buffer[],
  limits: Pick<Limits, "inferenceBodyBytes" | "jsonDepth">,
): RequestBody {
  const { inferenceBodyBytes: maxBytes, jsonDepth } = limits;
  if (chunks.reduce((sum, { length }) => sum + length, 0) > maxBytes) {
    throw new HubError(
      "request_too_large",
      `The turn and its history are larger than ${maxBytes} bytes (limit ROOMHUB_INFERENCE_BODY_BYTES).`,
    );
  }
  // The socket keeps parts of the body.
  const reader = new RequestBodyReader(jsonDepth, false, crc32);
  for (const chunk of chunks) reader.push(chunk);
  return reader.end();
}

/**
 * The last turn of one socket, from which the next one may continue although no provider stores it. Items are JSON
 * without the brackets of their array.
 */
export class TurnMemory {
  readonly #bodies: BodyBudget;
  readonly #maxBytes: number;
  #turn: { responseId: string; items: Buffer } | undefined;

  /** @param bodies - counts the remembered bytes */
  constructor(bodies: BodyBudget, maxBytes: number) {
    this.#bodies = bodies;
    this.#maxBytes = maxBytes;
  }

  /** The conversation including this response; undefined for any response but the remembered one. */
  itemsUpTo(responseId: string): Buffer | undefined {
    return this.#turn?.responseId === responseId ? this.#turn.items : undefined;
  }

  /**
   * Replaces the turn before.
   *
   * @returns whether there was room; otherwise nothing is remembered
   */
  remember(responseId: string, parts: readonly Buffer[]): boolean {
    this.forget();
    const items = joinItems(parts);
    if (items.length > this.#maxBytes) return false;
    try {
      this.#bodies.hold(items.length);
    } catch (thrown) {
      // Requests take precedence: this turn cannot be continued by its id.
      if (thrown instanceof HubError) return false;
      throw thrown;
    }
    this.#turn = { responseId, items };
    return true;
  }

  forget(): void {
    if (this.#turn === undefined) return;
    this.#bodies.release(this.#turn.items.length);
    this.#turn = undefined;
  }
}

const comma = Buffer.from(",");

/** Concatenates lists of items. */
function joinItems(parts: readonly Buffer[]): Buffer {
  const filled = parts.filter(({ length }) => length > 0);
  return Buffer.concat(filled.flatMap((part, index) => (index === 0 ? [part] : [comma, part])));
}

/**
 * The members of a request that its response repeats, with OpenAI's defaults. Open Responses 2026-04-24,
 * ResponseResource
 */
const echoed: Record<string, unknown> = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  frequency_penalty: 0,
  prompt_cache_key: null,
  reasoning: null,
  safety_identifier: null,
  service_tier: "default",
  store: true,
  temperature: 1,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: "disabled",
};

const noUsage = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/**
 * The response to a turn with `generate: false`: complete and without output. The next turn may continue from its id.
 * The hub makes it, since no provider gets the request.
 *
 * @param nowMs - epoch ms
 * @returns the messages, in order
 */
export function warmUpMessages(
  { fields, previousResponseId }: TurnMessage,
  responseId: string,
  nowMs: number,
): string[] {
  const createdAt = Math.floor(nowMs / 1000);
  const repeated = Object.entries(echoed).map(([name, otherwise]) => [
    name,
    fields[name] ?? otherwise,
  ]);
  const response = {
    id: responseId,
    object: "response",
    created_at: createdAt,
    completed_at: null as number | null,
    status: "in_progress",
    model: fields["model"],
    previous_response_id: previousResponseId ?? null,
    background: false,
    error: null,
    incomplete_details: null,
    output: [],
    usage: null as typeof noUsage | null,
    ...(Object.fromEntries(repeated) as object),
  };
  const whole = { ...response, status: "completed", completed_at: createdAt, usage: noUsage };
  return [
    JSON.stringify({ type: "response.created", sequence_number: 0, response }),
    JSON.stringify({ type: "response.completed", sequence_number: 1, response: whole }),
  ];
}
