import type { ParticipantSummary, Room } from "@roomhub/protocol";
import type { ServerResponse } from "node:http";
import { html, type Html, pasteLine, sendPage } from "./html.ts";
import { carefulLines, joinLine, type PageFacts } from "./lines.ts";

/** `GET /rooms/:code` for people. @param participants - of a protected room undefined: the page does not show them */
export function sendRoomPage(
  response: ServerResponse,
  facts: PageFacts,
  room: Room,
  participants: readonly ParticipantSummary[] | undefined,
): void {
  const { code, name } = room;
  sendPage(
    response,
    200,
    `${name} · roomhub`,
    html`<main>
      <p class="quiet">Room ${code} of the hub at ${facts.origin}</p>
      <h1><bdi>${name}</bdi></h1>
      <h2>Share a model of this machine</h2>
      ${pasteLine(joinLine(facts, code))} ${needs(facts, room)}
      <h2>Base URL for any OpenAI client</h2>
      ${pasteLine(`${facts.origin}/rooms/${code}/v1`)}
      <p class="quiet">The API key may be anything.</p>
      <h2>Who is there</h2>
      ${participants === undefined ? html`<p class="quiet">The room has a password, so this page does not say.</p>` : whoIsThere(participants)}
      ${watchLink(facts, code)} ${careful(facts, code)}
      <p class="quiet">roomhub ${facts.version} · <a href="${facts.origin}/">all rooms</a></p>
    </main>`,
  );
}

function needs({ handout }: PageFacts, { passwordProtected }: Room): Html {
  const node = handout === undefined ? "roomhub" : "Node 22.21 or newer";
  const password = passwordProtected ? "; it prompts for the room's password" : "";
  return html`<p class="quiet">
    Needs ${node} and a model server, such as Ollama or llama.cpp${password}.
  </p>`;
}

function whoIsThere(participants: readonly ParticipantSummary[]): Html {
  const online = participants.filter(({ status }) => status !== "offline");
  if (online.length === 0) return html`<p class="quiet">No models yet.</p>`;
  return html`<ul>
      ${online.slice(0, maxShown).map(participantLine)}
    </ul>
    ${rest(online.length)}`;
}

const maxShown = 200;

function rest(count: number): Html {
  if (count <= maxShown) return html``;
  return html`<p class="quiet">and ${String(count - maxShown)} more</p>`;
}

function participantLine({ nickname, model, connection }: ParticipantSummary): Html {
  const state = connection.connected
    ? html`<span class="on">connected</span>`
    : html`<span class="quiet">not connected</span>`;
  return html`<li>
    <strong><bdi>${model}</bdi></strong> from <bdi>${nickname}</bdi> · ${state}
  </li>`;
}

function watchLink({ handout, origin }: PageFacts, code: string): Html {
  if (handout === undefined) return html``;
  const query = new URLSearchParams({ hub: origin, room: code }).toString();
  return html`<p><a href="${origin}/monitor/?${query}">Watch the room</a></p>`;
}

function careful(facts: PageFacts, code: string): Html {
  const { handout } = facts;
  if (handout === undefined) return html``;
  const expected =
    handout.sha512 === undefined
      ? html`<p class="quiet">Compare the SHA-512 with the one in the host's terminal.</p>`
      : html`<p class="quiet">
          Compare the SHA-512 with the one in the host's terminal; this page says
          <code>${handout.sha512}</code>
        </p>`;
  return html`<h2>For the careful</h2>
    <p>The first line runs a program that this hub hands out. To check it before it runs:</p>
    ${carefulLines(facts, code).map(pasteLine)} ${expected}`;
}
