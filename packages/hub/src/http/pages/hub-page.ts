import type { Room } from "@roomhub/protocol";
import type { ServerResponse } from "node:http";
import { html, type Html, pasteLine, sendPage } from "./html.ts";
import { joinLine, type PageFacts } from "./lines.ts";

/** `GET /` for people. @param rooms - those to show, the last used first @param roomCount - of all */
export function sendHubPage(
  response: ServerResponse,
  facts: PageFacts,
  rooms: readonly Room[],
  roomCount: number,
): void {
  const more =
    roomCount > rooms.length
      ? html`<p class="quiet">and ${String(roomCount - rooms.length)} more</p>`
      : html``;
  sendPage(
    response,
    200,
    "roomhub",
    html`<main>
      <p class="quiet">The hub at ${facts.origin}</p>
      <h1>Rooms</h1>
      ${rooms.length === 0 ? html`<p>No rooms yet. To create one: <code>roomhub room create "my room" --hub ${facts.origin}</code></p>` : rooms.map((room) => roomSection(facts, room))}
      ${more}
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

function about({ passwordProtected, participantCount }: Room): string {
  if (passwordProtected) return "has a password";
  return participantCount === 1 ? "1 participant" : `${participantCount} participants`;
}
