import type { Room, UnreachableHub } from "@roomhub/protocol";
import type { ServerResponse } from "node:http";
import { html, type Html, pasteLine, sendPage } from "./html.ts";
import { joinLine, type PageFacts } from "./lines.ts";

interface ShownRooms {
  /** those to show, the last used first */
  rooms: readonly Room[];
  /** of all */
  count: number;
  unreachable: readonly UnreachableHub[];
}

/** `GET /` for people. */
export function sendHubPage(
  response: ServerResponse,
  facts: PageFacts,
  { rooms, count, unreachable }: ShownRooms,
): void {
  const more =
    count > rooms.length
      ? html`<p class="quiet">and ${String(count - rooms.length)} more</p>`
      : html``;
  sendPage(
    response,
    200,
    "roomhub",
    html`<main>
      <p class="quiet">The hub at ${facts.origin}</p>
      <h1>Rooms</h1>
      ${rooms.length === 0 ? html`<p>No rooms yet. To create one: <code>roomhub room create "my room" --hub ${facts.origin}</code></p>` : rooms.map((room) => roomSection(facts, room))}
      ${more} ${unreachable.map(notCounted)}
      <p class="quiet">roomhub ${facts.version}</p>
    </main>`,
  );
}

function roomSection(facts: PageFacts, room: Room): Html {
  const { code, name } = room;
  return html`<section>
    <h2>
      <a href="${facts.origin}/rooms/${code}"><bdi>${name}</bdi></a>
      <span class="quiet">${code} · ${about(room)}</span>
    </h2>
    ${pasteLine(joinLine(facts, code))} ${pasteLine(`${facts.origin}/rooms/${code}/v1`)}
  </section>`;
}

function notCounted({ url }: UnreachableHub): Html {
  return html`<p class="quiet">
    The hub at ${url} does not respond: participants of its rooms are not counted.
  </p>`;
}

function about({ passwordProtected, participantCount }: Room): string {
  if (passwordProtected) return "has a password";
  return participantCount === 1 ? "1 participant" : `${participantCount} participants`;
}
