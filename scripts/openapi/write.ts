// Writes what the hub serves at /openapi.json: `npm run openapi`. A test fails when it is out of date.
import { writeFileSync } from "node:fs";
import { buildDocument } from "./document.ts";

const file = new URL("../../packages/hub/openapi.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(buildDocument(), undefined, 2)}\n`);
