/**
 * `--tls self-signed`: a certificate authority for one run, and a certificate that it signs. The
 * authority's key is dropped after this one signature, so a client that trusts the authority trusts
 * only this certificate.
 */
// Loaded before @peculiar/x509, which needs it.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';
import { dayMs } from '#contract/time.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
/** Some clients refuse certificates that are valid for longer. */
const validDays = 397;

/**
 * Makes a certificate for host names and addresses, as PEM with its key. `nowMs`: real epoch
 * milliseconds. `ca`: the certificate of the authority, which clients must trust.
 */
export async function selfSigned(names: readonly string[], nowMs: number) {
  const newKeys = () => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const [authorityKeys, keys] = await Promise.all([newKeys(), newKeys()]);
  const validity = {
    // A day ago, because the clock of a client may be behind.
    notBefore: new Date(nowMs - dayMs),
    notAfter: new Date(nowMs + validDays * dayMs),
    signingAlgorithm: algorithm,
  };
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    serialNumber: serialNumber(),
    // Clients distinguish authorities by their names.
    name: `CN=smstwin ${randomBytes(4).toString('hex')}`,
    keys: authorityKeys,
    extensions: await authorityExtensions(authorityKeys.publicKey),
  });
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity,
    serialNumber: serialNumber(),
    subject: 'CN=localhost',
    issuer: authority.subject,
    publicKey: keys.publicKey,
    signingKey: authorityKeys.privateKey,
    extensions: await serverExtensions(keys.publicKey, names, authority),
  });
  const privateKey = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
  const key = x509.PemConverter.encode(privateKey, 'PRIVATE KEY');
  return { cert: pem(certificate), key: `${key}\n`, ca: pem(authority) };
}

async function authorityExtensions(publicKey: x509.PublicKeyType): Promise<x509.Extension[]> {
  return [
    // A path length of 0: it signs no other authority.
    new x509.BasicConstraintsExtension(true, 0, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    await x509.SubjectKeyIdentifierExtension.create(publicKey),
  ];
}

async function serverExtensions(
  publicKey: x509.PublicKeyType,
  names: readonly string[],
  authority: x509.X509Certificate,
): Promise<x509.Extension[]> {
  const alternativeNames = names.map(
    (value) => new x509.GeneralName(isIP(value) === 0 ? 'dns' : 'ip', value),
  );
  return [
    new x509.BasicConstraintsExtension(false),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension(alternativeNames),
    await x509.AuthorityKeyIdentifierExtension.create(authority),
    await x509.SubjectKeyIdentifierExtension.create(publicKey),
  ];
}

function pem(certificate: x509.X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}

/** A random number in hex. It starts with 01, because it must be positive and not start with 00. */
function serialNumber(): string {
  return `01${randomBytes(15).toString('hex')}`;
}
