import { type Look, type Recognised, recognise } from "./recognise.ts";
import { type CapabilityName, isDeclared } from "./known-capabilities.ts";
import { type QueriedServer, query } from "./query.ts";
import { type ProbeResult, isFromGateway } from "./probe.ts";
import { judgeResponse } from "./surface-verdict.ts";

export interface DiscoveryOptions {
  server: QueriedServer;
  /** What `GET {base}/models` found just before. */
  found: Pick<ProbeResult, "program">;
  /** What the user declared: not looked for. */
  declared: Readonly<Record<string, unknown>>;
}

/** Paths that a server may have, in the order in which they are tried. */
const paths = {
  openResponses: "/responses",
  chatCompletions: "/chat/completions",
  messages: "/messages",
  responsesCompact: "/responses/compact",
  responsesInputTokens: "/responses/input_tokens",
} as const satisfies Partial<Record<CapabilityName, string>>;

const lookMs = 3_000;

/**
 * Finds out what a model server can do, without a token generated and without a model loaded: GET requests that show
 * which program it is, then, for the paths that are still undecided, POST with the body `{}`. Never a model's name without a
 * prompt, which would load it, and no POST at all to a server whose model is unloaded until the next one.
 *
 * At most nine requests, and none after one without a response within 3 s: the server is busy, and its responses to
 * clients will show. Never throws.
 */
export async function discoverCapabilities(
  options: DiscoveryOptions,
): Promise<Omit<Recognised, "isAsleep">> {
  let isGateway = false;
  const look = createLookAround(options, (headers) => (isGateway ||= isFromGateway(headers)));
  const recognised = await recognise(options.server.baseUrl, options.found, look);
  const { capabilities, isAsleep, description: own } = recognised;
  for (const [name, path] of Object.entries(paths) as [keyof typeof paths, string][]) {
    if (isAsleep) break;
    if (capabilities[name] !== undefined || isDeclared(options.declared[name])) continue;
    if (path.startsWith("/responses/") && lacksResponses(options, capabilities)) continue;
    const response = await look({ method: "POST", path, json: "{}" });
    if (response?.head === undefined) continue;
    const verdict = judgeResponse(response.head.status, response.body.toString("utf8"));
    if (verdict !== "unknown") capabilities[name] = verdict;
  }
  const program = recognised.program ?? (isGateway ? "gateway" : undefined);
  return { program, capabilities, description: own };
}

function lacksResponses(
  { declared }: DiscoveryOptions,
  { openResponses }: Recognised["capabilities"],
): boolean {
  return openResponses === "unsupported" || declared["openResponses"] === "unsupported";
}

function createLookAround(
  { server }: DiscoveryOptions,
  onHeaders: (headers: Readonly<Record<string, string>>) => void,
): Look {
  let isOver = false;
  return async (question) => {
    if (isOver) return undefined;
    const look = await query(server, question, lookMs);
    if (look.head !== undefined) onHeaders(look.head.headers);
    if (look.problem === undefined) return look;
    isOver = look.problem.kind !== "too-large";
    return undefined;
  };
}
