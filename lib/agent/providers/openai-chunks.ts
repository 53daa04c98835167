/** Reads the chunks of a chat completion, as many servers write them, into deltas. */
import {
  asCount,
  asObject,
  asObjects,
  asString,
  isObject,
  type JsonObject,
} from '../../base/json.ts'
import { isJsonObject } from '../tool-calls.ts'
import { classify } from '../failure.ts'
import type { ProviderDelta } from '../types.ts'
import type { ResponseReader } from './stream-request.ts'
import { streamFailure } from './stream-failure.ts'
import { createReasoningCollector } from './openai-reasoning.ts'
import { createThinkSplitter } from './think-tags.ts'

type Finish = Extract<ProviderDelta, { type: 'finish' }>['reason']
type Usage = Extract<ProviderDelta, { type: 'usage' }>

const REASONS: Record<string, Finish> = {
  stop: 'stop',
  eos: 'stop',
  end_turn: 'stop',
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
}

/** State of one answer. `read` throws `ProviderFailure` for an error object in the stream. */
export const createChunkReader = (): ResponseReader => {
  const think = createThinkSplitter()
  const keepsake = createReasoningCollector()
  const calls = createCallTracker(keepsake.mark)
  let usage: Usage | null = null
  let finish: Finish | null = null
  let hasText = false

  const readChoice = (choice: JsonObject): ProviderDelta[] => {
    // A server that ignores `stream` puts everything into `message`.
    const delta = isObject(choice.delta)
      ? choice.delta
      : isObject(choice.message)
        ? choice.message
        : {}
    const reason = asString(choice.finish_reason)
    if (reason === 'error') throw classify({ message: 'The provider broke off with an error.' })
    if (reason !== '') finish = REASONS[reason.toLowerCase()] ?? 'other'
    const { thought, said } = readContent(delta.content)
    const reasoning = reasoningOf(delta) || thought
    hasText ||= said.trim() !== '' || asString(delta.refusal) !== ''
    keepsake.think(delta, thought)
    return [
      ...(reasoning === '' ? [] : [{ type: 'reasoning' as const, text: reasoning }]),
      ...think.push(said),
      ...(asString(delta.refusal) === ''
        ? []
        : [{ type: 'refusal' as const, text: asString(delta.refusal) }]),
      ...[...asObjects(delta.tool_calls), ...legacyCall(delta)].flatMap(call => calls.read(call)),
    ]
  }

  return {
    read(chunk) {
      if (!isObject(chunk)) return []
      if (chunk.error) throw streamFailure(chunk.error)
      const figures = isObject(chunk.usage) ? chunk.usage : usageElsewhere(chunk)
      // Some servers repeat a growing usage in every chunk: the last one counts.
      if (figures) usage = readUsage(figures)
      const [choice] = asObjects(chunk.choices)
      return choice ? readChoice(choice) : []
    },
    // The end itself is `[DONE]`, which is no chunk.
    progress: () => (finish === null ? 'streaming' : 'finished'),
    isIntact: () => (calls.any() ? calls.whole() : hasText && !think.isOpen()),
    end: () => [
      ...think.end(),
      ...keepsake.end(think.inline()),
      ...(usage ? [usage] : []),
      { type: 'finish', reason: finish ?? (calls.any() ? 'tool_calls' : 'stop') },
    ],
  }
}

const usageElsewhere = (chunk: JsonObject): JsonObject | null =>
  isObject(chunk.x_groq) && isObject(chunk.x_groq.usage) ? chunk.x_groq.usage : null

const readUsage = (usage: JsonObject): Usage => {
  const details = asObject(usage.prompt_tokens_details)
  const read = asCount(details.cached_tokens ?? usage.prompt_cache_hit_tokens)
  const written = asCount(details.cache_write_tokens)
  return {
    type: 'usage',
    inputTokens: asCount(usage.prompt_tokens ?? usage.input_tokens),
    outputTokens: asCount(usage.completion_tokens ?? usage.output_tokens),
    ...(read > 0 && { cacheReadTokens: read }),
    ...(written > 0 && { cacheWriteTokens: written }),
    ...(typeof usage.cost === 'number' && { cost: asCount(usage.cost) }),
  }
}

/** Content is a string, or parts of which some are thinking. */
const readContent = (content: unknown): { thought: string; said: string } => {
  if (!Array.isArray(content)) return { thought: '', said: asString(content) }
  let thought = ''
  let said = ''
  for (const part of asObjects(content)) {
    if (part.type === 'thinking')
      thought += asObjects(part.thinking)
        .map(p => asString(p.text))
        .join('')
    else said += asString(part.text)
  }
  return { thought, said }
}

/** The same thought often comes under several names at once: the first that is filled counts. */
const reasoningOf = (delta: JsonObject): string =>
  asString(delta.reasoning_content) ||
  asString(delta.reasoning) ||
  asObjects(delta.reasoning_details)
    .map(detail => asString(detail.text) || asString(detail.summary))
    .join('')

/** One call, without id or index, as it was written before there could be several. */
const legacyCall = ({ function_call: work }: JsonObject): JsonObject[] =>
  isObject(work) ? [{ index: 0, function: work }] : []

/** Tells parallel calls apart: by index, by id where servers leave the index out or always write 0. */
const createCallTracker = (mark: (call: number, extra: unknown) => void) => {
  const calls: { id: string; index: unknown; name: string; written: string }[] = []

  const isWhole = (call: { written: string } | undefined) =>
    call !== undefined && isJsonObject(call.written)

  /** Where a piece belongs; -1 for a call that begins. */
  const find = (index: unknown, id: string, name: string): number => {
    const known = id === '' ? -1 : calls.findLastIndex(call => call.id === id)
    if (known >= 0) return known
    const last = index === undefined ? -1 : calls.findLastIndex(call => call.index === index)
    // Neither index nor id: a name begins a call, anything else goes on with the last.
    if (index === undefined && id === '')
      return name !== '' && calls.at(-1)?.written !== '' ? -1 : calls.length - 1
    // Servers that count nothing, or count from 0 each time: a name behind a whole call begins another.
    if (last >= 0 && name !== '' && isWhole(calls[last])) return -1
    if (last < 0) return -1
    // A new id for the same place: another call if it has a name, else only the id is new.
    return id !== '' && calls[last]?.id !== '' && name !== '' ? -1 : last
  }

  return {
    any: () => calls.length > 0,
    whole: () => calls.every(({ name, written }) => name !== '' && isJsonObject(written)),
    read(delta: JsonObject): ProviderDelta[] {
      const work = isObject(delta.function) ? delta.function : {}
      const id = asString(delta.id)
      const name = asString(work.name)
      const written = isObject(work.arguments)
        ? JSON.stringify(work.arguments)
        : asString(work.arguments)
      let at = find(delta.index ?? undefined, id, name)
      const known = calls[at]
      if (at < 0)
        at = calls.push({ id: '', index: delta.index ?? undefined, name: '', written: '' }) - 1
      const call = calls[at]
      if (!call) return []
      // The last chunk says the whole call once more.
      if (known && written !== '' && call.written === written && isWhole(call)) return []
      const fresh = { id: call.id === '' ? id : '', name: name === call.name ? '' : name }
      call.id ||= id
      call.name += fresh.name
      call.written += written
      mark(at, delta.extra_content)
      return [
        {
          type: 'tool_call',
          index: at,
          ...(fresh.id !== '' && { id: fresh.id }),
          ...(fresh.name !== '' && { name: fresh.name }),
          ...(written !== '' && { arguments: written }),
        },
      ]
    },
  }
}
