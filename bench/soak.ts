/** Memory over many turns with many readers, one after the other without pauses: what a service holds when its work is over. */
import { setTimeout } from 'node:timers/promises'
import type { Bench, Service } from './_bench.ts'
import { memoryMb, startChild } from './_child.ts'
import type { Pace } from './_provider.ts'
import type { Readers } from './_readers.ts'
import { configFor, newSession } from './streams.ts'
import { number } from './_table.ts'

const TURNS = 53
const CHATS = 5
const READERS = 150
const CHAT_READERS = 10
const COMMANDS = 3
const EVERY = 10
const REST_MS = 60_000
const TOKEN = 'soak-of-the-benchmark'

/** Where the memory is, in MB: V8's heap, memory outside of it that its objects hold, and everything else. */
const split = async ({ client, program }: Service): Promise<string> => {
  const { text } = await client.get('/metrics', { headers: { Authorization: `Bearer ${TOKEN}` } })
  const of = (name: string) =>
    Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1] ?? 0) / 1024 / 1024
  const resident = memoryMb(program.child.pid)
  const [heap, used, external] = [
    of('nodejs_heap_size_total_bytes'),
    of('nodejs_heap_size_used_bytes'),
    of('nodejs_external_memory_bytes'),
  ]
  return `${number(resident)} MB: heap ${number(heap)} (used ${number(used)}), external ${number(external)}, other ${number(resident - heap - external)}`
}

const turn = async ({ client }: Service, session_id: string): Promise<void> => {
  const started = await client.post('/api/chat/start', { session_id, message: 'go' })
  if (started.status !== 200) throw new Error(started.text)
  const path = `/api/chat/stream?stream_id=${started.body.stream_id}`
  const readers = Array.from({ length: CHAT_READERS }, () => client.events(path))
  for (const reader of readers) await reader.until(({ event }) => event === 'stream_end')
  for (const reader of readers) reader.close()
}

export const measureSoak = async (bench: Bench): Promise<void> => {
  const provider = startChild('_provider.ts')
  const pace: Pace = { tokensPerSecond: 200, seconds: 0.5, commands: COMMANDS }
  const port = await provider.ask<number>(pace)
  const service = await bench.start('soak', [], configFor(port), {
    env: { AGENT_WEBUI_METRICS_TOKEN: TOKEN },
  })
  const { pid } = service.program.child
  const ids = await Promise.all(Array.from({ length: CHATS }, () => newSession(service)))
  const crowd = startChild('_readers.ts')
  const paths = Array.from({ length: READERS }, (_, i) => `/api/events?watch=${ids[i % CHATS]}`)
  await crowd.ask({ port: service.program.port, paths, timed: false } satisfies Readers)
  const row = async (when: string) => bench.note(`${when}: ${await split(service)}`)
  await setTimeout(REST_MS / 4)
  const before = memoryMb(pid)
  await row('before the turns, with readers')
  const first = { mb: 0 }
  for (let at = 1; at <= TURNS; at++) {
    await turn(service, ids[at % CHATS] ?? '')
    if (at === 1) {
      // What the first turn loads stays.
      await setTimeout(REST_MS / 4)
      first.mb = memoryMb(pid)
    }
    if (at === 1 || at % EVERY === 0 || at === TURNS) await row(`after ${at} turns`)
  }
  const peak = memoryMb(pid, 'VmHWM')
  crowd.end()
  await setTimeout(REST_MS)
  await row('a minute later')
  const after = memoryMb(pid)
  const what = `${TURNS} turns of ${COMMANDS} commands, ${READERS} readers and ${CHAT_READERS} of each turn`
  bench.add({
    what: `${what}: resident memory before, after the first; a minute after the last`,
    measured: `${number(before)}, ${number(first.mb)}; ${number(after)} MB`,
    bar: '+20 MB',
    kept: after - before <= 20,
  })
  bench.add({
    what: 'the same: peak',
    measured: `${number(peak)} MB`,
    bar: '≤ 150 MB',
    kept: peak <= 150,
  })
  await service.stop()
  provider.end()
}
