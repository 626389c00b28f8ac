import type { DetailEvent, HubEvent } from "@roomhub/protocol";

/** An event of a stream opened with `?detail=1`. Contract §5. */
export type RoomEvent = HubEvent | DetailEvent;
