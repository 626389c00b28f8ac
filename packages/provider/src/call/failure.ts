import { certificateProblem, type ErrorCode } from "@roomhub/protocol";
import type { ProviderTarget } from "./target.ts";

/** Those of the hub's codes that a provider call can end with; `internal_error` when the provider is a function here. Contract §6. */
export type ProviderFailureCode = Extract<
  ErrorCode,
  | "provider_unreachable"
  | "provider_disconnected"
  | "provider_timeout"
  | "provider_invalid_response"
  | "response_too_large"
  | "internal_error"
>;

/** Why a call ended without a response. `message` names the place and never a credential. */
export interface ProviderFailure {
  code: ProviderFailureCode;
  message: string;
}

/** How far a call had come when its socket failed. */
export type CallPhase = "connecting" | "waiting" | "responding";

const usualServers: Record<number, string> = {
  11434: "is Ollama running?",
  1234: "is the server of LM Studio started?",
  8080: "is llama-server running?",
  8000: "is vLLM running?",
};
const unknownServer = "is the model server running, and is this its port?";

/** Node's error of a request or its socket → what it means for the caller. */
export function failureOf(
  error: NodeJS.ErrnoException,
  phase: CallPhase,
  target: ProviderTarget,
): ProviderFailure {
  const code = error.code ?? "";
  if (phase === "connecting") {
    return {
      code: "provider_unreachable",
      message: `${target.label} ${connectProblem(error, target)}`,
    };
  }
  if (code === "ETIMEDOUT") {
    return {
      code: "provider_timeout",
      message: `${target.label} stopped responding: the connection timed out.`,
    };
  }
  const when = phase === "waiting" ? "before it responded" : "in the middle of its response";
  return {
    code: "provider_disconnected",
    message: `${target.label} closed the connection ${when}.`,
  };
}

function connectProblem(error: NodeJS.ErrnoException, target: ProviderTarget): string {
  const code = error.code ?? "";
  const certificate = certificateProblem(error);
  switch (code) {
    case "ECONNREFUSED":
      return `refused the connection${triedAddresses(error, target)}; ${hintFor(target)}`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "ENODATA":
      return `could not be found: no address is known for ${target.hostname}.`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ETIMEDOUT":
    case "EADDRNOTAVAIL":
      return `cannot be reached from here (${code})${triedAddresses(error, target)}; ${hintFor(target)}`;
    case "ERR_ADDRESS_REFUSED":
      return `was not dialled: ${error.message}`;
    case "EPROTO":
    case "ERR_SSL_WRONG_VERSION_NUMBER":
      return "does not support TLS; try http:// instead of https://.";
    default:
      return target.isSecure && certificate !== undefined
        ? `${certificate.problem}; ${certificate.hint}.`
        : `could not be connected${code === "" ? "" : ` (${code})`}${triedAddresses(error, target)}.`;
  }
}

function hintFor(target: ProviderTarget): string {
  return usualServers[target.port] ?? unknownServer;
}

/** The addresses behind a name, so that "localhost" shows that both families were tried. */
function triedAddresses(error: Error, target: ProviderTarget): string {
  const parts: unknown[] = error instanceof AggregateError ? error.errors : [error];
  const tried = parts
    .map((part) => (part as { address?: unknown }).address)
    .filter((address) => typeof address === "string" && address !== target.hostname);
  return tried.length === 0 ? "" : ` (tried ${tried.join(" and ")})`;
}
