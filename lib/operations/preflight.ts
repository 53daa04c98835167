/** Startup checks, shared with `doctor`: state directory, TLS, port. Each failure is a StartError. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { get as getHttp, type RequestOptions, type Server } from 'node:http'
import { get as getHttps } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { Config } from '../config.ts'
import type { Tls } from '../http/server.ts'
import { fileReason } from '../store/file-error.ts'
import { makeDir } from '../store/make-dir.ts'
import { readWhole } from '../store/read-text.ts'

/** Why the server cannot start: what is wrong, and what to do. */
export class StartError extends Error {
  readonly problem: string
  readonly advice: string

  constructor(problem: string, advice: string, cause?: unknown) {
    super(`${problem}. ${advice}`, { cause })
    this.problem = problem
    this.advice = advice
  }
}

/** Creates the state directory if it is missing. Throws a StartError; `startChecks` has found what can be known before. */
export const prepareStateDir = ({ stateDir }: Config): void => {
  try {
    makeDir(stateDir)
  } catch (error) {
    throw new StartError(
      `The state directory ${stateDir} cannot be created: ${fileReason(error)}`,
      'Create it, or set AGENT_WEBUI_STATE_DIR to another directory.',
      error,
    )
  }
}

const TLS_ADVICE = 'Fix AGENT_WEBUI_TLS_CERT and AGENT_WEBUI_TLS_KEY.'

const readPem = (path: string, what: string): Buffer => {
  try {
    return readWhole(path)
  } catch (error) {
    throw new StartError(`The ${what} ${path} cannot be read: ${fileReason(error)}`, TLS_ADVICE)
  }
}

const parseCertificate = (path: string, cert: Buffer): X509Certificate => {
  try {
    return new X509Certificate(cert)
  } catch (error) {
    throw new StartError(`${path} is not a certificate in PEM format`, TLS_ADVICE, error)
  }
}

const parseKey = (path: string, key: Buffer): KeyObject => {
  try {
    return createPrivateKey(key)
  } catch (error) {
    const isLocked = error instanceof Error && /passphrase|decrypt|cancelled/i.test(error.message)
    throw isLocked
      ? new StartError(
          `The TLS key ${path} is protected with a passphrase`,
          `Store it without one: openssl pkey -in ${path} -out FILE`,
        )
      : new StartError(`${path} is not a private key in PEM format`, TLS_ADVICE, error)
  }
}

/** Loads certificate and key and checks that they match; undefined when none are configured. Throws a StartError. */
export const readTls = ({ tlsCert, tlsKey }: Config) => {
  if (tlsCert === null || tlsKey === null) return undefined
  const tls = {
    cert: readPem(tlsCert, 'certificate'),
    key: readPem(tlsKey, 'TLS key'),
  } satisfies Tls
  if (!parseCertificate(tlsCert, tls.cert).checkPrivateKey(parseKey(tlsKey, tls.key)))
    throw new StartError(
      `The TLS key ${tlsKey} does not belong to the certificate ${tlsCert}`,
      TLS_ADVICE,
    )
  try {
    createSecureContext(tls)
  } catch (error) {
    throw new StartError(`${tlsCert} and ${tlsKey} cannot be used for TLS`, TLS_ADVICE, error)
  }
  return tls
}

/** Expiry of the first certificate of a PEM file, in milliseconds since 1970. */
export const expiryOf = (cert: Buffer): number => new X509Certificate(cert).validToDate.getTime()

const LISTEN_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EACCES: 'the system does not allow this port, because it is below 1024',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'no such host is known',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  EMFILE: 'too many files are open in this process',
}

const LISTEN_ADVICE = 'Choose another address with AGENT_WEBUI_HOST and AGENT_WEBUI_PORT.'

/** Resolves when the server listens; rejects with a StartError that names address and reason. */
export const listen = (
  server: Pick<Server, 'once' | 'off' | 'listen' | 'address'>,
  { host, port }: Config,
): Promise<AddressInfo> =>
  new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) =>
      reject(
        new StartError(
          `Cannot listen at ${host}:${port}: ${LISTEN_PROBLEMS[error.code ?? ''] ?? error.message}`,
          LISTEN_ADVICE,
          error,
        ),
      )
    server.once('error', fail)
    server.listen(port, host, () => {
      server.off('error', fail)
      resolve(server.address() as AddressInfo)
    })
  })

/** Checks whether the address is free, without serving anything. */
export const tryListen = async (config: Config): Promise<void> => {
  const server = createServer()
  await listen(server as unknown as Server, config)
  await new Promise(resolve => server.close(resolve))
}

export const urlOf = ({ host, tlsCert }: Config, port: number): string =>
  `${tlsCert === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`

/** Replaces a wildcard address by its loopback. */
const reachable = (address: string): URL => {
  const url = new URL(address)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  return url
}

/** HTTP status of `/health`; rejects without a response within `timeoutMs`. The certificate is not verified: the address is our own, and nothing secret is sent. */
export const fetchHealth = (address: string, timeoutMs: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const url = new URL('/health', reachable(address))
    const options: RequestOptions & { rejectUnauthorized: boolean } = {
      signal: AbortSignal.timeout(timeoutMs),
      agent: false,
      rejectUnauthorized: false,
    }
    const get = url.protocol === 'https:' ? getHttps : getHttp
    get(url, options, answer => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode ?? 0))
      answer.once('error', reject)
    }).once('error', reject)
  })
