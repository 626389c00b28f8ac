import { expect, test } from "vitest";
import { handshakeProblem } from "./handshake-problem.ts";

const good = {
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-version": "13",
};

test.each([[undefined], ["a"], ["a,b"], ["a , \tb"], ["roomhub.tunnel.v1, Other!#$%&'*+-.^_`|~9"]])(
  "a handshake that offers %j is valid",
  (list) => {
    expect(handshakeProblem("GET", { ...good, "sec-websocket-protocol": list })).toBeUndefined();
  },
);

test.each([[""], [","], ["a,"], [",a"], ["a,,b"], ["a b"], ["a,a"], ['"a"'], ["a/b"], ["a\u00a0"]])(
  "a handshake that offers %j is refused",
  (list) => {
    const problem = handshakeProblem("GET", { ...good, "sec-websocket-protocol": list });
    expect(problem).toBe("Sec-WebSocket-Protocol must be a list of unique names.");
  },
);

test.each([[undefined], [""], ["12"], ["8"], ["14"], ["13, 13"], ["thirteen"]])(
  "a handshake of version %j is refused",
  (version) => {
    const problem = handshakeProblem("GET", { ...good, "sec-websocket-version": version });
    expect(problem).toBe("Sec-WebSocket-Version must be 13.");
  },
);

test.each([
  [undefined],
  [""],
  ["short=="],
  ["dGhlIHNhbXBsZSBub25jZQ"],
  ["dGhlIHNhbXBsZSBub25j!Q=="],
])("a handshake with the key %j is refused", (key) => {
  const problem = handshakeProblem("GET", { ...good, "sec-websocket-key": key });
  expect(problem).toBe("Sec-WebSocket-Key must be 16 bytes in base64.");
});

test.each([["HEAD"], ["POST"], [undefined]])("a handshake by %s is refused", (method) => {
  expect(handshakeProblem(method, good)).toBe("A WebSocket is opened with GET.");
});
