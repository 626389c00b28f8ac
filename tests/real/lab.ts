import { RoomhubClient } from "@roomhub/client";
import Anthropic from "@anthropic-ai/sdk";
import { type EventRecorder, recordEvents } from "../support/hub/event-recorder.ts";
import type { Path } from "../support/hub/joining.ts";
import { openaiAt } from "../support/clients/openai-client.ts";
import {
  type RoomhubProcess,
  startHubProcess,
  startParticipantProcess,
} from "../support/programs/roomhub-process.ts";
import { until } from "../support/waiting.ts";

/** Often enough to find out soon what became of a server. */
const heartbeatMs = 2_000;

/** A hub as its command, with one room. */
export interface Lab extends AsyncDisposable {
  readonly url: string;
  readonly code: string;
  readonly client: RoomhubClient;
  readonly events: EventRecorder;
  readonly openai: ReturnType<typeof openaiAt>;
  readonly anthropic: Anthropic;
  /** `roomhub join` with these arguments; resolves when its tunnel is up. */
  join(
    endpoint: string,
    args?: readonly string[],
    env?: Record<string, string>,
  ): Promise<RoomhubProcess>;
  /** One POST, as `curl` sends it, and then heartbeats: the hub calls the endpoint. */
  register(endpoint: string, more?: Record<string, unknown>): Promise<AsyncDisposable>;
  /** By whichever path, as Ada, who serves `tiny`; resolves when it is known what her server can do. */
  bring(path: Path, endpoint: string): Promise<AsyncDisposable>;
  /** A plain request of one of the room's surfaces. */
  post(path: string, body: Record<string, unknown>, init?: RequestInit): Promise<Response>;
  /** `connection.readiness` of a participant. */
  readiness(id: string): Promise<string | undefined>;
  /** Resolves when it is that. */
  untilReadiness(id: string, expected: string): Promise<void>;
}

export async function startLab(env: Record<string, string> = {}): Promise<Lab> {
  await using stack = new AsyncDisposableStack();
  const hub = stack.use(await startHubProcess(["--port", "0"], env));
  const client = new RoomhubClient({ hubUrl: hub.url });
  const { room } = await client.createRoom({ name: "lab" });
  const { code } = room;
  const events = stack.use(await recordEvents(`${hub.url}/v1/rooms/${code}/events`));
  const owned = stack.move();
  const base = client.baseUrl(code);

  const join: Lab["join"] = (endpoint, args = [], joinEnv = {}) =>
    startParticipantProcess(
      hub.url,
      code,
      [
        ...named("--id", "ada", args),
        ...named("--nickname", "Ada", args),
        "--endpoint",
        endpoint,
        ...args,
      ],
      joinEnv,
    );

  const register: Lab["register"] = async (endpoint, more = {}) => {
    const body = { id: "ada", nickname: "Ada", model: "tiny", endpoint, ...more };
    await client.join(code, body);
    // Lost ones do no harm: the next one comes soon.
    const beat = () => void client.heartbeat(code, body.id).catch(() => undefined);
    const heart = setInterval(beat, heartbeatMs);
    return {
      async [Symbol.asyncDispose]() {
        clearInterval(heart);
        await Promise.resolve();
      },
    };
  };

  /** Requests are served before that; but this is about what holds from then on. */
  async function untilKnown(): Promise<void> {
    await until(
      "what Ada's server can do",
      () => client.getParticipant(code, "ada"),
      ({ connection, capabilities }) =>
        connection.readiness !== "ready" || capabilities["messages"] !== undefined,
    );
  }

  async function readiness(id: string): Promise<string | undefined> {
    const participants = await client.listParticipants(code);
    return participants.find((one) => one.id === id)?.connection.readiness;
  }

  return {
    ...{ url: hub.url, code, client, events, join, register, readiness },
    openai: openaiAt(base),
    anthropic: new Anthropic({
      baseURL: base.replace(/\/v1$/, ""),
      apiKey: "any",
      maxRetries: 0,
      timeout: 30_000,
    }),
    async bring(path, endpoint) {
      await using stack = new AsyncDisposableStack();
      const isTunnel = path === "tunnel";
      stack.use(await (isTunnel ? join(endpoint, ["--model", "tiny"]) : register(endpoint)));
      await untilKnown();
      const ada = stack.move();
      return { [Symbol.asyncDispose]: () => ada.disposeAsync() };
    },
    post: (path, body, init = {}) =>
      fetch(`${base}${path}`, { method: "POST", body: JSON.stringify(body), ...init }),
    async untilReadiness(id, expected) {
      await until(
        `${id} to be ${expected}`,
        () => readiness(id),
        (found) => found === expected,
        30_000,
      );
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** An option with its default, unless it was given. */
function named(option: string, value: string, args: readonly string[]): string[] {
  return args.includes(option) ? [] : [option, value];
}
