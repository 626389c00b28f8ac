import { afterAll, beforeAll } from "vitest";
import { missingInPython, PythonProgram } from "../../support/programs/python.ts";
import { type CompatClient, lacking, type Operations, type Present } from "../client.ts";
import { describeClient } from "../describe-client.ts";

const sdks = (["openai", "anthropic"] as const).filter((sdk) => missingInPython(sdk) === undefined);
const running = new Map<string, PythonProgram>();
// Before the rooms: loading an SDK may take longer than a participant without heartbeats is online.
beforeAll(async () => {
  for (const sdk of sdks) {
    const program = new PythonProgram(new URL(`python-${sdk}.py`, import.meta.url));
    running.set(sdk, program);
    await program.call("user_says", { content: "" });
  }
}, 120_000);
afterAll(() => {
  for (const program of running.values()) program.close();
});

describeClient({
  name: "openai for Python, chat",
  speaks: "chat",
  missing: missingInPython("openai"),
  does: operations("openai", "chat"),
});

describeClient({
  name: "openai for Python, responses",
  speaks: "responses",
  missing: missingInPython("openai"),
  does: operations("openai", "responses"),
});

describeClient({
  name: "anthropic for Python",
  speaks: "messages",
  missing: missingInPython("anthropic"),
  does: {
    ...operations("anthropic", "messages"),
    askForJson: lacking("no model server serves JSON schemas on `/messages`"),
  },
});

function operations(
  sdk: "openai" | "anthropic",
  speaks: CompatClient["speaks"],
): Present<Operations> {
  function call<Result>(
    name: string,
    given: { baseUrl: string } & Record<string, unknown>,
    onTold?: (value: never) => unknown,
  ): Promise<Result> {
    const { baseUrl, ...more } = given;
    const program = running.get(sdk) as PythonProgram;
    return program.call(name, { base_url: baseUrl, ...more }, onTold);
  }

  return {
    listModels: ({ baseUrl }) => call("list_models", { baseUrl }),
    ask: ({ baseUrl, model }, prompt) => call(`ask_${speaks}`, { baseUrl, model, prompt }),
    stream({ baseUrl, model }, prompt, { onText, signal }) {
      return call(`stream_${speaks}`, { baseUrl, model, prompt }, (words: string) => {
        onText(words);
        return !signal.aborted;
      });
    },
    useTool({ baseUrl, model }, prompt, { run, ...tool }) {
      return call(`use_tool_${speaks}`, { baseUrl, model, prompt, tool }, run);
    },
    askForJson: ({ baseUrl, model }, prompt, schema) =>
      call(`ask_for_json_${speaks}`, { baseUrl, model, prompt, schema }),
    askAboutImage: ({ baseUrl, model }, prompt, image) =>
      call(`ask_about_image_${speaks}`, { baseUrl, model, prompt, image }),
    fail: ({ baseUrl }, model, prompt) => call(`fail_${speaks}`, { baseUrl, model, prompt }),
  };
}
