import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { HubError } from "../../errors.ts";
import type { FlushingResponses } from "../flushing-responses.ts";
import type { Handout, HandoutFile } from "./handout.ts";
import { MadeOnce } from "./made-once.ts";
import { monitorHeaders } from "./monitor-headers.ts";

/** Downloads of packages that run at the same time. Contract §7. */
const maxDownloads = 32;

interface Package {
  bytes: Uint8Array;
  /** hexadecimal */
  sha512: string;
  headers: Record<string, string>;
}

/** Serves what the hub hands out. Contract §7. */
export class HandedOut {
  readonly version: string;
  readonly #flushing: FlushingResponses;
  readonly #program: MadeOnce<Package>;
  readonly #sdk: MadeOnce<Package>;
  readonly #monitor: MadeOnce<ReadonlyMap<string, HandoutFile>>;
  #downloads = 0;

  constructor(handout: Handout, version: string, flushing: FlushingResponses) {
    this.version = version;
    this.#flushing = flushing;
    this.#program = new MadeOnce("The program", async () => describe(await handout.program()));
    this.#sdk = new MadeOnce("The SDK", async () => describe(await handout.sdk()));
    this.#monitor = new MadeOnce("The page that watches rooms", () => handout.monitor());
  }

  /** Of the program, in hexadecimal; undefined until it was requested. */
  get sha512(): string | undefined {
    return this.#program.made?.sha512;
  }

  /** Makes the program now. @returns its SHA-512 in hexadecimal @throws HubError `handout_unavailable` */
  async prepare(): Promise<string> {
    return (await this.#program.get()).sha512;
  }

  /**
   * `GET /roomhub.tgz`, `GET /roomhub-VERSION.tgz`.
   *
   * @param version - the one in the path; undefined for the hub's own
   * @throws HubError `not_found` for another version, `handout_unavailable`
   */
  async serveProgram(
    request: IncomingMessage,
    response: ServerResponse,
    version: string | undefined,
  ): Promise<void> {
    if (version !== undefined && version !== this.version) {
      throw new HubError("not_found", "This hub does not have that version of roomhub.", {
        hint: `It has /roomhub-${this.version}.tgz`,
      });
    }
    // An installed package is unpacked, so npm requests it anew only where it must.
    const caching = version === undefined ? "no-cache" : "public, max-age=31536000, immutable";
    this.#send(request, response, await this.#program.get(), caching);
  }

  /** `GET /roomhub-client.tgz`. @throws HubError `handout_unavailable` */
  async serveSdk(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#send(request, response, await this.#sdk.get(), "no-cache");
  }

  #send(request: IncomingMessage, response: ServerResponse, made: Package, caching: string): void {
    const headers = { ...made.headers, "cache-control": caching };
    if (isKnown(request, made.headers["etag"] ?? "")) {
      response.writeHead(304, headers).end();
      return;
    }
    if (request.method === "HEAD") {
      response.writeHead(200, headers).end();
      return;
    }
    if (this.#downloads >= maxDownloads) {
      throw new HubError("handout_unavailable", `${maxDownloads} downloads run at this moment.`, {
        hint: "Try again in a moment.",
      });
    }
    this.#downloads += 1;
    response.once("close", () => (this.#downloads -= 1));
    response.writeHead(200, headers).end(made.bytes);
    // A client that stops reading must not keep its place.
    this.#flushing.note(response);
  }

  /** `GET /monitor/…`. @throws HubError `not_found`, `handout_unavailable` */
  async serveMonitor(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): Promise<void> {
    const file = (await this.#monitor.get()).get(path === "/" ? "/index.html" : path);
    if (file === undefined) {
      throw new HubError("not_found", "The page that watches rooms has no such file.");
    }
    response.writeHead(200, {
      ...monitorHeaders,
      "content-type": file.type,
      "content-length": String(file.body.length),
      "cache-control": "no-cache",
    });
    response.end(request.method === "HEAD" ? undefined : file.body);
    this.#flushing.note(response);
  }
}

function describe(bytes: Uint8Array): Package {
  const digest = createHash("sha512").update(bytes).digest();
  return {
    bytes,
    sha512: digest.toString("hex"),
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(bytes.length),
      etag: `"${digest.toString("base64url").slice(0, 22)}"`,
      // RFC 9530
      "repr-digest": `sha-512=:${digest.toString("base64")}:`,
      "x-content-type-options": "nosniff",
    },
  };
}

function isKnown(request: IncomingMessage, etag: string): boolean {
  const known = request.headers["if-none-match"];
  return known !== undefined && (known.trim() === "*" || known.includes(etag));
}
