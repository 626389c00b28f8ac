// Writes what the hub serves at /openapi.json: `npm run openapi`. A test says when that is due.
import { writeFileSync } from "node:fs";
import { buildDocument } from "./document.ts";

const file = new URL("../../packages/hub/openapi.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(buildDocument(), undefined, 2)}\n`);
