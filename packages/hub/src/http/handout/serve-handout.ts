import type { IncomingMessage, ServerResponse } from "node:http";
import type { RouteMatch } from "../router.ts";
import { queryOf } from "../router.ts";
import type { HandedOut } from "./handed-out.ts";

/** What is handed out at a path. @throws HubError `not_found`, `handout_unavailable` */
export async function serveHandout(
  request: IncomingMessage,
  response: ServerResponse,
  { route, params }: RouteMatch,
  handedOut: HandedOut | undefined,
): Promise<void> {
  if (handedOut === undefined) throw new Error("nothing is handed out");
  if (route.kind === "sdk") {
    await handedOut.serveSdk(request, response);
    return;
  }
  if (route.kind === "program") {
    await handedOut.serveProgram(request, response, params["version"]);
    return;
  }
  const [target = ""] = (request.url ?? "").split("?", 1);
  if (target.endsWith("/monitor")) {
    // The page's addresses are relative to its folder; this one too, since a proxy may serve the hub below a path.
    const query = queryOf(request.url ?? "").toString();
    const location = `monitor/${query === "" ? "" : `?${query}`}`;
    response.writeHead(302, { location, "cache-control": "no-store", "content-length": 0 }).end();
    return;
  }
  await handedOut.serveMonitor(request, response, `/${params["*"] ?? ""}`);
}
