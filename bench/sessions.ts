/** Lists, single sessions, search, and what they cost in memory, at very large sizes. */
import { type Bench, restedMb, type Service, startBare, timeAnswers, waitUntil } from './_bench.ts'
import { memoryMb, median, percentile } from './_child.ts'
import { sessionId, word } from './_data.ts'
import { number } from './_table.ts'

const ms = (times: readonly number[], ...shares: number[]) =>
  `${shares.map(share => number(percentile(times, share))).join(' / ')} ms`

/** Until the catalog has caught up with the files. */
const waitForAll = ({ client }: Service, count: number) =>
  waitUntil(`${count} sessions`, async () => {
    const { body } = await client.get('/api/sessions', { timeoutMs: 100_000 })
    return body.sessions.length >= count
  })

const idleMemory = async (bench: Bench): Promise<void> => {
  const service = await bench.start('thousand', [{ sessions: 1_000, messages: 20 }])
  await waitForAll(service, 1_000)
  await service.stop()
  const again = await bench.start('thousand')
  await timeAnswers(50, () => again.client.get('/api/sessions?limit=50'))
  const atOnce = memoryMb(again.program.child.pid)
  const mb = await restedMb(again)
  bench.add({
    what: 'resident memory, idle, 1 000 sessions (after 12 s; at once)',
    measured: `${number(mb)}; ${number(atOnce)} MB`,
    minimal: `${number(await bareMemory(bench))} MB`,
    bar: '≤ 80 MB',
    kept: mb <= 80,
  })
  await again.stop()
}

/** An empty node:http server, for comparison. */
const bareMemory = async (bench: Bench): Promise<number> => {
  const bare = await startBare(bench)
  const mb = memoryMb(bare.child.pid)
  await bare.stop()
  return mb
}

const listPages = async (bench: Bench, service: Service, count: number): Promise<void> => {
  const times: number[] = []
  const place = { cursor: '' }
  times.push(
    ...(await timeAnswers(300, async () => {
      const answer = await service.client.get(`/api/sessions?limit=50${place.cursor}`)
      const { next } = answer.body
      place.cursor = next ? `&cursor=${encodeURIComponent(next)}` : ''
      return answer
    })),
  )
  const { headers } = await service.client.get('/api/sessions?limit=50')
  const tag = { 'If-None-Match': String(headers.etag) }
  const same = await service.client.get('/api/sessions?limit=50', { headers: tag })
  bench.add({
    what: `session list, pages of 50 at ${number(count)} (p50 / p99; unchanged)`,
    measured: `${ms(times, 0.5, 0.99)}; ${same.status}`,
    bar: 'p99 ≤ 15 ms; 304',
    kept: percentile(times, 0.99) <= 15 && same.status === 304,
  })
}

const wholeList = async (bench: Bench, service: Service, count: number): Promise<void> => {
  const ask = () => service.client.get('/api/sessions')
  const changed = await timeAnswers(1, ask)
  for (let i = 0; i < 15; i++) {
    const body = { session_id: sessionId(i), title: `renamed ${i}` }
    await service.client.post('/api/session/rename', body)
    changed.push(...(await timeAnswers(1, ask)))
  }
  const kept = await timeAnswers(20, ask)
  bench.add({
    what: `whole list at ${number(count)} (after a change; again: p50)`,
    measured: `${ms(changed, 0.5)}; ${ms(kept, 0.5)}`,
    bar: '≤ 25 ms',
    kept: median(changed) <= 25,
  })
}

const createBeside = async (bench: Bench, service: Service, count: number): Promise<void> => {
  const times = await timeAnswers(200, () => service.client.post('/api/session/new'))
  bench.add({
    what: `session/new beside ${number(count)} (p50 / p99)`,
    measured: ms(times, 0.5, 0.99),
    bar: '≤ 5 ms',
    kept: median(times) <= 5,
  })
}

/** Rare, ordinary and very common words, beginnings of words, and pairs. */
const QUERIES = [
  ...[3_000, 4_500, 5_900].map(word),
  ...[300, 500, 900].map(word),
  ...[0, 1, 5].map(word),
  ...[400, 40].map(rank => word(rank).slice(0, 3)),
  `${word(2)} ${word(700)}`,
  `${word(60)} ${word(61)}`,
]

const search = async (bench: Bench, service: Service, count: number): Promise<void> => {
  const ask = (query: string) =>
    service.client.get(`/api/sessions/search?content=1&q=${encodeURIComponent(query)}`, {
      timeoutMs: 100_000,
    })
  // Indexed oldest first, so the whole is there when a word of the newest session finds it.
  const newest = (await service.client.get(`/api/session?session_id=${sessionId(count - 1)}`)).body
  const words: string = newest.session.messages.at(-1).content.split(' ').slice(0, 8).join(' ')
  const indexed = await waitUntil('the index', async () => {
    const { body } = await ask(words)
    return body.sessions?.some(
      (hit: { session_id: string }) => hit.session_id === sessionId(count - 1),
    )
  })
  const times = await timeAnswers(QUERIES.length * 8, index =>
    ask(QUERIES[index % QUERIES.length] ?? ''),
  )
  bench.add({
    what: `search, ranked with snippets, ${number(count)} × 20 messages (p50 / p95)`,
    measured: ms(times, 0.5, 0.95),
    bar: 'p95 ≤ 30 ms',
    kept: percentile(times, 0.95) <= 30,
  })
  const atOnce = memoryMb(service.program.child.pid)
  const mb = await restedMb(service)
  const highest = memoryMb(service.program.child.pid, 'VmHWM')
  bench.add({
    what: `resident memory after searching ${number(count)} (after 12 s; at once; highest)`,
    measured: `${number(mb)}; ${number(atOnce)}; ${number(highest)} MB`,
    bar: '≤ 120 MB',
    kept: mb <= 120,
  })
  bench.note(`the index was whole ${number(indexed)} ms after the first question`)
}

const oneSession = async (bench: Bench): Promise<void> => {
  const service = await bench.start('long', [{ sessions: 1, messages: 5_000, words: 80 }])
  const path = `/api/session?session_id=${sessionId(0)}`
  const { bytes } = await service.client.get(path)
  const whole = await timeAnswers(40, () => service.client.get(path))
  const tail = await timeAnswers(100, () => service.client.get(`${path}&limit=50`))
  bench.add({
    what: `GET session of 5 000 messages, ${(bytes.length / 1e6).toFixed(1)} MB, whole (p50 / p95)`,
    measured: ms(whole, 0.5, 0.95),
    bar: '≤ 25 ms',
    kept: median(whole) <= 25,
  })
  bench.add({
    what: 'GET session of 5 000 messages, last 50 (p50 / p99)',
    measured: ms(tail, 0.5, 0.99),
    bar: '≤ 5 ms',
    kept: median(tail) <= 5,
  })
  await service.stop()
}

export const measureSessions = async (bench: Bench): Promise<void> => {
  await idleMemory(bench)
  await oneSession(bench)
  const small = await bench.start('hundred', [{ sessions: 100, messages: 4 }])
  await waitForAll(small, 100)
  await listPages(bench, small, 100)
  await small.stop()

  bench.note('writing 10 000 sessions of 20 messages')
  const large = await bench.start('ten-thousand', [{ sessions: 10_000, messages: 20 }])
  await waitForAll(large, 10_000)
  await listPages(bench, large, 10_000)
  await wholeList(bench, large, 10_000)
  await search(bench, large, 10_000)
  await createBeside(bench, large, 10_000)
  await large.stop()

  if (!bench.full) return
  bench.note('writing 50 000 sessions')
  const huge = await bench.start('fifty-thousand', [{ sessions: 50_000, messages: 2 }])
  await waitForAll(huge, 50_000)
  await listPages(bench, huge, 50_000)
  await huge.stop()
}
