import { type MemoryTransport, memoryTransportPair } from "@roomhub/tunnel";
import { createHash } from "node:crypto";
import { type LinkHandlers, Links } from "./links.ts";
import type { Dial, LinkSettings } from "./link-settings.ts";

const secret = Buffer.alloc(32, "s");

export interface TestHub {
  links: Links;
  hubId: string;
  /** what came over its links, in order */
  heard: string[];
  handlers: LinkHandlers;
  /** This hub's end of each connection that it dialled, the last one last. */
  dialled: MemoryTransport[];
  target: { hubId: string; bootId: string; linkUrl: string };
}

/** Hubs whose links are in memory. Their names are one letter; `ws://b` leads to the hub `b`. */
export function createLinkedHubs() {
  const hubs = new Map<string, TestHub>();
  let seed = 0;

  function add(name: string, settings: Partial<LinkSettings> = {}): TestHub {
    const hubId = name.repeat(16);
    const heard: string[] = [];
    const dialled: MemoryTransport[] = [];
    const dial: Dial = (linkUrl, end) => {
      const [own, theirs] = memoryTransportPair();
      dialled.push(own);
      setImmediate(() => {
        const other = hubs.get(new URL(linkUrl).hostname);
        if (other === undefined) return end.failed("connection refused");
        end.opened(own);
        other.links.acceptTransport(theirs);
      });
      return { abandon: () => own.terminate() };
    };
    const handlers: LinkHandlers = {
      linkOpened: ({ hubId }) => void heard.push(`opened ${hubId[0]}`),
      linkClosed: ({ hubId }, reason) => void heard.push(`closed ${hubId[0]}: ${reason}`),
      acceptedClosed() {},
      forwarded: (_request, reply) => {
        reply.fail("internal_error", "nothing is served here");
        return { onBody: () => true, onBodyEnd() {}, onCancel() {}, onDrain() {} };
      },
      refused: ({ participantId }, { reason }) =>
        void heard.push(`refused ${participantId}: ${reason}`),
      asked: (hub, path, body) =>
        Promise.resolve({ status: 200, body: { from: hub.hubId[0], path, body } }),
      noticed: (hub, notice) => void heard.push(`${hub.hubId[0]} ${JSON.stringify(notice)}`),
      bug: (error) => void heard.push(`bug ${String(error)}`),
    };
    const own = { hubId, bootId: "0000000a", version: "1.0.0" };
    const randomBytes = () => createHash("sha256").update(String(seed++)).digest();
    const links = new Links(
      { own, secret, random: () => 0, randomBytes, ...settings },
      dial,
      handlers,
    );
    const target = { hubId, bootId: own.bootId, linkUrl: `ws://${name}` };
    const hub: TestHub = { links, hubId, heard, handlers, dialled, target };
    hubs.set(name, hub);
    return hub;
  }

  return {
    add,
    /** It cannot be dialled any more. */
    remove: (name: string) => void hubs.delete(name),
    closeAll() {
      for (const { links } of hubs.values()) links.close("the test is over");
    },
  };
}

/** Long enough for a handshake and a question in memory. */
export async function delivered(turns = 40): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
