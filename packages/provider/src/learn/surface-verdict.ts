import type { CapabilityValue } from "@roomhub/protocol";

const noSuchPath = /unexpected endpoint|invalid url \(|no route/i;
const noSuchPathIn200 = /unexpected endpoint|invalid url|no route|not found/i;
/** llama.cpp responds 500 to a body of `messages` without them. */
const missesField = /["'][\w.]+["'] is required/i;
/** What a server that knows the path complains about: the model, a field, a stored response. Not as a part of a path. */
const namesPartOfTheRequest =
  /(?<![/\w-])(?:models?|model_\w+|response|resp_\w+|input|messages|prompt|field|parameter)\b/i;

/**
 * Whether a server has the surface of the last request, as far as its response shows. `unknown` when it could have given
 * that response either way: not authorized, too busy, broken.
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

/** Some servers respond 200 to what they refuse. Only what has the word is parsed: every plain response comes by here. */
function isErrorInDisguise(text: string): boolean {
  if (!text.includes('"error"')) return false;
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return error !== undefined && error !== null;
  } catch {
    // A stream, or a response longer than what is looked at: errors are short.
    return false;
  }
}

/** A page is about no request, whatever words it has. */
function namesRequest(text: string): boolean {
  return !text.trimStart().startsWith("<") && namesPartOfTheRequest.test(text);
}
