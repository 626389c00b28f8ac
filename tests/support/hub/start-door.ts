import { systemWorld } from "@roomhub/protocol";
import OpenAI from "openai";
import {
  type DoorOptions,
  type DoorRequest,
  openDoor,
} from "../../../packages/cli/src/door/door.ts";

export const doorKey = "rhd_the-key-of-this-door";

/** A door to a room, on a free port of this machine. */
export async function startDoor(hubUrl: string, room: string, more: Partial<DoorOptions> = {}) {
  const requests: DoorRequest[] = [];
  const door = await openDoor({
    ...{
      port: 0,
      room: { hubUrl, room },
      pin: undefined,
      proxyUrl: undefined,
      hubKey: undefined,
      origins: [],
    },
    ...{
      key: doorKey,
      openedBy: "roomhub open",
      keyHint: `set the key and the base URL with: eval "$(roomhub env ${room})"`,
      world: systemWorld,
    },
    onRequest: (request) => requests.push(request),
    ...more,
  });
  const url = `http://127.0.0.1:${door.port}/v1`;
  return {
    ...{ ...door, url, requests },
    openai: new OpenAI({ baseURL: url, apiKey: doorKey, maxRetries: 0, timeout: 15_000 }),
    [Symbol.asyncDispose]: () => door.close(),
  };
}
