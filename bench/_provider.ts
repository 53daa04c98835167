/** Provider process for benchmarks: streams chat completions whose tokens are the times at which they were written. */
import { delta, frame } from '../test/_provider.ts'
import { createServer, type ServerResponse } from 'node:http'
import { nowMs } from './_now.ts'

export type Pace = {
  /** 0 sends one token at once. */
  tokensPerSecond: number
  seconds: number
  /** Commands that each turn runs before its answer, with 18 kB of output each. */
  commands?: number
}

const chunk = (fields: object, finish: string | null = null) => frame(delta(fields, finish))

const speak = (res: ServerResponse, { tokensPerSecond, seconds }: Pace) => {
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  const end = () => res.end(`${chunk({}, 'stop')}data: [DONE]\n\n`)
  if (tokensPerSecond === 0) {
    res.write(chunk({ role: 'assistant', content: 'done' }))
    return end()
  }
  const total = tokensPerSecond * seconds
  const startedAt = performance.now()
  const spoken = { count: 0 }
  const timer = setInterval(() => {
    const due = Math.min(
      total,
      Math.floor(((performance.now() - startedAt) * tokensPerSecond) / 1000),
    )
    // Each token has its own time: it is written when due, or at the next timer tick.
    for (; spoken.count < due; spoken.count++)
      res.write(chunk({ content: `<${nowMs().toFixed(2)}>` }))
    if (spoken.count < total) return
    clearInterval(timer)
    end()
  }, 1)
  res.once('close', () => clearInterval(timer))
}

const state: { pace: Pace; made: number } = { pace: { tokensPerSecond: 0, seconds: 0 }, made: 0 }

const command = (res: ServerResponse) => {
  state.made += 1
  const from = state.made * 10_000
  const call = {
    index: 0,
    id: `call_${state.made}`,
    type: 'function',
    function: {
      name: 'terminal',
      arguments: JSON.stringify({ command: `seq ${from} ${from + 3_000}` }),
    },
  }
  res.writeHead(200, { 'Content-Type': 'text/event-stream' })
  res.end(`${chunk({ tool_calls: [call] })}${chunk({}, 'tool_calls')}data: [DONE]\n\n`)
}

/** Results since the last message of the user. */
const resultsIn = (body: string): number => {
  const { messages } = JSON.parse(body) as { messages: { role: string }[] }
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  return messages.slice(asked).filter(({ role }) => role === 'tool').length
}

const server = createServer((req, res) => {
  const texts: string[] = []
  req.on('data', part => texts.push(String(part)))
  req.on('end', () => {
    const body = texts.join('')
    const isStream = body.includes('"stream":true')
    const { commands = 0 } = state.pace
    if (isStream && commands > 0 && resultsIn(body) < commands) return command(res)
    if (isStream) return speak(res, state.pace)
    const message = { role: 'assistant', content: 'A title' }
    res.writeHead(200, { 'Content-Type': 'application/json' })
    res.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
  })
})

/** Each message sets the pace of later responses; the reply is the port. */
process.on('message', (pace: Pace) => {
  state.pace = pace
  const answer = () => {
    const address = server.address()
    process.send?.(typeof address === 'object' && address ? address.port : 0)
  }
  if (server.listening) answer()
  else server.listen(0, '127.0.0.1', answer)
})
process.on('disconnect', () => process.exit())
