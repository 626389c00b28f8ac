/** What is wrong with a server's certificate, in a sentence whose subject is the server, and the next step. */
export interface CertificateProblem {
  problem: string;
  hint: string;
}

/**
 * Why TLS in Node.js rejected a server's certificate; undefined when that is not what went wrong.
 *
 * @param error - as thrown by `fetch` or a socket; the code is in it or in one of its causes
 * @see https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
export function certificateProblem(error: unknown): CertificateProblem | undefined {
  let cause = error;
  for (let depth = 0; depth < 5 && cause instanceof Error; depth++) {
    const { code, reason } = cause as { code?: unknown; reason?: unknown };
    if (typeof code === "string" && /CERT|SELF_SIGNED|ISSUER|SIGNATURE|PINNED/.test(code)) {
      return problemOf(code, typeof reason === "string" ? reason : undefined);
    }
    cause = cause.cause;
  }
  return undefined;
}

function problemOf(code: string, reason: string | undefined): CertificateProblem {
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return {
        problem: "has a certificate that has expired",
        hint: "renew it on the server or reverse proxy there; if it is new, set the clock of this machine",
      };
    case "CERT_NOT_YET_VALID":
      return {
        problem: "has a certificate that is not valid yet",
        hint: "set the clock of this machine, or of the one that made the certificate",
      };
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return {
        problem: `has a certificate for another name${reason === undefined ? "" : `: ${reason}`}`,
        hint: "put a host name of the certificate into the URL",
      };
    case "ERR_PINNED_KEY_MISMATCH":
      return {
        problem: `has another key than the pin of its invite: ${reason ?? ""}; nothing was sent`,
        hint: nextStepWithPin,
      };
    case "ERR_PINNED_WITHOUT_TLS":
      return {
        problem: "does not use TLS, which the pin of its invite requires; nothing was sent",
        hint: nextStepWithPin,
      };
    default:
      return {
        problem: `has a certificate that is not trusted here (${code})`,
        hint: "set NODE_USE_SYSTEM_CA=1 if this system trusts it, else NODE_EXTRA_CA_CERTS=FILE with the PEM file of its authority; a reverse proxy must send its full chain",
      };
  }
}

const nextStepWithPin =
  "either the hub was set up anew, or another machine stands between it and you. Get a new invite from the hub's host by another way";
