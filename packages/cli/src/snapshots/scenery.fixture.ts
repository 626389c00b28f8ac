import { errorFromResponse } from "@roomhub/client";
import type { CliContext } from "../context.ts";

/** A machine on which Ollama runs with these models, and no other model server. */
export function ollamaWith(...models: string[]): CliContext["fetch"] {
  return async (url) => {
    if (!url.startsWith("http://127.0.0.1:11434/")) throw new TypeError("fetch failed");
    return Response.json({ data: models.map((id) => ({ id })) });
  };
}

/** A method of the client that the hub refuses, with the hub's own words. */
export function refusing(status: number, error: object): () => Promise<never> {
  return () =>
    Promise.reject(errorFromResponse(new Response(null, { status }), JSON.stringify({ error })));
}

export const noSuchRoom = refusing(404, {
  code: "room_not_found",
  message: "There is no room ABC243 on this hub.",
  hint: "Did you mean ABC234? roomhub room list",
});
