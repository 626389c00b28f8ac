import { Messages } from "../../../packages/tunnel/src/resume/messages.ts";
import { SentLog } from "../../../packages/tunnel/src/resume/sent-log.ts";
import { SendCredit } from "../../../packages/tunnel/src/streams/credit.ts";

interface Defect {
  name: string;
  /** @returns how to take it out */
  plant: () => () => void;
}

/** Each is planted in a class of the tunnel. */
export const resumeDefects: Defect[] = [
  {
    name: "a resume repeats one message",
    plant: () =>
      replace(
        SentLog.prototype,
        "after",
        (after) =>
          function (this: SentLog, count: number) {
            const lacking = after.call(this, count);
            return lacking?.[0] === undefined ? lacking : [lacking[0], ...lacking];
          },
      ),
  },
  {
    name: "a resume leaves one message out",
    plant: () =>
      replace(
        SentLog.prototype,
        "after",
        (after) =>
          function (this: SentLog, count: number) {
            return after.call(this, count)?.slice(1);
          },
      ),
  },
  {
    name: "credit is granted twice",
    plant: () =>
      replace(
        SendCredit.prototype,
        "grant",
        (grant) =>
          function (this: SendCredit, bytes: number) {
            grant.call(this, bytes);
            this.spend(-bytes);
          },
      ),
  },
  {
    name: "a count that is sent again counts once more",
    plant: () => {
      const before = Object.getOwnPropertyDescriptor(Messages.prototype, "isReadingResent");
      if (before === undefined) throw new Error("isReadingResent is not there");
      Object.defineProperty(Messages.prototype, "isReadingResent", { ...before, get: () => false });
      return () => Object.defineProperty(Messages.prototype, "isReadingResent", before);
    },
  },
];

/** @returns how to put it back */
function replace<Name extends string, Method>(
  prototype: Record<Name, Method>,
  name: Name,
  make: (before: Method) => Method,
): () => void {
  const before = prototype[name];
  prototype[name] = make(before);
  return () => {
    prototype[name] = before;
  };
}
