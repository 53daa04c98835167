/** `agent-webui doctor --url`: checks the server through its reverse proxy, as a browser at this address sees it. */
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
  type RequestOptions,
} from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction } from 'node:net'
import { getCACertificates, type TLSSocket } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { fieldsOf } from '../../base/json.ts'
import { visibleWords } from '../../base/visible.ts'
import { isGatewayStatus } from '../../base/unreachable.ts'
import { describeNetworkError } from '../../http/network-error.ts'
import { type Check, finding, ok } from './check.ts'
import { clockAgainst } from './model-checks.ts'

const ANSWER_MS = 10_000
/** Shorter than the server keeps the stream open, so that a proxy that collects it is recognized. */
const EVENT_MS = 8_000
/** nginx refuses more than 1 MB by default; messages with files have more. */
const LARGE_BYTES = 2 * 1024 * 1024
const CHECK = '/api/proxy-check'
const MAX_SENTENCE = 1_000
type Visit = { method?: string; headers?: Record<string, string>; body?: string }
type Answer = { status: number; headers: IncomingHttpHeaders; text: string }

const CERTIFICATE_PROBLEMS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'comes from an authority that this machine does not know',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'comes from an authority that this machine does not know',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'is sent without the certificates between it and its authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another host name',
}

/** Those that the system trusts, too: a network may have an authority of its own. */
const authorities = (): string[] => [
  ...new Set([...getCACertificates('default'), ...getCACertificates('system')]),
]

/** The certificate is checked by itself: an invalid one hides nothing else, and nothing secret is sent. */
const connectWith =
  (lookup?: LookupFunction) =>
  (url: URL, { method = 'GET', headers, body }: Visit = {}): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const options: RequestOptions = { method, headers, agent: false, lookup }
      const request =
        url.protocol === 'https:'
          ? requestHttps(url, { ...options, rejectUnauthorized: false, ca: authorities() }, resolve)
          : requestHttp(url, options, resolve)
      request.setTimeout(ANSWER_MS, () => request.destroy(new Error('it does not answer')))
      request.once('error', reject)
      request.end(body)
    })

type Connect = ReturnType<typeof connectWith>

/** A page of ours is shorter; what another program sends may never end. */
const MAX_CHARS = 1_000_000

const readStart = async (answer: IncomingMessage): Promise<Answer> => {
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk
    if (text.length > MAX_CHARS) break
  }
  return { status: answer.statusCode ?? 0, headers: answer.headers, text }
}

const reasonOf = (error: unknown): string => {
  const { code = '', message } = error as NodeJS.ErrnoException
  if (code.startsWith('HPE_')) return 'it does not speak HTTP'
  if (code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return 'it does not speak TLS; should the address begin with http:// ?'
  return code === '' ? message : `${describeNetworkError(error)}`
}

/** "A. B." of the server: what is wrong, and what to do. It may be another program, whose text must not control the terminal. */
const refusal = (about: string, text: string): Check => {
  const sentence = visibleWords(text.slice(0, MAX_SENTENCE)).replace(/\s+/g, ' ')
  const [, message = sentence, advice] = /^(.+?)\.\s+(.+)$/s.exec(sentence) ?? []
  return finding('server_refuses', about, message, advice === undefined ? {} : { advice })
}

const certificateCheck = (url: URL, answer: IncomingMessage): Check[] => {
  const about = 'certificate'
  if (url.protocol !== 'https:') return []
  const { authorized, authorizationError } = answer.socket as TLSSocket
  const code = String(authorizationError)
  if (authorized) return [ok(about, 'valid')]
  const problem = CERTIFICATE_PROBLEMS[code] ?? `is not trusted (${code})`
  return [finding('certificate_untrusted', about, `The certificate of ${url.host} ${problem}`)]
}

const unreachable = (url: URL, { status, headers, text }: Answer): Check => {
  const about = 'page'
  const { error } = fieldsOf(text)
  const proxy = `The proxy at ${url.host}`
  if (typeof error === 'string') return refusal(about, error)
  if (isGatewayStatus(status)) {
    const message = `${proxy} answers ${status}: it does not reach agent-webui`
    return finding('proxy_without_server', about, message)
  }
  const to = status >= 301 && status <= 308 ? URL.parse(headers.location ?? '', url.href) : null
  if (to?.hostname === url.hostname) {
    const place = `${to.origin}${to.pathname}`
    const advice = `Check that address: agent-webui doctor --url ${place}`
    return finding('page_redirected', about, `${url.href} leads to ${place}`, { advice })
  }
  if (to || status === 401 || status === 407) {
    const message = `${proxy} asks for a sign-in of its own${to ? ` at ${to.host}` : ` (${status})`}`
    return finding('proxy_asks_sign_in', about, message)
  }
  return finding('page_unknown', about, `${url.href} answers ${status}, and not from agent-webui`)
}

/** The path that the first page was made for; null when the reply is no page of ours. */
const pathOfPage = ({ status, headers, text }: Answer, url: URL): string | null => {
  if (status === 200) return /<base href="([^"]*)\/">/.exec(text)?.[1] ?? null
  const to = status >= 301 && status <= 308 ? URL.parse(headers.location ?? '', url) : null
  return to?.host === url.host && to.pathname.endsWith('/login')
    ? to.pathname.slice(0, -'/login'.length)
    : null
}

const wrongPath = (pagePath: string, servedPath: string): Check => {
  const place = servedPath === '' ? 'at /' : `below ${servedPath}`
  const message = `The page is made for the path ${pagePath || '/'}, but the proxy serves it ${place}`
  const advice =
    servedPath === ''
      ? 'Remove AGENT_WEBUI_BASE_PATH, or X-Forwarded-Prefix from the configuration of the proxy.'
      : `Make the proxy send "X-Forwarded-Prefix: ${servedPath}", or set AGENT_WEBUI_BASE_PATH=${servedPath}.`
  return finding('path_wrong', 'path', message, { advice })
}

/** A proxy names itself; the server names only itself. */
const isProxied = ({ headers }: Answer): boolean =>
  headers.via !== undefined || !/^agent-webui\b/.test(String(headers.server))

const headerCheck = (url: URL, answer: Answer): Check => {
  const about = 'proxy headers'
  const { problem, is_forwarded: isForwarded } = fieldsOf(answer.text)
  if (typeof problem === 'string') return { ...refusal(about, problem), level: 'warn' }
  if (!isProxied(answer) || isForwarded !== false)
    return ok(about, isForwarded ? 'OK' : `no proxy between here and ${url.host}`)
  const message = 'The proxy does not say for whom it asks, so all visitors count as this machine'
  return finding('proxy_headers_missing', about, message)
}

const originCheck = (url: URL, { status, text }: Answer): Check => {
  const { error, base_path: isOurs } = fieldsOf(text)
  if (status === 200 && isOurs !== undefined)
    return ok('origin', 'changes from this address are accepted')
  if (typeof error === 'string' && status !== 404) return refusal('origin', error)
  const message = `${url.href} does not know this check (${status}): it is another program, or an older agent-webui`
  return finding('page_unknown', 'page', message)
}

const uploadCheck = async (url: URL, post: (body: string) => Promise<Answer>): Promise<Check> => {
  const about = 'uploads'
  const size = `${LARGE_BYTES / 1024 / 1024} MB`
  const message = `The proxy refuses requests of ${size}`
  try {
    const { status } = await post(JSON.stringify({ padding: 'x'.repeat(LARGE_BYTES) }))
    if (status === 200) return ok(about, `${size} arrive`)
    return finding('upload_refused', about, `${message} (${status})`)
  } catch (error) {
    // Some close the connection while the body is sent.
    return finding('upload_refused', about, `${message}: ${url.host}: ${reasonOf(error)}`)
  }
}

/** Whether the first event comes while the stream is open. */
const streamCheck = async (url: URL, waitMs: number, connect: Connect): Promise<Check> => {
  const about = 'event stream'
  const late = finding(
    'stream_held_back',
    about,
    'The proxy holds event streams back, so answers arrive all at once',
  )
  const timeout = new Promise<null>(resolve => {
    setTimeout(resolve, waitMs, null).unref()
  })
  const connection = connect(url, { headers: { Accept: 'text/event-stream' } })
  try {
    const answer = await Promise.race([connection, timeout])
    if (answer === null) return late
    if (answer.statusCode === 429)
      return finding('too_many_checks', about, 'Too many checks run at the same time')
    if (answer.statusCode !== 200)
      return finding('stream_failed', about, `The event stream answers ${answer.statusCode}`)
    const first = (async (): Promise<boolean> => {
      let text = ''
      for await (const chunk of answer) {
        text += chunk
        if (text.includes('event: ready')) return true
      }
      return false
    })()
    // Destroying it ends the reading with an error.
    first.catch(() => undefined)
    return (await Promise.race([first, timeout])) ? ok(about, 'events arrive at once') : late
  } finally {
    // It may also open, or fail, after the time has passed.
    void connection.then(each => each.destroy()).catch(() => undefined)
  }
}

export type AddressOptions = {
  clock: Clock
  waitMs?: number
  /** Default: that of the system. */
  lookup?: LookupFunction
}

/** In the order of the report. What cannot be known after a failure is left out. */
export const addressChecks = async (
  address: string,
  { clock, waitMs = EVENT_MS, lookup }: AddressOptions,
): Promise<Check[]> => {
  const connect = connectWith(lookup)
  const root = new URL(address)
  const servedPath = root.pathname.replace(/\/+$/, '')
  const at = (path: string): URL => new URL(`${servedPath}${path}`, root)
  try {
    const first = await connect(at('/'))
    const certificate = certificateCheck(root, first)
    const page = await readStart(first)
    const ofClock = clockAgainst(root.host, page.headers.date, clock.now())
    const pagePath = pathOfPage(page, at('/'))
    if (pagePath === null) return [...certificate, unreachable(at('/'), page), ...ofClock]
    if (pagePath !== servedPath)
      return [...certificate, wrongPath(pagePath, servedPath), ...ofClock]
    const headers = {
      Origin: root.origin,
      'Sec-Fetch-Site': 'same-origin',
      'Content-Type': 'application/json',
    }
    const post = async (body: string) =>
      readStart(await connect(at(CHECK), { method: 'POST', headers, body }))
    const answer = await post('{}')
    const origin = originCheck(at('/'), answer)
    if (origin.about === 'page') return [...certificate, origin, ...ofClock]
    const isAccepted = origin.level === 'ok'
    return [
      ...certificate,
      ok('page', `${at('/').href} answers`),
      ...(isAccepted ? [headerCheck(root, answer)] : []),
      origin,
      await streamCheck(at(CHECK), waitMs, connect),
      ...(isAccepted ? [await uploadCheck(root, post)] : []),
      ...ofClock,
    ]
  } catch (error) {
    return [finding('address_unreachable', 'address', `${root.origin}: ${reasonOf(error)}`)]
  }
}
