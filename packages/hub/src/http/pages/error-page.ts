import type { ServerResponse } from "node:http";
import type { HubError } from "../../errors.ts";
import { retryHeaders } from "../error-response.ts";
import { discardRest } from "../unread-rest.ts";
import { html, sendPage } from "./html.ts";

/** An error for people, with the same status and headers as in JSON. */
export function sendErrorPage(response: ServerResponse, error: HubError): void {
  const { req: request } = response;
  if (!request.complete) discardRest(request);
  const hint = error.hint === undefined ? html`` : html`<p>${error.hint}</p>`;
  sendPage(
    response,
    error.status,
    "roomhub",
    html`<main>
      <p class="quiet">${String(error.status)} ${error.code}</p>
      <h1>${error.message}</h1>
      ${hint}
    </main>`,
    retryHeaders(error),
  );
}
