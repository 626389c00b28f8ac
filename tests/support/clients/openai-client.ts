import OpenAI from "openai";

/** The real SDK with nothing changed but the base URL; it repeats nothing, so that every failure is seen. */
export function openaiAt(baseURL: string): OpenAI {
  return new OpenAI({ baseURL, apiKey: "sk-the-clients-own", maxRetries: 0, timeout: 15_000 });
}

export function userSays(content: string): { role: "user"; content: string }[] {
  return [{ role: "user", content }];
}
