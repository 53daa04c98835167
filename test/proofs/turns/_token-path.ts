/**
 * Prints what ran in the service while one piece of text went from the model's socket to the browser's: each module with its
 * functions, and how often the piece was written as JSON. V8 counts what runs (precise coverage with blocks, which also counts a
 * generator that goes on), between one piece and the next, so nothing is concluded from reading the source.
 *
 *   node test/proofs/turns/_token-path.ts
 */
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startApp } from '../../_app.ts'
import { createTestClock } from '../../_clock.ts'
import { delta, frame } from '../../_provider.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PIECES = 12

const answering = Promise.withResolvers<ServerResponse>()
const model = createServer((req, res) => {
  req.resume()
  if (req.method === 'GET') return res.writeHead(404).end('{}')
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  res.flushHeaders()
  answering.resolve(res)
})
await new Promise<void>(resolve => model.listen(0, '127.0.0.1', resolve))
const app = await startApp({ clock: createTestClock() })
const { port } = model.address() as AddressInfo
writeFileSync(
  join(app.home, 'config.yaml'),
  `model:\n  provider: custom\n  base_url: http://127.0.0.1:${port}/v1\n  default: test-model\ncheckpoints:\n  enabled: false\n`,
)
const { session_id } = (await app.post('/api/session/new', {})).body.session
const events = app.events(`/api/events?watch=${session_id}`)
await events.until(({ event }) => event === 'ready')
await app.post('/api/chat/start', { session_id, message: 'Hello' })
const answer = await answering.promise

const stringify = JSON.stringify
let word = ''
let written = 0
JSON.stringify = ((...given: Parameters<typeof stringify>) => {
  const text = stringify(...given)
  if (word !== '' && text?.includes(word)) written += 1
  return text
}) as typeof stringify

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

type Ran = { modules: Map<string, Set<string>>; written: number }
const ran: Ran[] = []
for (let at = 0; at < PIECES; at++) {
  const own = `piece${at}`
  const chunk = frame(delta({ content: ` ${own}` }))
  await session.post('Profiler.takePreciseCoverage')
  word = own
  written = 0
  answer.write(chunk)
  await events.until(({ event, data }) => event === 'token' && data.data?.text?.includes(own))
  const { result } = await session.post('Profiler.takePreciseCoverage')
  word = ''
  const modules = new Map<string, Set<string>>()
  for (const { url, functions } of result) {
    if (!url.startsWith(pathToFileURL(ROOT).href)) continue
    const path = relative(ROOT, new URL(url).pathname).split(sep).join('/')
    if (!/^(?:lib|handlers|router)/.test(path)) continue
    for (const { functionName, ranges } of functions)
      if (ranges.some(({ count }) => count > 0))
        modules.set(path, (modules.get(path) ?? new Set()).add(functionName || '(anonymous)'))
  }
  ran.push({ modules, written })
}
session.disconnect()
answer.end('data: [DONE]\n\n')

// What ran for each piece; the first ones also start what stays.
const steady = ran.slice(2)
const first = steady[0]!
const modules = [...first.modules]
  .filter(([path]) => steady.every(each => each.modules.has(path)))
  .map(([path, names]) => ({ path, functions: [...names] }))
const functions = modules.reduce((sum, each) => sum + each.functions.length, 0)
process.stdout.write(
  `${stringify({ modules, functions, written: Math.max(...steady.map(each => each.written)) }, null, 1)}\n`,
)
events.close()
await events.return?.()
await app.close()
model.closeAllConnections()
model.close()
