import { RequesterSession } from "@roomhub/tunnel";
import { memoryTransportPair } from "../../../../tunnel/src/transport/memory-transport.fixture.ts";

/** The hub's end of a tunnel whose other end does nothing. */
export function aRequesterSession(onClose: (code: number) => void = () => {}): RequesterSession {
  return new RequesterSession(memoryTransportPair()[0], {
    responseWindowBytes: 1_000,
    maxStreams: 8,
    pingIntervalMs: undefined,
    handlers: {
      onHello() {},
      onStatus() {},
      onLife() {},
      onGoAway() {},
      onClose,
      onError(error) {
        throw error;
      },
    },
  });
}
