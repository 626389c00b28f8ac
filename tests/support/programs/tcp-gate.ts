import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A way to a port that can be cut, as a network between two machines can. */
export interface TcpGate extends AsyncDisposable {
  port: number;
  /** Connections break, new ones are refused. */
  close(): void;
  /** Nothing passes either way, and nothing breaks. */
  hold(): void;
  open(): void;
}

/** @param targetPort - as a function where it is known only once something connects */
export async function openTcpGate(targetPort: number | (() => number)): Promise<TcpGate> {
  const pairs = new Set<[Socket, Socket]>();
  let state: "open" | "held" | "closed" = "open";
  const server = createServer((near) => {
    if (state === "closed") {
      near.destroy();
      return;
    }
    const port = typeof targetPort === "number" ? targetPort : targetPort();
    const far = connect(port, "127.0.0.1");
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of pair) socket.on("error", end).on("close", end);
    near.pipe(far);
    far.pipe(near);
    if (state === "held") for (const socket of pair) socket.pause();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const breakAll = () => {
    for (const [near, far] of pairs) {
      near.destroy();
      far.destroy();
    }
  };
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      state = "closed";
      breakAll();
    },
    hold() {
      state = "held";
      for (const pair of pairs) {
        for (const socket of pair) {
          socket.unpipe();
          socket.pause();
        }
      }
    },
    open() {
      state = "open";
      for (const [near, far] of pairs) {
        near.pipe(far);
        far.pipe(near);
      }
    },
    async [Symbol.asyncDispose]() {
      breakAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
