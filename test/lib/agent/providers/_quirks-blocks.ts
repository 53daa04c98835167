/** Answers of real servers that differ from the documentation of `anthropic_messages` and `codex_responses`. */
import { frame } from '../../../_provider.ts'
import { type Case, done, HI, ranOnce, retried } from './_quirks.ts'

const event = (fields: object) => frame(fields)
const block = (index: number | undefined, content_block: object, ...deltas: object[]) =>
  [
    { type: 'content_block_start', index, content_block },
    ...deltas.map(one => ({ type: 'content_block_delta', index, delta: one })),
    { type: 'content_block_stop', index },
  ]
    .map(event)
    .join('')
const stop = (stop_reason: string | null) =>
  event({ type: 'message_delta', delta: { stop_reason }, usage: null }) +
  event({ type: 'message_stop' })

export const OF_ANTHROPIC: Record<string, Case> = {
  'no message_start, no indexes, input as text, a null text': {
    server: [
      {
        raw:
          block(undefined, { type: 'text', text: null }) +
          block(undefined, { type: 'tool_use', id: 'c', name: 'echo', input: HI }) +
          stop('tool_use'),
      },
      done,
    ],
    result: ranOnce,
  },
  'unknown blocks, deltas and events': {
    server: [
      {
        raw:
          event({ type: 'vertex_event' }) +
          block(0, { type: 'server_tool_use', id: 's' }, { type: 'input_json_delta' }) +
          block(
            1,
            { type: 'text', text: '' },
            { type: 'citations_delta', citation: {} },
            { type: 'text_delta', text: 'done' },
          ) +
          stop('end_turn'),
      },
    ],
    result: { text: 'done', requests: 1 },
  },
  'an error event with its message beside the type': {
    server: [{ raw: event({ type: 'error', message: 'The server is overloaded' }) }, done],
    result: retried(),
  },
  'text without a block that was opened': {
    server: [
      {
        raw:
          event({
            type: 'content_block_delta',
            index: 0,
            delta: { type: 'text_delta', text: 'done' },
          }) + stop('end_turn'),
      },
    ],
    result: { text: 'done', requests: 1 },
  },
  'a stop reason without a call after words about one': {
    server: [{ raw: block(0, { type: 'text', text: 'done' }) + stop('tool_use') }],
    result: { text: 'done', requests: 1 },
  },
  'a full context window after the first words': {
    server: [
      { raw: block(0, { type: 'text', text: 'do' }) + stop('model_context_window_exceeded') },
    ],
    // Nothing can be compacted here.
    result: { text: 'do', requests: 1 },
  },
}

const item = (fields: object, output_index = 0) =>
  event({ type: 'response.output_item.done', output_index, item: fields })
const completed = (output: object[] = []) =>
  event({ type: 'response.completed', response: { status: 'completed', output } })
const message = (text: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
})
const fn = { type: 'function_call', call_id: 'c', name: 'echo' }

export const OF_RESPONSES: Record<string, Case> = {
  'arguments as an object': {
    server: [{ raw: item({ ...fn, arguments: { say: 'hi' } }) + completed() }, done],
    result: ranOnce,
  },
  'only the last event': {
    server: [{ raw: completed([{ ...fn, arguments: HI }]) }, { raw: completed([message('done')]) }],
    result: ranOnce,
  },
  'items of unknown types, keepalives and rate limit events': {
    server: [
      {
        raw:
          event({ type: 'codex.rate_limits' }) +
          event({ type: 'keepalive', sequence_number: 3 }) +
          item({ type: 'web_search_call', id: 'w' }) +
          item({ type: 'custom_tool_call', call_id: 'k', name: 'x', input: '' }, 1) +
          item(message('done'), 2) +
          completed(),
      },
    ],
    result: { text: 'done', requests: 1 },
  },
  'a rate limit inside the stream, with its delay': {
    server: [
      {
        raw: event({
          type: 'response.failed',
          response: {
            status: 'failed',
            error: {
              code: 'rate_limit_exceeded',
              message: 'Rate limit reached. Please try again in 8.2s.',
            },
          },
        }),
      },
      done,
    ],
    result: retried({ waits: [12_300] }),
  },
  'an error event with its error inside': {
    server: [
      { raw: event({ type: 'error', error: { code: 'insufficient_quota', message: 'pay' } }) },
    ],
    result: { failed: ['quota_exhausted', 'pay'] },
  },
  'a flat error event': {
    server: [
      { raw: event({ type: 'error', code: 'server_error', message: 'Sorry', param: null }) },
      done,
    ],
    result: retried(),
  },
  'a prompt that is too long, inside the stream': {
    server: [
      {
        raw: event({
          type: 'response.failed',
          response: {
            status: 'failed',
            error: { code: 'context_length_exceeded', message: 'Your input exceeds the window.' },
          },
        }),
      },
    ],
    result: { failed: ['context_overflow', 'exceeds the window'] },
  },
  'reasoning that used the whole limit': {
    server: [
      {
        raw:
          item({ type: 'reasoning', summary: [], encrypted_content: 'E' }) +
          event({
            type: 'response.incomplete',
            response: {
              status: 'incomplete',
              incomplete_details: { reason: 'max_output_tokens' },
            },
          }),
      },
      done,
    ],
    result: retried(),
  },
}
