import { describe, expect, test } from "vitest";
import { ServerReadiness, type ProbeFinding } from "./server-readiness.ts";

const list: ProbeFinding = { kind: "responds", isList: true, models: ["llama3"], aliases: [] };

/** A server of which a minute ago the list was fine, unless said otherwise, and a call succeeded. */
function works(found: ProbeFinding = list) {
  const machine = new ServerReadiness({
    nowMs: 0,
    model: () => "llama3",
    isModelListed: false,
    loadingMs: 900_000,
    readyLookMs: 30_000,
    downLookMs: 5_000,
    onVerdict: () => {},
    onLookMoved: () => {},
  });
  let nowMs = 0;
  const server = {
    machine,
    look: (result: ProbeFinding) => machine.probed(result, nowMs),
    pass: (ms: number) => void (nowMs += ms),
    respond: (status: number, client = "ada") =>
      machine.callResponded(status, nowMs, machine.credentials, client),
    get lookInMs() {
      return machine.lookInMs(nowMs);
    },
    get readiness() {
      return machine.verdict.readiness;
    },
  };
  server.look(found);
  server.respond(200);
  server.pass(60_000);
  return server;
}

/** Refusals 5 s apart. */
function refuse(server: ReturnType<typeof works>, ...clients: string[]) {
  for (const client of clients) {
    server.respond(401, client);
    server.pass(5_000);
  }
  return server;
}

describe("credentials that have worked", () => {
  test("are doubted by a refusal, which causes a look and is named until a call succeeds", () => {
    const server = works();
    server.look(list);
    server.pass(1_000);
    server.respond(407);
    expect(server.lookInMs).toBe(0);
    const doubted = { readiness: "ready", problem: "refused its last request with 407" };
    expect(server.machine.verdict).toMatchObject(doubted);
    server.look(list);
    expect(server.machine.verdict).toMatchObject(doubted);
    server.respond(200);
    expect(server.machine.verdict).toMatchObject({ readiness: "ready", problem: undefined });
  });

  test("are looked at after a refusal although bytes of another call flow, which began before", () => {
    const server = works();
    server.look(list);
    server.machine.callStarted();
    server.machine.callFlows();
    server.pass(1_000);
    server.respond(401);
    expect(server.machine.startLook(61_000)).toBe(true);
  });

  test("are lost when the list, which they opened before, refuses them too", () => {
    const server = refuse(works(), "ada");
    server.look({ kind: "refuses" });
    expect(server.machine.verdict).toMatchObject({
      readiness: "needs-credentials",
      problem: "requires credentials",
    });
    server.look(list);
    expect(server.readiness).toBe("ready");
  });

  test("are not lost by a list that never accepted them", () => {
    const server = refuse(works({ kind: "refuses" }), "ada");
    server.look({ kind: "refuses" });
    expect(server.readiness).toBe("ready");
  });

  test("are lost after three refusals of two clients within 10 s or more", () => {
    expect(refuse(works(), "ada", "bob").readiness).toBe("ready");
    const server = refuse(works(), "ada", "bob", "ada");
    expect(server.readiness).toBe("needs-credentials");
    server.look(list);
    expect(server.readiness).toBe("needs-credentials");
    server.respond(200);
    expect(server.readiness).toBe("ready");
  });

  test("are never lost by one client alone, however often it is refused", () => {
    expect(refuse(works(), ...Array.from({ length: 20 }, () => "ada")).readiness).toBe("ready");
  });

  test("are not lost by refusals at the same time, nor by those before a success", () => {
    const server = works();
    for (const client of ["ada", "bob", "cy", "dee"]) server.respond(401, client);
    expect(server.readiness).toBe("ready");
    server.pass(10_000);
    server.respond(200);
    expect(refuse(server, "ada", "bob").readiness).toBe("ready");
  });
});
