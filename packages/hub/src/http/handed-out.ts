import { pause, type World } from "@roomhub/protocol";
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { HubError, reasonOf } from "../errors.ts";
import type { FlushingResponses } from "./flushing-responses.ts";
import { type RouteMatch, queryOf } from "./router.ts";

/**
 * What a hub hands out beside its API: the program, the SDK and the page that watches a room. The program around the
 * hub makes them; the hub serves the bytes. Contract §7.
 */
export interface Handout {
  /**
   * The program as an npm package, a gzipped tar. Requested at most once, and again after a failure.
   *
   * @throws Error when it cannot be made; its message is for people
   */
  program: () => Promise<Uint8Array>;
  /** The SDK, `@roomhub/client`, in the same form. */
  sdk: () => Promise<Uint8Array>;
  /** The page's files by path, such as `/index.html`. @throws Error when it cannot be made */
  monitor: () => Promise<ReadonlyMap<string, HandoutFile>>;
}

export interface HandoutFile {
  /** for `content-type` */
  type: string;
  body: Uint8Array;
}

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

  constructor(world: World, handout: Handout, version: string, flushing: FlushingResponses) {
    this.version = version;
    this.#flushing = flushing;
    this.#program = new MadeOnce(world, "The program", async () =>
      describe(await handout.program()),
    );
    this.#sdk = new MadeOnce(world, "The SDK", async () => describe(await handout.sdk()));
    this.#monitor = new MadeOnce(world, "The page that watches rooms", () => handout.monitor());
  }

  /** The SHA-512 of the program in hexadecimal; undefined until it was requested. */
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
   * @param version - the version in the path; undefined for the hub's version
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
    // An installed package is unpacked, so npm rarely requests it again.
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

/** Headers of every file of the page that watches a room. */
const monitorHeaders = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' http: https:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Contract §7. */
const usualMaxWaitMs = 10_000;

/** Something that is made on the first request, once for all waiting requests, and again after a failure. */
export class MadeOnce<T> {
  readonly #world: World;
  readonly #what: string;
  readonly #make: () => Promise<T>;
  readonly #maxWaitMs: number;
  #making: Promise<T> | undefined;
  #made: T | undefined;

  /**
   * @param what - for errors: `The program`
   * @param maxWaitMs - how long a request waits; the making continues after that
   */
  constructor(
    world: World,
    what: string,
    make: () => Promise<T>,
    maxWaitMs: number = usualMaxWaitMs,
  ) {
    this.#world = world;
    this.#what = what;
    this.#make = make;
    this.#maxWaitMs = maxWaitMs;
  }

  /** undefined until it is made */
  get made(): T | undefined {
    return this.#made;
  }

  /** @throws HubError `handout_unavailable` */
  async get(): Promise<T> {
    if (this.#made !== undefined) return this.#made;
    this.#making ??= this.#start();
    const over = new AbortController();
    const late = pause(this.#world, this.#maxWaitMs, over.signal);
    try {
      const made = await Promise.race([this.#making, late]);
      if (made === undefined) throw this.#unavailable("is still being built");
      return made;
    } finally {
      over.abort();
    }
  }

  async #start(): Promise<T> {
    try {
      this.#made = await this.#make();
      return this.#made;
    } catch (error) {
      const reason = reasonOf(error);
      throw this.#unavailable(`could not be built: ${reason}`, error);
    } finally {
      this.#making = undefined;
    }
  }

  #unavailable(problem: string, cause?: unknown): HubError {
    return new HubError("handout_unavailable", `${this.#what} ${problem}.`, {
      hint: "Try again in a moment.",
      cause,
    });
  }
}

/** Serves what is handed out at a path. @throws HubError `not_found`, `handout_unavailable` */
export async function serveHandout(
  request: IncomingMessage,
  response: ServerResponse,
  { route, params }: RouteMatch,
  handedOut: HandedOut | undefined,
): Promise<void> {
  if (handedOut === undefined) throw new Error("nothing is handed out");
  if (route.kind === "sdk") {
    await handedOut.serveSdk(request, response);
    return;
  }
  if (route.kind === "program") {
    await handedOut.serveProgram(request, response, params["version"]);
    return;
  }
  const [target = ""] = (request.url ?? "").split("?", 1);
  if (target.endsWith("/monitor")) {
    // The page's addresses are relative to its folder; so is this one, since a proxy may serve the hub below a path.
    const query = queryOf(request.url ?? "").toString();
    const location = `monitor/${query === "" ? "" : `?${query}`}`;
    response.writeHead(302, { location, "cache-control": "no-store", "content-length": 0 }).end();
    return;
  }
  await handedOut.serveMonitor(request, response, `/${params["*"] ?? ""}`);
}
