/** Answers of real servers that differ from the documentation of their format: of any format, and of `chat_completions`. */
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { adviceOf } from '../../../../lib/agent/failure-kinds.ts'
import type { FailureType } from '../../../../lib/schema/failure-type.ts'
import { delta, frame, type Step, streamFor } from '../../../_provider.ts'
import { type Body, type Format, said } from './_matrix.ts'

/** What must come of a case; unnamed fields are not compared. */
export type Result = {
  text?: string
  /** Of the last message, which has no note of the end. */
  content?: string
  reasoning?: string
  /** Arguments that `echo` got, in order. */
  ran?: string[]
  /** Type and a part of the message of a failed turn. */
  failed?: [FailureType, string]
  /** Delays before retries in milliseconds. */
  waits?: number[]
  requests?: number
  /** Kinds of the warnings, and the advice of a failure. */
  warnings?: unknown[]
  advice?: string
  /** Part of the last request. */
  sent?: (body: Body) => unknown
  expected?: unknown
}

/** What the server does, one step per request. A function gets the format. */
export type Case = { server: Step[] | ((format: Format) => Step[]); result: Result }

/** How the formats say that a filter stopped the answer. */
const filtered = ({ apiMode }: Format) =>
  apiMode === 'anthropic_messages' ? 'refusal' : 'content_filter'
const cutOf = ({ apiMode }: Format) => (apiMode === 'anthropic_messages' ? 'max_tokens' : 'length')
const thought = (finish: string): Case => ({
  server: Array.from({ length: 2 }, () => ({ reasoning: 'Let me think', finish })),
  result: { failed: ['no_response', ''], advice: `${adviceOf('only_thought')}`, requests: 2 },
})

const CALL = { toolCalls: [{ id: 'c1', name: 'echo', arguments: { say: 'hi' } }] }
export const done: Step = { text: 'done' }
export const ranOnce: Result = { ran: ['hi'], text: 'done', requests: 2 }
const html = (title: string) =>
  `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>x</h1></body></html>`
const page = (status: number, title: string): Step => ({
  status,
  body: html(title),
  headers: { 'content-type': 'text/html' },
})
export const retried = (more: Result = {}): Result => ({ text: 'done', requests: 2, ...more })
const big = 'x'.repeat(1_000_000)

/** Of the transport: the same for every format. */
export const OF_ANY_FORMAT: Record<string, Case> = {
  'gzip that was not asked for': {
    server: ({ path }) => [
      { raw: gzipSync(streamFor(path, CALL)), headers: { 'content-encoding': 'gzip' } },
      { raw: brotliCompressSync(streamFor(path, done)), headers: { 'content-encoding': 'br' } },
    ],
    result: ranOnce,
  },
  'a compressed error': {
    server: [
      {
        body: gzipSync(JSON.stringify(said('billing_error', 'Your credit balance is too low'))),
        status: 402,
        headers: { 'content-encoding': 'gzip' },
      },
    ],
    result: { failed: ['quota_exhausted', 'credit balance'] },
  },
  'an error whose body cannot be decoded': {
    server: [{ body: 'plain', status: 402, headers: { 'content-encoding': 'gzip' } }],
    result: { failed: ['quota_exhausted', 'status 402'] },
  },
  'a compressed stream that breaks off': {
    server: ({ path }) => [
      {
        raw: gzipSync(streamFor(path, { text: big })).subarray(0, 300),
        headers: { 'content-encoding': 'gzip' },
      },
      done,
    ],
    result: retried({ waits: [2000] }),
  },
  'one event of a megabyte': {
    server: [{ text: big }],
    result: { text: big, requests: 1 },
  },
  'comments before, between and after events': {
    server: ({ path }) => [
      {
        raw: `: ping\n\n: ping\n\n${streamFor(path, done).replaceAll('\n\n', '\n\n: OPENROUTER PROCESSING\n\n')}`,
      },
    ],
    result: { text: 'done', requests: 1 },
  },
  'CRLF, a byte order mark, no space after the colon': {
    server: ({ path }) => [
      {
        raw: `\ufeff${streamFor(path, done).replaceAll('data: ', 'data:').replaceAll('\n', '\r\n')}`,
      },
    ],
    result: { text: 'done', requests: 1 },
  },
  'an event type `error` with plain text': {
    server: [{ raw: 'event: error\ndata: upstream connect error\n\n' }, done],
    result: retried(),
  },
  'status 200 with an error document': {
    server: [
      { body: said('rate_limit_error', 'Too many requests, retry in 3s'), plain: true },
      done,
    ],
    result: retried({ waits: [4500] }),
  },
  'status 200 with a `detail`': {
    server: [{ body: { detail: 'Insufficient balance' } }],
    result: { failed: ['quota_exhausted', 'Insufficient balance'] },
  },
  'status 200 with an empty body': { server: [{ raw: '' }, done], result: retried() },
  'status 200 with a web page: the address is wrong': {
    server: [{ raw: html('Sign in'), headers: { 'content-type': 'text/html' } }],
    result: { failed: ['wrong_address', 'web page (“Sign in”), not as an API'], requests: 1 },
  },
  'Cloudflare 502, 522 and 524 pages': {
    server: [
      page(502, 'api.example | 502: Bad gateway'),
      page(522, 'Connection timed out'),
      page(524, 'A timeout occurred'),
      done,
    ],
    result: { text: 'done', requests: 4 },
  },
  'a 403 page of a firewall': {
    server: [page(403, 'Attention Required! | Cloudflare')],
    result: { failed: ['blocked', 'Attention Required! | Cloudflare'], requests: 1 },
  },
  '429 as a web page': {
    server: [page(429, 'Too Many Requests'), done],
    result: retried({ waits: [2000] }),
  },
  'retry-after 0 waits a minimum from the third attempt on': {
    server: [
      ...Array.from({ length: 3 }, () => ({
        status: 429,
        body: said('rate_limit_error', 'slow'),
        headers: { 'retry-after': '0' },
      })),
      done,
    ],
    result: { text: 'done', waits: [0, 0, 1000] },
  },
  'retry-after-ms, RetryInfo, and a sentence': {
    server: [
      { status: 429, body: {}, headers: { 'retry-after-ms': '1500' } },
      {
        status: 429,
        body: { error: { code: 429, message: 'x', details: [{ retryDelay: '34s' }] } },
      },
      { status: 429, body: said('rate_limit_error', 'Please try again in 8.2s.') },
      done,
    ],
    result: { text: 'done', waits: [2250, 39_000, 12_300] },
  },
  'overloaded five times': {
    server: [
      ...Array.from({ length: 5 }, () => ({
        status: 529,
        body: said('overloaded_error', 'Overloaded'),
      })),
      done,
    ],
    result: { text: 'done', requests: 6, waits: [2000, 4000, 8000, 16_000, 32_000] },
  },
  'a call that the server could not parse (Groq)': {
    server: [
      {
        status: 400,
        body: {
          error: {
            message:
              "Failed to call a function. Please adjust your prompt. See 'failed_generation'.",
            type: 'invalid_request_error',
            code: 'tool_use_failed',
            failed_generation: '<function=echo>{"say": "hi"</function>',
          },
        },
      },
      CALL,
      done,
    ],
    result: { ran: ['hi'], text: 'done', requests: 3 },
  },
  'a call that the server could not parse (llama.cpp)': {
    server: [
      {
        status: 500,
        body: { error: { code: 500, message: 'Failed to parse input at pos 184: <tool_call>' } },
      },
      done,
    ],
    result: retried(),
  },
  'the same call twice is two calls': {
    server: [
      {
        toolCalls: [
          { id: 'a', name: 'echo', arguments: { say: 'hi' } },
          { id: 'b', name: 'echo', arguments: { say: 'hi' } },
        ],
      },
      done,
    ],
    result: { ran: ['hi', 'hi'], text: 'done', requests: 2 },
  },
  'ids that start over in each response': {
    server: [CALL, CALL, done],
    result: { ran: ['hi', 'hi'], text: 'done', requests: 3 },
  },
  'a name with a prefix and in another case': {
    server: [{ toolCalls: [{ id: 'c', name: 'functions.Echo', arguments: { say: 'hi' } }] }, done],
    result: ranOnce,
  },
  'a tool that does not exist, and one without a name': {
    server: [
      { toolCalls: [{ id: 'c', name: 'bash', arguments: {} }] },
      { toolCalls: [{ id: 'd', name: '', arguments: {} }] },
      done,
    ],
    result: { ran: [], text: 'done', requests: 3 },
  },
  'empty responses are asked for again, then the turn fails': {
    server: [{}, {}, {}, {}, done],
    result: { failed: ['no_response', ''], waits: [2000, 4000, 8000], requests: 4 },
  },
  'a response that was cut at the length limit is continued': {
    server: [{ text: 'one, ', finish: 'length' }, { text: 'two' }],
    result: {
      text: 'one, two',
      sent: body => /one, .*Continue exactly where it stopped/s.test(JSON.stringify(body)),
      expected: true,
    },
  },
  'a call that was cut at the length limit is asked for once more': {
    server: [
      { toolCalls: [{ name: 'echo', arguments: '{"say":"ab' }], finish: 'length' },
      { text: 'shorter' },
    ],
    result: { text: 'shorter', ran: [], requests: 2 },
  },
  'words and parallel calls come back in order': {
    server: [
      {
        text: 'Both.',
        toolCalls: ['1', '2'].map(say => ({ id: say, name: 'echo', arguments: { say } })),
      },
      done,
    ],
    result: {
      ran: ['1', '2'],
      sent: body => /Both\..*say\W+1.*say\W+2/s.test(JSON.stringify(body)),
      expected: true,
    },
  },
  'broken arguments and an unknown tool come back as errors': {
    server: [
      {
        toolCalls: [
          { id: 'a', name: 'echo', arguments: '{"say": ' },
          { id: 'b', name: 'no such.tool!', arguments: {} },
        ],
      },
      done,
    ],
    result: {
      text: 'done',
      ran: [],
      sent: body => JSON.stringify(body).includes('{\\"say\\": "'),
      expected: false,
    },
  },
}

/** Of formats that name a filter. */
export const OF_FILTERS: Record<string, Case> = {
  'a filter without text': {
    server: format => [{ finish: filtered(format) }],
    result: { failed: ['content_refused', 'content filter'], requests: 1 },
  },
  'a filter after some text, which stays, with a note': {
    server: format => [{ text: 'Here is', finish: filtered(format) }],
    result: { content: 'Here is', warnings: ['content_filter'] },
  },
  'calls before a filter are not run': {
    server: format => [{ text: 'Here is', ...CALL, finish: filtered(format) }],
    result: { ran: [], requests: 1, warnings: ['content_filter'] },
  },
  'calls without text before a filter': {
    server: format => [{ ...CALL, finish: filtered(format) }],
    result: {
      failed: ['content_refused', ''],
      advice: `${adviceOf('content_refused')}`,
      ran: [],
      requests: 1,
    },
  },
  'a filter that stops the continuation of a long answer': {
    server: format => [
      { text: 'one ', finish: cutOf(format) },
      { text: 'two', finish: filtered(format) },
    ],
    result: { requests: 2, warnings: ['content_filter'] },
  },
}

/** Of formats that may end after reasoning. */
export const OF_THINKERS: Record<string, Case> = {
  'reasoning without an answer': thought('stop'),
  'reasoning that used the whole limit': thought('length'),
}

const chunk = (fields: object, finish: string | null = null) => frame(delta(fields, finish))
const call = (fields: object) => chunk({ tool_calls: [fields] })
const END = 'data: [DONE]\n\n'
const calling = (...pieces: string[]): Step => ({
  raw: `${pieces.join('')}${chunk({}, 'tool_calls')}${END}`,
})
const ending = (reason: string, text = ''): Step => ({
  raw: `${text && chunk({ content: text })}${chunk({}, reason)}${END}`,
})
export const HI = '{"say":"hi"}'
const ECHO = call({ index: 0, id: 'c', function: { name: 'echo', arguments: HI } })

const encrypted = (id: string, say: string): Step =>
  calling(
    chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: say, id, index: 0 }] }),
    call({ index: 0, id, function: { name: 'echo', arguments: JSON.stringify({ say }) } }),
  )

export const OF_CHAT: Record<string, Case> = {
  'a full window before the first word (GLM)': {
    server: [{ finish: 'model_context_window_exceeded' }],
    result: { failed: ['context_overflow', ''], requests: 1 },
  },
  'what was said in a full window is kept when nothing can be compacted': {
    server: [{ text: 'do', finish: 'model_context_window_exceeded', ...CALL }],
    result: { text: 'do', ran: [], requests: 1, warnings: ['cut'] },
  },
  'a refusal that is the whole answer needs no warning': {
    server: [{ refusal: 'I cannot help with that.', finish: 'stop' }],
    result: { text: 'I cannot help with that.', warnings: [] },
  },
  'an error of Groq inside a stream voids what came before': {
    server: [
      {
        raw:
          chunk({ content: 'Half' }) + frame({ x_groq: { error: 'over capacity' }, choices: [] }),
      },
      done,
    ],
    result: retried(),
  },
  'a line break, quotes of Python, a comma at the end': {
    server: [
      calling(
        call({ index: 0, id: 'a', function: { name: 'echo', arguments: '{"say":"one\ntwo"}' } }),
        call({
          index: 1,
          id: 'b',
          function: { name: 'echo', arguments: "{'say': 'it\\'s \"so\"',}" },
        }),
      ),
      done,
    ],
    result: { ran: ['one\ntwo', 'it\'s "so"'], text: 'done' },
  },
  'empty text, then an empty object, then nothing': {
    server: [
      calling(
        call({ index: 0, id: 'c', function: { name: 'none', arguments: '' } }),
        call({ index: 0, function: { arguments: '{}' } }),
      ),
      done,
    ],
    result: {
      text: 'done',
      sent: body => body.messages[1].tool_calls[0].function.arguments,
      expected: '{}',
    },
  },
  'text in one choice, the call in another (GitHub Copilot)': {
    server: [
      {
        body: {
          choices: [
            { message: { role: 'assistant', content: 'I look.' }, finish_reason: 'tool_calls' },
            {
              message: {
                role: 'assistant',
                tool_calls: [{ id: 'c', function: { name: 'echo', arguments: HI } }],
              },
              finish_reason: 'tool_calls',
            },
          ],
        },
      },
      done,
    ],
    result: ranOnce,
  },
  'null for delta, choices, content, calls and usage; usage in the middle; the role in each chunk':
    {
      server: [
        {
          raw: [
            frame({ choices: null, usage: null }),
            frame({ choices: [{ delta: null }] }),
            chunk({ role: 'assistant', content: null, tool_calls: null, refusal: null }),
            frame({ ...delta({ role: 'assistant', content: 'do' }), usage: { prompt_tokens: 5 } }),
            frame({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 1 } }),
            chunk({ role: 'assistant', content: [null, { type: 'text', text: 'ne' }] }),
            chunk({ role: 'assistant', content: '' }, 'stop'),
            END,
          ].join(''),
        },
      ],
      result: { text: 'done', requests: 1 },
    },
  '`message` instead of `delta` in a stream': {
    server: [{ raw: `${frame({ choices: [{ message: { content: 'done' } }] })}${END}` }],
    result: { text: 'done', requests: 1 },
  },
  'the end reasons "error", "MALFORMED_FUNCTION_CALL" and "network_error" void the response': {
    server: [
      ending('error', 'half'),
      ending('MALFORMED_FUNCTION_CALL', 'I will now call'),
      ending('function_call_filter: MALFORMED_FUNCTION_CALL'),
      ending('network_error', 'ha'),
      done,
    ],
    result: { text: 'done', requests: 5 },
  },
  'the end reasons of other filters': {
    server: [ending('SAFETY')],
    result: { failed: ['content_refused', 'content filter'], requests: 1 },
  },
  'the length limit under the name of Mistral': {
    server: [ending('model_length', 'do'), { text: 'ne' }],
    result: { text: 'done', requests: 2 },
  },
  'an error of the upstream provider inside a choice': {
    server: [
      { body: { choices: [{ message: null, error: { code: 502, message: 'Upstream' } }] } },
      done,
    ],
    result: retried(),
  },
  'an error beside the end of the stream (OpenRouter)': {
    server: [
      {
        raw: `${chunk({ content: 'half' })}${frame({
          error: { code: 'server_error', message: 'Provider disconnected' },
          choices: [{ delta: { content: '' }, finish_reason: 'error' }],
        })}`,
      },
      done,
    ],
    result: retried(),
  },
  'an error event of vLLM': {
    server: [
      {
        raw: `${chunk({ content: 'half' })}${frame({ object: 'error', message: 'engine died', type: 'InternalServerError', code: 500 })}${END}`,
      },
      done,
    ],
    result: retried(),
  },
  'an error as text (Ollama)': {
    server: [{ raw: frame({ error: 'an error was encountered while running the model' }) }, done],
    result: retried(),
  },
  'a number in `base_resp` (MiniMax)': {
    server: [
      {
        body: {
          choices: null,
          base_resp: { status_code: 1008, status_msg: 'insufficient balance' },
        },
      },
    ],
    result: { failed: ['quota_exhausted', 'insufficient balance'] },
  },
  'success in `base_resp` (MiniMax)': {
    server: [
      {
        body: {
          choices: [{ message: { content: 'done' }, finish_reason: 'stop' }],
          base_resp: { status_code: 0, status_msg: '' },
        },
      },
    ],
    result: { text: 'done', requests: 1 },
  },
  'text after [DONE], and a second end': {
    server: [
      { raw: `${chunk({ content: 'done' }, 'stop')}${END}${chunk({ content: '!' })}${END}` },
    ],
    result: { text: 'done', requests: 1 },
  },
  'the reasoning fields of GitHub Copilot go back': {
    server: [
      calling(chunk({ reasoning_text: 'Hm.' }), chunk({ reasoning_opaque: 'OPAQUE' }), ECHO),
      done,
    ],
    result: {
      ...ranOnce,
      reasoning: 'Hm.',
      sent: ({ messages: [, m] }) => [m.reasoning_text, m.reasoning_opaque],
      expected: ['Hm.', 'OPAQUE'],
    },
  },
  'the signed blocks of Claude behind LiteLLM go back': {
    server: [
      calling(
        chunk({
          reasoning_content: 'I ',
          thinking_blocks: [{ type: 'thinking', thinking: 'I ', signature: '' }],
        }),
        chunk({
          reasoning_content: 'think.',
          thinking_blocks: [{ type: 'thinking', thinking: 'think.' }],
        }),
        chunk({ thinking_blocks: [{ type: 'thinking', thinking: '', signature: 'SIG' }] }),
        ECHO,
      ),
      done,
    ],
    result: {
      ...ranOnce,
      reasoning: 'I think.',
      sent: ({ messages }) => messages[1].thinking_blocks,
      expected: [{ type: 'thinking', thinking: 'I think.', signature: 'SIG' }],
    },
  },
  'encrypted reasoning with the id of its call (OpenRouter)': {
    server: [
      calling(
        chunk({
          reasoning_details: [{ type: 'reasoning.encrypted', data: 'ENC', id: 'c', index: 0 }],
        }),
        ECHO,
      ),
      done,
    ],
    result: {
      ...ranOnce,
      sent: ({ messages }) => messages[1].reasoning_details,
      expected: [{ type: 'reasoning.encrypted', data: 'ENC', id: 'c', index: 0 }],
    },
  },
  'encrypted reasoning follows its call when an id is used again (Gemini behind OpenRouter)': {
    server: [encrypted('tool_0_echo', '1'), encrypted('tool_0_echo', '2'), done],
    result: {
      ran: ['1', '2'],
      text: 'done',
      sent: ({ messages }) =>
        messages
          .filter((m: Body) => m.tool_calls)
          .map((m: Body) => m.reasoning_details[0].id === m.tool_calls[0].id),
      expected: [true, true],
    },
  },
  'the same for the second of two calls, and for details of no call': {
    server: [
      encrypted('a', '1'),
      calling(
        chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', index: 0 }] }),
        chunk({
          reasoning_details: [{ type: 'reasoning.encrypted', data: 'E', id: 'b', index: 1 }],
        }),
        chunk({
          reasoning_details: [{ type: 'reasoning.encrypted', data: 'E', id: 'rs_1', index: 2 }],
        }),
        call({ index: 0, id: 'b', function: { name: 'echo', arguments: '{"say":"2"}' } }),
        call({ index: 1, id: 'a', function: { name: 'echo', arguments: '{"say":"3"}' } }),
      ),
      done,
    ],
    result: {
      ran: ['1', '2', '3'],
      sent: ({ messages }) => messages.at(-3).reasoning_details.map((detail: Body) => detail.id),
      expected: [undefined, 'b', 'rs_1'],
    },
  },
  'the same for a call that came twice under one id': {
    server: [
      encrypted('a', '1'),
      calling(
        chunk({
          reasoning_details: [{ type: 'reasoning.encrypted', data: 'E', id: 'a', index: 0 }],
        }),
        call({ index: 0, id: 'a', function: { name: 'echo', arguments: '{"say":"2"}' } }),
        call({ index: 1, id: 'a', function: { name: 'echo', arguments: '{"say":"2"}' } }),
      ),
      done,
    ],
    result: {
      ran: ['1', '2'],
      sent: ({ messages }) =>
        messages.at(-2).reasoning_details[0].id === messages.at(-2).tool_calls[0].id,
      expected: true,
    },
  },
  'only the closing tag of the reasoning': {
    server: [{ text: 'Let me think.\nOK.\n</think>\n\ndone' }],
    result: { text: 'done', reasoning: 'Let me think.\nOK.', requests: 1 },
  },
  'calls as text, from a server without a parser': {
    server: [
      { text: 'I call.\n<tool_call>\n{"name": "echo", "arguments": {"say": "hi"}}\n</tool_call>' },
      done,
    ],
    result: ranOnce,
  },
}
