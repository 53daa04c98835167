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
import type { Clock } from '../base/clock.ts'
import { asObject } from '../base/json.ts'
import { visibleWords } from '../base/visible.ts'
import { isGatewayStatus } from '../base/unreachable.ts'
import { type Check, fail, ok, warn } from './check.ts'
import { clockAgainst } from './check-clock.ts'

const ANSWER_MS = 10_000
/** Shorter than the server keeps the stream open, so that a proxy that collects it is recognized. */
const EVENT_MS = 8_000
/** nginx refuses more than 1 MB by default; messages with files have more. */
const LARGE_BYTES = 2 * 1024 * 1024
const CHECK = '/api/proxy-check'
const MAX_SENTENCE = 1_000
const GUIDE = 'docs/reverse-proxies.md has complete examples.'

type Visit = { method?: string; headers?: Record<string, string>; body?: string }
type Answer = { status: number; headers: IncomingHttpHeaders; text: string }

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no such host is known',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was closed without an answer',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no network',
  EPROTO: 'it does not speak TLS; should the address begin with http:// ?',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS; should the address begin with http:// ?',
}

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
      const sent =
        url.protocol === 'https:'
          ? requestHttps(url, { ...options, rejectUnauthorized: false, ca: authorities() }, resolve)
          : requestHttp(url, options, resolve)
      sent.setTimeout(ANSWER_MS, () => sent.destroy(new Error('it does not answer')))
      sent.once('error', reject)
      sent.end(body)
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
  const { code, message } = error as NodeJS.ErrnoException
  if (code?.startsWith('HPE_')) return 'it does not speak HTTP'
  return PROBLEMS[code ?? ''] ?? message
}

const jsonOf = (text: string): Record<string, unknown> => {
  try {
    return asObject(JSON.parse(text))
  } catch {
    return {}
  }
}

/** "A. B." of the server: what is wrong, and what to do. It may be another program, whose text must not control the terminal. */
const toCheck = (about: string, text: string): Check => {
  const sentence = visibleWords(text.slice(0, MAX_SENTENCE)).replace(/\s+/g, ' ')
  const [, said = sentence, advice] = /^(.+?)\.\s+(.+)$/s.exec(sentence) ?? []
  return fail('server_refuses', about, said, advice ?? GUIDE)
}

const certificateCheck = (url: URL, answer: IncomingMessage): Check[] => {
  if (url.protocol !== 'https:') return []
  const { authorized, authorizationError } = answer.socket as TLSSocket
  const code: unknown = authorizationError
  if (authorized) return [ok('certificate', 'valid')]
  const problem = CERTIFICATE_PROBLEMS[String(code)] ?? `is not trusted (${String(code)})`
  const said = `The certificate of ${url.host} ${problem}`
  return [
    warn(
      'certificate_untrusted',
      'certificate',
      said,
      'Browsers warn of it or refuse it. Give the proxy another.',
    ),
  ]
}

const unreachable = (url: URL, { status, headers, text }: Answer): Check => {
  const { error } = jsonOf(text)
  if (typeof error === 'string') return toCheck('page', error)
  if (isGatewayStatus(status))
    return fail(
      'proxy_without_server',
      'page',
      `The proxy at ${url.host} answers ${status}: it does not reach agent-webui`,
      'Start agent-webui, and compare its address with the one in the configuration of the proxy.',
    )
  const { location = '' } = headers
  const to = status >= 301 && status <= 308 && URL.parse(location, url.href)
  if (to && to.hostname === url.hostname)
    return fail(
      'page_redirected',
      'page',
      `${url.href} leads to ${to.origin}${to.pathname}`,
      `Check that address: agent-webui doctor --url ${to.origin}${to.pathname}`,
    )
  if (to || status === 401 || status === 407)
    return warn(
      'proxy_asks_sign_in',
      'page',
      `The proxy at ${url.host} asks for a sign-in of its own${to ? ` at ${to.host}` : ` (${status})`}`,
      'Run this where it does not, or check in a browser.',
    )
  return fail(
    'page_unknown',
    'page',
    `${url.href} answers ${status}, and not from agent-webui`,
    `Compare the address with the configuration of the proxy. ${GUIDE}`,
  )
}

/** The path that the first page was made for; null when the reply is no page of ours. */
const pathOfPage = ({ status, headers, text }: Answer, url: URL): string | null => {
  const { location } = headers
  if (status >= 301 && status <= 308 && location && URL.canParse(location, url.href)) {
    const to = new URL(location, url)
    return to.host === url.host && to.pathname.endsWith('/login')
      ? to.pathname.slice(0, -'/login'.length)
      : null
  }
  const base = status === 200 ? /<base href="([^"]*)\/">/.exec(text)?.[1] : undefined
  return base ?? null
}

const wrongPath = (found: string, wanted: string): Check =>
  wanted === ''
    ? fail(
        'path_wrong',
        'path',
        `The page is made for the path ${found}, but the proxy serves it at /`,
        'Remove AGENT_WEBUI_BASE_PATH, or X-Forwarded-Prefix from the configuration of the proxy.',
      )
    : fail(
        'path_wrong',
        'path',
        `The page is made for the path ${found || '/'}, but the proxy serves it below ${wanted}`,
        `Make the proxy send "X-Forwarded-Prefix: ${wanted}", or set AGENT_WEBUI_BASE_PATH=${wanted}.`,
      )

/** A proxy names itself; the server names only itself. */
const isProxied = ({ headers }: Answer): boolean =>
  headers.via !== undefined || !/^agent-webui\b/.test(String(headers.server))

const headerChecks = (url: URL, answer: Answer): Check[] => {
  const { problem, is_forwarded: isForwarded } = jsonOf(answer.text)
  if (typeof problem === 'string') return [{ ...toCheck('proxy headers', problem), level: 'warn' }]
  if (isProxied(answer) && isForwarded === false)
    return [
      warn(
        'proxy_headers_missing',
        'proxy headers',
        'The proxy does not say for whom it asks, so all visitors count as this machine',
        'Make it send X-Forwarded-For (nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;).',
      ),
    ]
  return [ok('proxy headers', isForwarded ? 'OK' : `no proxy between here and ${url.host}`)]
}

const originCheck = (url: URL, { status, text }: Answer): Check => {
  const { error, base_path: isOurs } = jsonOf(text)
  if (status === 200 && isOurs !== undefined)
    return ok('origin', 'changes from this address are accepted')
  if (typeof error === 'string' && status !== 404) return toCheck('origin', error)
  return fail(
    'page_unknown',
    'page',
    `${url.href} does not know this check (${status}): it is another program, or an older agent-webui`,
    `Compare the address with the configuration of the proxy. ${GUIDE}`,
  )
}

const uploadCheck = async (url: URL, post: (body: string) => Promise<Answer>): Promise<Check> => {
  const megabytes = LARGE_BYTES / 1024 / 1024
  const said = `The proxy refuses requests of ${megabytes} MB`
  const advice = 'Allow 25 MB (nginx: client_max_body_size 25m;).'
  try {
    const { status } = await post(JSON.stringify({ padding: 'x'.repeat(LARGE_BYTES) }))
    if (status === 200) return ok('uploads', `${megabytes} MB arrive`)
    return fail('upload_refused', 'uploads', `${said} (${status})`, advice)
  } catch (error) {
    // Some close the connection while the body is sent.
    return fail('upload_refused', 'uploads', `${said}: ${url.host}: ${reasonOf(error)}`, advice)
  }
}

/** Whether the first event comes while the stream is open. */
const streamCheck = async (url: URL, waitMs: number, connect: Connect): Promise<Check> => {
  const about = 'event stream'
  const late = fail(
    'stream_held_back',
    about,
    'The proxy holds event streams back, so answers arrive all at once',
    'Turn buffering off for the path (nginx: proxy_buffering off;).',
  )
  const timeout = new Promise<null>(resolve => {
    setTimeout(resolve, waitMs, null).unref()
  })
  const opened = connect(url, { headers: { Accept: 'text/event-stream' } })
  // Rejected after the time has passed.
  opened.catch(() => undefined)
  const answer = await Promise.race([opened, timeout])
  if (answer === null) {
    void opened.then(each => each.destroy()).catch(() => undefined)
    return late
  }
  try {
    if (answer.statusCode === 429)
      return warn(
        'too_many_checks',
        about,
        'Too many checks run at the same time',
        'Run it again in ten seconds.',
      )
    if (answer.statusCode !== 200)
      return fail('stream_failed', about, `The event stream answers ${answer.statusCode}`, GUIDE)
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
    answer.destroy()
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
  const wanted = root.pathname.replace(/\/+$/, '')
  const at = (path: string): URL => new URL(`${wanted}${path}`, root)
  try {
    const first = await connect(at('/'))
    const certificate = certificateCheck(root, first)
    const page = await readStart(first)
    const ofClock = clockAgainst(root.host, page.headers.date, clock.now())
    const found = pathOfPage(page, at('/'))
    if (found === null) return [...certificate, unreachable(at('/'), page), ...ofClock]
    if (found !== wanted) return [...certificate, wrongPath(found, wanted), ...ofClock]
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
      ...(isAccepted ? headerChecks(root, answer) : []),
      origin,
      await streamCheck(at(CHECK), waitMs, connect),
      ...(isAccepted ? [await uploadCheck(root, post)] : []),
      ...ofClock,
    ]
  } catch (error) {
    const advice = 'Check the address, and whether the proxy runs.'
    return [fail('address_unreachable', 'address', `${root.origin}: ${reasonOf(error)}`, advice)]
  }
}
