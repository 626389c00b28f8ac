import { expect, test } from "vitest";
import { Deliveries } from "./deliveries.ts";

function tracked() {
  let nowMs = 0;
  const heard: string[] = [];
  const hop = { destroyed: false };
  const deliveries = new Deliveries(() => nowMs);
  const expectOne = (id: string, hubId = "aa") =>
    deliveries.expect(id, {
      ...{ hubId, hop },
      onEnd: (outcome) => heard.push(`${id} ${outcome}`),
    });
  const passes = (ms: number) => {
    nowMs += ms;
    deliveries.tick(nowMs);
  };
  return { deliveries, heard, hop, expectOne, passes };
}

test("a response ends once, as the hub with its client says", () => {
  const { deliveries, heard, expectOne, passes } = tracked();
  for (const id of ["req_1", "req_2", "req_3"]) expectOne(id);
  for (const id of ["req_2", "req_unknown"]) deliveries.end(id, "delivered");
  for (const id of ["req_1", "req_2"]) deliveries.end(id, "gone");
  passes(3_600_000);
  expect(heard).toEqual(["req_2 delivered", "req_1 gone"]);
});

test("a hub that can say nothing any more has not delivered, unless its note comes within 2 s", () => {
  const { deliveries, heard, hop, expectOne, passes } = tracked();
  expectOne("req_1");
  expectOne("req_2");
  expectOne("req_other", "bb");
  deliveries.hubReset("aa");
  passes(1_000);
  // The second reason does not make the wait longer.
  hop.destroyed = true;
  deliveries.end("req_1", "delivered");
  passes(1_000);
  expect(heard).toEqual(["req_1 delivered", "req_2 gone"]);
});

test("a hub that can be reached again within 2 s has as long as the client needs, unless the response broke off", () => {
  const { deliveries, heard, hop, expectOne, passes } = tracked();
  expectOne("req_1");
  deliveries.hubReset("aa");
  passes(1_000);
  deliveries.hubReached("aa");
  passes(60_000);
  deliveries.end("req_1", "delivered");
  expectOne("req_2");
  hop.destroyed = true;
  deliveries.hubReset("aa");
  deliveries.hubReached("aa");
  passes(2_000);
  expect(heard).toEqual(["req_1 delivered", "req_2 gone"]);
});
