import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { runCommand } from "./run-command.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

/** A certificate for `localhost` that signs itself, for as long as the stack lasts. */
export async function makeCertificate(
  stack: AsyncDisposableStack,
): Promise<{ certificateFile: string; keyFile: string }> {
  const { path } = stack.use(await temporaryFolder());
  const [certificateFile, keyFile] = [join(path, "certificate.pem"), join(path, "key.pem")];
  const { exitCode, stderr } = await runCommand("openssl", [
    ...["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=localhost"],
    ...["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
    ...["-addext", "subjectAltName=DNS:localhost"],
    ...["-keyout", keyFile, "-out", certificateFile],
  ]);
  if (exitCode !== 0) throw new Error(`openssl made no certificate: ${stderr}`);
  return { certificateFile, keyFile };
}
