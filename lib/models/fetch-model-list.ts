/** One question to an address: which models do you serve? Bounded, never redirected, never led into a private network by a public name. */
import { lookup } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import type { Dispatcher } from 'undici'
import { isObject } from '../base/json.ts'
import { UserError, unavailable } from '../errors.ts'
import { describeNetworkError } from '../http/network-error.ts'

/** A model as a server lists it; `contextLength` is 0 when it does not say. */
export type RemoteModel = { readonly id: string; readonly contextLength: number }

export type ModelListRequest = {
  url: string
  headers: Readonly<Record<string, string>>
  timeoutMs: number
  /** The address stands in our own table: nobody could have planted it. */
  isKnown: boolean
}

export type ModelListFetcherOptions = {
  /** Where a proxy is to be used. */
  dispatcher?: Dispatcher | undefined
  /** Aborts after so many milliseconds. */
  deadline?: (ms: number) => AbortSignal
  resolve?: (host: string) => Promise<{ address: string; family: number }[]>
}

export type FetchModelList = (question: ModelListRequest) => Promise<RemoteModel[]>

const MAX_BYTES = 8 * 1024 * 1024
const MAX_MODELS = 2_000
const MAX_ID_CHARS = 300

/** A name with one of these in it says itself that it is a server nearby (contract §5.6). */
const LOCAL_NAMES = ['ollama', 'localhost', '127.0.0.1', 'lmstudio', 'lm-studio']

const privateList = (): BlockList => {
  const list = new BlockList()
  for (const block of [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.168.0.0/16',
  ]) {
    const [address = '', bits] = block.split('/')
    list.addSubnet(address, Number(bits), 'ipv4')
  }
  list.addSubnet('fc00::', 7, 'ipv6')
  list.addSubnet('fe80::', 10, 'ipv6')
  list.addAddress('::', 'ipv6')
  list.addAddress('::1', 'ipv6')
  return list
}
const PRIVATE = privateList()

/** Loopback, link-local, private and shared ranges; a mapped IPv4 address counts as what it maps. */
export const isPrivateAddress = (address: string): boolean => {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  const family = isIP(plain)
  return family !== 0 && PRIVATE.check(plain, family === 6 ? 'ipv6' : 'ipv4')
}

const count = (...values: unknown[]): number =>
  values.find((value): value is number => Number.isSafeInteger(value) && Number(value) > 0) ?? 0

const toModel = (value: unknown): RemoteModel[] => {
  const raw = isObject(value) ? value : {}
  const name = [value, raw.id, raw.name, raw.model].find(text => typeof text === 'string')
  // Google writes `models/gemini-…` and wants it without.
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
  return [{ id, contextLength }]
}

/** `{data:[…]}`, `{models:[…]}` or a bare list; each entry once. Undefined when it is something else. */
export const parseModelList = (value: unknown): RemoteModel[] | undefined => {
  const found = isObject(value) ? [value.data, value.models].find(Array.isArray) : value
  if (!Array.isArray(found)) return undefined
  const models = found.slice(0, MAX_MODELS).flatMap(toModel)
  return [...new Map(models.map(model => [model.id, model])).values()]
}

const STATUS: Readonly<Record<number, string>> = {
  401: 'it does not accept the key',
  403: 'the key may not do that',
  404: 'there is no model list at that address',
  429: 'it asks to slow down',
}

const readJson = async (body: Dispatcher.ResponseData['body'], host: string): Promise<unknown> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_BYTES) throw unavailable(`${host} answered a list that is too long.`)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    // A page of some other server: told apart from a list below.
    return undefined
  }
}

const checkedUrl = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password)
    throw unavailable('That is not a plain http:// or https:// address.')
  return url
}

/** Throws a Refusal with a sentence; the key is in none of them. */
export const createModelListFetcher = (options: ModelListFetcherOptions = {}): FetchModelList => {
  const deadline = options.deadline ?? (ms => AbortSignal.timeout(ms))
  const resolve = options.resolve ?? (host => lookup(host, { all: true }))

  /** The addresses to connect to; undefined leaves the looking-up to the connection. */
  const pinned = async (url: URL) => {
    const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase()
    if (isIP(host) !== 0) return undefined
    const found = await resolve(host)
    const isNear = LOCAL_NAMES.some(name => host.includes(name))
    if (!isNear && found.some(({ address }) => isPrivateAddress(address)))
      throw unavailable(
        `${host} leads into a private network, so it is not asked. Write its address as numbers if that is meant.`,
      )
    return found
  }

  /** What was looked up is what is connected to: a second answer could be another one. */
  const dispatcherFor = async (
    question: ModelListRequest,
    url: URL,
  ): Promise<Dispatcher | undefined> => {
    if (question.isKnown) return options.dispatcher
    const addresses = await pinned(url).catch((error: unknown) => {
      // Behind a proxy names are often the proxy's to look up.
      if (options.dispatcher && !(error instanceof UserError)) return undefined
      throw error
    })
    if (options.dispatcher || !addresses?.[0]) return options.dispatcher
    const [first] = addresses
    const { Agent } = await import('undici')
    return new Agent({
      connect: {
        lookup: (_host, wanted, done) =>
          wanted.all ? done(null, addresses) : done(null, first.address, first.family),
      },
    })
  }

  return async question => {
    const url = checkedUrl(question.url)
    const signal = deadline(question.timeoutMs)
    let dispatcher: Dispatcher | undefined
    try {
      dispatcher = await dispatcherFor(question, url)
      const { request } = await import('undici')
      const answer = await request(url, {
        headers: { accept: 'application/json', ...question.headers },
        signal,
        ...(dispatcher ? { dispatcher } : {}),
      })
      if (answer.statusCode !== 200) {
        answer.body.on('error', () => undefined).destroy()
        const said = STATUS[answer.statusCode] ?? `it answered with status ${answer.statusCode}`
        throw unavailable(`No models from ${url.host}: ${said}.`, { status: answer.statusCode })
      }
      const models = parseModelList(await readJson(answer.body, url.host))
      if (!models) throw unavailable(`What ${url.host} answered is not a list of models.`)
      return models
    } catch (error) {
      throw error instanceof UserError
        ? error
        : unavailable(
            `No models from ${url.host}: ${describeNetworkError(signal.aborted ? signal.reason : error)}.`,
          )
    } finally {
      if (dispatcher && dispatcher !== options.dispatcher) void dispatcher.destroy()
    }
  }
}
