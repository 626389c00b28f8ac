/** One response that is requested on the page. */
export interface Lane {
  /** unique on the page */
  id: number;
  /** the request's `model` field: a participant, a model, or `*` */
  selector: string;
  /** for people */
  title: string;
  kind: "queued" | "running" | "done" | "stopped" | "failed";
  /** of the hub; undefined until its response begins */
  requestId: string | undefined;
  text: string;
  /** what failed, and the next step */
  problem: string | undefined;
}

/** Where a response goes as it arrives. */
export interface LaneListener {
  onRequestId: (requestId: string) => void;
  onText: (text: string) => void;
}

/**
 * Sends one request and resolves at the end of its response.
 *
 * @throws Error with a message for people
 */
export type SendPrompt = (
  request: { selector: string; prompt: string; signal: AbortSignal },
  listener: LaneListener,
) => Promise<void>;

export interface Arena {
  /** in the order in which they were requested */
  lanes: () => readonly Readonly<Lane>[];
  /** Stops what runs, and requests a response of each. */
  start: (prompt: string, contestants: readonly { selector: string; title: string }[]) => void;
  stop: () => void;
}

/** At once; the rest waits on the page, so that a try is no burden to a room. */
export const lanesAtOnce = 3;
/** Of a response; more is read, but not shown. */
const shownCharacters = 20_000;

/** Streams responses side by side, at most {@link lanesAtOnce} at once. */
export function createArena(send: SendPrompt, onChange: () => void): Arena {
  let lanes: Lane[] = [];
  let round = new AbortController();
  let lastId = 0;

  const run = async (lane: Lane, prompt: string, { signal }: AbortController) => {
    lane.kind = "running";
    const listener: LaneListener = {
      onRequestId: (requestId) => {
        lane.requestId = requestId;
        onChange();
      },
      onText: (text) => {
        lane.text = (lane.text + text).slice(0, shownCharacters);
        onChange();
      },
    };
    try {
      await send({ selector: lane.selector, prompt, signal }, listener);
      lane.kind = "done";
    } catch (error) {
      lane.kind = signal.aborted ? "stopped" : "failed";
      if (!signal.aborted) lane.problem = error instanceof Error ? error.message : String(error);
    }
    onChange();
  };
  const work = async (prompt: string, own: AbortController) => {
    for (;;) {
      const next = own.signal.aborted ? undefined : lanes.find(({ kind }) => kind === "queued");
      if (next === undefined) return;
      await run(next, prompt, own);
    }
  };
  const stop = () => {
    round.abort();
    for (const lane of lanes) if (lane.kind === "queued") lane.kind = "stopped";
    onChange();
  };
  return {
    lanes: () => lanes,
    stop,
    start(prompt, contestants) {
      stop();
      round = new AbortController();
      lanes = contestants.map(({ selector, title }) => ({
        ...{ id: ++lastId, selector, title },
        ...{ kind: "queued", requestId: undefined, text: "", problem: undefined },
      }));
      for (let worker = 0; worker < lanesAtOnce; worker++) void work(prompt, round);
      onChange();
    },
  };
}
