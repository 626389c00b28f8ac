import type { Machine, Scheduled, Scheduler } from "./scheduler.ts";

/** When a call is given up. It may still happen. */
const replyMs = 3_000;

/** How late and how often a directory responds to one hub. */
export interface DirectoryWeather {
  mostMs: number;
  /** of a reply, from 0 to 1 */
  lossRate: number;
}

/** The connection of one hub's process to the directory. Each way keeps its order; replies and reports may overtake each other. */
export class DirectoryLine {
  readonly #scheduler: Scheduler;
  readonly #hub: Machine;
  readonly #directory: Machine;
  readonly #weather: DirectoryWeather;
  readonly #unavailable: () => Error;
  readonly #lastMs = { request: 0, reply: 0, report: 0 };

  constructor(
    scheduler: Scheduler,
    machines: { hub: Machine; directory: Machine },
    weather: DirectoryWeather,
    unavailable: () => Error,
  ) {
    this.#scheduler = scheduler;
    this.#hub = machines.hub;
    this.#directory = machines.directory;
    this.#weather = weather;
    this.#unavailable = unavailable;
  }

  /** What the hub is to see. */
  readonly deliver = (action: () => void): void => void this.#carry("report", this.#hub, action);

  /** A call happens at the directory, also when the hub was killed meanwhile. */
  readonly call = <Result>(action: () => Result): Promise<Result> =>
    new Promise((resolve, reject) => {
      const { random } = this.#scheduler;
      const giveUp = this.#scheduler.schedule(this.#hub, replyMs, "directory timeout", () => {
        reject(this.#unavailable());
      });
      const boot = this.#hub.boot;
      this.#carry("request", this.#directory, () => {
        const result = action();
        if (boot !== this.#hub.boot || random() < this.#weather.lossRate) return;
        this.#carry("reply", this.#hub, () => {
          giveUp.cancel();
          resolve(result);
        });
      });
    });

  #carry(way: "request" | "reply" | "report", to: Machine, action: () => void): Scheduled {
    const latencyMs = 0.1 + this.#scheduler.random() * this.#weather.mostMs;
    const dueMs = Math.max(this.#lastMs[way] + 0.001, this.#scheduler.nowMs + latencyMs);
    this.#lastMs[way] = dueMs;
    return this.#scheduler.at(to, dueMs, `directory ${way}`, action);
  }
}
