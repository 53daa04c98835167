/** Runs a request of a program as a turn of the agent: session, images, functions, and what happens when a connection closes. */
import { join } from 'node:path'
import type { ContinuedWork } from '../turns/continued-turns.ts'
import { parseDataUrl } from '../base/data-url.ts'
import { readImageFile } from '../agent/image-file.ts'
import type { ModelEndpoint } from '../agent/types.ts'
import type { Services } from '../turns/context/services.ts'
import type { TurnStarter } from '../turns/start-turn.ts'
import type { ApiTokens } from '../people/api-tokens.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import { tooMany, unauthorized, UserError, missing } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { ApiToken } from '../schema/api-token.ts'
import type { StartedTurn, Turns } from '../turns/turns.ts'
import type { Turn } from '../turns/turn.ts'
import type { ApiEvent, ApiRequest, ApiResult } from './api-request.ts'
import { type Conversations, type Head, historyKey } from './conversations.ts'
import { checkedAnswer, readRequirements, type AnswerRequirements } from './answer-requirements.ts'
import { followTurn } from './follow-turn.ts'
import { OWNER_FIELD, SessionLocator } from './locate-session.ts'
import { splitMessages, toResult } from './new-messages.ts'
import { badParameter } from './parse.ts'
import { withPdfText } from './pdfs.ts'
import type { ModelServices } from '../models/models.ts'
import { resolveFor } from '../models/resolve.ts'

const DEFAULT_NAME = 'agent'

class ModelNames {
  readonly #models: ModelServices

  constructor(models: ModelServices) {
    this.#models = models
  }

  async #idsOf(home: Home): Promise<string[]> {
    const { groups } = await this.#models.list(home.lenient)
    return [...new Set(groups.flatMap(({ models }) => models.map(({ id }) => id)))]
  }

  #pairOf(home: Home, id: string): string {
    const { provider, model } = resolveFor(home, id)
    return JSON.stringify([provider, model])
  }

  async list(home: Home): Promise<string[]> {
    return [DEFAULT_NAME, ...(await this.#idsOf(home))]
  }

  /** The id that a session stores; empty for the default. An unknown name is a 404: nothing is replaced by something similar. */
  async resolve(home: Home, name: string): Promise<string> {
    if (name === DEFAULT_NAME) return ''
    const ids = await this.#idsOf(home)
    const pair = this.#pairOf(home, name)
    const isListed = ids.includes(name) || ids.some(id => this.#pairOf(home, id) === pair)
    if (name.trim() !== '' && isListed && !this.#models.compatible(home, name).changed) return name
    throw missing(
      `The model "${name.slice(0, 200)}" does not exist. Use "${DEFAULT_NAME}", or a name that GET /v1/models lists.`,
      { param: 'model', api_code: 'model_not_found' },
    )
  }
}

const MAX_RUNNING = 8
const MAX_IMAGES = 20
const MAX_IMAGE_BYTES = 10 * 1024 * 1024

/** What names an answer. */
export type Answer = {
  /** Hexadecimal, different for each request. */
  id: string
  sessionId: string
  /** Milliseconds since 1970. */
  createdAt: number
}

/** A streamed answer names its request in errors, too. */
export type StreamedAnswer = Answer & { requestId: string }

/** `events` can be read once. */
export type RunningRequest = Answer & { events: AsyncGenerator<ApiEvent> }

export type OnEnd = (answer: Answer, head: Head, result: ApiResult) => void

export type RunOptions = {
  token: ApiToken
  /** Aborted when the client disconnects. */
  disconnected: AbortSignal
  /** Aborted when the token is revoked. */
  revoked: AbortSignal
  /** The field that contains the messages, for errors. */
  param: string
}

const NEVER = new AbortController().signal

/** A model that cannot be called fails the turn later, with its reason. */
const isExternal = (endpoint: () => ModelEndpoint): boolean => {
  try {
    return endpoint().apiMode === 'acp'
  } catch (error) {
    if (error instanceof UserError) return false
    throw error
  }
}

/** An external agent has its own instructions and tools; ours are not passed to it either. */
const rejectForExternalAgent = ({ functions, instructions }: ApiRequest, param: string): void => {
  if (functions.length === 0 && instructions.trim() === '') return
  throw functions.length > 0
    ? badParameter(
        'tools',
        'This model is an external agent, which cannot call tools of the client.',
      )
    : badParameter(param, 'This model is an external agent, which takes no system messages.')
}

export class ClientApi {
  readonly #services: Services
  readonly #turns: Turns
  readonly #starter: TurnStarter
  readonly #tokens: ApiTokens
  readonly #workspaces: Workspaces
  readonly #conversations: Conversations
  readonly #models: ModelNames
  readonly #locator: SessionLocator
  readonly #running = new Map<string, number>()

  constructor(
    services: Services,
    turns: Turns,
    starter: TurnStarter,
    { apiTokens, workspaces }: { apiTokens: ApiTokens; workspaces: Workspaces },
    conversations: Conversations,
  ) {
    this.#services = services
    this.#turns = turns
    this.#starter = starter
    this.#tokens = apiTokens
    this.#workspaces = workspaces
    this.#conversations = conversations
    this.#models = new ModelNames(services.models)
    this.#locator = new SessionLocator(services.sessions, conversations)
  }

  /** The model names of a token. */
  models({ profile }: ApiToken): Promise<string[]> {
    return this.#models.list(this.#services.homes.open(profile))
  }

  /** Throws a 429 when the token has too many running requests. Returns the function that gives the place back. */
  #enter(token: string): () => void {
    const count = this.#running.get(token) ?? 0
    if (count >= MAX_RUNNING)
      throw tooMany(`This token has ${MAX_RUNNING} requests running. Wait until one ends.`)
    this.#running.set(token, count + 1)
    return () => {
      const rest = (this.#running.get(token) ?? 1) - 1
      if (rest > 0) this.#running.set(token, rest)
      else this.#running.delete(token)
    }
  }

  /** Reads all images before anything is stored: a bad one rejects the request. */
  async #readImages(
    home: Home,
    urls: readonly string[],
    { disconnected, param }: RunOptions,
  ): Promise<{ data: Buffer; ending: string }[]> {
    if (urls.length > MAX_IMAGES)
      throw badParameter(param, `A message can contain ${MAX_IMAGES} images.`)
    const images: { data: Buffer; ending: string }[] = []
    for (const url of urls) {
      const dataUrl = parseDataUrl(url)
      if (!dataUrl && !/^https?:\/\//i.test(url))
        throw badParameter(param, 'An image must be a base64 data URL or an http(s) URL.')
      const { data } = dataUrl
        ? { data: Buffer.from(dataUrl.data, 'base64') }
        : await this.#services.web.imageForPage(home, url, MAX_IMAGE_BYTES, disconnected)
      const image = readImageFile(data)
      if (!image || data.length > MAX_IMAGE_BYTES)
        throw badParameter(param, 'An image must be PNG, JPEG, GIF or WebP, and at most 10 MB.')
      images.push({ data, ending: image.ending })
    }
    return images
  }

  #storeImages(sessionId: string, images: { data: Buffer; ending: string }[]): string[] {
    return images.flatMap(({ data, ending }) => {
      const name = this.#services.toolOutput.saveImage(sessionId, data, ending)
      return name === null ? [] : [join(this.#services.toolOutput.dirOf(sessionId), name)]
    })
  }

  /** Remembers how far the conversation is, before the client can send the next request. */
  #remember(turn: Turn, request: ApiRequest, token: ApiToken, result: ApiResult): Head {
    const head = { session: turn.sessionId, message: turn.messageIds.at(-1) ?? '' }
    const { text, calls } = result
    const answer = { role: 'assistant' as const, text, calls }
    if (request.previous === null && request.conversation === null)
      this.#conversations.save(token.id, historyKey([...request.messages, answer]), head)
    return head
  }

  /** Stops the turn with the connection or the token. Returns a function that ends this. */
  #stopWith({ streamId }: Turn, { token, disconnected, revoked }: RunOptions) {
    const stop = () => void this.#turns.cancel(streamId)
    const signals = token.disconnect === 'stop' ? [disconnected, revoked] : [revoked]
    for (const signal of signals) {
      if (signal.aborted) stop()
      signal.addEventListener('abort', stop, { once: true })
    }
    return () => {
      for (const signal of signals) signal.removeEventListener('abort', stop)
    }
  }

  /** Follows the turn to its end, also without a reader. */
  async #settle(
    turn: Turn,
    request: ApiRequest,
    demands: AnswerRequirements,
    options: RunOptions,
    onEnd: (head: Head, result: ApiResult) => void,
  ): Promise<void> {
    for await (const event of checkedAnswer(followTurn(turn.log, NEVER), demands)) {
      if (event.type !== 'done') continue
      onEnd(this.#remember(turn, request, options.token, event.result), event.result)
    }
  }

  /**
   * What the turn of a session continues with after a restart, which needs nothing of what its request brought; null when
   * its token has ended. Its answer is read in the chat.
   */
  resume(sessionId: string): ContinuedWork | null {
    const { [OWNER_FIELD]: id } = this.#services.sessions.head(sessionId).meta
    const token = typeof id === 'string' ? this.#tokens.find(id) : null
    if (!token) return null
    const revoked = this.#tokens.signal(token.id)
    const { approvals } = token
    return {
      unattended: null,
      client: {
        instructions: '',
        tools: [],
        demands: {},
        oneCall: false,
        approvals,
        continues: true,
      },
      endpoint: () => this.#starter.endpointToResume(sessionId),
      onRun: started => started && this.#endWith(revoked, started),
    }
  }

  #endWith(revoked: AbortSignal, { turn, result }: StartedTurn): void {
    const stop = () => void this.#turns.cancel(turn.streamId)
    if (revoked.aborted) stop()
    revoked.addEventListener('abort', stop, { once: true })
    void result.finally(() => revoked.removeEventListener('abort', stop))
  }

  /**
   * Starts the turn. Throws a UserError before it starts; later failures are events. `onEnd` is called before the last
   * event is sent.
   */
  async run(
    apiRequest: ApiRequest,
    options: RunOptions,
    onEnd: OnEnd = () => undefined,
  ): Promise<RunningRequest> {
    const { token, param, revoked } = options
    const leave = this.#enter(token.id)
    let isStarted = false
    try {
      const home = this.#services.homes.open(token.profile)
      const model = await this.#models.resolve(home, apiRequest.model)
      const messages = await withPdfText(
        apiRequest.messages,
        this.#services.readDocument,
        options.disconnected,
      )
      const request = { ...apiRequest, model, messages }
      const demands = await readRequirements(request)
      const isAgent = isExternal(() => this.#services.endpointOf(home, model || null))
      if (isAgent) rejectForExternalAgent(request, param)
      const split = splitMessages(request.messages, param)
      const images = await this.#readImages(home, split.images, options)
      if (revoked.aborted) throw unauthorized('The token was revoked.')
      const workspace = token.workspace || this.#workspaces.last(home)
      // Before a session is created for it.
      this.#workspaces.check(home, workspace)
      const { sessionId, replace, names } = this.#locator.locate({
        request,
        split,
        token,
        workspace,
        param,
      })
      // Before the turn: the name also selects this session while it runs, and after it failed.
      if (request.conversation !== null)
        this.#conversations.save(token.id, `conversation:${request.conversation}`, {
          session: sessionId,
          message: '',
        })
      const { turn } = await this.#starter.turn({
        sessionId,
        role: 'member',
        replace,
        text: split.text,
        attachments: this.#storeImages(sessionId, images),
        results: split.results.map(result => toResult(result, names.get(result.callId))),
        model,
        effort: request.effort,
        client: {
          instructions: [request.instructions, ...(isAgent ? [] : demands.instructions)]
            .filter(Boolean)
            .join('\n\n'),
          demands: demands.demands,
          tools: request.functions,
          oneCall: request.oneCall,
          approvals: token.approvals,
          // The effort of a request is not kept, nor what it demands.
          continues:
            token.disconnect === 'continue' &&
            request.effort === undefined &&
            request.format === null,
        },
      })
      isStarted = true
      const release = this.#stopWith(turn, options)
      const answer: Answer = {
        id: turn.streamId,
        sessionId: turn.sessionId,
        createdAt: turn.startedAt,
      }
      const ending = this.#settle(turn, request, demands, options, (head, result) =>
        onEnd(answer, head, result),
      )
        .catch(error =>
          this.#services.log.warn('could not follow a turn', { error: String(error) }),
        )
        .finally(() => {
          release()
          leave()
        })
      const follow = async function* (): AsyncGenerator<ApiEvent> {
        for await (const event of checkedAnswer(
          followTurn(turn.log, options.disconnected),
          demands,
        )) {
          if (event.type !== 'text') await ending
          yield event
        }
      }
      return { ...answer, events: follow() }
    } finally {
      if (!isStarted) leave()
    }
  }
}
