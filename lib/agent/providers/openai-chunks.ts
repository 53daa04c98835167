/** Reads the chunks of a chat completion, as many servers write them, into deltas. */
import { classify } from '../failure.ts'
import type { ProviderDelta } from '../types.ts'
import { sayError } from './post.ts'
import { createThinkSplitter } from './think-tags.ts'

type Json = Record<string, unknown>
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

const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const text = (value: unknown): string => (typeof value === 'string' ? value : '')
const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : [])

/** State of one answer. `read` throws `ProviderFailure` for an error object in the stream. */
export const createChunkReader = () => {
  const think = createThinkSplitter()
  const calls = createCallTracker()
  let usage: Usage | null = null
  let finish: Finish | null = null

  const readChoice = (choice: Json): ProviderDelta[] => {
    // A server that ignores `stream` puts everything into `message`.
    const delta = isJson(choice.delta) ? choice.delta : isJson(choice.message) ? choice.message : {}
    const reason = text(choice.finish_reason)
    if (reason === 'error') throw classify({ message: 'The provider broke off with an error.' })
    if (reason !== '') finish = REASONS[reason.toLowerCase()] ?? 'other'
    const { thought, said } = readContent(delta.content)
    const reasoning = reasoningOf(delta) || thought
    return [
      ...(reasoning === '' ? [] : [{ type: 'reasoning' as const, text: reasoning }]),
      ...think.push(said),
      ...(text(delta.refusal) === ''
        ? []
        : [{ type: 'refusal' as const, text: text(delta.refusal) }]),
      ...list(delta.tool_calls).flatMap(call => calls.read(call)),
    ]
  }

  return {
    read(chunk: unknown): ProviderDelta[] {
      if (!isJson(chunk)) return []
      if (chunk.error) throw streamFailure(chunk.error)
      const figures = isJson(chunk.usage) ? chunk.usage : usageElsewhere(chunk)
      // Some servers repeat a growing usage in every chunk: the last one counts.
      if (figures) usage = readUsage(figures)
      const [choice] = list(chunk.choices)
      return choice ? readChoice(choice) : []
    },
    finished: () => finish !== null,
    /** What was held back, then usage and finish. */
    end: (): ProviderDelta[] => [
      ...think.end(),
      ...(usage ? [usage] : []),
      { type: 'finish', reason: finish ?? (calls.any() ? 'tool_calls' : 'stop') },
    ],
  }
}

const streamFailure = (error: unknown) => {
  const fields = isJson(error) ? error : {}
  const code = Number(fields.code ?? fields.status)
  const status = Number.isInteger(code) && code >= 400 && code < 600 ? code : undefined
  const written = JSON.stringify(error)
  const said = sayError(written)
  return classify({
    status,
    message: said === '' ? 'The provider reports an error.' : said,
    text: written,
  })
}

const usageElsewhere = (chunk: Json): Json | null =>
  isJson(chunk.x_groq) && isJson(chunk.x_groq.usage) ? chunk.x_groq.usage : null

const readUsage = (usage: Json): Usage => ({
  type: 'usage',
  inputTokens: count(usage.prompt_tokens ?? usage.input_tokens),
  outputTokens: count(usage.completion_tokens ?? usage.output_tokens),
  ...(typeof usage.cost === 'number' && { cost: count(usage.cost) }),
})

/** Content is a string, or parts of which some are thinking. */
const readContent = (content: unknown): { thought: string; said: string } => {
  if (!Array.isArray(content)) return { thought: '', said: text(content) }
  let thought = ''
  let said = ''
  for (const part of list(content)) {
    if (part.type === 'thinking')
      thought += list(part.thinking)
        .map(p => text(p.text))
        .join('')
    else said += text(part.text)
  }
  return { thought, said }
}

/** The same thought often comes under several names at once: the first that is filled counts. */
const reasoningOf = (delta: Json): string =>
  text(delta.reasoning_content) ||
  text(delta.reasoning) ||
  list(delta.reasoning_details)
    .map(detail => text(detail.text) || text(detail.summary))
    .join('')

/** Tells parallel calls apart: by index, by id where servers leave the index out or always write 0. */
const createCallTracker = () => {
  const calls: { id: string; index: unknown; name: string; written: boolean }[] = []

  const find = (index: unknown, id: string, name: string): number => {
    if (id !== '') {
      const known = calls.findLastIndex(call => call.id === id)
      if (known >= 0) return known
      const unnamed = calls.findLastIndex(call => call.id === '' && call.index === index)
      return index !== undefined && unnamed >= 0 ? unnamed : -1
    }
    if (index !== undefined) return calls.findLastIndex(call => call.index === index)
    // Neither index nor id: a name begins a call, anything else goes on with the last.
    return name !== '' && calls.at(-1)?.written !== false ? -1 : calls.length - 1
  }

  return {
    any: () => calls.length > 0,
    read(delta: Json): ProviderDelta[] {
      const work = isJson(delta.function) ? delta.function : {}
      const id = text(delta.id)
      const name = text(work.name)
      const written = isJson(work.arguments) ? JSON.stringify(work.arguments) : text(work.arguments)
      let at = find(delta.index ?? undefined, id, name)
      if (at < 0)
        at = calls.push({ id: '', index: delta.index ?? undefined, name: '', written: false }) - 1
      const call = calls[at]
      if (!call) return []
      const fresh = { id: call.id === '' ? id : '', name: name === call.name ? '' : name }
      call.id ||= id
      call.name += fresh.name
      call.written ||= written !== ''
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
