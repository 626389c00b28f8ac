import {
  curlLine,
  inviteUrl,
  joinLine,
  type ParticipantSummary,
  type Room,
  sdkLine,
  sealedUrl,
  type PastedHub,
  shellWord,
} from "@roomhub/protocol";
import type { ServerResponse } from "node:http";
import { html, type Html, pasteBox, pasteLine, sendPage } from "./html.ts";

/**
 * `GET /rooms/:code` for people: what a phone can do comes first, since the QR code leads here.
 *
 * @param participants - undefined for a protected room: the page does not show them
 */
export function sendRoomPage(
  response: ServerResponse,
  facts: PageFacts,
  room: Room,
  participants: readonly ParticipantSummary[] | undefined,
): void {
  const { code, name } = room;
  const { hub, origin } = facts;
  sendPage(
    response,
    200,
    `${name} · roomhub`,
    html`<main>
      <p class="quiet">Room ${code} of the hub at ${hub.hubUrl}</p>
      <h1><bdi>${name}</bdi></h1>
      ${hub.isHandedOut ? ways(origin, code) : html``}
      <h2>Base URL for any OpenAI client</h2>
      ${pasteLine(`${hub.hubUrl}/rooms/${code}/v1`)}
      <p class="quiet">Any API key will do; <code>as-yourname</code> shows the room who you are.</p>
      <h2>Who is there</h2>
      ${participants === undefined ? html`<p class="quiet">The room has a join password, so this page does not say.</p>` : whoIsThere(participants)}
      <h2>On a computer</h2>
      ${onAComputer(facts, room)}
      <p class="quiet">roomhub ${facts.version} · <a href="${origin}/">all rooms</a></p>
    </main>`,
  );
}

/** `GET /rooms/:code` of a closed room, for people: nothing but its code. */
export function sendClosedRoomPage(
  response: ServerResponse,
  { origin, version }: PageFacts,
  code: string,
): void {
  sendPage(
    response,
    200,
    `${code} · roomhub`,
    html`<main>
      <h1>Room ${code}</h1>
      <p>This room is closed. Ask its host for a key.</p>
      <p class="quiet">roomhub ${version} · <a href="${origin}/">all rooms</a></p>
    </main>`,
  );
}

/** What a browser can do without pasting a line. */
function ways(origin: string, code: string): Html {
  return html`<p class="ways">
    <a href="${monitorUrl(origin, code)}#try">Try it</a>
    <a href="${origin}/rooms/${code}/watch">Watch</a>
  </p>`;
}

function onAComputer(facts: PageFacts, room: Room): Html {
  const { hub } = facts;
  const roomUrl = `${hub.hubUrl}/rooms/${room.code}`;
  const body = '{"model":"*","stream":true,"messages":[{"role":"user","content":"Hello!"}]}';
  const sdk = sdkLine(hub);
  return html`${pasteBox("Share a model of this machine", joinLine(hub, room.code))}
  ${needs(facts, room)}
  ${pasteBox("Send a request", `curl -N ${roomUrl}/v1/chat/completions -d '${body}'`)}
  ${sdk === undefined ? html`` : pasteBox("Use rooms and their events in a program", sdk)}
  ${careful(facts, room.code)}`;
}

function needs({ hub }: PageFacts, { passwordProtected }: Room): Html {
  const node = hub.isHandedOut ? "Node 22.21 or newer" : "roomhub";
  const password = passwordProtected
    ? "; it prompts for the room's join password, which restricts who shares and not who uses the room"
    : "";
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

function careful(facts: PageFacts, code: string): Html {
  const { hub, sha512 } = facts;
  if (!hub.isHandedOut) return html``;
  const expected =
    sha512 === undefined
      ? html`<p class="quiet">Compare the SHA-512 with the one in the host's terminal.</p>`
      : html`<p class="quiet">
          Compare the SHA-512 with the one in the host's terminal; this page says
          <code>${sha512}</code>
        </p>`;
  return html`<h3>For the careful</h3>
    <p>The line that shares runs a program that this hub hands out. To check it before it runs:</p>
    ${carefulLines(facts, code).map(pasteLine)} ${expected}`;
}

/** What a page knows about the hub. */
export interface PageFacts {
  /** the hub's URL as the client knows it, without a slash at its end: where links lead */
  origin: string;
  /** the hub in lines to paste */
  hub: PastedHub;
  version: string;
  /** The operator alone creates rooms. */
  isForOperator: boolean;
  /** of the program, in hexadecimal; undefined until it was made */
  sha512: string | undefined;
}

/** The line that shares a model in three steps, for people who check a program before they run it. */
export function carefulLines({ hub, version }: PageFacts, code: string): string[] {
  const file = `roomhub-${version}.tgz`;
  return [
    `${curlLine(hub)} -fO ${shellWord(`${sealedUrl(hub)}/${file}`)}`,
    `sha512sum ${file}`,
    `npx -y ./${file} join ${shellWord(inviteUrl(hub, code))}`,
  ];
}

/** The page that watches a room, at the hub that hands it out. */
export function monitorUrl(origin: string, code: string): string {
  return `${origin}/monitor/?${new URLSearchParams({ hub: origin, room: code }).toString()}`;
}
