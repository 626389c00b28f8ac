// A model server of a process of its own, where Ollama listens: `node --conditions=@roomhub/source tiny-model-server.ts`.
import { startFakeProvider } from "../providers/fake-provider.ts";

await startFakeProvider({ model: "tiny", port: 11_434 });
process.stdout.write("ready\n");
