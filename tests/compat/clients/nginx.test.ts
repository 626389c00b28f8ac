import OpenAI from "openai";
import { freePort, hasNginx, startNginx as runNginx } from "../../support/nginx.ts";
import { until } from "../../support/waiting.ts";
import { ANY_KEY, type Target } from "../client.ts";
import { describeClient } from "../describe-client.ts";
import { startCompatWorld } from "../setups.ts";
import { chatOperations, responsesOperations } from "./openai-operations.ts";

const missing = hasNginx ? undefined : "nginx is not installed here";

function connect({ baseUrl, fetch }: Target): OpenAI {
  return new OpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, fetch });
}

describeClient(
  { name: "openai, chat, through nginx", speaks: "chat", missing, does: chatOperations(connect) },
  () => startCompatWorld(startNginx),
);

describeClient(
  {
    name: "openai, responses, through nginx",
    speaks: "responses",
    missing,
    does: responsesOperations(connect),
  },
  () => startCompatWorld(startNginx),
);

/** One `proxy_pass` and nothing else: HTTP/1.0 towards the hub, buffering on, 60 s of patience. */
async function startNginx(hubUrl: string, stack: AsyncDisposableStack): Promise<string> {
  const port = await freePort();
  const server = `server { listen 127.0.0.1:${port}; location / { proxy_pass ${hubUrl}; } }`;
  await runNginx(server, stack);
  const url = `http://127.0.0.1:${port}`;
  const ask = () =>
    fetch(`${url}/health`)
      .then(({ ok }) => ok)
      .catch(() => false);
  await until("nginx to answer", ask, (ok) => ok);
  return url;
}
