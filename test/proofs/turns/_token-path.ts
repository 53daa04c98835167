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
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startApp } from '../../_app.ts'
import { createTestClock } from '../../_clock.ts'
import { delta, frame } from '../../_provider.ts'

type Module = { path: string; functions: string[] }
/** `helpers`: of lib/base, which know nothing of turns. `written`: how often the piece became JSON. */
export type TokenPath = { modules: Module[]; helpers: Module[]; written: number }

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
  `model:\n  provider: custom\n  base_url: http://127.0.0.1:${port}/v1\n  default: test-model\n`,
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
  // The model's own event is made before it is sent.
  if (word !== '' && text.includes(word)) written += 1
  return text
}) as typeof stringify

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

type Ran = { modules: Map<string, Set<string>>; written: number }
/** What ran since it was asked the last time. */
const takeModules = async (): Promise<Ran['modules']> => {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const modules: Ran['modules'] = new Map()
  for (const { url, functions } of result) {
    if (!url.startsWith(pathToFileURL(ROOT).href)) continue
    const path = relative(ROOT, fileURLToPath(url)).split(sep).join('/')
    if (!/^(?:lib|handlers|router)/.test(path)) continue
    for (const { functionName, ranges } of functions)
      if (ranges.some(({ count }) => count > 0))
        modules.set(path, (modules.get(path) ?? new Set()).add(functionName || '(anonymous)'))
  }
  return modules
}

const ran: Ran[] = []
for (let at = 0; at < PIECES; at++) {
  await takeModules()
  word = `piece${at}`
  const bytes = frame(delta({ content: ` ${word}` }))
  written = 0
  answer.write(bytes)
  await events.until(({ event, data }) => event === 'token' && data.data.text.includes(word))
  ran.push({ modules: await takeModules(), written })
}
session.disconnect()
answer.end('data: [DONE]\n\n')

// The first ones also start what stays.
const [first, ...others] = ran.slice(PIECES / 2)
if (!first) throw new Error('nothing ran')
const modules = [...first.modules]
  .filter(([path]) => others.every(each => each.modules.has(path)))
  .map(([path, names]) => ({ path, functions: [...names] }))
const passed: TokenPath = {
  modules: modules.filter(({ path }) => !path.startsWith('lib/base/')),
  helpers: modules.filter(({ path }) => path.startsWith('lib/base/')),
  written: first.written,
}
process.stdout.write(`${stringify(passed, null, 1)}\n`)
events.close()
await events.return?.()
await app.close()
model.closeAllConnections()
model.close()
