import { fileURLToPath } from "node:url";
import { build, type Rolldown } from "vite";
import { expect, test } from "vitest";

const entry = "virtual:page";

/** What a web page with only this import would load, with every export of the SDK available. */
async function bundle(code: string): Promise<Rolldown.OutputChunk> {
  const built = (await build({
    root: fileURLToPath(new URL("../..", import.meta.url)),
    configFile: false,
    logLevel: "silent",
    resolve: { conditions: ["@roomhub/source"] },
    build: { write: false, minify: false, rolldownOptions: { input: entry, external: [] } },
    plugins: [
      {
        name: "page",
        resolveId: (id) => (id === entry ? id : undefined),
        load: (id) => (id === entry ? code : undefined),
      },
    ],
  })) as Rolldown.RolldownOutput;
  return built.output[0];
}

function modulesOf(chunk: Rolldown.OutputChunk): string[] {
  return Object.entries(chunk.modules)
    .filter(([, { renderedLength }]) => renderedLength > 0)
    .map(([path]) => path.replace(/^.*\/(packages|node_modules)\//, "$1/"))
    .filter((path) => !path.includes("virtual:") && !path.includes("\0"));
}

test("a page that takes one helper loads that helper and nothing else", async () => {
  const chunk = await bundle(`
    import { openAIOptions } from "@roomhub/client";
    console.log(openAIOptions({ baseURL: location.href }));
  `);
  expect(modulesOf(chunk)).toEqual(["packages/client/src/sdk-options.ts"]);
  expect(chunk.code).not.toMatch(/event-stream|getReader|class /);
});

test("a page that takes the whole client loads no schemas and nothing of Node", async () => {
  const chunk = await bundle(`
    import { openRoom } from "@roomhub/client";
    globalThis.opening = openRoom("http://127.0.0.1:1/rooms/ABC234");
  `);
  expect(modulesOf(chunk)).toContain("packages/client/src/event-stream.ts");
  expect(modulesOf(chunk).filter((path) => path.includes("zod"))).toEqual([]);
  expect(chunk.imports).toEqual([]);
  expect(chunk.code).not.toMatch(/from "node:|require\(|\bprocess\.|\bBuffer\b/);
});

test("a page that keeps a room's state loads no schemas and nothing of Node", async () => {
  const chunk = await bundle(`
    import { followRoom, roomFigures } from "@roomhub/room-state";
    globalThis.kept = [followRoom, roomFigures];
  `);
  expect(modulesOf(chunk)).toContain("packages/room-state/src/reduce.ts");
  expect(modulesOf(chunk).filter((path) => path.includes("zod"))).toEqual([]);
  expect(chunk.imports).toEqual([]);
  expect(chunk.code).not.toMatch(/from "node:|require\(|\bprocess\.|\bBuffer\b/);
});
