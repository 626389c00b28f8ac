/** What a model server sends in place of a valid response, before it closes the connection. */
export interface BadResponse {
  name: string;
  bytes: string;
  /** how it may end for the client of a stream, and of a JSON response: an error code, or `complete` */
  stream: readonly string[];
  json: readonly string[];
}

/** The codes of a response that is none, or ends too early. Contract §3. */
export const broken: readonly string[] = [
  "provider_invalid_response",
  "provider_disconnected",
  "provider_unreachable",
];

const raw = (
  name: string,
  bytes: string,
  stream: readonly string[] = broken,
  json = stream,
): BadResponse => ({ name, bytes, stream, json });

const withBody = (type: string, body: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

const anEvent = 'data: {"choices":[{"index":0,"delta":{"content":"bad"}}]}\n\n';
const aLastEvent = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';

export const badResponses: readonly BadResponse[] = [
  raw("says garbage", "garbage\r\n\r\n"),
  raw("says nothing", ""),
  raw("half a head", "HTTP/1.1 200 OK\r\ncontent-ty"),
  raw(
    "a status of 999",
    "HTTP/1.1 999 What\r\ncontent-length: 2\r\n\r\n{}",
    broken.concat("provider_error"),
  ),
  raw("a status of 99", "HTTP/1.1 99 What\r\ncontent-length: 2\r\n\r\n{}"),
  raw("a status of 101", "HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
  raw(
    "a header that is no Latin-1",
    "HTTP/1.1 200 OK\r\nopenai-model: ☃\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
    broken.concat("complete"),
  ),
  raw(
    "a header with a bare CR",
    "HTTP/1.1 200 OK\r\nopenai-model: a\rb\r\ncontent-length: 2\r\n\r\n{}",
    broken.concat("complete"),
  ),
  raw("two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}"),
  raw(
    "length and chunks",
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
  ),
  raw(
    "a wrong chunk",
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n{}",
  ),
  raw(
    "less than its length",
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":',
  ),
  raw("HTML", "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>"),
  raw(
    "JSON that is none",
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\n{"a":',
  ),
  raw(
    "1,000 headers",
    `HTTP/1.1 200 OK\r\n${"x-a: b\r\n".repeat(1_000)}content-length: 2\r\n\r\n{}`,
    broken.concat("complete"),
  ),
  raw(
    "a header of 1 MiB",
    `HTTP/1.1 200 OK\r\nx-a: ${"b".repeat(1_024 * 1_024)}\r\ncontent-length: 2\r\n\r\n{}`,
  ),
  raw(
    "__proto__ as a header",
    "HTTP/1.1 200 OK\r\n__proto__: x\r\nconstructor: y\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
    broken.concat("complete"),
  ),
  raw(
    "gzip unasked",
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n\x1f\x8b",
  ),
  ...[301, 302, 307, 308, 204, 206, 304].map((status) =>
    raw(
      `responds ${status}`,
      `HTTP/1.1 ${status} Other\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n`,
      broken,
      broken.concat("complete"),
    ),
  ),
  raw("204 with a body", "HTTP/1.1 204 No Content\r\ncontent-length: 4\r\n\r\nbody"),
  raw("2,000 responses of 103", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(2_000)),
  raw("200 with an empty body", withBody("application/json", "")),
  raw(
    "a stream that ends in a chunk",
    `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nfff\r\n${anEvent}`,
  ),
  raw(
    "a line without end",
    withBody("text/event-stream", `data: ${"x".repeat(2 * 1_024 * 1_024)}`),
  ),
  raw("events that are no JSON", withBody("text/event-stream", 'data: {"choices"\n\n')),
  raw(
    "events behind [DONE]",
    withBody("text/event-stream", `${aLastEvent}data: [DONE]\n\n${anEvent}`),
    ["complete"],
    broken,
  ),
  raw(
    "a page with status 500",
    `HTTP/1.1 500 Oops\r\ncontent-type: text/html\r\ncontent-length: 13\r\n\r\n<html></html>`,
    ["provider_error"],
  ),
];
