/** Startup checks, shared with `doctor`: state directory, TLS, port. Each failure is an Error with one sentence. */
import { X509Certificate } from 'node:crypto'
import { accessSync, constants } from 'node:fs'
import { get as getHttp, type RequestOptions, type Server } from 'node:http'
import { get as getHttps } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { Config } from './config.ts'
import { messageOf } from './errors.ts'
import type { Tls } from './http/server.ts'
import { makeDir } from './store/make-dir.ts'
import { readWhole } from './store/read-text.ts'

const failed = (sentence: string, cause: unknown): Error =>
  new Error(`${sentence}: ${messageOf(cause)}`, { cause })

/** Creates the state directory if it is missing. Throws when it is not usable. */
export const prepareStateDir = ({ stateDir }: Pick<Config, 'stateDir'>): void => {
  try {
    makeDir(stateDir)
    accessSync(stateDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw failed(`The state directory ${stateDir} cannot be used`, error)
  }
}

/** Loads certificate and key and checks that they match; undefined when none are configured. */
export const readTls = ({ tlsCert, tlsKey }: Pick<Config, 'tlsCert' | 'tlsKey'>) => {
  if (tlsCert === null || tlsKey === null) return undefined
  try {
    const tls = { cert: readWhole(tlsCert), key: readWhole(tlsKey) } satisfies Tls
    createSecureContext(tls)
    return tls
  } catch (error) {
    throw failed(`The TLS pair ${tlsCert}, ${tlsKey} cannot be used`, error)
  }
}

/** Expiry of the first certificate of a PEM file, in milliseconds since 1970. */
export const expiryOf = (cert: Buffer): number => new X509Certificate(cert).validToDate.getTime()

const LISTEN_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use; choose another one',
  EACCES: 'the system does not allow this port; choose one above 1023',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'no such host is known',
}

/** Resolves when the server listens; rejects with an Error that names address and reason. */
export const listen = (
  server: Pick<Server, 'once' | 'off' | 'listen' | 'address'>,
  { host, port }: Pick<Config, 'host' | 'port'>,
): Promise<AddressInfo> =>
  new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) =>
      reject(
        new Error(
          `Cannot listen at ${host}:${port}: ${LISTEN_PROBLEMS[error.code ?? ''] ?? error.message}`,
        ),
      )
    server.once('error', fail)
    server.listen(port, host, () => {
      server.off('error', fail)
      resolve(server.address() as AddressInfo)
    })
  })

/** Checks whether the address is free, without serving anything. */
export const tryListen = async (config: Pick<Config, 'host' | 'port'>): Promise<void> => {
  const server = createServer()
  await listen(server as unknown as Server, config)
  await new Promise(resolve => server.close(resolve))
}

export const urlOf = ({ host, tlsCert }: Pick<Config, 'host' | 'tlsCert'>, port: number): string =>
  `${tlsCert === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`

/** Replaces a wildcard address by its loopback. */
const reachable = (address: string): URL => {
  const url = new URL(address)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  return url
}

type Health = { status: number; body: string }

/** The certificate is not verified: the address is our own, and nothing secret is sent. Rejects without a response in time. */
const askHealth = (address: string, timeoutMs: number): Promise<Health> =>
  new Promise((resolve, reject) => {
    const url = new URL('/health', reachable(address))
    const options: RequestOptions & { rejectUnauthorized: boolean } = {
      signal: AbortSignal.timeout(timeoutMs),
      agent: false,
      rejectUnauthorized: false,
    }
    const get = url.protocol === 'https:' ? getHttps : getHttp
    get(url, options, answer => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.once('end', () =>
        resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
      )
      answer.once('error', reject)
    }).once('error', reject)
  })

/** HTTP status of `/health`; rejects without a response within `timeoutMs`. */
export const fetchHealth = async (address: string, timeoutMs: number): Promise<number> =>
  (await askHealth(address, timeoutMs)).status

/** Status of `/health` and seconds that the service has been running; rejects without a response within `timeoutMs`. */
export const fetchUptime = async (
  address: string,
  timeoutMs: number,
): Promise<{ status: number; uptime: number }> => {
  const { status, body } = await askHealth(address, timeoutMs)
  const found = status === 200 ? (JSON.parse(body) as { uptime_seconds?: unknown }) : {}
  return { status, uptime: Number(found.uptime_seconds ?? Number.NaN) }
}
