import OpenAI from "openai";
import { hasNginx, startNginxProxy } from "../../support/programs/nginx.ts";
import { ANY_KEY, type Target } from "../client.ts";
import { describeClient } from "../describe-client.ts";
import { atHub, startCompatWorld } from "../setups.ts";
import { chatOperations, responsesOperations } from "./openai-operations.ts";

const missing = hasNginx ? undefined : "nginx is not installed here";

function connect({ baseUrl, fetch }: Target): OpenAI {
  return new OpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, fetch });
}

/** One `proxy_pass` and nothing else: HTTP/1.0 towards the hub, buffering on, a timeout of 60 s. */
function startWorld() {
  return startCompatWorld(async (hubUrl, stack) => atHub(await startNginxProxy(hubUrl, stack)));
}

describeClient(
  { name: "openai, chat, through nginx", speaks: "chat", missing, does: chatOperations(connect) },
  startWorld,
);

describeClient(
  {
    name: "openai, responses, through nginx",
    speaks: "responses",
    missing,
    does: responsesOperations(connect),
  },
  startWorld,
);
