/**
 * A browser that watches a chat through a forwarder while the owner, the forwarder, or the database is killed in the middle
 * of a turn: it shows the whole conversation after each, the same as a page that is opened then. `PROOF=full` kills 200 times
 * at random points, a plain run once each.
 */
import { rmSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { spawnApp } from '../../_app.ts'
import { openPage, type TestPage } from '../../_browser.ts'
import { createClient } from '../../_http.ts'
import { findPostgres } from '../../_postgres.ts'
import type { Step } from '../../_provider.ts'
import {
  closeAll,
  createDice,
  type Message,
  STANDBY_MS,
  startAll,
  startForwarder,
} from './_cluster.ts'

const rounds = process.env.PROOF === 'full' ? 200 : 3
const proof = suite('cluster: browser')

const STEPS = 5
const ROUNDS_PER_CHAT = 10
const KINDS = ['owner', 'forwarder', 'database'] as const
const words = (round: number, step: number): string[] =>
  Array.from({ length: 10 }, (_, i) => `r${round}s${step}w${i} `)

/** By the messages of the request: the next owner asks for the step that is missing. */
const stepOf = (round: number, body: { messages: { role: string }[] }): Step => {
  const last = body.messages.findLastIndex(({ role }) => role === 'user')
  const step = body.messages.slice(last).filter(({ role }) => role === 'assistant').length
  if (step >= STEPS) return { text: `The end of round ${round}.`, portion: 40 }
  const call = { id: `r${round}s${step}`, name: 'terminal', arguments: { command: `echo ${step}` } }
  return { text: words(round, step), toolCalls: [call], portion: 200 }
}

/** What the page shows from this message of the person on, without what it says about the work. */
const shown = async ({ page }: TestPage, said: string): Promise<string[]> => {
  const text = await page.evaluate(() => document.querySelector('main')?.innerText ?? '')
  const from = text.lastIndexOf(`You said\n${said}\n`)
  return from < 0
    ? []
    : (text.slice(from).match(/\bgo \d+|r\d+s\d+w\d+|The end of round \d+/g) ?? [])
}

/** All of it, once, in order. */
const wanted = (round: number): string[] => [
  `go ${round}`,
  ...Array.from({ length: STEPS }, (_, step) => words(round, step))
    .flat()
    .map(word => word.trim()),
  `The end of round ${round}`,
]

/** Everything that is killed, and the page that watches. */
const open = async () => {
  const { db, provider, env, first, workspace } = await startAll()
  const forwarder = await startForwarder(db.url)
  const { closeClient, ...client } = createClient(() => forwarder.url)
  const second = spawnApp({ env, startTimeoutMs: STANDBY_MS })
  const now = { owner: first, standby: second }
  const at = await openPage(`${forwarder.url}/`)
  const kill: Record<(typeof KINDS)[number], () => Promise<void>> = {
    async owner() {
      const killed = now.owner
      await killed.kill()
      now.owner = await now.standby
      now.standby = killed.start().then(() => killed)
      now.standby.catch(() => undefined)
    },
    async forwarder() {
      await forwarder.kill()
      await forwarder.start()
    },
    async database() {
      await db.kill()
      await db.start()
    },
  }
  const close = async () => {
    await at.close()
    closeClient()
    await now.owner.kill()
    // It is another process, and takes over now: before that it is not known which one to end.
    await now.standby.catch(() => undefined)
    await forwarder.close()
    await closeAll([first, await second], [provider, db])
    rmSync(workspace, { recursive: true, force: true })
  }
  return { at, client, provider, kill, close, url: forwarder.url }
}

if (findPostgres() === null) proof.skip('there is no PostgreSQL for this platform', () => undefined)
else {
  const dice = createDice(20261125)
  let all: Awaited<ReturnType<typeof open>>
  proof.before(async () => {
    all = await open()
  })
  proof.after(() => all.close())

  const runRound = async (round: number): Promise<void> => {
    const { at, client, provider, kill } = all
    const { page } = at
    provider.otherwise = body => stepOf(round, body)
    const arrived = provider.requests.length
    await page.locator('textarea').first().fill(`go ${round}`)
    await page.keyboard.press('Enter')
    await provider.arrived(arrived + 1 + dice(STEPS))
    const kind = KINDS[round % KINDS.length]!
    await kill[kind]()
    await page.locator('main').getByText(`The end of round ${round}.`).last().waitFor()
    await page.getByRole('button', { name: 'Send' }).waitFor()
    assert.equal(await shown(at, `go ${round}`), wanted(round), kind)
    const id = /session\/(\w+)/.exec(page.url())?.[1] ?? ''
    const { messages } = (await client.get(`/api/session?session_id=${id}`)).body.session
    const own: Message[] = messages.slice(-2 * STEPS - 2)
    assert.equal(
      own.map(({ role }) => role),
      ['user', ...Array.from({ length: STEPS }, () => ['assistant', 'tool']).flat(), 'assistant'],
    )
    assert.is(messages.length, ((round % ROUNDS_PER_CHAT) + 1) * (2 * STEPS + 2))
  }

  for (let from = 0; from < rounds; from += ROUNDS_PER_CHAT) {
    const end = Math.min(rounds, from + ROUNDS_PER_CHAT)
    proof(`kills ${from + 1} to ${end}: the page shows the whole conversation`, async () => {
      await all.at.page.goto(`${all.url}/`)
      for (let round = from; round < end; round++) await runRound(round)
    })
  }
}

proof.run()
