import OpenAI from "openai";

/** What clients send where any text is a key. */
export const clientsKey = "sk-the-clients-own";

/** The real SDK with nothing changed but the base URL; it repeats nothing, so that every failure is seen. */
export function openaiAt(baseURL: string): OpenAI {
  return new OpenAI({ baseURL, apiKey: clientsKey, maxRetries: 0, timeout: 15_000 });
}

export function userSays(content: string): { role: "user"; content: string }[] {
  return [{ role: "user", content }];
}
