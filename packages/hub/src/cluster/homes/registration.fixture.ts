import { aParticipant } from "../../domain/room.fixture.ts";
import type { StoredRegistration } from "../../domain/stored-registration.ts";
import { storedRegistrationOf } from "../../domain/stored-registration.ts";

/** What the home of the room knows of a participant, as it is stored. */
export function aRegistration(
  roomCode: string,
  id: string,
  fields: Partial<StoredRegistration> = {},
): StoredRegistration {
  const facts = { hasAuthHeaders: false, computer: "0a0a", storedAt: 1_700_000_001_000 };
  const stored = storedRegistrationOf({ ...aParticipant({ id }), roomCode }, facts);
  return { ...stored, tokenDigest: Buffer.alloc(32, 7), ...fields };
}
