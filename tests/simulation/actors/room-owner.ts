import type { PlannedChange } from "../plan.ts";

/** A change that a hub confirmed. */
export interface Acknowledged {
  planned: PlannedChange;
  /** of the room that was made, or that has the alias */
  roomCode: string;
  sentMs: number;
  acknowledgedMs: number;
}

/** The room whose host makes the changes. */
export interface OwnedRoom {
  code: string;
  hostToken: string;
}

/** Makes a room, to be called on its machine. @returns undefined when the hub did not confirm it */
export async function createRoom(hubUrl: string, name: string): Promise<OwnedRoom | undefined> {
  const response = await post(`${hubUrl}/rooms`, { name });
  if (response?.status !== 201) return undefined;
  const { room, hostToken } = (await response.json()) as {
    room: { code: string };
    hostToken: string;
  };
  return { code: room.code, hostToken };
}

/** Makes what is planned. @returns undefined when the hub did not confirm it */
export async function makeChange(
  planned: PlannedChange,
  hubUrl: string,
  { code, hostToken }: OwnedRoom,
  nowMs: () => number,
): Promise<Acknowledged | undefined> {
  const sentMs = nowMs();
  const made = async (roomCode: string) => ({
    ...{ planned, roomCode, sentMs, acknowledgedMs: nowMs() },
  });
  if (planned.kind === "room") {
    const room = await createRoom(hubUrl, planned.name);
    return room && made(room.code);
  }
  const alias = { pattern: planned.name, targets: ["*"] };
  const response = await post(`${hubUrl}/rooms/${code}/aliases`, alias, hostToken);
  return response?.ok === true ? made(code) : undefined;
}

/** What a hub has of it now: undefined when it does not respond. */
export async function isThere(
  { planned, roomCode }: Acknowledged,
  hubUrl: string,
): Promise<boolean | undefined> {
  const response = await fetch(`${hubUrl}/rooms/${roomCode}/aliases`).catch(() => undefined);
  if (response === undefined) return undefined;
  if (!response.ok || planned.kind === "room") return response.ok;
  const { aliases } = (await response.json()) as { aliases: { pattern: string }[] };
  return aliases.some(({ pattern }) => pattern === planned.name);
}

/** @returns undefined when there is no response */
async function post(url: string, body: object, hostToken?: string): Promise<Response | undefined> {
  const headers = {
    "content-type": "application/json",
    ...(hostToken === undefined ? {} : { "x-host-token": hostToken }),
  };
  // What a hub did not confirm is not expected to be there.
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) }).catch(() => undefined);
}
