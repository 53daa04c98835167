/**
 * By effect, not by verdict: each line of the corpora runs through the whole service, with nobody who answers. Outside the
 * workspace everything is as it was, no secret was read, nothing was connected to, the service and what guards the agent
 * are untouched, and the next git of the person runs nothing.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { corpus, isExhausting, type Job, type Outcome, runJob, wallProblem } from './_corpus.ts'

const FULL = process.env.PROOF === 'full'
/** Each is a service, and waits for its commands most of the time. */
const PARALLEL = 3
/** Lines of one service. */
const CHUNK = 80
/** At most this part of the everyday commands may ask, be refused, or fail in the sandbox. */
const TROUBLE = 0.02

/** Corpora that are judged together, with every n-th line at the short size. */
const ATTACKS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  steps: { steps: 4 },
  git: { git: 3 },
  guards: { guards: 4 },
  reads: { reads: 6 },
  service: { service: 3 },
  commands: { control: 8, assigning: 15, elsewhere: 20, floor: 20, dangerous: 20 },
}
const EVERYDAY = { readers: 4, everyday: 4 } as const

const linesOf = (name: string, every: number): string[] =>
  corpus(name)
    .filter(line => !isExhausting(line))
    .filter((_, at) => FULL || at % every === 0)

const chunksOf = (lines: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(lines.length / CHUNK) }, (_, at) =>
    lines.slice(at * CHUNK, (at + 1) * CHUNK),
  )

const problem = process.platform === 'linux' ? await wallProblem() : 'it needs Linux'
if (problem !== null) console.log(`  skipped: ${problem}`)

const waiting: (() => Promise<void>)[] = []
/** Begins when a place is free; the tests below wait for it one after another. */
const start = (jobs: readonly Job[]): Promise<Outcome[]> => {
  if (problem !== null) return Promise.resolve([])
  const { promise, resolve, reject } = Promise.withResolvers<Outcome[]>()
  // Its own test says so when it is its turn.
  promise.catch(() => undefined)
  const outcomes: Outcome[][] = []
  for (const [at, job] of jobs.entries())
    waiting.push(async () => {
      try {
        outcomes[at] = await runJob(job)
        if (Object.keys(outcomes).length === jobs.length) resolve(outcomes.flat())
      } catch (error) {
        reject(error)
      }
    })
  return promise
}
const work = async (): Promise<void> => {
  for (let next = waiting.shift(); next; next = waiting.shift()) await next()
}

const modes = [
  { sandbox: true, words: 'in the sandbox' },
  { sandbox: false, words: 'without a sandbox, asked before every change' },
]
const effects = suite('effects')
const test = problem === null ? effects : effects.skip

const harmful = (outcomes: readonly Outcome[]): string[] =>
  outcomes.filter(({ found }) => found.length > 0).map(describe)
const describe = ({ line, found, asked }: Outcome): string =>
  `${line}\n      ${[...found, ...asked.map(why => `asked: ${why}`)].join('\n      ')}`

for (const { sandbox, words } of modes)
  for (const [name, files] of Object.entries(ATTACKS)) {
    const lines = Object.entries(files).flatMap(([file, every]) => linesOf(file, every))
    const outcomes = start(chunksOf(lines).map(lines => ({ name, sandbox, lines })))
    test(`${name}: nothing is reached ${words}`, async () => {
      const ran = await outcomes
      assert.is(ran.length, lines.length)
      assert.equal(harmful(ran), [])
    })
  }

const everyday = (name: keyof typeof EVERYDAY, sandbox: boolean) =>
  start(
    chunksOf(linesOf(name, EVERYDAY[name])).map(lines => ({
      name,
      sandbox,
      lines,
      everyday: true as const,
    })),
  )
const confined = [everyday('readers', true), everyday('everyday', true)]
const readers = everyday('readers', false)

test('everyday commands in the sandbox: at most 2 of 100 ask, are refused, or fail', async () => {
  const all = (await Promise.all(confined)).flat()
  const usual = all.filter(({ isUsual }) => isUsual)
  const troubled = usual.filter(({ asked, exitCode }) => asked.length > 0 || exitCode !== 0)
  console.log(
    `  ${usual.length} everyday commands work here, ${troubled.length} not in the sandbox`,
  )
  // Where less is installed, fewer work.
  assert.ok(usual.length >= all.length / 2)
  assert.ok(troubled.length <= usual.length * TROUBLE, troubled.map(describe).join('\n'))
  assert.equal(harmful(all), [])
})

test('commands that only read never ask, without a sandbox', async () => {
  const ran = await readers
  const troubled = ran.filter(({ asked, result }) => asked.length > 0 || /"blocked"/.test(result))
  assert.equal(troubled.map(describe), [])
  assert.equal(harmful(ran), [])
})

for (let each = 0; each < PARALLEL; each++) void work()

effects.run()
