import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CertificatePair } from "@roomhub/hub";
import type { Target } from "../load/target.ts";
import type { BenchWorld } from "../processes/world.ts";
import { commandPath, freePort, portOpened } from "./peer.ts";

interface NginxWishes {
  /** a folder of its own */
  folder: string;
  /** it passes requests to this port as they come */
  uploadsTo?: number;
  /** TLS to its clients, as a hub with this certificate has it */
  tls?: CertificatePair;
}

/** @returns undefined when it is not installed */
export async function startNginx(
  world: BenchWorld,
  { folder: name, uploadsTo, tls }: NginxWishes = { folder: "" },
): Promise<Target | undefined> {
  const command = commandPath("nginx");
  if (command === undefined) return undefined;
  const [port, provider] = await Promise.all([freePort(), world.provider()]);
  const folder = world.path(name);
  await mkdir(folder, { recursive: true });
  const configPath = join(folder, "nginx.conf");
  await writeFile(join(folder, "certificate.pem"), tls?.cert ?? "");
  await writeFile(join(folder, "key.pem"), tls?.key ?? "");
  const providerPort = uploadsTo ?? provider.port;
  const wishes = { isBuffered: uploadsTo === undefined, isTls: tls !== undefined };
  await writeFile(configPath, nginxConfig(folder, port, providerPort, wishes));
  const child = world.children.command(
    [command, "-p", folder, "-c", configPath, "-e", join(folder, "nginx-error.log")],
    join(folder, "nginx.log"),
  );
  await portOpened(port, "nginx");
  return { ...provider.target, name: "nginx", port, pid: child.pid, isTls: tls !== undefined };
}

/** One worker, kept connections on both sides, no buffering of responses, no access log: nginx at its best. */
function nginxConfig(
  folder: string,
  port: number,
  providerPort: number,
  { isBuffered, isTls }: { isBuffered: boolean; isTls: boolean },
): string {
  const tls = `ssl_certificate ${folder}/certificate.pem;
    ssl_certificate_key ${folder}/key.pem;
    ssl_protocols TLSv1.2 TLSv1.3;`;
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
    listen 127.0.0.1:${port} backlog=4096${isTls ? " ssl" : ""};
    ${isTls ? tls : ""}
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
