import { spawn, spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import OpenAI from "openai";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/waiting.ts";
import { ANY_KEY, type Target } from "../client.ts";
import { describeClient } from "../describe-client.ts";
import { startCompatWorld } from "../setups.ts";
import { chatOperations, responsesOperations } from "./openai-operations.ts";

const missing = spawnSync("nginx", ["-v"]).status === 0 ? undefined : "nginx is not installed here";

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
  const { path } = stack.use(await temporaryFolder());
  const port = await freePort();
  await writeFile(join(path, "nginx.conf"), configuration(path, port, hubUrl));
  const nginx = spawn("nginx", ["-p", path, "-c", "nginx.conf", "-e", "stderr"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = new Promise((resolve) => nginx.once("close", resolve));
  stack.defer(async () => {
    nginx.kill("SIGTERM");
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  const ask = () =>
    fetch(`${url}/health`)
      .then(({ ok }) => ok)
      .catch(() => false);
  await until("nginx to answer", ask, (ok) => ok);
  return url;
}

function configuration(path: string, port: number, hubUrl: string): string {
  const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return `
    daemon off;
    worker_processes 1;
    pid ${path}/nginx.pid;
    events {}
    http {
      access_log off;
      ${folders.map((name) => `${name}_temp_path ${path}/${name};`).join("\n")}
      server {
        listen 127.0.0.1:${port};
        location / { proxy_pass ${hubUrl}; }
      }
    }
  `;
}

/** nginx takes no port 0. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
