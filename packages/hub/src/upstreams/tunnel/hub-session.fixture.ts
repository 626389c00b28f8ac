import { HubSession } from "@roomhub/tunnel";
import { memoryTransportPair } from "../../../../tunnel/src/transport/memory-transport.fixture.ts";

/** The hub's end of a tunnel whose other end does nothing. */
export function aHubSession(onClose: (code: number) => void = () => {}): HubSession {
  return new HubSession(memoryTransportPair()[0], {
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
