import { expect, test } from "vitest";
import type { CallPiece } from "./chat-choice.ts";
import { ToolCalls } from "./tool-calls.ts";

/** The calls that come of these pieces, as `id name arguments`. */
function calls(pieces: Partial<CallPiece>[]): string[] {
  const opened: { head: string; text: string }[] = [];
  const toolCalls = new ToolCalls((id, name) => {
    const call = { head: `${id} ${name}`, text: "" };
    opened.push(call);
    return { add: (piece) => void (call.text += piece) };
  });
  for (const piece of pieces) {
    toolCalls.add({ index: undefined, id: "", name: "", arguments: "", ...piece });
  }
  toolCalls.end();
  return opened.map(({ head, text }) => `${head} ${text}`);
}

test("pieces are brought together by index, in any order", () => {
  expect(
    calls([
      { index: 0, id: "a", name: "f", arguments: "1" },
      { index: 1, id: "b", name: "g", arguments: "2" },
      { index: 0, arguments: "3" },
      { index: 1, arguments: "4" },
    ]),
  ).toEqual(["a f 13", "b g 24"]);
});

test("without an index, an id that is new begins a call and pieces without one go on with the last", () => {
  expect(
    calls([
      { id: "a", name: "f", arguments: "1" },
      { arguments: "2" },
      { id: "b", name: "f", arguments: "3" },
      { id: "a", arguments: "4" },
      { arguments: "5" },
    ]),
  ).toEqual(["a f 124", "b f 35"]);
});

test("without index and id, each name is a call", () => {
  expect(
    calls([
      { name: "f", arguments: "1" },
      { name: "f", arguments: "2" },
    ]),
  ).toEqual([" f 1", " f 2"]);
});

const bonn = '{"city":"Bonn"}';
const rome = '{"city":"Rome"}';

test("a server that gives every call the index 0 means different calls", () => {
  expect(
    calls([
      { index: 0, id: "a", name: "f", arguments: bonn },
      { index: 0, id: "b", name: "f", arguments: rome },
      { index: 0, id: "b", name: "g", arguments: rome },
    ]),
  ).toEqual([`a f ${bonn}`, `b f ${rome}`, `b g ${rome}`]);
});

test("so it does without ids, when a call is whole and another one follows", () => {
  const head = { index: 0, name: "f" };
  expect(
    calls([
      { ...head, arguments: bonn },
      { ...head, arguments: rome },
    ]),
  ).toEqual([` f ${bonn}`, ` f ${rome}`]);
});

test("so it does when the arguments of the next call come after its name", () => {
  expect(
    calls([
      { index: 0, id: "a", name: "f", arguments: bonn },
      { index: 0, id: "b", name: "f" },
      { index: 0, arguments: rome.slice(0, 4) },
      { index: 0, arguments: rome.slice(4) },
    ]),
  ).toEqual([`a f ${bonn}`, `b f ${rome}`]);
});

test.each([
  ["alone", []],
  ["and an end that says nothing", [""]],
  ["and an end of blanks", ["\n", ""]],
])(
  "a server that repeats the name with a new id for each piece means one call, %s",
  (_how, ends) => {
    const head = { index: 0, name: "f" };
    const pieces = bonn
      .split("")
      .concat(ends)
      .map((piece, n) => ({
        ...head,
        id: `${n}`,
        arguments: piece,
      }));
    expect(calls(pieces).map((call) => call.trim())).toEqual([`0 f ${bonn}`]);
  },
);

test("the same call sent again, with or without an id, is one", () => {
  for (const id of ["", "a"]) {
    const call = { index: 0, id, name: "f", arguments: bonn };
    expect(calls([call, call, { ...call, arguments: "" }])).toHaveLength(1);
  }
});

test("a server that gives every chunk a new id means the same call", () => {
  expect(
    calls([
      { index: 0, id: "a", name: "f", arguments: "1" },
      { index: 0, id: "b", arguments: "2" },
    ]),
  ).toEqual(["a f 12"]);
});

test("a server that repeats name and id means the same call", () => {
  const head = { index: 0, id: "a", name: "f" };
  expect(
    calls([
      { ...head, arguments: "1" },
      { ...head, arguments: "2" },
    ]),
  ).toEqual(["a f 12"]);
});

test("a call begins when its name is known, with what came before", () => {
  expect(
    calls([
      { index: 0, id: "a" },
      { index: 0, arguments: "1" },
      { index: 1, id: "b", name: "g" },
      { index: 0, name: "f" },
    ]),
  ).toEqual(["b g ", "a f 1"]);
});

test("a call whose name never came is passed on all the same", () => {
  expect(calls([{ index: 0, id: "a", arguments: "1" }])).toEqual(["a  1"]);
});
