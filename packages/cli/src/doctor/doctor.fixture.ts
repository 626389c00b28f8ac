import { type HealthResponse, type RouteExplanation, systemWorld } from "@roomhub/protocol";
import { addDoctorCommand } from "../commands/doctor.ts";
import type { Client } from "../capabilities.ts";
import { RoomhubCommand } from "../options.ts";
import type { CliContext } from "../context.ts";
import { refusing } from "../snapshots/scenery.fixture.ts";
import { aParticipant, aRoom, makeWorld, type TestWorld } from "../test-context.fixture.ts";
import type { Machine, TlsFacts } from "./machine.ts";

export const aRoute: RouteExplanation = {
  roomCode: "ABC234",
  model: "*",
  protocol: "chatCompletions",
  readAs: "any",
  outcome: "asked",
  participants: [
    {
      id: "ana-llama3",
      nickname: "Ana",
      model: "llama3",
      verdict: "random",
      reason: "one of these, at random",
      connection: {
        kind: "tunnel",
        connected: true,
        lastTunnelSeenAt: null,
        path: "tunnel",
        readiness: "ready",
      },
      load: { active: 1, queued: 0, limit: 4, limitFrom: "declared" as const },
    },
  ],
  queue: { waiting: 0, limit: 256, waitMs: 60_000 },
  onFailure: { movesTo: null, reason: "no other participant can serve it" },
};

export const trustedTls: TlsFacts = {
  ...{ protocol: "TLSv1.3", pin: `sha256-${"h".repeat(43)}`, issuer: "Example CA" },
  ...{ isSelfSigned: false, problem: undefined },
  ...{ validFrom: new Date("1969-12-01"), validTo: new Date("1970-03-01") },
};

/** A machine on which everything is as it should be. */
export const healthyMachine: Machine = {
  nodeVersion: "24.11.0",
  neededNode: "22.21",
  reach: async (host) => host,
  proxyFor: async () => undefined,
  tls: async (url) => (url.protocol === "https:" ? trustedTls : undefined),
  handshake: async () => ({ status: 404, body: '{"error":{"code":"participant_not_found"}}' }),
};

export const aHealth: HealthResponse = {
  status: "ok",
  version: "1.2.9",
  uptimeSeconds: 61,
  timestamp: new Date(0).toISOString(),
};

export function aClient(given: Partial<Client> = {}): Partial<Client> {
  return {
    health: async () => aHealth,
    listHubs: refusing(404, { code: "not_found", message: "There is nothing at this path." }),
    getRoom: async () => aRoom({ participantCount: 1 }),
    listRooms: async () => [aRoom({ participantCount: 1 })],
    listParticipants: async () => [aParticipant()],
    explainRoute: async (_code, { model = "*" }) => ({ ...aRoute, model }),
    ...given,
  };
}

const chunk = '{"choices":[{"delta":{"content":"Hi"},"finish_reason":"length"}]}';

/** The hub's responses to requests without the client: the event stream, and the test request. */
export const answering = answeringWithin({ ttftMs: 400, durationMs: 500 });

/** @param metrics - of the request, as the hub measured it; here the response arrives all at once */
export function answeringWithin(metrics: {
  ttftMs: number;
  durationMs: number;
}): CliContext["fetch"] {
  const end = { type: "llm.complete", requestId: "req_1", queueMs: 20, metrics };
  return async (url) => {
    if (url.endsWith("/events")) {
      return aStream(`retry: 2000\n\ndata: ${JSON.stringify(end)}\n\n`, {});
    }
    if (!url.endsWith("/chat/completions")) throw new TypeError(`fetch failed: ${url}`);
    return aStream(`data: ${chunk}\n\ndata: [DONE]\n\n`, {
      "x-request-id": "req_1",
      "x-roomhub-participant": "ana-llama3",
    });
  };
}

function aStream(text: string, headers: Record<string, string>): Response {
  return new Response(text, { headers: { "content-type": "text/event-stream", ...headers } });
}

export interface DoctorRun {
  world: TestWorld;
  /** what the command ended with, undefined for success */
  error: unknown;
}

/** Runs `roomhub doctor` in a healthy world, except for what the test changes. */
export async function runDoctor(
  args: readonly string[],
  over: {
    machine?: Partial<Machine>;
    client?: Partial<Client>;
    context?: Partial<CliContext>;
    whenStarted?: (world: TestWorld) => void;
  } = {},
): Promise<DoctorRun> {
  // No wait here is long enough to be reported.
  const quick = { world: { ...systemWorld, wallMs: () => 0 }, fetch: answering };
  const world = makeWorld({ ...quick, ...over.context }, aClient(over.client));
  const program = new RoomhubCommand().exitOverride();
  addDoctorCommand(program, world.context, { ...healthyMachine, ...over.machine });
  const running = program.parseAsync(["doctor", ...args], { from: "user" });
  over.whenStarted?.(world);
  const error = await running.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { world, error };
}
