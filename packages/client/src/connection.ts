import { errorFromResponse, HubUnreachableError, notAHub } from "./errors.ts";

/** The one method of `fetch` that is needed; tests and exotic runtimes bring their own. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** How to reach one hub. */
export interface HubConnection {
  /** Normalised: no trailing slash. */
  hubUrl: string;
  fetch: Fetch;
  /** How long a call may take, ms. Streams have no limit but that of the hub's silence. */
  timeoutMs: number;
}

export interface HubCall {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below the hub URL, beginning with `/`. */
  path: string;
  body?: unknown;
  token?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Statuses that are answers, not errors, besides 2xx. */
  accept?: readonly number[];
}

/**
 * One management request.
 *
 * @returns the decoded JSON body, taken at its word
 * @throws RoomhubError when the hub refuses, HubUnreachableError when nobody answers, the signal's reason when aborted
 */
export async function callHub<T>(connection: HubConnection, call: HubCall): Promise<T> {
  const deadline = AbortSignal.timeout(connection.timeoutMs);
  const signal = call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline]);
  const { response, text } = await readAll(connection, call, signal);
  if (!response.ok && call.accept?.includes(response.status) !== true) {
    throw errorFromResponse(response, text);
  }
  try {
    return JSON.parse(text) as T;
  } catch {
    throw notAHub(response);
  }
}

/**
 * Opens a stream of the hub; the caller reads and cancels its body.
 *
 * @param lastEventId - of the last event that came, when it is opened again
 * @param signal - also ends the body
 * @throws as {@link callHub}
 */
export async function openStream(
  connection: HubConnection,
  path: string,
  lastEventId: string | undefined,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const headers: Record<string, string> = { accept: "text/event-stream" };
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
    throw notAHub(response);
  }
  return response.body;
}

async function readAll(
  connection: HubConnection,
  call: HubCall,
  signal: AbortSignal,
): Promise<{ response: Response; text: string }> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (call.body !== undefined) headers["content-type"] = "application/json";
  if (call.token !== undefined) headers["x-participant-token"] = call.token;
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
    const cause = signal.aborted ? new Error(`no answer in ${connection.timeoutMs} ms`) : error;
    throw new HubUnreachableError(connection.hubUrl, cause);
  }
}
