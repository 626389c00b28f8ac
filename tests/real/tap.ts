import { connect, createServer, type Socket } from "node:net";
import { until } from "../support/waiting.ts";

/** One connection to the model server. */
export interface TappedConnection {
  /** what was sent to the server so far */
  readonly sent: Buffer;
  /** what the server sent so far */
  readonly received: Buffer;
  /** Whether the caller closed it, and not the server. */
  readonly isClosedByCaller: boolean;
  readonly isClosed: boolean;
}

/** A wire to a model server that can be listened to: connections and bytes as they are. */
export interface Tap extends AsyncDisposable {
  /** the base URL to register in the server's place */
  readonly url: string;
  readonly connections: readonly TappedConnection[];
  /** The connection whose request has this text, once it is there. */
  carrying(text: string): Promise<TappedConnection>;
}

export async function startTap(serverPort: number): Promise<Tap> {
  const connections: TappedConnection[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((caller) => {
    const upstream = connect({ host: "127.0.0.1", port: serverPort });
    sockets.add(caller).add(upstream);
    connections.push(listen(caller, upstream));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    connections,
    async carrying(text) {
      const find = () => connections.findLast(({ sent }) => sent.includes(text));
      const found = await until(`a request with ${text}`, find, (one) => one !== undefined);
      return found as TappedConnection;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listen(caller: Socket, upstream: Socket): TappedConnection {
  const sent: Buffer[] = [];
  const received: Buffer[] = [];
  let isClosed = false;
  let isClosedByCaller = false;
  caller.on("data", (bytes) => sent.push(bytes));
  upstream.on("data", (bytes) => received.push(bytes));
  caller.pipe(upstream).pipe(caller);
  const close = (by: Socket) => {
    if (!isClosed) isClosedByCaller = by === caller;
    isClosed = true;
    caller.destroy();
    upstream.destroy();
  };
  for (const socket of [caller, upstream]) {
    socket.on("end", () => close(socket));
    socket.on("error", () => close(socket));
    socket.on("close", () => close(socket));
  }
  return {
    get sent() {
      return Buffer.concat(sent);
    },
    get received() {
      return Buffer.concat(received);
    },
    get isClosed() {
      return isClosed;
    },
    get isClosedByCaller() {
      return isClosedByCaller;
    },
  };
}
