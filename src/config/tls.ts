/**
 * The certificate of HTTPS and its key, as the flags ask for them: read from files, or made for
 * this run. A pair that no client could use is refused before anything starts.
 */
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { UsageError } from '#io/command-error.ts';
import { readGiven, reasonOf } from '#io/plain-file.ts';

/** A certificate with its chain, and its private key, as PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** The values of the flags `--tls-cert`, `--tls-key`, `--tls` and `--tls-name`. */
export interface TlsFlags {
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly tls?: 'self-signed' | undefined;
  readonly tlsName: readonly string[];
}

export interface ServedTls extends TlsPair {
  /** The certificate that clients must trust, if the pair was made for this run. */
  readonly ca?: string;
}

/** The largest file of a certificate or a key. */
const mostBytes = 2 ** 20;
/** Worlds have names below `world.localhost`: clients refuse a certificate for `*.localhost`. */
const localNames = ['localhost', '*.world.localhost', '127.0.0.1', '::1'];

/**
 * The pair to serve with; undefined for plain HTTP. `hosts`: the names and addresses in the URLs of
 * the server. Throws a UsageError for flags or files that cannot be used.
 */
export async function tlsOf(
  flags: TlsFlags,
  hosts: readonly string[],
): Promise<ServedTls | undefined> {
  const { tls, tlsCert, tlsKey, tlsName } = flags;
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new UsageError('--tls-cert and --tls-key need each other');
  if (tls !== undefined && tlsCert !== undefined)
    throw new UsageError('--tls self-signed makes a certificate: leave out --tls-cert');
  if (tlsName.length > 0 && tls === undefined)
    throw new UsageError('--tls-name needs --tls self-signed');
  if (tlsCert !== undefined && tlsKey !== undefined) return readPair(tlsCert, tlsKey);
  if (tls === undefined) return undefined;
  const { selfSigned } = await import('./self-signed.ts');
  return selfSigned([...new Set([...localNames, ...hosts, ...tlsName])], Date.now());
}

function readPair(certFile: string, keyFile: string): TlsPair {
  const pair = {
    cert: readGiven(certFile, '--tls-cert', mostBytes),
    key: readGiven(keyFile, '--tls-key', mostBytes),
  };
  if (/^-----BEGIN ENCRYPTED |^Proc-Type:.*ENCRYPTED/m.test(pair.key)) {
    const message = 'the key needs a passphrase, which is not supported: decrypt it first';
    throw new UsageError(`--tls-key ${keyFile}: ${message} (openssl pkey -in KEY -out PLAIN)`);
  }
  const leaf = certificateIn(pair.cert, certFile);
  try {
    createSecureContext(pair);
  } catch (error) {
    const files = `--tls-cert ${certFile} and --tls-key ${keyFile}`;
    throw new UsageError(`${files}: not a certificate and its key (${reasonOf(error)})`);
  }
  const { validFrom, validTo } = leaf;
  if (Date.parse(validTo) <= Date.now())
    throw new UsageError(`--tls-cert ${certFile}: the certificate expired on ${validTo}`);
  if (Date.parse(validFrom) > Date.now())
    throw new UsageError(`--tls-cert ${certFile}: the certificate is valid from ${validFrom}`);
  return pair;
}

/** The first certificate of a file, which is the server's own. */
function certificateIn(text: string, file: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw new UsageError(`--tls-cert ${file}: not a certificate in PEM`);
  }
}
