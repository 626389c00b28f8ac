import { type CapabilityValue, parseObject } from "@roomhub/protocol";

const noSuchPath = /unexpected endpoint|invalid url \(|no route/i;
const noSuchPathIn200 = /unexpected endpoint|invalid url|no route|not found/i;
/** llama.cpp responds 500 to a body of `messages` without them. */
const missesField = /["'][\w.]+["'] is required/i;
/** Errors of a server that has the path name the model, a field or a stored response; not as a part of a path. */
const namesPartOfTheRequest =
  /(?<![/\w-])(?:models?|model_\w+|response|resp_\w+|input|messages|prompt|field|parameter)\b/i;

/**
 * Whether a server has the surface of a request, by its response. `unknown` when the response would be the same either way:
 * not authorized, too busy, broken.
 *
 * LM Studio responds 200 with an error to paths it does not know.
 *
 * @param text - the body, or its beginning when it is long
 */
export function judgeResponse(status: number, text: string): CapabilityValue {
  if (status >= 200 && status < 300) return judgeSuccess(text);
  switch (status) {
    case 405:
    case 501:
      return "unsupported";
    case 404:
      return namesRequest(text) ? "supported" : "unsupported";
    case 400:
    case 422:
      return noSuchPath.test(text) && !namesRequest(text) ? "unsupported" : "supported";
    case 500:
      return missesField.test(text) ? "supported" : "unknown";
    default:
      return "unknown";
  }
}

function judgeSuccess(text: string): CapabilityValue {
  if (!isErrorInDisguise(text)) return "supported";
  return noSuchPathIn200.test(text) && !namesRequest(text) ? "unsupported" : "unknown";
}

const errorKey = Buffer.from('"error"');

/** @param start - the beginning of a body */
export function mayBeErrorInDisguise(start: Buffer): boolean {
  return start.includes(errorKey);
}

/** Some servers refuse with status 200. Parsed only if the word is there, since every plain response passes here. */
function isErrorInDisguise(text: string): boolean {
  if (!text.includes('"error"')) return false;
  // No object is a stream, or a response that is longer than any error.
  const error = parseObject(text)?.["error"];
  return error !== undefined && error !== null;
}

/** An HTML page does not name the request, whatever words it contains. */
function namesRequest(text: string): boolean {
  return !text.trimStart().startsWith("<") && namesPartOfTheRequest.test(text);
}
