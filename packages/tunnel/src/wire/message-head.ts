import type { JsonObject } from "@roomhub/protocol";
import {
  booleanField,
  headersField,
  integerField,
  MalformedPayload,
  optionalIntegerField,
  optionalObjectField,
  optionalTextField,
  readObject,
  textField,
} from "./json-payload.ts";

/**
 * The head of a request. The tunnel carries `protocol`, `stream`, `client`, `address` and `priority` for both ends
 * without interpreting them.
 */
export interface RequestHead {
  method: string;
  /** Starts with a slash; query included. */
  path: string;
  headers: Record<string, string>;
  protocol: string;
  stream: boolean;
  /** Who sends the request; undefined from a requester that does not report it. */
  client?: HeadClient | undefined;
  /** The fingerprint of the client's address. */
  address?: string | undefined;
  /** `batch` for a request that comes behind all others; absent for one that does not. */
  priority?: string | undefined;
  /** Of the whole body, when it follows in DATA and its length is known. */
  bodyBytes?: number | undefined;
}

export interface HeadClient {
  readonly kind: string;
  readonly id: string;
  readonly user?: string | undefined;
}

export interface ResponseHead {
  /** 200–599. */
  status: number;
  headers: Record<string, string>;
  /**
   * Set when the agent itself refuses the request and did not call the provider: `budget`, `batch` for the budget of
   * batches, or `person` for that of this client alone. Absent on a provider's response.
   */
  refusal?: string | undefined;
}

/** A decoded REQUEST or RESPONSE: the head, the body bytes in the same frame, and whether they are the whole body. */
export interface HeadedPayload<Head> {
  head: Head;
  /** A view into the message. */
  body: Buffer;
  end: boolean;
}

// RFC 9110 §9.1: methods are tokens; the registered ones are in upper case.
const METHOD = /^[A-Z]{1,16}$/;
/** Printable ASCII without a space: what a request line can contain. */
const PATH = /^\/[\u0021-\u007e]*$/;

export function encodeRequestHead(head: RequestHead, end: boolean): string {
  const { method, path, headers, protocol, stream, client, address } = head;
  const { priority, bodyBytes } = head;
  const rest = { protocol, stream, client, address, priority, bodyBytes, end };
  return JSON.stringify({ method, path, headers, ...rest });
}

export function encodeResponseHead(head: ResponseHead, end: boolean): string {
  return JSON.stringify({ status: head.status, headers: head.headers, refusal: head.refusal, end });
}

/** @throws {MalformedPayload} */
export function decodeRequest(payload: Buffer, maxHeadBytes: number): HeadedPayload<RequestHead> {
  const headEnd = findHeadEnd(payload, maxHeadBytes);
  const object = readObject(payload.subarray(4, headEnd));
  const method = textField(object, "method");
  const path = textField(object, "path");
  if (!METHOD.test(method)) throw new MalformedPayload("the method is not in upper-case letters");
  if (!PATH.test(path)) throw new MalformedPayload("the path is not a request path");
  return {
    head: {
      method,
      path,
      headers: headersField(object),
      protocol: textField(object, "protocol"),
      stream: booleanField(object, "stream"),
      client: clientField(object),
      address: optionalTextField(object, "address"),
      priority: optionalTextField(object, "priority"),
      bodyBytes: optionalIntegerField(object, "bodyBytes", 0, Number.MAX_SAFE_INTEGER),
    },
    body: payload.subarray(headEnd),
    end: booleanField(object, "end"),
  };
}

function clientField(object: JsonObject): HeadClient | undefined {
  const client = optionalObjectField(object, "client");
  if (client === undefined) return undefined;
  return {
    kind: textField(client, "kind"),
    id: textField(client, "id"),
    user: optionalTextField(client, "user"),
  };
}

/** @throws {MalformedPayload} */
export function decodeResponse(payload: Buffer, maxHeadBytes: number): HeadedPayload<ResponseHead> {
  const headEnd = findHeadEnd(payload, maxHeadBytes);
  const object = readObject(payload.subarray(4, headEnd));
  return {
    head: {
      status: integerField(object, "status", 200, 599),
      headers: headersField(object),
      refusal: optionalTextField(object, "refusal"),
    },
    body: payload.subarray(headEnd),
    end: booleanField(object, "end"),
  };
}

function findHeadEnd(payload: Buffer, maxHeadBytes: number): number {
  const headBytes = payload.readUInt32BE(0);
  if (headBytes > maxHeadBytes) throw new MalformedPayload(`the head has ${headBytes} bytes`);
  if (headBytes > payload.length - 4) throw new MalformedPayload("the head ends after the frame");
  return 4 + headBytes;
}
