/** Scripted responses in the formats `anthropic_messages`, `codex_responses` and `ollama_chat`. */
import { pieces, reasonOf, type Step, written } from './_provider.ts'

/** Proof of reasoning: must be returned with it, or the test server rejects the request. */
export const SIGNATURE = 'signed-by-the-model'
export const ENCRYPTED = 'encrypted-by-the-model'

const STOPS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  content_filter: 'refusal',
}

const stopOf = (step: Step): string | null => {
  const reason = reasonOf(step)
  return reason === null ? null : (STOPS[reason] ?? reason)
}

const halves = (text: string): string[] => {
  const half = Math.ceil(text.length / 2)
  return [text.slice(0, half), text.slice(half)]
}

const anthropicUsage = (step: Step) => {
  if (!step.usage) return {}
  const cached = step.usage.prompt_tokens_details?.cached_tokens ?? 0
  return {
    input_tokens: step.usage.prompt_tokens - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    output_tokens: step.usage.completion_tokens,
  }
}

const anthropicBlocks = (step: Step) => [
  ...(step.reasoning
    ? [{ type: 'thinking', thinking: pieces(step.reasoning).join(''), signature: SIGNATURE }]
    : []),
  ...(step.text || step.refusal
    ? [{ type: 'text', text: [...pieces(step.text), ...pieces(step.refusal)].join('') }]
    : []),
  ...(step.toolCalls ?? []).map((call, index) => ({
    type: 'tool_use',
    id: call.id ?? `toolu_${index}`,
    name: call.name,
    input: typeof call.arguments === 'string' ? {} : call.arguments,
  })),
]

export const anthropicMessage = (step: Step) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: anthropicBlocks(step),
  stop_reason: stopOf(step),
  usage: anthropicUsage(step),
})

const blockEvents = (index: number, content_block: object, deltas: object[]) => [
  { type: 'content_block_start', index, content_block },
  { type: 'ping' },
  ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]

export const anthropicEvents = (step: Step): object[] => {
  const { output_tokens = 0, ...usage } = anthropicUsage(step)
  const stop = stopOf(step)
  const said = [...pieces(step.text), ...pieces(step.refusal)]
  const blocks: [object, object[]][] = [
    ...(step.reasoning
      ? [
          [
            { type: 'thinking', thinking: '', signature: '' },
            [
              ...pieces(step.reasoning).map(thinking => ({ type: 'thinking_delta', thinking })),
              ...halves(SIGNATURE).map(signature => ({ type: 'signature_delta', signature })),
            ],
          ] as [object, object[]],
        ]
      : []),
    ...(said.length > 0
      ? [
          [{ type: 'text', text: '' }, said.map(text => ({ type: 'text_delta', text }))] as [
            object,
            object[],
          ],
        ]
      : []),
    ...(step.toolCalls ?? []).map((call, index): [object, object[]] => [
      { type: 'tool_use', id: call.id ?? `toolu_${index}`, name: call.name, input: {} },
      ['', ...halves(written(call))].map(partial_json => ({
        type: 'input_json_delta',
        partial_json,
      })),
    ]),
  ]
  return [
    {
      type: 'message_start',
      message: { type: 'message', role: 'assistant', content: [], usage: { ...usage } },
    },
    ...blocks.flatMap(([block, deltas], index) => blockEvents(index, block, deltas)),
    ...(stop === null
      ? []
      : [
          {
            type: 'message_delta',
            delta: { stop_reason: stop, stop_sequence: null },
            usage: { output_tokens },
          },
        ]),
    ...(step.done === false || stop === null ? [] : [{ type: 'message_stop' }]),
  ]
}

const outputItems = (step: Step) => [
  ...(step.reasoning
    ? [
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: pieces(step.reasoning).join('') }],
          encrypted_content: ENCRYPTED,
        },
      ]
    : []),
  ...(step.text || step.refusal
    ? [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          content: [
            ...(step.text ? [{ type: 'output_text', text: pieces(step.text).join('') }] : []),
            ...(step.refusal ? [{ type: 'refusal', refusal: step.refusal }] : []),
          ],
        },
      ]
    : []),
  ...(step.toolCalls ?? []).map((call, index) => ({
    type: 'function_call',
    id: `fc_${index}`,
    call_id: call.id ?? `call_${index}`,
    name: call.name,
    arguments: written(call),
  })),
]

const INCOMPLETE: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

export const responsesDocument = (step: Step) => {
  const cut = INCOMPLETE[reasonOf(step) ?? '']
  return {
    id: 'resp_1',
    object: 'response',
    status: cut ? 'incomplete' : 'completed',
    error: null,
    incomplete_details: cut ? { reason: cut } : null,
    output: outputItems(step),
    usage: step.usage && {
      input_tokens: step.usage.prompt_tokens,
      input_tokens_details: {
        cached_tokens: step.usage.prompt_tokens_details?.cached_tokens ?? 0,
      },
      output_tokens: step.usage.completion_tokens,
    },
  }
}

export const responsesEvents = (step: Step): object[] => {
  const items = outputItems(step)
  const response = responsesDocument(step)
  const streamed = items.flatMap((item, output_index) => {
    const at = { output_index, item_id: item.id }
    const deltas =
      item.type === 'reasoning'
        ? pieces(step.reasoning).map(delta => ({
            type: 'response.reasoning_summary_text.delta',
            ...at,
            delta,
          }))
        : item.type === 'message'
          ? [
              ...pieces(step.text).map(delta => ({
                type: 'response.output_text.delta',
                ...at,
                delta,
              })),
              ...pieces(step.refusal).map(delta => ({
                type: 'response.refusal.delta',
                ...at,
                delta,
              })),
            ]
          : halves('arguments' in item ? item.arguments : '').map(delta => ({
              type: 'response.function_call_arguments.delta',
              ...at,
              delta,
            }))
    const empty = { ...item, ...('arguments' in item && { arguments: '' }) }
    return [
      { type: 'response.output_item.added', output_index, item: empty },
      ...deltas,
      { type: 'response.output_item.done', output_index, item },
    ]
  })
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    ...streamed,
    ...(reasonOf(step) === null
      ? []
      : [{ type: `response.${response.status}`, response: { ...response, output: items } }]),
  ]
}

/** The events of Ollama's `/api/chat`, one per line; a whole document is the sum of them. */
export const ollamaEvents = (step: Step): unknown[] => {
  const reason = reasonOf(step)
  const event = (message: object) => ({
    model: 'some-model',
    created_at: '2026-01-01T00:00:00Z',
    message: { role: 'assistant', content: '', ...message },
    done: false,
  })
  return [
    ...pieces(step.reasoning).map(thinking => event({ thinking })),
    ...[...pieces(step.text), ...pieces(step.refusal)].map(content => event({ content })),
    ...(step.toolCalls ?? []).map(({ id, name, arguments: args }, index) =>
      event({
        tool_calls: [{ id: id ?? `call_${index}`, function: { index, name, arguments: args } }],
      }),
    ),
    ...(reason === null
      ? []
      : [
          {
            ...event({}),
            done: true,
            done_reason: reason === 'length' ? 'length' : 'stop',
            ...(step.usage && {
              prompt_eval_count: step.usage.prompt_tokens,
              eval_count: step.usage.completion_tokens,
            }),
          },
        ]),
  ]
}

export const ollamaDocument = (step: Step) => ({
  ...(ollamaEvents(step).at(-1) as object),
  message: {
    role: 'assistant',
    content: [...pieces(step.text), ...pieces(step.refusal)].join(''),
    ...(step.reasoning && { thinking: pieces(step.reasoning).join('') }),
    ...(step.toolCalls && {
      tool_calls: step.toolCalls.map(({ id, name, arguments: args }, index) => ({
        id: id ?? `call_${index}`,
        function: { index, name, arguments: args },
      })),
    }),
  },
})
