import OpenAI from "openai";
import { ANY_KEY, type Operations, type Present, type Target } from "../client.ts";
import { chatOperations, responsesOperations } from "./openai-operations.ts";

export type Surface = "chat" | "responses";

/** One operation of the client, called from outside; what cannot be sent into a page is made here. */
export interface PageCall {
  surface: Surface;
  name: keyof Operations;
  target: Omit<Target, "fetch">;
  /** `listener` and `run` stand for functions that call the test back */
  args: readonly unknown[];
}

declare global {
  interface Window {
    operate: (call: PageCall) => Promise<unknown>;
    /** Passes a piece of a stream to the test. @returns whether to abort the stream */
    tellText: (text: string) => Promise<boolean>;
    /** Has the test run a tool. */
    runTool: (input: unknown) => Promise<string>;
  }
}

const surfaces: Record<Surface, Present<Operations>> = {
  chat: chatOperations(connect),
  responses: responsesOperations(connect),
};

window.operate = ({ surface, name, target, args }) => {
  const operation = surfaces[surface][name] as (...args: unknown[]) => Promise<unknown>;
  return operation({ ...target, fetch }, ...args.map(reviveFunctions));
};

function connect({ baseUrl }: Target): OpenAI {
  return new OpenAI({ baseURL: baseUrl, apiKey: ANY_KEY, dangerouslyAllowBrowser: true });
}

function reviveFunctions(arg: unknown): unknown {
  if (arg === "listener") {
    const leaving = new AbortController();
    const onText = async (text: string) => {
      if (await window.tellText(text)) leaving.abort();
    };
    return { onText, signal: leaving.signal };
  }
  const isTool = typeof arg === "object" && arg !== null && "parameters" in arg;
  return isTool ? { ...arg, run: (input: unknown) => window.runTool(input) } : arg;
}
