import { expect, test } from "vitest";
import { messagesOf, refusalOf } from "../translate.fixture.ts";

const text = { type: "input_text", text: "look" };
const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };

function user(...content: unknown[]) {
  return [{ type: "message", role: "user", content }];
}

test.each([
  ["a string", "look", "look"],
  ["one text part", [text], "look"],
  ["several text parts", [text, { type: "text", text: "here" }], "look\nhere"],
  ["no part", [], ""],
])("user content of %s is a plain string", (_, content, expected) => {
  expect(messagesOf([{ role: "user", content }])).toEqual([{ role: "user", content: expected }]);
});

test.each([
  ["an image", image, { type: "image_url", image_url: { url: image.image_url } }],
  [
    "an image with detail",
    { ...image, detail: "low", file_id: null },
    { type: "image_url", image_url: { url: image.image_url, detail: "low" } },
  ],
  [
    "an image by address",
    { type: "input_image", image_url: "https://example.test/a.png", detail: null },
    { type: "image_url", image_url: { url: "https://example.test/a.png" } },
  ],
  [
    "a file with its content",
    { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" },
    { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } },
  ],
  [
    "a file by id",
    { type: "input_file", file_id: "file-1" },
    { type: "file", file: { file_id: "file-1" } },
  ],
  [
    "audio",
    { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
    { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
  ],
])("%s makes the content a list of chat parts", (_, part, expected) => {
  expect(messagesOf(user(text, part))).toEqual([
    { role: "user", content: [{ type: "text", text: "look" }, expected] },
  ]);
});

test("what the assistant wrote and what it refused to write is text", () => {
  const content = [
    { type: "output_text", text: "No.", annotations: [] },
    { type: "refusal", refusal: "I may not." },
  ];
  expect(messagesOf([{ type: "message", role: "assistant", content }])).toEqual([
    { role: "assistant", content: "No.\nI may not." },
  ]);
});

test.each([
  ["an image by file id", { type: "input_image", file_id: "file-1" }, "file_id"],
  ["a file by address", { type: "input_file", file_url: "https://example.test/a" }, "file_url"],
  ["a video", { type: "input_video", video_url: "https://example.test/a" }, "type"],
  ["an unknown type", { type: "hologram" }, "type"],
])("%s is refused and named", (_, part, field) => {
  expect(refusalOf({ input: user(text, part) })).toEqual([
    "unsupported_value",
    `input[0].content[1].${field}`,
  ]);
});

test.each(["system", "developer", "assistant"])("an image of role %s is refused", (role) => {
  expect(refusalOf({ input: [{ role, content: [text, image] }] })).toEqual([
    "unsupported_value",
    "input[0].content[1].type",
  ]);
});

test.each([
  ["no content", undefined, "input[0].content"],
  ["a number", 5, "input[0].content"],
  ["a part that is a string", ["look"], "input[0].content[0]"],
  ["a part without type", [{ text: "look" }], "input[0].content[0].type"],
  ["text that is a number", [{ type: "input_text", text: 5 }], "input[0].content[0].text"],
  ["a refusal without words", [{ type: "refusal" }], "input[0].content[0].refusal"],
  ["an image of nothing", [{ type: "input_image" }], "input[0].content[0].image_url"],
  [
    "an image as chat writes it",
    [{ type: "input_image", image_url: { url: "data:" } }],
    "input[0].content[0].image_url",
  ],
  [
    "a detail that is a number",
    [{ type: "input_image", image_url: "data:", detail: 1 }],
    "input[0].content[0].detail",
  ],
  ["a file of nothing", [{ type: "input_file" }], "input[0].content[0].file_data"],
  ["audio of nothing", [{ type: "input_audio" }], "input[0].content[0].input_audio"],
  [
    "audio without format",
    [{ type: "input_audio", input_audio: { data: "AAAA" } }],
    "input[0].content[0].input_audio.format",
  ],
])("%s is an invalid type, and the field is named", (_, content, param) => {
  expect(refusalOf({ input: [{ role: "user", content }] })).toEqual(["invalid_type", param]);
});
