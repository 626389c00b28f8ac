import { expect, test } from "vitest";
import {
  aiSDKOptions,
  anthropicOptions,
  openAIOptions,
  openResponsesOptions,
} from "./sdk-options.ts";

const room = { baseURL: "http://127.0.0.1:5050/rooms/ABC234/v1" };

test("each SDK gets the room in its own options", () => {
  expect(openAIOptions(room)).toEqual({ baseURL: room.baseURL, apiKey: "roomhub" });
  expect(anthropicOptions(room)).toEqual({
    baseURL: "http://127.0.0.1:5050/rooms/ABC234",
    apiKey: "roomhub",
  });
  expect(aiSDKOptions(room)).toEqual({
    name: "roomhub",
    baseURL: room.baseURL,
    apiKey: "roomhub",
  });
  expect(openResponsesOptions(room)).toEqual({
    name: "roomhub",
    url: "http://127.0.0.1:5050/rooms/ABC234/v1/responses",
    apiKey: "roomhub",
  });
});

test("only the last segment of the base URL is removed for Anthropic's SDK", () => {
  const baseURL = "https://example.org/v1/rooms/ABC234/v1/";
  expect(anthropicOptions({ baseURL }).baseURL).toBe("https://example.org/v1/rooms/ABC234");
});
