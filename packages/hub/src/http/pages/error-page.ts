import type { ServerResponse } from "node:http";
import type { HubError } from "../../errors.ts";
import { retryHeaders } from "../error-response.ts";
import { discardRest } from "../unread-rest.ts";
import { html, sendPage } from "./html.ts";

/**
 * An error for people, with the same status and headers as in JSON, and a way on.
 *
 * @param origin - of the hub, where its rooms are listed
 */
export function sendErrorPage(
  response: ServerResponse,
  error: HubError,
  origin: string | undefined,
): void {
  const { req: request } = response;
  if (!request.complete) discardRest(request);
  // A command is no next step in a browser.
  const isForPeople = error.hint !== undefined && !/\broomhub [a-z]/.test(error.hint);
  const hint = isForPeople ? html`<p>${error.hint ?? ""}</p>` : html``;
  const rooms =
    origin === undefined ? html`` : html`<p><a href="${origin}/">All rooms of this hub</a></p>`;
  sendPage(
    response,
    error.status,
    "roomhub",
    html`<main>
      <p class="quiet">${String(error.status)} ${error.code}</p>
      <h1>${error.message}</h1>
      ${hint} ${rooms}
    </main>`,
    retryHeaders(error),
  );
}
