/** The client API: other programs talk to the agent in the formats of OpenAI and Anthropic. */
import type { Clock } from '../lib/base/clock.ts'
import { z } from 'zod'
import { estimateTextTokens } from '../lib/agent/tokens.ts'
import { withHeartbeats } from '../lib/base/sse.ts'
import type { ApiEvent, ApiFailure, ApiRequest } from '../lib/client-api/api-request.ts'
import type { OnEnd } from '../lib/client-api/client-api.ts'
import { anthropicError, errorByClient, openAiError, toError } from '../lib/client-api/errors.ts'
import {
  type ApiFormat,
  chatFormat,
  messagesFormat,
  responsesFormat,
} from '../lib/client-api/formats.ts'
import { withItems } from '../lib/client-api/responses.ts'
import { responseId, toFinishedResponse } from '../lib/client-api/responses-reply.ts'
import { type Ctx, endpoint } from '../lib/context.ts'
import { missing, unauthorized, unavailable } from '../lib/errors.ts'
import { eventStream, jsonText, reply } from '../lib/http/reply.ts'

/** How long a stream waits for its first event: until then a failure is still an HTTP error. Proxies wait longer. */
const FIRST_EVENT_MS = 5_000

/** Of the header that names what a request is answered without. */
const MAX_IGNORED_CHARS = 1_000

/** The fields of a body, for the documentation: it is parsed by its format, which names the parameter that is wrong. */
const bodyWith = (...names: string[]) =>
  z.looseObject(Object.fromEntries(names.map(name => [name, z.unknown().optional()])))

const ChatBody = bodyWith(
  ...['model', 'messages', 'stream', 'stream_options', 'tools', 'tool_choice'],
  ...['parallel_tool_calls', 'reasoning_effort', 'metadata', 'response_format'],
)
const ResponsesBody = bodyWith(
  ...['model', 'input', 'instructions', 'previous_response_id', 'conversation', 'store', 'stream'],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'reasoning', 'metadata', 'text'],
)
const MessagesBody = bodyWith(
  ...['model', 'max_tokens', 'messages', 'system', 'stream', 'tools', 'tool_choice'],
  ...['output_config', 'output_format', 'metadata'],
)

/** Whole replies; with `stream`, events in the same API's form. */
const ChatReply = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  choices: z.array(z.looseObject({ index: z.number(), finish_reason: z.string() })),
})
const ResponsesReply = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  output: z.array(z.looseObject({ type: z.string() })),
})
const MessagesReply = z.looseObject({
  id: z.string(),
  type: z.literal('message'),
  content: z.array(z.looseObject({ type: z.string() })),
})
const OneModel = z.looseObject({ id: z.string() })

const requireToken = (ctx: Ctx) => ctx.app.apiTokens.require(ctx.req.headers, ctx.client)

const header = (ctx: Ctx, name: string): string | null => {
  const value = ctx.req.headers[name]
  return typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, 200) : null
}

/** `next` first, if it comes within some seconds and is not a failure; then the others. */
const withFirst = async (
  events: AsyncGenerator<ApiEvent>,
  errorOf: (failure: ApiFailure) => Error,
  clock: Clock,
): Promise<AsyncGenerator<ApiEvent, void>> => {
  const first = events.next()
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const cancel = clock.timer(FIRST_EVENT_MS, () => resolve(null))
  const early = await Promise.race([first, late])
  cancel()
  if (early?.value?.type === 'failed') throw errorOf(early.value.failure)
  return (async function* () {
    try {
      const result = await first
      if (result.done) return
      yield result.value
      yield* events
    } finally {
      await events.return(undefined)
    }
  })()
}

const serve = async <R extends ApiRequest>(
  ctx: Ctx,
  body: Record<string, unknown>,
  format: ApiFormat<R>,
  onEnd?: (request: R, tokenId: string) => OnEnd,
  /** Completes the body with what is stored here. */
  complete = (body: Record<string, unknown>, _tokenId: string) => body,
) => {
  const token = requireToken(ctx)
  const apiRequest = format.parse(complete(body, token.id))
  const request = {
    ...apiRequest,
    conversation: apiRequest.conversation ?? header(ctx, 'x-hermes-session-id'),
  }
  const revoked = ctx.app.apiTokens.signal(token.id)
  const isBound = token.disconnect === 'stop' || ctx.requestKey === undefined
  if (isBound) ctx.endWithConnection()
  // Who repeats a request with its key gets the reply, also when the first connection was lost.
  const disconnected = isBound ? ctx.disconnected : new AbortController().signal
  const { events, ...answer } = await ctx.app.clientApi.run(
    request,
    { token, disconnected, revoked, param: format.param },
    onEnd?.(request, token.id),
  )
  const headers = {
    'request-id': ctx.requestId,
    'x-hermes-session-id': answer.sessionId,
    ...(request.ignored.length > 0 && {
      'x-ignored-parameters': request.ignored.join(', ').slice(0, MAX_IGNORED_CHARS),
    }),
  }
  const errorOf = (failure: ApiFailure): Error =>
    revoked.aborted ? unauthorized('The token was revoked.') : toError(failure)
  if (request.stream) {
    const frames = format.frames(
      { ...answer, requestId: ctx.requestId },
      await withFirst(events, errorOf, ctx.app.clock),
      request,
    )
    return eventStream(withHeartbeats(frames, format.heartbeat), { headers })
  }
  for await (const event of events) {
    if (event.type === 'done')
      return reply(format.whole(answer, event.result, request), { headers })
    if (event.type === 'failed') throw errorOf(event.failure)
  }
  // The client has closed the connection.
  throw unavailable('The turn was interrupted.')
}

export const models = endpoint({
  access: 'read',
  summary: 'Models that programs can name: "agent" is the default of the profile',
  byToken: true,
  errorBody: errorByClient,
  cache: 'no-store',
  output: z.looseObject({ data: z.array(OneModel) }),
  async run(ctx) {
    const token = requireToken(ctx)
    const ids = await ctx.app.clientApi.models(token)
    const isAnthropic = ctx.req.headers['anthropic-version'] !== undefined
    const data = ids.map(id => toModel(id, token.created_at, isAnthropic))
    return isAnthropic
      ? { data, has_more: false, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null }
      : { object: 'list' as const, data }
  },
})

const toModel = (id: string, created: number, isAnthropic: boolean) =>
  isAnthropic
    ? {
        type: 'model' as const,
        id,
        display_name: id,
        created_at: new Date(created * 1_000).toISOString(),
      }
    : { id, object: 'model' as const, created, owned_by: 'agent-webui' }

export const model = endpoint({
  access: 'read',
  summary: 'One of these models',
  byToken: true,
  errorBody: errorByClient,
  cache: 'no-store',
  input: z.object({ model: z.string() }),
  output: OneModel,
  async run(ctx, { model: name }) {
    const token = requireToken(ctx)
    const id = decoded(name)
    if (!(await ctx.app.clientApi.models(token)).includes(id))
      throw missing(`The model "${id.slice(0, 200)}" does not exist.`, {
        param: 'model',
        api_code: 'model_not_found',
      })
    return toModel(id, token.created_at, ctx.req.headers['anthropic-version'] !== undefined)
  },
})

/** Paths are matched as they were sent; names of models contain slashes and colons. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    // Not valid percent encoding: no model is called so.
    return text
  }
}

export const chatCompletions = endpoint({
  once: 'memory',
  access: 'work',
  summary: 'Run a turn of the agent; format of OpenAI’s Chat Completions',
  byToken: true,
  errorBody: openAiError,
  input: ChatBody,
  output: ChatReply,
  run: (ctx, body) => serve(ctx, body, chatFormat),
})

export const responses = endpoint({
  once: 'memory',
  access: 'work',
  summary: 'Run a turn of the agent; format of OpenAI’s Responses',
  byToken: true,
  errorBody: openAiError,
  input: ResponsesBody,
  output: ResponsesReply,
  run: (ctx, body) =>
    serve(
      ctx,
      body,
      responsesFormat,
      (request, tokenId) => (answer, head, result) => {
        if (!request.store) return
        const body = JSON.stringify(toFinishedResponse(answer, result, request))
        ctx.app.apiConversations.save(tokenId, `response:${responseId(answer.id)}`, head, body)
      },
      (body, tokenId) =>
        withItems(body, id => ctx.app.apiConversations.find(tokenId, `response:${id}`)?.body),
    ),
})

const OneResponse = z.object({ id: z.string().max(200) })

const noResponse = (id: string) =>
  missing(`There is no response with the id "${id.slice(0, 100)}".`, { param: 'id' })

export const response = endpoint({
  access: 'read',
  summary: 'A stored response',
  byToken: true,
  errorBody: openAiError,
  cache: 'no-store',
  input: OneResponse,
  output: ResponsesReply,
  run(ctx, { id }) {
    const record = ctx.app.apiConversations.find(requireToken(ctx).id, `response:${id}`)
    if (!record?.body) throw noResponse(id)
    return jsonText(record.body)
  },
})

export const deleteResponse = endpoint({
  access: 'work',
  summary: 'Forget a stored response; the chat itself stays',
  byToken: true,
  errorBody: openAiError,
  input: OneResponse,
  output: z.object({ id: z.string(), object: z.literal('response'), deleted: z.boolean() }),
  run(ctx, { id }) {
    if (!ctx.app.apiConversations.remove(requireToken(ctx).id, `response:${id}`))
      throw noResponse(id)
    return { id, object: 'response' as const, deleted: true }
  },
})

export const messages = endpoint({
  once: 'memory',
  access: 'work',
  summary: 'Run a turn of the agent; format of Anthropic’s Messages',
  byToken: true,
  errorBody: anthropicError,
  input: MessagesBody,
  output: MessagesReply,
  run: (ctx, body) => serve(ctx, body, messagesFormat),
})

export const countTokens = endpoint({
  access: 'read',
  summary: 'Estimate the tokens of a request, without the agent’s own prompt',
  byToken: true,
  errorBody: anthropicError,
  input: MessagesBody,
  output: z.object({ input_tokens: z.number() }),
  run(ctx, body) {
    requireToken(ctx)
    const { messages: sent, system, tools } = body
    messagesFormat.parse(body)
    return { input_tokens: estimateTextTokens(JSON.stringify([system, sent, tools])) }
  },
})
