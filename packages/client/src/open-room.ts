import type { CallOptions } from "./call-options.ts";
import { RoomhubClient, type RoomhubClientOptions } from "./client.ts";
import { parseInvite } from "./hub-url.ts";
import type { RoomClient } from "./room-client.ts";

export interface OpenRoomOptions extends Partial<RoomhubClientOptions>, CallOptions {}

/**
 * Opens a room by its invitation: a room code or a URL like `http://192.168.1.5:5050/rooms/ABC234`, with or without `/v1`.
 *
 * @param options - `hubUrl` is the hub for a bare room code; default `http://127.0.0.1:5050`
 * @throws InvalidHubUrlError, RoomhubError (`room_not_found`), HubUnreachableError
 */
export function openRoom(
  invite: string,
  { signal, ...options }: OpenRoomOptions = {},
): Promise<RoomClient> {
  const { hubUrl, room } = parseInvite(invite, options.hubUrl ?? "http://127.0.0.1:5050");
  return new RoomhubClient({ ...options, hubUrl }).room(room, { signal });
}
