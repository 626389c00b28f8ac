import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";

/** Made by `npm run openapi`, shipped with the package. */
const file = new URL("../../../openapi.json", import.meta.url);

/** This surface as an OpenAPI document, for programs: docs/reference/openapi.md. */
export class OpenApiDocument {
  #kept: { bytes: Buffer; etag: string } | undefined;

  /** `GET /openapi.json`. Read at the first request, kept from then on. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    const { bytes, etag } = (this.#kept ??= read());
    const headers = {
      etag,
      // May be kept, but must be revalidated: the hub may have another version next time.
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
    };
    if (request.headers["if-none-match"]?.includes(etag) === true) {
      response.writeHead(304, headers).end();
      return;
    }
    response.writeHead(200, {
      ...headers,
      "content-type": "application/json",
      "content-length": bytes.length,
    });
    response.end(bytes);
  }
}

function read(): { bytes: Buffer; etag: string } {
  const bytes = readFileSync(file);
  const digest = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
  return { bytes, etag: `"${digest}"` };
}
