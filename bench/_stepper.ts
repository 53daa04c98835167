/** Provider process for benchmarks: answers each request at once with a tool call, and measures the time to the next request. */
import { delta, frame } from '../test/_provider.ts'
import { createServer } from 'node:http'

export type Steps = { steps: number }
/** Milliseconds from the last byte of an answer to the last byte of the next request. */
export type StepTimes = { times: number[]; lastRequestBytes: number }

const chunk = (fields: object, finish: string | null = null) => frame(delta(fields, finish))

const state = { steps: 0, made: 0, answeredAt: 0, times: [] as number[], lastRequestBytes: 0 }

/** Reads another part of the file each time, because equal results would be too easy to store. */
const toolCall = (step: number) => ({
  index: 0,
  id: `call_${step}`,
  type: 'function',
  function: {
    name: 'read_file',
    arguments: JSON.stringify({ path: 'data.txt', offset: 1 + (step % 400), limit: 20 }),
  },
})

const server = createServer((req, res) => {
  const parts: Buffer[] = []
  req.on('data', part => parts.push(part))
  req.on('end', () => {
    const body = Buffer.concat(parts)
    const isStream = body.includes('"stream":true')
    if (!isStream) {
      const message = { role: 'assistant', content: 'A title' }
      res.writeHead(200, { 'Content-Type': 'application/json' })
      res.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
      return
    }
    if (state.answeredAt > 0) state.times.push(performance.now() - state.answeredAt)
    state.lastRequestBytes = body.length
    res.writeHead(200, { 'Content-Type': 'text/event-stream' })
    const isLast = state.made++ >= state.steps
    const deltas = isLast
      ? [chunk({ content: 'done' }), chunk({}, 'stop')]
      : [chunk({ tool_calls: [toolCall(state.made)] }), chunk({}, 'tool_calls')]
    res.end(`${deltas.join('')}data: [DONE]\n\n`, () => {
      state.answeredAt = isLast ? 0 : performance.now()
    })
  })
})

/** The first message sets the number of steps and is answered with the port; the next one asks for the times. */
process.on('message', (question: Steps | 'times') => {
  if (question === 'times') {
    const { times, lastRequestBytes } = state
    process.send?.({ times, lastRequestBytes } satisfies StepTimes)
    return
  }
  state.steps = question.steps
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    process.send?.(typeof address === 'object' && address ? address.port : 0)
  })
})
process.on('disconnect', () => process.exit())
