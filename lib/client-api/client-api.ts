/** Runs a request of a program as a turn of the agent: session, images, functions, and what happens when a connection closes. */
import { parseDataUrl } from '../base/data-url.ts'
import { join } from 'node:path'
import { readImageFile } from '../agent/image-file.ts'
import type { ReadDocument } from '../agent/tool-services.ts'
import type { ModelEndpoint } from '../agent/types.ts'
import type { TurnStarter } from '../turns/start-turn.ts'
import { tooMany, unauthorized, UserError } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { Homes } from '../profiles/homes.ts'
import type { ApiToken } from '../schema/api-token.ts'
import type { Sessions } from '../sessions/types.ts'
import type { ToolOutput } from '../sessions/tool-output.ts'
import type { Turns } from '../turns/turns.ts'
import type { Turn } from '../turns/turn.ts'
import type { ApiEvent, ApiRequest, ApiResult } from './api-request.ts'
import { type Conversations, type Head, historyKey } from './conversations.ts'
import { demanded, toDemands, type RequestDemands } from './demands.ts'
import { followTurn } from './follow-turn.ts'
import { createLocator } from './locate-session.ts'
import type { ModelNames } from './model-names.ts'
import { splitMessages, toResult } from './new-messages.ts'
import { badParameter } from './parse.ts'
import { withPdfText } from './pdfs.ts'
import { createResume, type ResumeOptions } from './resume.ts'

export type ClientApiOptions = ResumeOptions & {
  sessions: Sessions
  turns: Pick<Turns, 'cancel'>
  turnStarter: Pick<TurnStarter, 'turn'>
  homes: Pick<Homes, 'open'>
  workspaces: {
    last: (home: Home) => string
    /** Throws a 400 when it cannot be used. */
    check: (home: Home, path: string) => string
  }
  conversations: Conversations
  modelNames: ModelNames
  /** Throws a UserError when the model cannot be called; empty: the default model. */
  endpointOf: (home: Home, model: string | null) => ModelEndpoint
  toolOutput: Pick<ToolOutput, 'saveImage' | 'dirOf'>
  readDocument: ReadDocument
  /** Downloads an image under the URL rules of the home. */
  fetchImage: (
    home: Home,
    url: string,
    maxBytes: number,
    signal: AbortSignal,
  ) => Promise<{ data: Buffer }>
  log: (message: string, extra?: Record<string, unknown>) => void
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

export const createClientApi = (options: ClientApiOptions) => {
  const { turns, conversations } = options
  const locate = createLocator(options)
  const running = new Map<string, number>()

  /** Throws a 429 when the token has too many running requests. Returns the function that gives the place back. */
  const enter = (token: string): (() => void) => {
    const count = running.get(token) ?? 0
    if (count >= MAX_RUNNING)
      throw tooMany(`This token has ${MAX_RUNNING} requests running. Wait until one ends.`)
    running.set(token, count + 1)
    return () => {
      const left = (running.get(token) ?? 1) - 1
      if (left > 0) running.set(token, left)
      else running.delete(token)
    }
  }

  /** Reads all images before anything is stored: a bad one rejects the request. */
  const readImages = async (
    home: Home,
    urls: readonly string[],
    { disconnected, param }: RunOptions,
  ): Promise<{ data: Buffer; ending: string }[]> => {
    if (urls.length > MAX_IMAGES)
      throw badParameter(param, `A message can contain ${MAX_IMAGES} images.`)
    const images: { data: Buffer; ending: string }[] = []
    for (const url of urls) {
      const given = parseDataUrl(url)
      if (!given && !/^https?:\/\//i.test(url))
        throw badParameter(param, 'An image must be a base64 data URL or an http(s) URL.')
      const { data } = given
        ? { data: Buffer.from(given.data, 'base64') }
        : await options.fetchImage(home, url, MAX_IMAGE_BYTES, disconnected)
      const image = readImageFile(data)
      if (!image || data.length > MAX_IMAGE_BYTES)
        throw badParameter(param, 'An image must be PNG, JPEG, GIF or WebP, and at most 10 MB.')
      images.push({ data, ending: image.ending })
    }
    return images
  }

  const storeImages = (sessionId: string, images: { data: Buffer; ending: string }[]): string[] =>
    images.flatMap(({ data, ending }) => {
      const name = options.toolOutput.saveImage(sessionId, data, ending)
      return name === null ? [] : [join(options.toolOutput.dirOf(sessionId), name)]
    })

  /** Remembers how far the conversation is, before the client can send the next request. */
  const remember = (turn: Turn, request: ApiRequest, token: ApiToken, result: ApiResult): Head => {
    const head = { session: turn.sessionId, message: turn.messageIds.at(-1) ?? '' }
    const { text, calls } = result
    const answer = { role: 'assistant' as const, text, calls }
    if (request.previous === null && request.conversation === null)
      conversations.save(token.id, historyKey([...request.messages, answer]), head)
    return head
  }

  /** Stops the turn with the connection or the token. Returns a function that ends this. */
  const stopWith = ({ streamId }: Turn, { token, disconnected, revoked }: RunOptions) => {
    const stop = () => void turns.cancel(streamId)
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
  const settle = async (
    turn: Turn,
    request: ApiRequest,
    demands: RequestDemands,
    given: RunOptions,
    onEnd: (head: Head, result: ApiResult) => void,
  ): Promise<void> => {
    for await (const event of demanded(followTurn(turn.log, NEVER), demands)) {
      if (event.type !== 'done') continue
      onEnd(remember(turn, request, given.token, event.result), event.result)
    }
  }

  return {
    resume: createResume(options),

    /**
     * Starts the turn. Throws a UserError before it starts; later failures are events. `onEnd` is called before the last
     * event is sent.
     */
    async run(
      asked: ApiRequest,
      given: RunOptions,
      onEnd: OnEnd = () => undefined,
    ): Promise<RunningRequest> {
      const { token, param, revoked } = given
      const leave = enter(token.id)
      let isStarted = false
      try {
        const home = options.homes.open(token.profile)
        const model = await options.modelNames.resolve(home, asked.model)
        const messages = await withPdfText(asked.messages, options.readDocument, given.disconnected)
        const request = { ...asked, model, messages }
        const demands = await toDemands(request)
        const isAgent = isExternal(() => options.endpointOf(home, model || null))
        if (isAgent) rejectForExternalAgent(request, param)
        const split = splitMessages(request.messages, param)
        const images = await readImages(home, split.images, given)
        if (revoked.aborted) throw unauthorized('The token was revoked.')
        const workspace = token.workspace || options.workspaces.last(home)
        // Before a session is created for it.
        options.workspaces.check(home, workspace)
        const { sessionId, replace, names } = locate({ request, split, token, workspace, param })
        // Before the turn: the name also selects this session while it runs, and after it failed.
        if (request.conversation !== null)
          conversations.save(token.id, `conversation:${request.conversation}`, {
            session: sessionId,
            message: '',
          })
        const { turn } = await options.turnStarter.turn({
          sessionId,
          role: 'member',
          replace,
          text: split.text,
          attachments: storeImages(sessionId, images),
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
        const release = stopWith(turn, given)
        const answer: Answer = {
          id: turn.streamId,
          sessionId: turn.sessionId,
          createdAt: turn.startedAt,
        }
        const settled = settle(turn, request, demands, given, (head, result) =>
          onEnd(answer, head, result),
        )
          .catch(error => options.log('could not follow a turn', { error: String(error) }))
          .finally(() => {
            release()
            leave()
          })
        const follow = async function* (): AsyncGenerator<ApiEvent> {
          for await (const event of demanded(followTurn(turn.log, given.disconnected), demands)) {
            if (event.type !== 'text') await settled
            yield event
          }
        }
        return { ...answer, events: follow() }
      } finally {
        if (!isStarted) leave()
      }
    },
  }
}
