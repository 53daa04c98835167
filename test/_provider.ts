/** A scripted model server over real HTTP for tests, in the format of the request path, down to single bytes. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import {
  anthropicEvents,
  anthropicMessage,
  ollamaDocument,
  ollamaEvents,
  responsesDocument,
  responsesEvents,
} from './_formats.ts'

export type ScriptedCall = {
  id?: string
  name: string
  /** An object is written as JSON; a string is written as it is, broken or not. */
  arguments: Record<string, unknown> | string
  /** Characters of the arguments in one chunk; absent: two halves. */
  size?: number
}

/** One response. Everything is optional; `{}` is an empty response that stops. */
export type Step = {
  /** Each piece becomes one chunk. */
  text?: string | string[]
  reasoning?: string | string[]
  refusal?: string
  toolCalls?: ScriptedCall[]
  /** Defaults to `tool_calls` or `stop`; null leaves it out. */
  finish?: string | null
  usage?: {
    prompt_tokens: number
    completion_tokens: number
    cost?: number
    prompt_tokens_details?: { cached_tokens: number }
  }
  /** False leaves `[DONE]` out. */
  done?: boolean
  /** Sends one JSON document instead of a stream. */
  plain?: boolean
  /** A status other than 200 sends `body` with these headers. */
  status?: number
  headers?: Record<string, string>
  body?: unknown
  /** The exact bytes of the stream; replaces everything above. */
  raw?: string | Buffer
  /** Number of bytes to write, followed by `then`. */
  keep?: number
  then?: string
  /** Size of each write in bytes. */
  portion?: number
  /** The response starts after this settles. */
  gate?: Promise<unknown>
  /** The second half of the bytes is written after this settles. */
  middle?: Promise<unknown>
  /**
   * `headers`: never responds. `body`: stays unfinished, and open: a whole message would count as one after 100 ms, which a busy
   * machine takes for what a test does next. `open`: is whole, and stays open. `cut`: destroys the socket at the end.
   */
  end?: 'headers' | 'body' | 'open' | 'cut'
}

export type Recorded = {
  path: string
  headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect arbitrary request bodies
  body: any
  /** Settles when the client closes the connection or the response is written. */
  closed: Promise<void>
}

export type Scripted = AsyncDisposable & {
  /** `http://127.0.0.1:<port>/v1` */
  url: string
  requests: Recorded[]
  /** The list of GET …/models; null: 404. These requests do not consume the script. */
  models: string[] | null
  /** Responses of a local program by path, such as `/props`. These requests do not consume the script. */
  local: Readonly<Record<string, unknown>>
  /** Responses after the end of the script, by request body. */
  otherwise: ((body: Recorded['body']) => Step) | null
  /** Headers of the requests for the model list. */
  listed: IncomingHttpHeaders[]
  /** Adds responses for the next requests, in order. */
  push: (...steps: Step[]) => void
  /** Drops responses that were not requested. */
  clear: () => void
  /** Settles when the n-th request (from 1) has arrived. */
  arrived: (n: number) => Promise<Recorded>
  close: () => Promise<void>
}

/** Rejects requests after the end of the script, so that a test never hangs. */
export const createProvider = async (...script: Step[]): Promise<Scripted> => {
  const steps = [...script]
  const requests: Recorded[] = []
  const sockets = new Set<Socket>()
  let waiting: (() => void)[] = []

  const lists: Pick<Scripted, 'models' | 'local' | 'listed' | 'otherwise'> = {
    models: null,
    local: {},
    listed: [],
    otherwise: null,
  }
  const server = createServer(async (req, res) => {
    const own = lists.local[(req.url ?? '').split('?')[0] ?? '']
    if (own !== undefined) {
      req.resume()
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify(own))
      return
    }
    if (req.method === 'GET') {
      lists.listed.push(req.headers)
      res.writeHead(lists.models ? 200 : 404, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ data: lists.models?.map(id => ({ id })) }))
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const closed = new Promise<void>(resolve => res.once('close', resolve))
    requests.push({
      path: req.url ?? '',
      headers: req.headers,
      body: text === '' ? null : JSON.parse(text),
      closed,
    })
    for (const wake of waiting.splice(0)) wake()
    const step = steps.shift() ??
      lists.otherwise?.(requests.at(-1)?.body) ?? {
        status: 400,
        body: { error: { message: 'The script of this test has ended.' } },
      }
    await step.gate
    if (step.end !== 'headers') await answer(res, step, req.url ?? '')
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))

  return Object.assign(lists, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    push: (...more: Step[]) => void steps.push(...more),
    clear: () => void steps.splice(0),
    async arrived(n: number) {
      while (requests.length < n) await new Promise<void>(wake => waiting.push(wake))
      const request = requests[n - 1]
      if (!request) throw new Error(`There is no request ${n}.`)
      return request
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
    close: () =>
      new Promise<void>(resolve => {
        waiting = []
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  })
}

const answer = async (res: ServerResponse, step: Step, path: string): Promise<void> => {
  const status = step.status ?? 200
  if (status !== 200 || step.body !== undefined) {
    const isRaw = typeof step.body === 'string' || Buffer.isBuffer(step.body)
    const text = isRaw ? (step.body as string | Buffer) : JSON.stringify(step.body ?? {})
    res.writeHead(status, { 'content-type': 'application/json', ...step.headers })
    res.end(text)
    return
  }
  const streamed = path.endsWith('/api/chat') ? 'application/x-ndjson' : 'text/event-stream'
  const type = step.plain ? 'application/json' : streamed
  res.writeHead(200, { 'content-type': type, ...step.headers })
  const whole = Buffer.from(
    step.raw ?? (step.plain ? JSON.stringify(documentFor(path, step)) : streamFor(path, step)),
  )
  const bytes =
    step.keep === undefined
      ? whole
      : Buffer.concat([whole.subarray(0, step.keep), Buffer.from(step.then ?? '')])
  const half = step.middle ? Math.floor(bytes.length / 2) : bytes.length
  await write(res, bytes.subarray(0, half), step.portion)
  await step.middle
  await write(res, bytes.subarray(half), step.portion)
  if (step.end === 'body' || step.end === 'open') return
  if (step.end === 'cut') res.destroy()
  else res.end()
}

/** Writes each portion after the previous one was flushed, so that each is its own packet. */
const write = async (res: ServerResponse, bytes: Buffer, portion = bytes.length): Promise<void> => {
  for (let at = 0; at < bytes.length; at += portion)
    await new Promise<void>(resolve => {
      res.write(bytes.subarray(at, at + portion), () => resolve())
      if (res.destroyed) resolve()
    })
}

export const pieces = (text: string | string[] | undefined): string[] =>
  text === undefined ? [] : typeof text === 'string' ? [text] : text

export const written = (call: ScriptedCall) =>
  typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)

export const reasonOf = (step: Step): string | null => {
  if (step.finish !== undefined) return step.finish
  if (step.end === 'body') return null
  return step.toolCalls ? 'tool_calls' : 'stop'
}

/** One server-sent event. */
export const frame = (chunk: unknown): string => `data: ${JSON.stringify(chunk)}\n\n`
export const delta = (fields: unknown, finish: string | null = null) => ({
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
})

/** The stream of a step in the format of the path. */
export const streamFor = (path: string, step: Step): string => {
  if (path.endsWith('/messages')) return anthropicEvents(step).map(frame).join('')
  if (path.endsWith('/responses')) return responsesEvents(step).map(frame).join('')
  if (path.endsWith('/api/chat'))
    return ollamaEvents(step)
      .map(event => `${JSON.stringify(event)}\n`)
      .join('')
  return toStream(step)
}

const documentFor = (path: string, step: Step): unknown => {
  if (path.endsWith('/messages')) return anthropicMessage(step)
  if (path.endsWith('/api/chat')) return ollamaDocument(step)
  return path.endsWith('/responses') ? responsesDocument(step) : document(step)
}

const toStream = (step: Step): string => {
  const chunks: unknown[] = [
    ...pieces(step.reasoning).map(text => delta({ reasoning_content: text })),
    ...pieces(step.text).map(text => delta({ content: text })),
    ...(step.refusal ? [delta({ refusal: step.refusal })] : []),
    ...(step.toolCalls ?? []).flatMap((call, index) => {
      const text = written(call)
      const size = call.size ?? Math.ceil(text.length / 2)
      const parts = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []
      const id = call.id ?? `call_${index}`
      const head = { index, id, type: 'function', function: { name: call.name, arguments: '' } }
      return [
        delta({ tool_calls: [head] }),
        ...parts.map(part => delta({ tool_calls: [{ index, function: { arguments: part } }] })),
      ]
    }),
    ...(reasonOf(step) === null ? [] : [delta({}, reasonOf(step))]),
    ...(step.usage ? [{ choices: [], usage: step.usage }] : []),
  ]
  return (
    chunks.map(frame).join('') +
    (step.done === false || step.end === 'body' ? '' : 'data: [DONE]\n\n')
  )
}

const document = (step: Step) => ({
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: pieces(step.text).join(''),
        ...(step.reasoning && { reasoning_content: pieces(step.reasoning).join('') }),
        ...(step.toolCalls && {
          tool_calls: step.toolCalls.map((call, index) => ({
            id: call.id ?? `call_${index}`,
            type: 'function',
            function: { name: call.name, arguments: written(call) },
          })),
        }),
      },
      finish_reason: reasonOf(step),
    },
  ],
  usage: step.usage,
})

/** Words, then an error of the server that says how soon it may be asked again. */
export const broken = (text: string[], wait: string): Step => ({
  raw: [
    ...text.map(content => delta({ content })),
    { error: { code: 529, message: `Overloaded. Please try again in ${wait}.` } },
  ]
    .map(frame)
    .join(''),
})

/** A promise and the function that resolves it. */
export const gate = (): { opened: Promise<void>; open: () => void } => {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}
