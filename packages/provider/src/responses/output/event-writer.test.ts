import { expect, test } from "vitest";
import { EventWriter } from "./event-writer.ts";

test("events are numbered, one line of data each, and are taken once", () => {
  const writer = new EventWriter();
  expect(writer.take()).toBe("");
  writer.write("response.created", { response: "a\nb\u2028" });
  writer.write("error", {});
  expect(writer.take()).toBe(
    'event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":"a\\nb\u2028"}\n\n' +
      'event: error\ndata: {"type":"error","sequence_number":1}\n\n',
  );
  writer.writeDone();
  expect(writer.take()).toBe("data: [DONE]\n\n");
});

test("fields are read at once", () => {
  const writer = new EventWriter();
  const fields = { part: { text: "before" } };
  writer.write("response.content_part.added", fields);
  fields.part.text = "after";
  expect(writer.take()).toContain('"before"');
});
