/** The pages of a forwarder itself: the list of someone's cells, and a sentence for a person who cannot be served. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { randomBytes } from 'node:crypto'
import { type Client, createClientReader } from '../http/client-address.ts'
import { toSeconds } from '../base/clock.ts'
import { createAssets, cacheOf, encodingFor } from '../http/static.ts'
import { withoutBasePath } from '../base/base-path.ts'
import type { OwnCell } from '../cluster/directory.ts'
import type { Config } from '../config.ts'
import type { UserError } from '../errors.ts'
import { CELLS, pathOfCell } from '../http/cell-path.ts'
import type { ListedCell } from '../schema/cell.ts'
import { toErrorReply } from '../http/error-reply.ts'
import { isNotModified } from '../http/etag.ts'
import { securityHeaders } from '../http/headers.ts'
import type { Listener } from '../http/http.ts'
import { type Asset, packedHere } from '../store/packed.ts'
import { directionOf, preferredLanguage } from '../base/languages.ts'
import { CELLS_TEXTS, type CellsTexts } from '../http/cells-texts.ts'
import { documentPolicy, fillTemplate } from '../http/html-template.ts'

/** Why there is no list. */
type Refusal = Extract<keyof CellsTexts, 'nothing' | 'unnamed' | 'starting' | 'full' | 'away'>

/** These change by themselves. */
const PASSING: ReadonlySet<Refusal> = new Set(['starting', 'full', 'away'])

const cellsPage = (
  template: string,
  options: {
    /** Path prefix, with a trailing slash. */
    base: string
    acceptLanguage: string | undefined
    person: string | null
    botName: string
    content: readonly ListedCell[] | Refusal
  },
): { document: string; policy: string } => {
  const { base, person, content, botName } = options
  const language = preferredLanguage(options.acceptLanguage)
  const texts = CELLS_TEXTS[language]
  const isList = typeof content !== 'string'
  const nonce = randomBytes(16).toString('base64url')
  const document = fillTemplate(template, {
    base,
    nonce,
    person: person ?? '',
    lang: language,
    dir: directionOf(language),
    heading: isList ? texts.title : botName,
    title: isList ? texts.title : botName,
    signed_in: person === null ? '' : texts.signedIn.replace('{person}', () => person),
    message: isList ? '' : texts[content],
    retry: !isList && PASSING.has(content) ? 'yes' : '',
    cells: isList ? JSON.stringify(content) : '',
  })
  return { document, policy: documentPolicy(template, { images: 'data:', forms: "'none'", nonce }) }
}

const TEMPLATE = 'features/cells/cells.html'
/** What the page requests again and again. */
const LIST = '/forward/cells'
/** What these pages load, so that a list starts no cell. The rest of the path is that of the file below `/static`. */
const FILE = /^\/forward(\/static\/[\w.-]+)$/

export type Visitor = { person: string; own: readonly OwnCell[] }

const isReading = ({ method }: IncomingMessage): boolean => method === 'GET' || method === 'HEAD'
/** Programs, and requests of an open page, want JSON. */
const wantsPage = (req: IncomingMessage): boolean =>
  isReading(req) && /\btext\/html\b/.test(req.headers.accept ?? '')

const refusalOf = ({ kind, extra }: UserError): Refusal | null => {
  if (kind === 'unauthorized') return 'unnamed'
  if (kind === 'forbidden') return 'nothing'
  if (kind !== 'unavailable') return null
  return extra.waiting === 'starting' || extra.waiting === 'full' ? extra.waiting : 'away'
}

const toListed = (cell: OwnCell): ListedCell => ({
  title: cell.title || cell.name,
  path: `${pathOfCell(cell.name).slice(1)}/`,
  is_awake: cell.isAwake,
  running: cell.isAwake ? cell.running : 0,
  waiting: cell.waiting,
  active_at: cell.activeAt === null ? null : Math.floor(toSeconds(cell.activeAt)),
})

export class ForwardPages {
  readonly #config: Config
  readonly #version: string
  readonly clientOf: (req: IncomingMessage) => Client
  readonly #assets = createAssets(packedHere())

  constructor(config: Config, version: string) {
    this.#config = config
    this.#version = version
    this.clientOf = createClientReader(config.trustedProxies, config)
  }

  #pathOf(req: IncomingMessage): string {
    return withoutBasePath(req.url ?? '/', this.clientOf(req).prefix).replace(/\?.*$/s, '')
  }

  #send(
    { method }: IncomingMessage,
    res: ServerResponse,
    reply: { status: number; type: string; body: string; policy?: string },
  ): void {
    const { status, type, body, policy } = reply
    const headers = [...securityHeaders(this.#version, policy), 'Content-Type', type]
    res.writeHead(status, [...headers, 'Cache-Control', 'no-store'])
    res.end(method === 'HEAD' ? undefined : body)
  }

  #redirect(req: IncomingMessage, res: ServerResponse): void {
    const location = `${this.clientOf(req).prefix}${CELLS}/`
    res.writeHead(303, [
      ...securityHeaders(this.#version),
      'Location',
      location,
      'Cache-Control',
      'no-store',
    ])
    res.end()
  }

  async #sendPage(
    req: IncomingMessage,
    res: ServerResponse,
    options: { status: number; person: string | null; content: readonly ListedCell[] | Refusal },
  ): Promise<void> {
    const template = (await this.#assets()).get(TEMPLATE)?.raw.toString() ?? ''
    const { document, policy } = cellsPage(template, {
      ...options,
      base: `${this.clientOf(req).prefix}/`,
      acceptLanguage: req.headers['accept-language'],
      botName: this.#config.botName,
    })
    this.#send(req, res, {
      status: options.status,
      type: 'text/html; charset=utf-8',
      body: document,
      policy,
    })
  }

  #sendFile(req: IncomingMessage, res: ServerResponse, file: Asset): void {
    const encoding = encodingFor(file, req.headers['accept-encoding'])
    const etag = `"${file.etag}${encoding ? `-${encoding}` : ''}"`
    const headers = [...securityHeaders(this.#version), 'Content-Type', file.type, 'ETag', etag]
    headers.push('Vary', 'Accept-Encoding', 'Cache-Control', cacheOf(file))
    if (encoding) headers.push('Content-Encoding', encoding)
    const isKnown = isNotModified(req.headers['if-none-match'], etag)
    res.writeHead(isKnown ? 304 : 200, headers)
    const body = (encoding && file[encoding]) ?? file.raw
    res.end(isKnown || req.method === 'HEAD' ? undefined : body)
  }

  /** False: the request is for a cell. */
  async answer(req: IncomingMessage, res: ServerResponse, visitor: Visitor): Promise<boolean> {
    if (!isReading(req)) return false
    const path = this.#pathOf(req)
    const cells = visitor.own.map(toListed)
    if (path === LIST) {
      const body = JSON.stringify({ cells })
      this.#send(req, res, { status: 200, type: 'application/json; charset=utf-8', body })
    } else if (path === `${CELLS}/`)
      await this.#sendPage(req, res, { status: 200, person: visitor.person, content: cells })
    else if (
      path === CELLS ||
      ((path === '/' || path === '') && cells.length > 1 && wantsPage(req))
    )
      this.#redirect(req, res)
    else return false
    return true
  }

  async refuse(req: IncomingMessage, res: ServerResponse, error: UserError): Promise<boolean> {
    const refusal = refusalOf(error)
    if (refusal === null || !wantsPage(req)) return false
    await this.#sendPage(req, res, {
      status: toErrorReply(error).status,
      person: null,
      content: refusal,
    })
    return true
  }

  /** The files of these pages are for everyone, as those of a cell. */
  withFiles(listener: Listener): Listener {
    return (req, res) => {
      const [, path] = FILE.exec(this.#pathOf(req)) ?? []
      if (path === undefined || !isReading(req)) return listener(req, res)
      this.#assets().then(
        table => {
          const file = table.get(path)
          if (file) this.#sendFile(req, res, file)
          else listener(req, res)
        },
        () => listener(req, res),
      )
    }
  }
}
