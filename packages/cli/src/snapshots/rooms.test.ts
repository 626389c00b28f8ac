import { HubUnreachableError } from "@roomhub/client";
import type { HubEvent } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { aComplete, aFailure, aParticipant, aRoom } from "../test-context.fixture.ts";
import { aHealth } from "../doctor/doctor.fixture.ts";
import { noSuchRoom, refusing } from "./scenery.fixture.ts";
import { atTerminal, everywhere, inPipe, type Scene } from "./session.fixture.ts";

describe("room", () => {
  test("create prints the code for programs, and how to go on for people", async () => {
    const scene: Scene = {
      client: { createRoom: async ({ name }) => ({ room: aRoom({ name }), hostId: "host-1" }) },
    };
    expect(await everywhere(["room", "create", "Ana's lab"], scene)).toMatchSnapshot();
    expect(await inPipe(["room", "create", "Ana's lab", "--json"], scene)).toMatchSnapshot();
  });

  test("create with a password shows how others pass it", async () => {
    const scene: Scene = {
      context: { env: { LAB_PASSWORD: "swordfish" } },
      client: {
        createRoom: async () => ({ room: aRoom({ passwordProtected: true }), hostId: "h" }),
      },
    };
    const args = ["room", "create", "lab", "--password-env", "LAB_PASSWORD"];
    expect(await inPipe(args, scene)).toMatchSnapshot();
  });

  test("create at a hub that takes no more rooms from here", async () => {
    const scene: Scene = {
      client: {
        createRoom: refusing(429, {
          code: "rate_limit_exceeded",
          message: "Too many rooms were created from this address.",
          hint: "Use one that exists: roomhub room list. Or wait a minute.",
        }),
      },
    };
    expect(await everywhere(["room", "create", "lab"], scene)).toMatchSnapshot();
  });

  test("list is a table, with wide characters aligned", async () => {
    const rooms = [
      aRoom(),
      aRoom({ code: "XYZ789", name: "千问的房间", passwordProtected: true, participantCount: 12 }),
    ];
    const scene: Scene = { client: { listRooms: async () => rooms } };
    expect(await everywhere(["room", "list"], scene)).toMatchSnapshot();
    expect(await inPipe(["room", "list", "--json"], scene)).toMatchSnapshot();
  });

  test("list of a hub without rooms shows how to create one", async () => {
    const scene: Scene = { client: { listRooms: async () => [] } };
    expect(await everywhere(["room", "list"], scene)).toMatchSnapshot();
    expect(
      await inPipe(["room", "list", "--hub", "http://10.0.0.9:5050"], scene),
    ).toMatchSnapshot();
    expect(await inPipe(["room", "list", "--json"], scene)).toMatchSnapshot();
  });

  test("show is one room and how to use it", async () => {
    const room = aRoom({ participantCount: 1, passwordProtected: true });
    const scene: Scene = { client: { getRoom: async () => room } };
    expect(await everywhere(["room", "show", "abc234"], scene)).toMatchSnapshot();
    expect(await inPipe(["room", "show", "abc234", "--json"], scene)).toMatchSnapshot();
  });

  test("at a hub that others reach, the lines have its URL for them and its own program", async () => {
    const client = {
      createRoom: async ({ name }: { name: string }) => ({ room: aRoom({ name }), hostId: "h" }),
      getRoom: async () => aRoom(),
      health: async () => ({ ...aHealth, url: "http://192.168.1.5:5050", handout: true }),
    };
    expect(await inPipe(["room", "create", "lab"], { client })).toMatchSnapshot();
    expect(await inPipe(["room", "show", "ABC234"], { client })).toMatchSnapshot();
  });

  test("show of a room that is not there", async () => {
    const scene: Scene = { client: { getRoom: noSuchRoom } };
    expect(await everywhere(["room", "show", "ABC243"], scene)).toMatchSnapshot();
  });
});

describe("invite", () => {
  const client = {
    listRooms: async () => [aRoom()],
    getRoom: async () => aRoom({ passwordProtected: true }),
    health: async () => ({ ...aHealth, url: "http://192.168.1.5:5050", handout: true }),
  };

  test("prints lines for others, and on a terminal the QR code of the room's page", async () => {
    expect(await everywhere(["invite"], { client })).toMatchSnapshot();
    expect(await inPipe(["invite", "ABC234", "--json"], { client })).toMatchSnapshot();
  });

  test("to a hub that only this machine reaches has no QR code", async () => {
    const health = async () => ({ ...aHealth, url: "http://127.0.0.1:5050", handout: true });
    expect(await atTerminal(["invite"], { client: { ...client, health } })).toMatchSnapshot();
  });

  test("of a hub with several rooms asks which", async () => {
    const listRooms = async () => [aRoom(), aRoom({ code: "XYZ789", name: "other" })];
    expect(await inPipe(["invite"], { client: { ...client, listRooms } })).toMatchSnapshot();
  });
});

describe("participants, models and leave", () => {
  const participants = [
    aParticipant(),
    aParticipant({
      ...{ id: "bea-qwen3", nickname: "Béa 千", model: "qwen3", status: "offline" },
      connection: {
        kind: "tunnel",
        connected: false,
        lastTunnelSeenAt: null,
        path: "none",
        readiness: "down",
      },
      load: { active: 0, queued: 0, limit: 1, limitFrom: "declared" as const },
    }),
    aParticipant({
      ...{ id: "cloud", nickname: "Cloud", model: "big-1", endpoint: "https://api.example.com/v1" },
      connection: {
        kind: "tunnel",
        connected: true,
        lastTunnelSeenAt: null,
        path: "direct",
        readiness: "ready",
      },
      load: { active: 0, queued: 2, limit: 2, limitFrom: "engine" as const, elsewhere: 1 },
    }),
  ];

  test("everyone in a room is a line of a table", async () => {
    const scene: Scene = { client: { listParticipants: async () => participants } };
    expect(await everywhere(["participants", "ABC234"], scene)).toMatchSnapshot();
    expect(await inPipe(["participants", "ABC234", "--json"], scene)).toMatchSnapshot();
  });

  test("an empty room shows how to join it", async () => {
    const client = { listParticipants: async () => [], listModels: async () => [] };
    expect(await everywhere(["participants", "ABC234"], { client })).toMatchSnapshot();
    expect(await inPipe(["participants", "ABC234", "--json"], { client })).toMatchSnapshot();
    expect(await inPipe(["models", "ABC234"], { client })).toMatchSnapshot();
  });

  test("participants of a room that is not there", async () => {
    const scene: Scene = { client: { listParticipants: noSuchRoom } };
    expect(await everywhere(["participants", "ABC243"], scene)).toMatchSnapshot();
  });

  test("models lists requestable models", async () => {
    const [one] = participants;
    const entry = { object: "model", created: 0, owned_by: "Ana" } as const;
    const connection = {
      connected: true,
      kind: "tunnel",
      lastTunnelSeenAt: null,
      path: "tunnel",
      readiness: "ready",
    };
    const service = { model: "llama3", connection, capabilities: one?.capabilities };
    const models = [{ ...entry, id: "ana-llama3", service }];
    const scene = { client: { listModels: async () => models } } as unknown as Scene;
    expect(await everywhere(["models", "ABC234"], scene)).toMatchSnapshot();
  });

  test("leave with a wrong token", async () => {
    const scene: Scene = {
      context: { env: { ANA_TOKEN: "t" } },
      client: {
        leave: refusing(401, {
          code: "participant_token_invalid",
          message: "The token does not belong to ana-llama3 as it is registered now.",
          hint: "Join again: the id was registered anew.",
        }),
      },
    };
    const args = ["leave", "ABC234", "ana-llama3", "--token-env", "ANA_TOKEN"];
    expect(await everywhere(args, scene)).toMatchSnapshot();
  });

  test("leave names the participant that left", async () => {
    const scene: Scene = { client: { leave: async () => {} } };
    expect(await everywhere(["leave", "ABC234", "ana-llama3"], scene)).toMatchSnapshot();
    expect(await inPipe(["leave", "ABC234", "ana-llama3", "--json"], scene)).toMatchSnapshot();
  });
});

describe("events", () => {
  const inRoom = { timestamp: "2026-01-02T03:04:05.000Z", roomCode: "ABC234" };
  const request = { requestId: "req-1", protocol: "chatCompletions", attempt: 1, model: "llama3" };
  const gone = { participantId: "bea-qwen3", nickname: "Bea" };
  const { connection } = aParticipant();
  const problem = "Ana has paused sharing llama3";
  const paused = aParticipant({
    status: "unavailable",
    connection: { ...connection, readiness: "down", problem },
  });
  const events = [
    { ...inRoom, type: "room.created", room: aRoom() },
    { ...inRoom, type: "participant.joined", participant: aParticipant() },
    { ...inRoom, type: "llm.request", participantId: "ana-llama3", ...request, selector: "*" },
    { ...aComplete, queueMs: 1500 },
    { ...inRoom, type: "llm.request", participantId: "ana-llama3", ...request, attempt: 2 },
    aFailure,
    { ...inRoom, type: "participant.updated", participant: paused },
    { ...inRoom, type: "participant.updated", participant: aParticipant({ status: "offline" }) },
    { ...inRoom, type: "participant.offline", ...gone },
    { ...inRoom, type: "participant.left", ...gone },
  ] as HubEvent[];

  test("each is a line until Ctrl+C", async () => {
    expect(await everywhere(["events", "ABC234"], { events })).toMatchSnapshot();
  });

  test("of the whole hub, as NDJSON", async () => {
    expect(await inPipe(["events", "--json"], { events: [aComplete] })).toMatchSnapshot();
  });

  test("a broken stream is reported", async () => {
    const scene: Scene = {
      client: {
        events: async function* (_room, options) {
          options?.onOpen?.();
          yield aComplete;
          options?.onDisconnect?.("the hub closed the stream", 1000);
          options?.onOpen?.();
        },
      },
    };
    expect(await atTerminal(["events", "ABC234"], scene)).toMatchSnapshot();
  });

  test("of a room that is not there", async () => {
    const scene: Scene = {
      client: {
        // oxlint-disable-next-line require-yield -- it fails before it could
        events: async function* () {
          await noSuchRoom();
        },
      },
    };
    expect(await everywhere(["events", "ABC243"], scene)).toMatchSnapshot();
  });
});

describe("health", () => {
  const timestamp = "2026-01-02T03:04:05.000Z";

  test("of a healthy hub", async () => {
    const health = { status: "ok", version: "1.2.3", uptimeSeconds: 3725, timestamp } as const;
    const scene: Scene = { client: { health: async () => health } };
    expect(await everywhere(["health"], scene)).toMatchSnapshot();
    expect(await inPipe(["health", "--json"], scene)).toMatchSnapshot();
  });

  test("of an unreachable hub", async () => {
    const cause = new Error("connect ECONNREFUSED 127.0.0.1:5050");
    const away = new HubUnreachableError("http://127.0.0.1:5050", cause);
    const scene: Scene = { client: { health: () => Promise.reject(away) } };
    expect(await everywhere(["health"], scene)).toMatchSnapshot();
  });

  test("of a hub that is stopping", async () => {
    const health = { status: "draining", version: "1.2.3", uptimeSeconds: 61, timestamp } as const;
    const scene: Scene = { client: { health: async () => health } };
    expect(await everywhere(["health"], scene)).toMatchSnapshot();
  });
});
