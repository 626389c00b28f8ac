import { systemWorld, type World } from "@roomhub/protocol";
import type { RequesterSession } from "@roomhub/tunnel";
import type { FakeHub } from "./fake-hub.fixture.ts";
import type { ParticipantNotice } from "./notice.ts";
import type { ParticipantOptions } from "./options.ts";
import { createParticipant, type Participant } from "./participant.ts";

/** Of the world, what is not given is the system's. */
export type TestOptions = Partial<Omit<ParticipantOptions, "world">> & { world?: Partial<World> };

export interface TestParticipant extends AsyncDisposable {
  participant: Participant;
  notices: ParticipantNotice[];
  kinds(): string[];
}

/** A participant in a hurry: no backoff, short waits, no proxy. */
export function createTestParticipant(
  hub: Pick<FakeHub, "url">,
  endpoint: string,
  over: TestOptions = {},
): TestParticipant {
  const notices: ParticipantNotice[] = [];
  const participant = createParticipant({
    hubUrl: hub.url,
    room: "abc234",
    id: "ana",
    nickname: "Ana",
    model: "llama3",
    endpoint,
    onNotice: (notice) => notices.push(notice),
    env: {},
    ...over,
    world: { ...systemWorld, random: () => 0, ...over.world },
    timing: { tickMs: 10, drainMs: 500, leaveMs: 500, ...over.timing },
  });
  return {
    participant,
    notices,
    kinds: () => notices.map((notice) => notice.kind),
    [Symbol.asyncDispose]: () => participant.close({ drainMs: 0 }),
  };
}

/** Resolves when both ends have said HELLO. */
export async function startWith(hub: FakeHub, started: TestParticipant): Promise<RequesterSession> {
  const opened = hub.nextSession();
  await started.participant.start();
  return opened;
}
