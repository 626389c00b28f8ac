import { request, type IncomingMessage } from "node:http";

/** `fetch` over the sockets of a simulation: what the SDK needs of it. */
export function simulatedFetch(url: string, init: RequestInit): Promise<Response> {
  return new Promise((resolve, reject) => {
    const { signal, body } = init;
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const sent = request(url, {
      agent: false,
      method: init.method ?? "GET",
      headers: Object.fromEntries(new Headers(init.headers)),
    });
    const abort = () => {
      sent.destroy();
      reject(signal?.reason as Error);
    };
    signal?.addEventListener("abort", abort, { once: true });
    sent.on("error", (error) => reject(new TypeError("fetch failed", { cause: error })));
    sent.on("response", (response) => resolve(responseOf(response)));
    sent.end(typeof body === "string" ? body : undefined);
  });
}

function responseOf(response: IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(response.headers)) {
    if (typeof value === "string") headers.set(name, value);
  }
  const status = response.statusCode ?? 502;
  if (status === 204 || status === 304) return new Response(null, { status, headers });
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      response.on("data", (bytes: Buffer) => controller.enqueue(new Uint8Array(bytes)));
      response.on("end", () => controller.close());
      response.on("error", (error) => controller.error(error));
    },
    cancel: () => void response.destroy(),
  });
  return new Response(body, { status, headers });
}
