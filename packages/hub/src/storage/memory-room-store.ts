import type { RoomStore, StoredRoom } from "./room-store.ts";

/** Keeps rooms as long as the object lives: for ephemeral hubs, and for hubs restarted inside one test. */
export function memoryRoomStore(): RoomStore {
  let kept: StoredRoom[] = [];
  let isClosed = false;
  return {
    async load() {
      isClosed = false;
      return structuredClone(kept);
    },
    async save(rooms) {
      if (!isClosed) kept = structuredClone([...rooms]);
    },
    async close() {
      isClosed = true;
    },
  };
}
