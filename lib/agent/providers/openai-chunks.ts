/** Reads responses of the format `chat_completions` and its many variants, streamed or whole, into deltas. */
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
import {
  pieceOf,
  ResponseReader,
  streamFailure,
  throwErrorIn,
  withReasoning,
} from './stream-request.ts'
import { type Field, FIELDS } from './openai-reasoning.ts'
import { ThinkSplitter } from './think-tags.ts'

type Finish = Extract<ProviderDelta, { type: 'finish' }>['reason']
type Usage = Extract<ProviderDelta, { type: 'usage' }>

/** OpenAI's values, and those of Gemini, Mistral, GLM, TGI, and others behind the same format. */
const REASONS: Record<string, Finish> = {
  stop: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  end_turn: 'stop',
  length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  safety: 'content_filter',
  sensitive: 'content_filter',
  prohibited_content: 'content_filter',
  recitation: 'content_filter',
  blocklist: 'content_filter',
  spii: 'content_filter',
  content_filtered: 'content_filter',
  guardrail_intervened: 'content_filter',
  model_context_window_exceeded: 'window_full',
}

/**
 * The response is void and worth another attempt: Gemini discarded a tool call (`MALFORMED_FUNCTION_CALL`), or the server gave up
 * (`network_error` of GLM, `insufficient_system_resource` of DeepSeek, `abort` of vLLM).
 */
const BROKEN_OFF = /^error$|^abort|malformed|unexpected_tool_call|network_error|insufficient_system/

export class ChunkReader extends ResponseReader {
  readonly #think = new ThinkSplitter()
  readonly #reasoning = new ReasoningCollector()
  readonly #tracked = new CallTracker()
  #hasText = false

  read(chunk: unknown): ProviderDelta[] {
    if (!isObject(chunk)) return []
    throwErrorIn(chunk)
    const figures = isObject(chunk.usage) ? chunk.usage : usageElsewhere(chunk)
    // Some servers send cumulative usage in every chunk: the last one that says anything counts.
    const counted = figures && readUsage(figures)
    if (counted && (!this.usage || counted.inputTokens + counted.outputTokens > 0))
      this.usage = counted
    // One is asked for; GitHub Copilot puts the text into one and the calls into another.
    return asObjects(chunk.choices).flatMap(choice => this.#readChoice(choice))
  }

  /** The end mark `[DONE]` is not a chunk and is handled by the caller. */
  progress() {
    return this.finish === null ? 'streaming' : 'finished'
  }

  isIntact(): boolean {
    return this.calls > 0 ? this.#tracked.areWhole() : this.#hasText && !this.#think.isOpen()
  }

  override end(): ProviderDelta[] {
    return [...this.#think.end(), ...this.#reasoning.end(this.#think.inline()), ...super.end()]
  }

  #readChoice(choice: JsonObject): ProviderDelta[] {
    // Servers that ignore `stream` send a whole `message`.
    const delta = [choice.delta, choice.message].find(isObject) ?? {}
    const reason = asString(choice.finish_reason).toLowerCase()
    if (choice.error) throw streamFailure(choice.error)
    if (BROKEN_OFF.test(reason))
      throw classify({ message: `The provider ended the response early (${reason}).` })
    if (reason !== '') this.finish = REASONS[reason] ?? 'other'
    const { thought, words } = readContent(delta.content)
    const refusal = asString(delta.refusal)
    this.#hasText ||= words.trim() !== '' || refusal !== ''
    this.#reasoning.think(delta, thought)
    const calls = [...asObjects(delta.tool_calls), ...legacyCall(delta)]
    return [
      ...pieceOf('reasoning', reasoningOf(delta) || thought),
      ...(this.#think.isOver ? pieceOf('text', words) : this.#think.push(words)),
      ...pieceOf('refusal', refusal),
      ...calls.flatMap(call => this.#readCall(call)),
    ]
  }

  #readCall(call: JsonObject): ProviderDelta[] {
    const deltas = this.#tracked.read(call, (at, id) =>
      this.#reasoning.mark(at, id, call.extra_content),
    )
    this.calls = this.#tracked.size
    return deltas
  }
}

/** Groq and Moonshot put the usage elsewhere. */
const usageElsewhere = (chunk: JsonObject): JsonObject | null => {
  const places = [asObject(chunk.x_groq).usage, asObjects(chunk.choices)[0]?.usage]
  return places.find(isObject) ?? null
}

const firstCount = (...figures: unknown[]): number =>
  figures.map(asCount).find(count => count > 0) ?? 0

/** Cached tokens are part of the prompt. OpenAI, DeepSeek, and Moonshot name those read; OpenRouter and Qwen those written. */
const readUsage = (usage: JsonObject): Usage => {
  const details = asObject(usage.prompt_tokens_details)
  const cacheReads = firstCount(
    details.cached_tokens,
    usage.prompt_cache_hit_tokens,
    usage.cached_tokens,
  )
  const cacheWrites = firstCount(details.cache_write_tokens, details.cache_creation_input_tokens)
  const prompt = asCount(usage.prompt_tokens ?? usage.input_tokens)
  const cached = cacheReads + cacheWrites
  // Some gateways count cached tokens apart from the prompt, as Anthropic does.
  const inputTokens = cached > prompt ? prompt + cached : prompt
  return {
    type: 'usage',
    inputTokens,
    outputTokens: withReasoning(asCount(usage.completion_tokens ?? usage.output_tokens), {
      total: asCount(usage.total_tokens),
      input: inputTokens,
      cached,
    }),
    ...(cacheReads > 0 && { cacheReadTokens: cacheReads }),
    ...(cacheWrites > 0 && { cacheWriteTokens: cacheWrites }),
    ...(typeof usage.cost === 'number' && { cost: asCount(usage.cost) }),
  }
}

/** Content is a string or a list of parts, some of them reasoning. */
const readContent = (content: unknown): { thought: string; words: string } => {
  if (!Array.isArray(content)) return { thought: '', words: asString(content) }
  let thought = ''
  let words = ''
  for (const part of asObjects(content)) {
    if (part.type === 'thinking')
      thought += asObjects(part.thinking)
        .map(p => asString(p.text))
        .join('')
    else words += asString(part.text)
  }
  return { thought, words }
}

/** Servers often repeat reasoning under several names: the first non-empty one counts. */
const reasoningOf = (delta: JsonObject): string =>
  asString(delta.reasoning_content) ||
  asString(delta.reasoning) ||
  asString(delta.reasoning_text) ||
  asObjects(delta.reasoning_details)
    .map(detail => asString(detail.text) || asString(detail.summary))
    .join('')

/** The deprecated `function_call`: a single call without id and index. */
const legacyCall = ({ function_call: fn }: JsonObject): JsonObject[] =>
  isObject(fn) ? [{ index: 0, function: fn }] : []

/** Reads an object of JSON piece by piece; parsing all of it again for every piece would take a minute for a long one. */
class ObjectEnd {
  isClosed = false
  #depth = 0
  #isText = false
  #isEscaped = false

  push(piece: string): void {
    for (const char of piece) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (this.#isText && char === '\\') this.#isEscaped = true
      else if (char === '"') this.#isText = !this.#isText
      else if (this.#isText) continue
      else if (char === '{' || char === '[') this.#depth++
      else if (char === '}' || char === ']') this.isClosed = --this.#depth === 0
    }
  }
}

type TrackedCall = { id: string; index: unknown; name: string; args: string; end: ObjectEnd }

const isWhole = (call: TrackedCall | undefined): boolean =>
  call?.end.isClosed === true && isJsonObject(call.args)

/** A whole call after a whole one is another one, unless it says the same again. */
const isNext = (call: TrackedCall | undefined, name: string, args: string): boolean =>
  name !== '' && isWhole(call) && call?.args !== '{}' && call?.args !== args && isJsonObject(args)

/** Separates parallel calls by index, or by id for servers that omit the index or always send 0. */
class CallTracker {
  readonly #calls: TrackedCall[] = []

  get size(): number {
    return this.#calls.length
  }

  areWhole(): boolean {
    return this.#calls.every(({ name, args }) => name !== '' && isJsonObject(args))
  }

  /** The call a fragment belongs to; -1: a new one. */
  #find(index: unknown, id: string, name: string, args: string): number {
    const calls = this.#calls
    const last = index === undefined ? -1 : calls.findLastIndex(call => call.index === index)
    const sameId = id === '' ? -1 : calls.findLastIndex(call => call.id === id)
    if (sameId >= 0) {
      const call = calls[sameId]
      // Two calls with one id: the index decides, where there is one.
      const isOther = index !== undefined && call?.index !== undefined && call.index !== index
      if (!isOther) return isNext(call, name, args) ? -1 : sameId
      if (last >= 0) return last
      return name === '' ? sameId : -1
    }
    // Neither index nor id: a name starts a call, anything else continues the last one.
    if (index === undefined && id === '')
      return name !== '' && calls.at(-1)?.args !== '' ? -1 : calls.length - 1
    // Servers without reliable indexes: a name after a complete call starts another one.
    if (last >= 0 && name !== '' && isWhole(calls[last])) return -1
    if (last < 0) return -1
    // A new id at the same index: another call if it has a name, else a late id.
    return id !== '' && calls[last]?.id !== '' && name !== '' ? -1 : last
  }

  /** `mark` gets the place of the call in the response, and its id. */
  read(delta: JsonObject, mark: (call: number, id: string) => void): ProviderDelta[] {
    const fn = isObject(delta.function) ? delta.function : {}
    const id = asString(delta.id)
    const name = asString(fn.name)
    const args = isObject(fn.arguments) ? JSON.stringify(fn.arguments) : asString(fn.arguments)
    const index = delta.index ?? undefined
    const position = this.#find(index, id, name, args)
    const earlier = this.#calls[position]
    const call = earlier ?? { id: '', index, name: '', args: '', end: new ObjectEnd() }
    const at = earlier ? position : this.#calls.push(call) - 1
    // Some servers repeat the whole call in the last chunk.
    if (earlier && args !== '' && call.args === args && isWhole(call)) return []
    const added = { id: call.id === '' ? id : '', name: name === call.name ? '' : name }
    call.id ||= id
    call.name += added.name
    // An empty object before the arguments is a placeholder of some gateways. Without arguments, it is the default.
    const isPlaceholder = call.args === '' && args === '{}'
    if (call.args === '{}' && args !== '') {
      call.args = ''
      call.end = new ObjectEnd()
    }
    call.args += args
    call.end.push(args)
    mark(at, call.id)
    return [
      {
        type: 'tool_call',
        index: at,
        ...(added.id !== '' && { id: added.id }),
        ...(added.name !== '' && { name: added.name }),
        ...(args !== '' && !isPlaceholder && { arguments: args }),
      },
    ]
  }
}

/** Fields of `reasoning_details` that arrive in fragments. */
const GROWING = ['text', 'summary', 'data'] as const

const grow = (target: JsonObject, piece: JsonObject): void => {
  for (const [key, value] of Object.entries(piece)) {
    const grows = GROWING.some(name => name === key)
    if (grows) target[key] = asString(target[key]) + asString(value)
    else if (value !== null && value !== undefined) target[key] = value
  }
}

/** A signed block of Claude behind LiteLLM: its text arrives in fragments, the last one with the signature. */
const addBlock = (blocks: JsonObject[], piece: JsonObject): void => {
  const last = blocks.at(-1)
  if (last?.type !== 'thinking' || piece.type !== 'thinking' || asString(last.signature) !== '')
    blocks.push({ ...piece })
  else {
    last.thinking = asString(last.thinking) + asString(piece.thinking)
    last.signature = asString(piece.signature)
  }
}

/** Collects provider state from the deltas of one response. */
class ReasoningCollector {
  readonly #details: JsonObject[] = []
  readonly #blocks: JsonObject[] = []
  readonly #marks = new Map<number, JsonObject>()
  readonly #ids = new Map<number, string>()
  readonly #thoughts: Partial<Record<Field, string>> = {}
  #part = ''

  /** Adds the fields of one delta. `thought` is reasoning from a part of the content. */
  think(delta: JsonObject, thought: string): void {
    for (const field of FIELDS)
      if (asString(delta[field]) !== '')
        this.#thoughts[field] = (this.#thoughts[field] ?? '') + asString(delta[field])
    this.#part += thought
    for (const piece of asObjects(delta.thinking_blocks)) addBlock(this.#blocks, piece)
    for (const piece of asObjects(delta.reasoning_details)) {
      const last = this.#details.at(-1)
      const isSame = last?.type === piece.type && last?.index === piece.index
      if (last && isSame && piece.index !== undefined) grow(last, piece)
      else this.#details.push({ ...piece })
    }
  }

  mark(call: number, id: string, extra: unknown): void {
    if (id !== '') this.#ids.set(call, id)
    if (isObject(extra)) this.#marks.set(call, { ...this.#marks.get(call), ...extra })
  }

  /** `inline`: reasoning before the text, including its tags. */
  end(inline: string): ProviderDelta[] {
    const [details, blocks, thoughts, part] = [
      this.#details,
      this.#blocks,
      this.#thoughts,
      this.#part,
    ]
    const count = details.length + blocks.length + this.#marks.size + Object.keys(thoughts).length
    if (count === 0 && inline === '' && part === '') return []
    const marks = Object.fromEntries(this.#marks)
    const ofCalls = details.some(({ id }) => id) ? { ids: Object.fromEntries(this.#ids) } : {}
    const item = { details, blocks, marks, thoughts, part, inline, ...ofCalls, chars: 0, calls: 0 }
    return [{ type: 'provider_state', item }]
  }
}
