import { describe, expect, test } from "vitest";
import { HubError } from "../errors.ts";
import { createOffice, elsewhere, peerAt } from "./operations.fixture.ts";
import { deleteAlias, listAliases, putAlias } from "./aliases.ts";
import { createRoom } from "./rooms.ts";

const loopback = peerAt("127.0.0.1");

describe("an alias", () => {
  test("is listed and on disk once it is confirmed, and begins with the room's next request", async () => {
    const office = createOffice();
    const saved = office.saveCount();
    const wanted = { pattern: "claude-*", targets: ["llama3", "*"] };
    const { alias, isNew } = await putAlias(office.context, office.room, wanted, loopback);
    expect(alias).toEqual({ ...wanted, createdAt: office.context.wallMs() });
    expect(isNew).toBe(true);
    expect(listAliases(office.context, office.room)).toEqual([alias]);
    expect(office.saveCount()).toBe(saved + 1);
  });

  test("of a known pattern is replaced in its place and keeps its age", async () => {
    const { context, room, pass } = createOffice();
    const put = (pattern: string, target: string) =>
      putAlias(context, room, { pattern, targets: [target] }, loopback);
    const { alias: first } = await put("a", "x");
    await put("b", "x");
    pass(1_000);
    const { alias, isNew } = await put("a", "y");
    expect([alias.createdAt, isNew]).toEqual([first.createdAt, false]);
    expect(listAliases(context, room).map(({ pattern, targets }) => [pattern, targets])).toEqual([
      ["a", ["y"]],
      ["b", ["x"]],
    ]);
  });

  test("that was deleted is no longer there, and cannot be deleted again", async () => {
    const office = createOffice();
    await putAlias(office.context, office.room, { pattern: "a", targets: ["*"] }, loopback);
    const saved = office.saveCount();
    await deleteAlias(office.context, office.room, "a", loopback);
    expect(listAliases(office.context, office.room)).toEqual([]);
    expect(office.saveCount()).toBe(saved + 1);
    await expect(deleteAlias(office.context, office.room, "a", loopback)).rejects.toMatchObject({
      code: "alias_not_found",
      status: 404,
    });
  });

  test.each([
    ["leads to an alias", { pattern: "b", targets: ["*", "a"] }, "b → a"],
    ["an alias leads to", { pattern: "llama3", targets: ["*"] }, "a → llama3"],
    ["leads to itself", { pattern: "b", targets: ["b"] }, "b → b"],
  ])("that %s is refused, and the table stays as it was", async (_title, added, chain) => {
    const { context, room } = createOffice();
    await putAlias(context, room, { pattern: "a", targets: ["llama3"] }, loopback);
    await expect(putAlias(context, room, added, loopback)).rejects.toMatchObject({
      code: "alias_loop",
      status: 400,
      message: `An alias leads to models, not to aliases: ${chain}.`,
    });
    expect(listAliases(context, room)).toHaveLength(1);
  });

  test("beyond the room's limit is 409, while a known one can still be replaced", async () => {
    const { context, room } = createOffice({ limits: { aliasesPerRoom: 2 } });
    const put = (pattern: string) => putAlias(context, room, { pattern, targets: ["*"] }, loopback);
    await put("a");
    await put("b");
    await expect(put("c")).rejects.toMatchObject({ code: "alias_limit_reached", status: 409 });
    await put("b");
    expect(listAliases(context, room)).toHaveLength(2);
  });

  test("that makes a room's aliases longer than they may be is refused", async () => {
    const { context, room } = createOffice({ limits: { roomAliasBytes: 10 } });
    const put = (pattern: string, target: string) =>
      putAlias(context, room, { pattern, targets: [target] }, loopback);
    await put("a", "model:x");
    await put("b", "*");
    await expect(put("b", "éé")).rejects.toMatchObject({ code: "field_too_large" });
    expect(listAliases(context, room).map(({ targets }) => targets)).toEqual([["model:x"], ["*"]]);
  });
});

describe("a room that the cluster cannot keep", () => {
  test.each([
    ["since another hub changed it at the same time", () => Promise.resolve(false)],
    [
      "since the directory cannot be reached",
      () => Promise.reject(new HubError("cluster_unavailable", "It is away.")),
    ],
  ])("%s has its aliases as before", async (_why, keep) => {
    const { context, room } = createOffice();
    const put = (target: string) =>
      putAlias(context, room, { pattern: "a", targets: [target] }, loopback);
    const { alias } = await put("x");
    context.rooms.keep = keep;
    const refused = { code: "cluster_unavailable", status: 503 };
    await expect(put("y")).rejects.toMatchObject(refused);
    await expect(deleteAlias(context, room, "a", loopback)).rejects.toMatchObject(refused);
    const added = putAlias(context, room, { pattern: "b", targets: ["*"] }, loopback);
    await expect(added).rejects.toMatchObject(refused);
    expect(listAliases(context, room)).toEqual([alias]);
  });
});

describe("who may change the aliases of a room", () => {
  async function attempt(peer: Partial<Parameters<typeof peerAt>[1]> & { address?: string }) {
    const { context } = createOffice();
    const created = await createRoom(context, { name: "lab" }, peerAt(elsewhere));
    const other = await createRoom(context, { name: "other" }, peerAt(elsewhere));
    const tokens = { own: created.hostToken, other: other.hostToken };
    const { address = elsewhere, hostToken, ...fields } = peer;
    const sent = hostToken === undefined ? undefined : tokens[hostToken as "own" | "other"];
    const from = peerAt(address, { ...fields, hostToken: sent ?? hostToken });
    const alias = { pattern: "a", targets: ["*"] };
    return putAlias(context, created.room.code, alias, from).then(
      () => "allowed",
      (error: { code: string }) => error.code,
    );
  }

  test.each([
    ["its host token, from anywhere", { hostToken: "own" }, "allowed"],
    ["its host token behind a proxy", { hostToken: "own", nearAddress: undefined }, "allowed"],
    ["its host token in a web page", { hostToken: "own", hasOrigin: true }, "allowed"],
    ["the host token of another room", { hostToken: "other" }, "host_token_required"],
    ["a token that is none", { hostToken: "rhh_" }, "host_token_required"],
    ["nothing, from the network", {}, "host_token_required"],
    ["nothing, from the hub's own machine", { address: "127.0.0.1" }, "allowed"],
    [
      "nothing, from a page on the hub's own machine",
      { address: "127.0.0.1", hasOrigin: true },
      "host_token_required",
    ],
    [
      "nothing, behind a proxy on the hub's own machine",
      { address: "127.0.0.1", nearAddress: undefined },
      "host_token_required",
    ],
  ])("%s: %s", async (_title, peer, expected) => {
    expect(await attempt(peer)).toBe(expected);
  });

  test("a room of an older hub has no host token: only the hub's own machine may", async () => {
    const { context, room } = createOffice();
    const alias = { pattern: "a", targets: ["*"] };
    const guess = putAlias(context, room, alias, peerAt(elsewhere, { hostToken: "rhh_x" }));
    await expect(guess).rejects.toMatchObject({ code: "host_token_required", status: 403 });
    await putAlias(context, room, alias, loopback);
  });
});
