import { expect, test } from "vitest";
import { aRoom, makeWorld, type TestWorld } from "../../test-context.fixture.ts";

async function untilServed(world: TestWorld, ...args: string[]): Promise<number> {
  const running = world.run("monitor", ...args);
  const ended = running.then(() => true);
  const turn = () => new Promise<false>((resolve) => setImmediate(resolve, false));
  while (world.stdout.text === "" && !(await Promise.race([ended, turn()])));
  world.stop();
  return running;
}

const oneRoom = { listRooms: async () => [aRoom()], getRoom: async () => aRoom() };

test("monitor serves the page of the hub's only room, opens it, and stops with a signal", async () => {
  const world = makeWorld({}, oneRoom);
  expect(await untilServed(world)).toBe(0);
  const room = { hubUrl: "http://127.0.0.1:5050", code: "ABC234" };
  expect(world.monitors).toEqual([{ host: undefined, port: undefined, room }]);
  expect(world.stdout.text).toBe("http://127.0.0.1:5051\n");
  expect(world.openedUrls).toEqual(["http://127.0.0.1:5051"]);
  expect(world.closedMonitors).toBe(1);
});

test("monitor for the network prints an address for each of them, and opens none if so requested", async () => {
  const world = makeWorld({}, oneRoom);
  const args = ["http://hub:5050/rooms/abc234", "--host", "0.0.0.0", "--port", "80", "--no-open"];
  expect(await untilServed(world, ...args)).toBe(0);
  expect(world.stdout.text).toBe("http://127.0.0.1:80\nhttp://192.168.1.5:80\n");
  expect(world.monitors[0]?.room).toEqual({ hubUrl: "http://hub:5050", code: "ABC234" });
  expect(world.openedUrls).toEqual([]);
});

test("monitor without a room names those of a hub that has several", async () => {
  const rooms = [aRoom(), aRoom({ code: "DEF567", name: "other" })];
  const world = makeWorld({}, { listRooms: async () => rooms });
  expect(await untilServed(world)).toBe(2);
  expect(world.stderr.text).toContain(
    "roomhub monitor http://127.0.0.1:5050/rooms/DEF567  # other",
  );
});

test("a port that cannot be opened is an error with the next step", async () => {
  const serveMonitor = async () => {
    throw new Error("listen EADDRINUSE: address already in use 127.0.0.1:5051");
  };
  const world = makeWorld({ serveMonitor }, oneRoom);
  expect(await untilServed(world, "--port", "5051")).toBe(1);
  expect(world.stderr.text).toContain("--port 0");
});
