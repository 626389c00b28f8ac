import { joinLine, programLine, type Room, type UnreachableHub } from "@roomhub/protocol";
import type { ServerResponse } from "node:http";
import { html, type Html, pasteBox, pasteLine, sendPage } from "./html.ts";
import type { PageFacts } from "./room-page.ts";

interface ShownRooms {
  /** the rooms to show, the last used first */
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
      <p class="quiet">The hub at ${facts.hub.hubUrl}</p>
      <h1>Rooms</h1>
      <p>
        In a room, people share the language models of their machines: any OpenAI client that has
        the room’s base URL can use all of them.
      </p>
      ${rooms.length === 0 ? noRooms(facts) : rooms.map((room) => roomSection(facts, room))} ${more}
      ${unreachable.map(notCounted)}
      <p class="quiet">roomhub ${facts.version}</p>
    </main>`,
  );
}

function noRooms({ hub, isForOperator }: PageFacts): Html {
  const proof = isForOperator ? " --operator-file PATH" : "";
  const line = `${programLine(hub)} room create "my room" --hub ${hub.hubUrl}${proof}`;
  const who = isForOperator ? "The operator of this hub creates one" : "To create one";
  return html`<p>No rooms yet. ${who}, on a computer:</p>
    ${pasteLine(line)}`;
}

function roomSection({ hub, origin }: PageFacts, room: Room): Html {
  const { code, name } = room;
  const watch = hub.isHandedOut
    ? html` ·
        <a href="${origin}/rooms/${code}/watch" aria-label="Watch ${name}">Watch</a>`
    : html``;
  return html`<section>
    <h2>
      <a href="${origin}/rooms/${code}"><bdi>${name}</bdi></a>
      <span class="quiet">${code} · ${about(room)}${watch}</span>
    </h2>
    ${pasteBox("Base URL", `${hub.hubUrl}/rooms/${code}/v1`)}
    ${pasteBox("Share a model of your computer", joinLine(hub, code))}
  </section>`;
}

function notCounted({ url }: UnreachableHub): Html {
  return html`<p class="quiet">
    The hub at ${url} does not respond: participants of its rooms are not counted.
  </p>`;
}

function about({ passwordProtected, participantCount }: Room): string {
  if (passwordProtected) return "has a join password";
  return participantCount === 1 ? "1 participant" : `${participantCount} participants`;
}
