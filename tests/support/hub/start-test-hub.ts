import { createHub, type Hub, type HubOptions } from "@roomhub/hub";
import { RoomhubClient } from "@roomhub/client";
import { withTls } from "@roomhub/protocol";
import { clientsKey } from "../clients/openai-client.ts";
import { certificateOfAuthority } from "./authority.ts";
import { startDoor } from "./start-door.ts";
import { pinOf, testCertificate } from "./test-certificate.ts";
import { type EventRecorder, recordEvents } from "./event-recorder.ts";

/** A real hub on a free port of this machine, with what tests often need from it. */
export interface TestHub extends AsyncDisposable {
  readonly hub: Hub;
  /** `http://127.0.0.1:<port>`, or `https:` in the project of that name */
  readonly url: string;
  readonly port: number;
  readonly client: RoomhubClient;
  /** what it would have written to stdout */
  readonly log: string[];
  /** Where clients reach a room through its door; undefined without one. */
  doorUrl(code: string): string | undefined;
  /** @returns the room's code */
  createRoom(password?: string): Promise<string>;
  /** Watches one room, or the whole hub, until the hub or the recorder is closed. */
  watch(
    code: string | undefined,
    spelling?: "colon" | "dot",
    isDetailed?: boolean,
  ): Promise<EventRecorder>;
  /** A plain request of a path, nothing added but a body's content type. */
  fetch(path: string, init?: RequestInit & { json?: unknown }): Promise<Response>;
}

/** Both spellings of a room's base URL for OpenAI SDKs. Interface §9. */
export const BASE_URLS = {
  "/rooms/CODE/v1": (hub: TestHub, code: string) =>
    hub.doorUrl(code) ?? `${hub.url}/rooms/${code}/v1`,
  "/v1/rooms/CODE": (hub: TestHub, code: string) =>
    hub.doorUrl(code) ?? `${hub.url}/v1/rooms/${code}`,
} as const;

/**
 * Tests that run once more: against hubs with a certificate that an authority has signed (`https`), or with clients that use
 * doors to hubs with a pin (`door`).
 */
const way = process.env["TESTS_WAY"];

export async function startTestHub(options: HubOptions = {}): Promise<TestHub> {
  const log: string[] = [];
  const byHttps = way === "https" ? certificateOfAuthority() : undefined;
  const sealed = way === "door" ? testCertificate() : undefined;
  const isOwn = options.tls !== undefined;
  const hub = createHub({
    ...{ port: 0, tls: byHttps ?? sealed },
    logFormat: "text",
    writeLog: (line) => log.push(line),
    ...options,
    // A test that fails with a stream open should report that, not wait for the stream.
    limits: { drainMs: 200, ...options.limits },
  });
  const { url: ownUrl, port } = await hub.listen();
  const url = byHttps !== undefined && !isOwn ? withTls(ownUrl) : ownUrl;
  const client = new RoomhubClient({ hubUrl: url });
  const recorders: EventRecorder[] = [];
  const doors = new Map<string, Awaited<ReturnType<typeof startDoor>>>();
  return {
    hub,
    url,
    port,
    client,
    log,
    doorUrl: (code) => doors.get(code)?.url,
    async createRoom(password) {
      const { code } = (await client.createRoom({ name: "lab", password })).room;
      if (sealed !== undefined && !isOwn) {
        const access = { pin: pinOf(sealed), key: clientsKey };
        doors.set(code, await startDoor(withTls(url), code, access));
      }
      return code;
    },
    async watch(code, spelling = "dot", isDetailed = false) {
      const prefix = spelling === "dot" ? "/v1" : "";
      const path = code === undefined ? "/events" : `/rooms/${code}/events`;
      const recorder = await recordEvents(url + prefix + path + (isDetailed ? "?detail=1" : ""));
      recorders.push(recorder);
      return recorder;
    },
    fetch(path, { json, ...init } = {}) {
      const body = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
      return fetch(url + path, { ...body, ...init });
    },
    async [Symbol.asyncDispose]() {
      for (const recorder of recorders) recorder.close();
      for (const door of doors.values()) await door.close();
      await hub.close();
    },
  };
}
