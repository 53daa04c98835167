/** Fetches a server's model list: bounded size, no redirects, and no public host name may resolve to a private address (SSRF). */
import { type Sentence, sentence, type Words } from '../base/sentences.ts'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isPrivateAddress } from '../base/local-network.ts'
import type { Dispatcher } from 'undici'
import { isObject } from '../base/json.ts'
import { UserError, unavailable } from '../errors.ts'
import { describeNetworkError } from '../http/network-error.ts'
import { readJsonBody } from './read-json-body.ts'
import { visionIn } from './vision.ts'

/** A model from a server's list; `contextLength` is 0 when unknown. `vision`: whether it accepts images, where the list says so. */
export type RemoteModel = {
  readonly id: string
  readonly contextLength: number
  readonly vision?: boolean
}

export type ModelListRequest = {
  url: string
  headers: Readonly<Record<string, string>>
  timeoutMs: number
  /** The address comes from the built-in provider table, so it needs no check. */
  isKnown: boolean
}

export type ModelListOptions = {
  /** Set when requests go through a proxy. */
  dispatcher?: Dispatcher | undefined
  /** A signal that aborts after `ms` milliseconds. */
  deadline?: (ms: number) => AbortSignal
  resolve?: (host: string) => Promise<{ address: string; family: number }[]>
}

export type FetchModelList = (question: ModelListRequest) => Promise<RemoteModel[]>

const MAX_BYTES = 8 * 1024 * 1024
const MAX_MODELS = 2_000
const MAX_ID_CHARS = 300

/** Host names that contain one of these may resolve to a private address. */
const LOCAL_NAMES = ['ollama', 'localhost', '127.0.0.1', 'lmstudio', 'lm-studio']

const count = (...values: unknown[]): number =>
  values.find((value): value is number => Number.isSafeInteger(value) && Number(value) > 0) ?? 0

const toModel = (value: unknown): RemoteModel[] => {
  const raw = isObject(value) ? value : {}
  const name = [value, raw.id, raw.name, raw.model].find(text => typeof text === 'string')
  // Google lists `models/gemini-…` but expects the bare id in requests.
  const id = typeof name === 'string' ? name.trim().replace(/^models\//, '') : ''
  if (!id || id.length > MAX_ID_CHARS || /[\p{Cc}\u2028\u2029]/u.test(id)) return []
  const meta = isObject(raw.meta) ? raw.meta : {}
  const contextLength = count(
    raw.context_length,
    raw.max_model_len,
    raw.max_context_length,
    raw.context_window,
    raw.max_input_tokens,
    meta.n_ctx_train,
  )
  const vision = visionIn(raw)
  return [{ id, contextLength, ...(vision !== undefined && { vision }) }]
}

/** Accepts `{data: […]}`, `{models: […]}` or a bare list, and removes duplicates. Undefined for anything else. */
export const parseModelList = (value: unknown): RemoteModel[] | undefined => {
  const rows = isObject(value) ? [value.data, value.models].find(Array.isArray) : value
  if (!Array.isArray(rows)) return undefined
  const models = rows.slice(0, MAX_MODELS).flatMap(toModel)
  return [...new Map(models.map(model => [model.id, model])).values()]
}

const STATUS: Readonly<Record<number, Sentence>> = {
  401: sentence('list.key_rejected'),
  403: sentence('list.key_without_permission'),
  404: sentence('list.none'),
  429: sentence('list.rate_limited'),
}

const checkedUrl = (text: string): URL => {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password)
    throw unavailable('That’s not a plain http:// or https:// address.', {
      code: 'invalid_address',
    })
  return url
}

/** Resolved addresses to connect to; undefined for a literal IP address. */
const pinned = async (url: URL, resolve: NonNullable<ModelListOptions['resolve']>) => {
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase()
  if (isIP(host) !== 0) return undefined
  const addresses = await resolve(host)
  const isNear = LOCAL_NAMES.some(name => host.includes(name))
  if (!isNear && addresses.some(({ address }) => isPrivateAddress(address)))
    throw unavailable(
      `${host} resolves to a private address, so it wasn’t contacted. Enter the IP address if that’s intended.`,
      { code: 'private_address', values: { host } },
    )
  return addresses
}

/** Connects to the addresses that were checked: a second lookup could return others (DNS rebinding). */
const dispatcherFor = async (
  question: ModelListRequest,
  url: URL,
  { dispatcher, resolve = host => lookup(host, { all: true }) }: ModelListOptions,
): Promise<Dispatcher | undefined> => {
  if (question.isKnown) return dispatcher
  const addresses = await pinned(url, resolve).catch((error: unknown) => {
    // Behind a proxy, local DNS often fails and the proxy resolves the name.
    if (dispatcher && !(error instanceof UserError)) return undefined
    throw error
  })
  const first = addresses?.[0]
  if (dispatcher || !first) return dispatcher
  const { Agent } = await import('undici')
  return new Agent({
    connect: {
      lookup: (_host, options, done) =>
        options.all ? done(null, addresses) : done(null, first.address, first.family),
    },
  })
}

/** Throws UserErrors only; no message contains the key. */
export const fetchModelList = async (
  question: ModelListRequest,
  options: ModelListOptions = {},
): Promise<RemoteModel[]> => {
  const url = checkedUrl(question.url)
  const signal = (options.deadline ?? AbortSignal.timeout)(question.timeoutMs)
  const refuse = (reason: Words, more: { status?: number } = {}) =>
    unavailable(`Couldn’t load models from ${url.host}: ${reason}.`, {
      code: 'model_list_failed',
      values: { host: url.host, reason },
      ...more,
    })
  let dispatcher: Dispatcher | undefined
  try {
    dispatcher = await dispatcherFor(question, url, options)
    const { request } = await import('undici')
    const answer = await request(url, {
      headers: { accept: 'application/json', ...question.headers },
      signal,
      ...(dispatcher ? { dispatcher } : {}),
    })
    const { statusCode: status } = answer
    if (status !== 200) {
      answer.body.on('error', () => undefined).destroy()
      throw refuse(STATUS[status] ?? sentence('list.status', { status }), { status })
    }
    const body = await readJsonBody(answer.body, MAX_BYTES)
    if (body === null)
      throw unavailable(`${url.host} returned a list that is too long.`, {
        code: 'model_list_invalid',
        values: { host: url.host },
      })
    const models = parseModelList(body)
    if (!models)
      throw unavailable(`${url.host} didn’t return a list of models.`, {
        code: 'model_list_invalid',
        values: { host: url.host },
      })
    return models
  } catch (error) {
    if (error instanceof UserError) throw error
    throw refuse(describeNetworkError(signal.aborted ? signal.reason : error))
  } finally {
    if (dispatcher && dispatcher !== options.dispatcher) void dispatcher.destroy()
  }
}
