import type { HubEvent } from "@roomhub/protocol";
import { expect, test } from "vitest";
import type { CliContext } from "../context.ts";
import {
  aComplete,
  aFailure,
  aParticipant,
  aRoom,
  idleParticipant,
} from "../test-context.fixture.ts";
import { ollamaWith } from "./scenery.fixture.ts";
import { atTerminal, everywhere, inPipe, type Scene, untilSaid } from "./session.fixture.ts";

const scene: Scene = {
  context: { fetch: ollamaWith("llama3.2:3b") },
  client: {
    listRooms: async () => [],
    createRoom: async ({ name }) => ({ room: aRoom({ name }), hostId: "h" }),
  },
  events: [],
};

const inRoom = { timestamp: "2026-01-02T03:04:05.000Z", roomCode: "ABC234" };
const participant = aParticipant({ id: "bea-qwen3", model: "qwen3" });
const gone = { participantId: "bea-qwen3", nickname: "Bea" };

/** What can happen in a room, one of each. */
const aDay: HubEvent[] = [
  { ...inRoom, type: "participant.joined", participant },
  aComplete,
  { ...aComplete, queueMs: 1500, participantId: "安娜-llama3" } as HubEvent,
  aFailure,
  { ...aFailure, model: "llama3", code: "client_disconnected", error: "gone" } as HubEvent,
  { ...aComplete, metrics: { ttftMs: 65_000, durationMs: 125_000 } } as HubEvent,
  { ...inRoom, type: "participant.offline", ...gone, reason: "timeout" } as HubEvent,
  { ...inRoom, type: "participant.left", ...gone },
];

function withEnv(env: CliContext["env"]): Scene {
  return { ...scene, context: { ...scene.context, env } };
}

test("up on this machine alone", async () => {
  expect(await everywhere(["up"], scene)).toMatchSnapshot();
});

test("up for the network, with a QR code on a terminal that has room for all of it", async () => {
  expect(await everywhere(["up", "--lan"], scene)).toMatchSnapshot();
  expect(await atTerminal(["up", "--lan"], scene, 100, 60)).toMatchSnapshot();
});

test("up with a password", async () => {
  const createRoom = async () => ({ room: aRoom({ passwordProtected: true }), hostId: "h" });
  const open: Scene = { ...scene, client: { ...scene.client, createRoom } };
  expect(await inPipe(["up", "--lan", "--password", "swordfish"], open)).toMatchSnapshot();
});

test("up without a model server shares a labelled demo", async () => {
  expect(await everywhere(["up"], { ...scene, context: {} })).toMatchSnapshot();
});

test("up without colours, with NO_COLOR", async () => {
  const plain = await atTerminal(["up", "--lan"], withEnv({ NO_COLOR: "1" }));
  expect(plain).not.toMatch(/‹/);
  expect(plain).toMatchSnapshot();
});

test("up on a dumb terminal has neither colours nor a QR code", async () => {
  const plain = await atTerminal(["up", "--lan"], withEnv({ TERM: "dumb" }));
  expect(plain).not.toMatch(/[‹█]/);
  expect(plain).toMatchSnapshot();
});

test("up on a terminal of 40 columns", async () => {
  expect(await atTerminal(["up", "--lan"], { ...scene, events: aDay }, 40)).toMatchSnapshot();
});

test("up --quiet prints the invite URL alone", async () => {
  expect(await everywhere(["up", "--quiet"], { ...scene, events: aDay })).toMatchSnapshot();
});

test("up --json prints all addresses, then each event", async () => {
  expect(await inPipe(["up", "--json"], { ...scene, events: [aComplete] })).toMatchSnapshot();
});

test("participants joining and leaving, and finished requests", async () => {
  expect(await everywhere(["up"], { ...scene, events: aDay })).toMatchSnapshot();
});

test("a busy room is twenty requests a second, and one row that counts the rest", async () => {
  const many = Array.from({ length: 432 }, () => aComplete);
  expect(await everywhere(["up"], { ...scene, events: many })).toMatchSnapshot();
});

test("an outage of up's own model server is reported, its end, and that of sharing", async () => {
  const createParticipant: CliContext["createParticipant"] = async ({ onNotice, id }) =>
    idleParticipant({
      start: async () => {
        onNotice?.({ kind: "joined", room: "ABC234", id, warnings: [] });
        onNotice?.({ kind: "connected" });
        const verdict = { kind: "provider-readiness", since: 0 } as const;
        const problem = "ECONNREFUSED 127.0.0.1:11434";
        onNotice?.({ ...verdict, readiness: "down", problem });
        onNotice?.({ ...verdict, readiness: "loading", problem: "is loading its model" });
        onNotice?.({ ...verdict, readiness: "ready", problem: undefined });
        onNotice?.({ kind: "disconnected", reason: "the tunnel broke", retryInMs: 250 });
        onNotice?.({ kind: "disconnected", reason: "ECONNREFUSED", retryInMs: 500 });
        onNotice?.({ kind: "connected" });
        const hint = "Choose another one: roomhub room list";
        const reason = "Room ABC234 was deleted.";
        onNotice?.({ kind: "stopped", code: "room_not_found", reason, hint });
      },
    });
  const troubled: Scene = { ...scene, context: { ...scene.context, createParticipant } };
  expect(await everywhere(["up", "--quiet"], troubled)).toMatchSnapshot();
});

test("up that stops while requests run waits for them and reports those it ended", async () => {
  const createHub: CliContext["createHub"] = async () => ({
    listen: async () => ({ url: "", host: "", port: 5050 }),
    watch: () => () => {},
    prepareHandout: async () => undefined,
    replaceCertificate: () => undefined,
    close: async () => ({ cut: 2 }),
  });
  const busy: Scene = { ...scene, context: { ...scene.context, createHub } };
  expect(await inPipe(["up", "--quiet"], busy)).toMatchSnapshot();
});

test("serve prints the hub's address, who can reach it, and the next steps", async () => {
  const running: Scene = { meanwhile: (world) => untilSaid(world, "5050") };
  expect(await everywhere(["serve"], running)).toMatchSnapshot();
  expect(await everywhere(["serve", "--lan"], running)).toMatchSnapshot();
  expect(await inPipe(["serve", "--lan", "--ephemeral", "--json"], running)).toMatchSnapshot();
});

test("serve on another port names it where it has to be named", async () => {
  const running: Scene = { meanwhile: (world) => untilSaid(world, "6060") };
  expect(await inPipe(["serve", "--port", "6060"], running)).toMatchSnapshot();
});
