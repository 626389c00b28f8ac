import { startEmbeddedNats } from "../../../packages/cli/src/cluster/embedded-nats.ts";
import { findNatsServer } from "../../../packages/cli/src/cluster/nats-binary.ts";

/** Runs an embedded nats-server until it is killed: for the test that the server ends with it. */
const [, , folder = ""] = process.argv;
const binary = await findNatsServer(process.env["PATH"]);
await startEmbeddedNats({ binary, folder, onWarning: () => {} });
process.stdout.write("ready\n");
