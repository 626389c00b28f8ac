import { parseObject } from "@roomhub/protocol";
import type { IncomingMessage } from "node:http";
import type { HopHub } from "../../hop/dial.ts";
import { HubError } from "../../errors.ts";
import { isNear, type PeerOptions, type PeerReader } from "../peer.ts";

/**
 * What the home of a room cannot see of a client that reached another hub. It is believed on sockets of a proven hub
 * alone; what a client sends under the header's name is removed.
 */
export interface HopFacts {
  requestId: string;
  /** how long ago it came to the first hub */
  ageMs: number;
  /** of the home that the asking hub knows of */
  epoch: number;
  /** That home is dead, and this hub is to take the room. */
  mustTake: boolean;
  /** as the asking hub judged it */
  address: string | undefined;
  throttleKey: string;
  ownAddress: string | undefined;
  isOperator: boolean;
  /** `http://host:port` as the client knows the asking hub */
  origin: string;
}

/** Of requests that a hub makes itself. */
export function factsOfHub({ hubId }: HopHub): HopFacts {
  return {
    ...{ requestId: `hub_${hubId}`, epoch: 0, mustTake: false, ageMs: 0, throttleKey: hubId },
    ...{ address: undefined, ownAddress: undefined, origin: "", isOperator: false },
  };
}

/** ASCII, whatever its values are. */
export function encodeHopFacts(facts: HopFacts): string {
  return JSON.stringify(facts).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** @throws HubError `bad_request`: the other hub is of another version */
export function decodeHopFacts(header: string | string[] | undefined): HopFacts {
  const facts = parseObject(typeof header === "string" ? header : "") ?? {};
  const { requestId, ageMs, epoch, throttleKey, origin, address, ownAddress } = facts;
  const areTexts = [requestId, throttleKey, origin].every((text) => typeof text === "string");
  const areAddresses = [address, ownAddress].every(
    (text) => text === undefined || typeof text === "string",
  );
  const areNumbers = [ageMs, epoch].every((number) => Number.isSafeInteger(number));
  const areFlags = [facts["mustTake"], facts["isOperator"]].every(
    (flag) => typeof flag === "boolean",
  );
  if (areTexts && areAddresses && areNumbers && areFlags) return facts as unknown as HopFacts;
  throw new HubError("bad_request", "The request of another hub lacks what its client is.", {
    hint: "All hubs of a cluster run the same version.",
  });
}

/** For requests of other hubs. */
export interface PipedPeerOptions extends Pick<PeerOptions, "credentialsFrom"> {
  factsOf: (request: IncomingMessage) => HopFacts;
  /** A loopback address of this request is one of this computer; otherwise which hub it belongs to. */
  strangerOf: (request: IncomingMessage) => string | undefined;
}

/** Which client sent a request that another hub piped here. */
export function createPipedPeerReader(options: PipedPeerOptions): PeerReader {
  const { factsOf, strangerOf } = options;
  /** A loopback address of another computer is no address of this one: it is compared, and proves nothing else. */
  function placed(request: IncomingMessage, address: string | undefined): string | undefined {
    const stranger = strangerOf(request);
    return address === undefined || stranger === undefined || !address.startsWith("127.")
      ? address
      : `${address}@${stranger}`;
  }

  return {
    sourceOf(request) {
      const { throttleKey, ownAddress } = factsOf(request);
      return { throttleKey, ownAddress: placed(request, ownAddress) };
    },
    peerOf(request) {
      const { address, throttleKey, ownAddress, isOperator } = factsOf(request);
      const isOwnNear = ownAddress !== undefined && isNear(ownAddress);
      return {
        address: placed(request, address),
        throttleKey,
        nearAddress: isOwnNear ? placed(request, ownAddress) : undefined,
        hasOrigin: request.headers.origin !== undefined,
        ...options.credentialsFrom(request.headers),
        isOperator,
        holder: undefined,
        hasLeft: () => request.socket.destroyed,
      };
    },
    originOf: (request) => factsOf(request).origin,
  };
}
