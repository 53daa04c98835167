/**
 * MCP sampling: a server asks for an answer of the model. The user approves each request, which reaches a model without
 * tools and without anything of the conversation, and counts in the usage and the budgets of the turn.
 */
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { ApprovalRequest } from '../agent/tool-services.ts'
import type { WireMessage } from '../agent/types.ts'
import type { ApprovalChoice } from '../schema/question.ts'
import type { SamplingSettings } from './config.ts'

/** Calls the model of a turn. Throws a sentence. */
export type Sample = (
  messages: readonly WireMessage[],
  options: {
    /** Configured for the server; null: the auxiliary model, else that of the chat. */
    model: string | null
    /** Empty: any. */
    allowedModels: readonly string[]
    maxTokens: number
    signal: AbortSignal
  },
) => Promise<{ text: string; model: string }>

/** The running call that a server's request belongs to. */
export type SamplingCaller = {
  approve: (ask: ApprovalRequest) => Promise<ApprovalChoice>
  /** Absent where no user can be asked. */
  sample?: Sample | undefined
  workspace: string
  output: (text: string) => void
  /** Aborted when the call is over. */
  signal: AbortSignal
}

const Content = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image'), data: z.string(), mimeType: z.string() }),
])
const Request = z.looseObject({
  messages: z
    .array(
      z.looseObject({
        role: z.enum(['user', 'assistant']),
        content: z.union([Content, z.array(Content)]),
      }),
    )
    .min(1)
    .max(200),
  systemPrompt: z.string().nullish(),
  maxTokens: z.number().positive(),
})
type Request = z.output<typeof Request>

const MAX_CHARS = 400_000
const MAX_SHOWN_CHARS = 8_000
const MINUTE_MS = 60_000

const blocksOf = ({ content }: Request['messages'][number]) =>
  Array.isArray(content) ? content : [content]

const toMessages = ({ messages, systemPrompt }: Request): WireMessage[] => [
  ...(systemPrompt ? [{ role: 'system' as const, content: systemPrompt }] : []),
  ...messages.map(
    (message): WireMessage => ({
      role: message.role,
      content: blocksOf(message).map(block =>
        block.type === 'text'
          ? { type: 'text', text: block.text }
          : {
              type: 'image_url',
              image_url: { url: `data:${block.mimeType};base64,${block.data}` },
            },
      ),
    }),
  ),
]

/** What is approved: everything that the model will read. */
const shownOf = ({ messages, systemPrompt }: Request): string => {
  const lines = [
    ...(systemPrompt ? [`system: ${systemPrompt}`] : []),
    ...messages.map(
      message =>
        `${message.role}: ${blocksOf(message)
          .map(block => (block.type === 'text' ? block.text : `[${block.mimeType}]`))
          .join('\n')}`,
    ),
  ]
  const text = lines.join('\n\n')
  const more = text.length - MAX_SHOWN_CHARS
  return more > 0 ? `${text.slice(0, MAX_SHOWN_CHARS)}\n… (${more} more characters)` : text
}

const requestSize = (request: Request): number =>
  JSON.stringify([request.systemPrompt, request.messages]).length

/** The requests of one server for an answer of the model. */
export class Sampling {
  readonly #server: string
  readonly #clock: Clock
  #starts: number[] = []

  constructor(server: string, clock: Clock) {
    this.#server = server
    this.#clock = clock
  }

  /** The result for the server, unless it has `canceled` the request. Throws a sentence for it when the request is refused. */
  async answer(
    params: unknown,
    settings: SamplingSettings,
    caller: SamplingCaller | undefined,
    canceled: AbortSignal,
  ): Promise<Record<string, unknown>> {
    if (!settings.enabled) throw new Error('Sampling is turned off for this server.')
    const parsed = Request.safeParse(params)
    if (!parsed.success) throw new Error('Only text and images can be sent to the model.')
    const { data: request } = parsed
    if (requestSize(request) > MAX_CHARS) throw new Error('The request is too long.')
    if (!caller?.sample)
      throw new Error(
        'Sampling is possible only during a single tool call that a user can approve.',
      )
    this.#starts = this.#starts.filter(at => this.#clock.monotonic() - at < MINUTE_MS)
    if (this.#starts.length >= settings.max_rpm)
      throw new Error(`At most ${settings.max_rpm} requests a minute are allowed.`)
    this.#starts.push(this.#clock.monotonic())
    const maxTokens = Math.min(request.maxTokens, settings.max_tokens_cap)
    // Not `mcp: …`: that allows a tool, which could have any name.
    const label = `sampling: ${this.#server}`
    const over = AbortSignal.any([caller.signal, canceled])
    const choice = await caller.approve({
      signal: over,
      command: shownOf(request),
      patternKeys: [label],
      any: { of: 'requests', name: this.#server, key: label },
      description: `${label} (the server asks for an answer of ${settings.model ?? 'the model'}, up to ${maxTokens} tokens)`,
      cwd: caller.workspace,
      choices: ['once', 'session', 'deny'],
    })
    if (choice === 'deny') throw new Error('The user denied the request.')
    const { model, allowed_models: allowedModels, timeout } = settings
    const signal = AbortSignal.any([over, AbortSignal.timeout(timeout)])
    // The approval may have come after the result was given up.
    signal.throwIfAborted()
    const options = { model, allowedModels, maxTokens, signal }
    const answer = await caller.sample(toMessages(request), options)
    caller.output(`Answer of ${answer.model} to ${this.#server}:\n${answer.text}\n`)
    return {
      role: 'assistant',
      content: { type: 'text', text: answer.text },
      model: answer.model,
      stopReason: 'endTurn',
    }
  }
}
