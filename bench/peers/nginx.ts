import { writeFile } from "node:fs/promises";
import type { Target } from "../load/target.ts";
import type { BenchWorld } from "../processes/world.ts";
import { commandPath, freePort, portOpened } from "./peer.ts";

/** @returns undefined when it is not installed */
export async function startNginx(world: BenchWorld): Promise<Target | undefined> {
  const command = commandPath("nginx");
  if (command === undefined) return undefined;
  const [port, provider] = await Promise.all([freePort(), world.provider()]);
  const configPath = world.path("nginx.conf");
  await writeFile(configPath, nginxConfig(world.path(""), port, provider.port));
  const child = world.children.command(
    [command, "-p", world.path(""), "-c", configPath, "-e", world.path("nginx-error.log")],
    world.path("nginx.log"),
  );
  await portOpened(port, "nginx");
  return { ...provider.target, name: "nginx", port, pid: child.pid };
}

/** One worker, kept connections on both sides, no buffering of responses, no access log: nginx at its best. */
function nginxConfig(folder: string, port: number, providerPort: number): string {
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
  client_max_body_size 64m;
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
      proxy_read_timeout 300s;
    }
  }
}
`;
}
