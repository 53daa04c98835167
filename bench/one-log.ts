/**
 * `node bench/one-log.ts`: a transcript and the events of its running turn in two files, as it is, against both in one file with the
 * deltas of 50 ms in one line. The figures of docs/decisions/0010-one-log.md.
 *
 * The first design is measured on the service itself; of the second, the file is written as it would be, and read by the same
 * store, which skips lines of a type that it does not know.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { createServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeSessions, sessionId, word } from './_data.ts'
import { delta, frame } from '../test/_provider.ts'

const TOKENS = 2_000
const BATCH_MS = 50
const RATES = [30, 100]
const MESSAGES = 5_000
const READS = 11
const KILLS = 30

const counts = { syncs: 0, writes: 0 }
const { fdatasync, writeSync } = fs
fs.fdatasync = ((...given: Parameters<typeof fdatasync>) => {
  counts.syncs += 1
  return fdatasync(...given)
}) as typeof fdatasync
fs.writeSync = ((...given: Parameters<typeof writeSync>) => {
  counts.writes += 1
  return writeSync(...given)
}) as typeof writeSync
syncBuiltinESMExports()

const { startApp } = await import('../test/_app.ts')
const { openBench } = await import('../test/lib/sessions/_sessions.ts')

/** About as long as the tokens of a model: four characters and a space. */
const tokens = Array.from({ length: TOKENS }, (_, at) => `${word(at * 7).slice(0, 4)} `)
const kb = (bytes: number): string => `${(bytes / 1_000).toFixed(1)} kB`
const line = (text: string): void => void process.stdout.write(`${text}\n`)

/** The files and calls of one answer of the service. */
const answerNow = async () => {
  const model = createServer((req, res) => {
    req.resume()
    if (req.method === 'GET') return res.writeHead(404).end('{}')
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const usage = { prompt_tokens: 900, completion_tokens: TOKENS }
    const chunks = [
      ...tokens.map(content => delta({ content })),
      delta({}, 'stop'),
      { choices: [], usage },
    ]
    res.end(`${chunks.map(frame).join('')}data: [DONE]\n\n`)
  })
  await new Promise<void>(resolve => model.listen(0, '127.0.0.1', resolve))
  const app = await startApp()
  const { port } = model.address() as AddressInfo
  fs.writeFileSync(
    join(app.home, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: http://127.0.0.1:${port}/v1\n  default: m\ncheckpoints:\n  enabled: false\n`,
  )
  const { session_id } = (await app.post('/api/session/new', {})).body.session
  Object.assign(counts, { syncs: 0, writes: 0 })
  const started = await app.post('/api/chat/start', { session_id, message: 'Tell me a story.' })
  const { stream_id } = started.body
  await app
    .events(`/api/chat/stream?stream_id=${stream_id}&after=0`)
    .until(({ event }) => event === 'stream_end')
  const counted = { ...counts }
  const journal = fs.readFileSync(join(app.state, 'sessions', `${session_id}.jsonl`))
  const live = fs.readFileSync(join(app.state, 'live', `${stream_id}.jsonl`))
  await app.close()
  model.closeAllConnections()
  model.close()
  return { ...counted, journal, live }
}

/** The lines that `count` tokens leave in one log; `n` begins the numbering. */
const deltaLines = (n: number, id: string, text: readonly string[], rate: number): string[] => {
  const perLine = (rate * BATCH_MS) / 1_000
  const lines: string[] = []
  for (let at = 0; at < text.length; ) {
    // Where fewer than one token comes in 50 ms, each has its line.
    const to = Math.max(at + 1, Math.round((lines.length + 1) * perLine))
    const piece = text.slice(at, to).join('')
    lines.push(JSON.stringify({ n: n + lines.length, t: 'token', at: 1.7e9, id, text: piece }))
    at = to
  }
  return lines
}

/** Milliseconds of the processor: what else runs on the machine is not in it. */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

const p50 = (times: number[]): string =>
  `${times.toSorted((a, b) => a - b)[times.length >> 1]!.toFixed(2)} ms`

/** Reads a session of many messages, with or without what streamed them. */
const readLong = async (rate: number | null) => {
  const bench = openBench()
  const path = bench.path(sessionId(0))
  writeSessions(bench.root, '/w', { sessions: 1, messages: MESSAGES, words: 60 })
  if (rate !== null) {
    const lines = fs.readFileSync(path, 'utf8').trimEnd().split('\n')
    let n = 0
    const all = lines.flatMap(text => {
      const entry = JSON.parse(text)
      const { message } = entry
      const words = message?.role === 'assistant' ? message.content.split(/(?<= )/) : []
      const before = deltaLines(n + 1, `m${n + 1}`, words, rate)
      n += before.length + 1
      const renamed = message
        ? { ...entry, n, message: { ...message, id: `m${n}` } }
        : { ...entry, n }
      return [...before, JSON.stringify(renamed)]
    })
    fs.writeFileSync(path, `${all.join('\n')}\n`)
  }
  const { size } = fs.statSync(path)
  const id = sessionId(0)
  /** `repeats`: of work that is shorter than the ticks of the clock. */
  const time = async (work: () => unknown, repeats = 1): Promise<string> => {
    const times: number[] = []
    for (let at = 0; at < READS; at++) {
      // Another time of the file, so that nothing is served from memory; seen here, so that it is not read in the time below.
      fs.utimesSync(path, 1.7e9 + at, 1.7e9 + at)
      await bench.sessions.catchUp()
      const begin = cpuMs()
      for (let more = 0; more < repeats; more++) await work()
      times.push((cpuMs() - begin) / repeats)
    }
    return p50(times)
  }
  const sessions = await bench.restart()
  const fold: number[] = []
  for (let at = 0; at < 9; at++) {
    const begin = cpuMs()
    if (sessions.load(id).messages.length !== MESSAGES) throw new Error('messages are missing')
    fold.push(cpuMs() - begin)
  }
  const before = sessions.tail(id, { limit: MESSAGES / 2 }).messages[0]!.id
  const figures = {
    size,
    tail: await time(() => sessions.tail(id, { limit: 50 }), 20),
    page: await time(() => sessions.tail(id, { limit: 50, before })),
    whole: await time(() => sessions.wholeJson(id)),
    fold: p50(fold),
  }
  await bench.close()
  return figures
}

/**
 * A process that sends 100 tokens per second, and writes each before it sends it (`line`), all of 50 ms at once and sends them then
 * (`wait`), or sends each and writes later (`later`).
 */
const SENDER = `
const fs = require('node:fs')
const [, path, mode] = process.argv
const file = fs.openSync(path, 'a')
let held = []
const send = ([token, at]) => fs.writeSync(1, token + ' ' + (performance.now() - at) + '\\n')
let next = 0
setInterval(() => {
  const one = [next++, performance.now()]
  if (mode === 'line') fs.writeSync(file, one[0] + '\\n')
  else held.push(one)
  if (mode !== 'wait') send(one)
}, 10)
setInterval(() => {
  if (held.length > 0) fs.writeSync(file, held.map(([token]) => token + '\\n').join(''))
  if (mode === 'wait') held.forEach(send)
  held = []
}, ${BATCH_MS})`

/** Kills it at a random moment: how many rounds lost what had been sent, how many tokens at most, and how long a token waited. */
const killed = async (mode: string) => {
  const dir = fs.mkdtempSync(join(tmpdir(), 'one-log-'))
  let rounds = 0
  let most = 0
  const delays: number[] = []
  for (let at = 0; at < KILLS; at++) {
    const path = join(dir, `${at}`)
    const child = spawn(process.execPath, ['-e', SENDER, path, mode])
    let out = ''
    child.stdout.on('data', bytes => {
      out += bytes
    })
    await once(child.stdout, 'data')
    await new Promise(resolve => setTimeout(resolve, 100 + Math.random() * 200))
    child.kill('SIGKILL')
    await once(child, 'close')
    const sent = out.trim().split('\n')
    const kept = fs.readFileSync(path, 'utf8').split('\n').length - 1
    delays.push(...sent.map(each => Number(each.split(' ')[1])))
    if (sent.length > kept) rounds += 1
    most = Math.max(most, sent.length - kept)
  }
  fs.rmSync(dir, { recursive: true })
  const sorted = delays.toSorted((a, b) => a - b)
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0
  return `${rounds} of ${KILLS} kills lost what had been sent, up to ${most} tokens; delay ${p50(delays)}, p99 ${p99.toFixed(1)} ms`
}

const now = await answerNow()
const { journal, live, syncs, writes } = now
line(`One answer of ${TOKENS} tokens`)
line(`  two files: journal ${kb(journal.length)}, live ${kb(live.length)}, which is deleted`)
line(`    ${writes} writes, ${syncs} fdatasync`)
for (const rate of RATES) {
  const lines = deltaLines(100, 'm100', tokens, rate)
  const bytes = Buffer.byteLength(`${lines.join('\n')}\n`)
  const whole = journal.length + bytes
  line(
    `  one file, ${rate} tokens/s: ${kb(whole)}, which stays (${(whole / journal.length).toFixed(1)} times); ${writes - TOKENS + lines.length} writes, ${syncs} fdatasync`,
  )
}
line(`A session of ${MESSAGES} messages: bytes; the last 50; 50 in the middle; whole JSON; fold`)
for (const rate of [null, ...RATES]) {
  const { size, tail, page, whole, fold } = await readLong(rate)
  const what = rate === null ? 'two files' : `one file, ${rate} tokens/s`
  line(`  ${what}: ${kb(size)}; ${tail}; ${page}; ${whole}; ${fold}`)
}
line('A kill −9 while 100 tokens/s are sent')
for (const [mode, what] of [
  ['line', 'a line for each, then sent (two files)'],
  ['wait', `a line for ${BATCH_MS} ms, then sent`],
  ['later', `sent, a line for ${BATCH_MS} ms later`],
] as const)
  line(`  ${what}: ${await killed(mode)}`)
