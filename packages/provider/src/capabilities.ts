import { recognise } from "./fingerprints.ts";
import { isDeclared, type KnownCapabilities } from "./known-capabilities.ts";
import { type CallProvider, lookAt, type LookAround } from "./look.ts";
import type { ProbeResult } from "./probe.ts";
import { judgeAnswer } from "./surface-verdict.ts";

export interface DiscoveryOptions {
  call: CallProvider;
  /** from `checkEndpoint()` */
  baseUrl: string;
  /** auth headers of the provider */
  headers: Record<string, string>;
  /** What `GET {base}/models` found just before. */
  found: Pick<ProbeResult, "ownedBy" | "server">;
  /** What the user said: not looked for. */
  declared: Readonly<Record<string, unknown>>;
}

/** Where a server is asked itself when it is none that is recognised. */
const askedSurfaces = {
  openResponses: "/responses",
  chatCompletions: "/chat/completions",
} as const;

const lookMs = 3_000;

/**
 * Finds out what a model server can do, without a token generated and without a model loaded: GET requests that tell
 * which program it is, then, where that leaves a question, POST with the body `{}`. Never a model's name with nothing to
 * say to it, which would load it.
 *
 * At most six requests, and none after one that was not answered within 3 s: the server is busy, and real requests will
 * tell. Never throws.
 */
export async function discoverCapabilities(options: DiscoveryOptions): Promise<KnownCapabilities> {
  const look = createLookAround(options);
  const known = await recognise(options.baseUrl, options.found, look);
  for (const name of ["openResponses", "chatCompletions"] as const) {
    if (known[name] !== undefined || isDeclared(options.declared[name])) continue;
    const answer = await look("POST", options.baseUrl, askedSurfaces[name]);
    if (answer?.head === undefined) continue;
    const verdict = judgeAnswer(answer.head.status, answer.body.toString("utf8"));
    if (verdict !== "unknown") known[name] = verdict;
  }
  return known;
}

function createLookAround({ call, headers }: DiscoveryOptions): LookAround {
  let isOver = false;
  return async (method, baseUrl, path) => {
    if (isOver) return undefined;
    const isPost = method === "POST";
    const look = await lookAt(
      call,
      {
        baseUrl,
        method,
        path,
        headers: isPost ? { ...headers, "content-type": "application/json" } : headers,
        body: isPost ? [Buffer.from("{}")] : undefined,
      },
      lookMs,
    );
    if (look.problem === undefined) return look;
    isOver = look.problem.kind !== "too-large";
    return undefined;
  };
}
