import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Target } from "../load/target.ts";
import type { BenchWorld } from "../processes/world.ts";
import { commandPath, freePort, portOpened } from "./peer.ts";

/**
 * @param uploads - it passes requests to this port as they come, in a folder of its own
 * @returns undefined when it is not installed
 */
export async function startNginx(
  world: BenchWorld,
  uploads?: { folder: string; port: number },
): Promise<Target | undefined> {
  const command = commandPath("nginx");
  if (command === undefined) return undefined;
  const [port, provider] = await Promise.all([freePort(), world.provider()]);
  const folder = world.path(uploads?.folder ?? "");
  await mkdir(folder, { recursive: true });
  const configPath = join(folder, "nginx.conf");
  const isBuffered = uploads === undefined;
  await writeFile(
    configPath,
    nginxConfig(folder, port, uploads?.port ?? provider.port, isBuffered),
  );
  const child = world.children.command(
    [command, "-p", folder, "-c", configPath, "-e", join(folder, "nginx-error.log")],
    join(folder, "nginx.log"),
  );
  await portOpened(port, "nginx");
  return { ...provider.target, name: "nginx", port, pid: child.pid };
}

/** One worker, kept connections on both sides, no buffering of responses, no access log: nginx at its best. */
function nginxConfig(
  folder: string,
  port: number,
  providerPort: number,
  isBuffered: boolean,
): string {
  return `daemon off;
master_process off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid ${folder}/nginx.pid;
error_log ${folder}/nginx-error.log;
events { worker_connections 16384; }
http {
  access_log off;
  client_body_temp_path ${folder}/nginx-body;
  proxy_temp_path ${folder}/nginx-proxy;
  fastcgi_temp_path ${folder}/nginx-fastcgi;
  uwsgi_temp_path ${folder}/nginx-uwsgi;
  scgi_temp_path ${folder}/nginx-scgi;
  client_max_body_size 128m;
  client_body_buffer_size 1m;
  keepalive_requests 100000000;
  tcp_nodelay on;
  upstream provider {
    server 127.0.0.1:${providerPort};
    keepalive 1024;
    keepalive_requests 100000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_request_buffering ${isBuffered ? "on" : "off"};
      proxy_read_timeout 300s;
    }
  }
}
`;
}
