import { parseJson, timeoutSignal, type World } from "@roomhub/protocol";
import { errorFromResponse, HubUnreachableError, notAHub } from "./errors.ts";

/** The part of `fetch` that the SDK uses; tests and other runtimes can supply their own. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Connection settings for one hub. */
export interface HubConnection {
  /** Normalised: no trailing slash. */
  hubUrl: string;
  fetch: Fetch;
  /** Timeout of a call, ms. A stream times out only when the hub sends no data. */
  timeoutMs: number;
  world: World;
  /** Sent as `Authorization: Bearer` with every request. */
  key: string | undefined;
}

export interface HubCall {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Relative to the hub URL, starting with `/`. */
  path: string;
  body?: unknown;
  token?: string | undefined;
  hostToken?: string | undefined;
  operatorSecret?: string | undefined;
  /** `If-None-Match: *` */
  onlyIfNew?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Statuses besides 2xx that are not errors. */
  accept?: readonly number[];
}

/**
 * One management request.
 *
 * @returns the decoded JSON body, not validated
 * @throws RoomhubError for an error response, HubUnreachableError without a response, the signal's reason when aborted
 */
export async function callHub<T>(connection: HubConnection, call: HubCall): Promise<T> {
  const deadline = timeoutSignal(connection.world, connection.timeoutMs);
  const signal = call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline]);
  const { response, text } = await readAll(connection, call, signal);
  if (!response.ok && call.accept?.includes(response.status) !== true) {
    throw errorFromResponse(response, text);
  }
  const body = parseJson(text);
  if (body === undefined) throw notAHub(response.url, response);
  return body as T;
}

/**
 * Opens an event stream; the caller reads and cancels its body.
 *
 * @param lastEventId - id of the last event received, when reconnecting
 * @param signal - also ends the body
 * @throws as {@link callHub}
 */
export async function openStream(
  connection: HubConnection,
  path: string,
  lastEventId: string | undefined,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const headers = headersOf(connection, "text/event-stream");
  if (lastEventId !== undefined) headers["last-event-id"] = lastEventId;
  let response: Response;
  try {
    response = await connection.fetch(connection.hubUrl + path, {
      headers,
      cache: "no-store",
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new HubUnreachableError(connection.hubUrl, error);
  }
  if (!response.ok) throw errorFromResponse(response, await response.text());
  const type = response.headers.get("content-type") ?? "";
  if (response.body === null || !type.startsWith("text/event-stream")) {
    await response.body?.cancel();
    throw notAHub(response.url, response);
  }
  return response.body;
}

function headersOf({ key }: HubConnection, accept: string): Record<string, string> {
  return key === undefined ? { accept } : { accept, authorization: `Bearer ${key}` };
}

async function readAll(
  connection: HubConnection,
  call: HubCall,
  signal: AbortSignal,
): Promise<{ response: Response; text: string }> {
  const headers = headersOf(connection, "application/json");
  if (call.body !== undefined) headers["content-type"] = "application/json";
  if (call.token !== undefined) headers["x-participant-token"] = call.token;
  if (call.hostToken !== undefined) headers["x-host-token"] = call.hostToken;
  if (call.operatorSecret !== undefined) headers["x-roomhub-admin"] = call.operatorSecret;
  if (call.onlyIfNew === true) headers["if-none-match"] = "*";
  try {
    const response = await connection.fetch(connection.hubUrl + call.path, {
      method: call.method,
      headers,
      body: call.body === undefined ? null : JSON.stringify(call.body),
      signal,
    });
    return { response, text: await response.text() };
  } catch (error) {
    call.signal?.throwIfAborted();
    const cause = signal.aborted ? new Error(`no response in ${connection.timeoutMs} ms`) : error;
    throw new HubUnreachableError(connection.hubUrl, cause);
  }
}
