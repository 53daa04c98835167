/**
 * A browser that watches a chat through a forwarder while the owner, the forwarder, or the database is killed in the middle
 * of a turn: it shows the whole conversation after each, the same as a page that is opened then. `PROOF=full` kills 200 times
 * at random points, a plain run once each.
 */
import { rmSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type SpawnedApp, spawnApp } from '../_app.ts'
import { openPage, type TestPage } from '../_browser.ts'
import { createClient } from '../_http.ts'
import { findPostgres } from '../_postgres.ts'
import type { Step } from '../_provider.ts'
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

if (findPostgres() === null) proof.skip('there is no PostgreSQL for this platform', () => undefined)
else
  proof(`${rounds} kills while a browser watches: it shows the whole conversation`, async () => {
    const dice = createDice(20261125)
    const { db, provider, env, first, workspace } = await startAll()
    const forwarder = await startForwarder(db.url)
    const { closeClient, ...client } = createClient(() => forwarder.url)
    let owner = first
    let standby: Promise<SpawnedApp> = spawnApp({ env, startTimeoutMs: STANDBY_MS })
    const second = standby
    let at: TestPage | null = null
    try {
      at = await openPage(`${forwarder.url}/`)
      const { page } = at
      for (let round = 0; round < rounds; round++) {
        if (round % ROUNDS_PER_CHAT === 0) await page.goto(`${forwarder.url}/`)
        provider.otherwise = body => stepOf(round, body)
        const arrived = provider.requests.length
        await page.locator('textarea').first().fill(`go ${round}`)
        await page.keyboard.press('Enter')
        await provider.arrived(arrived + 1 + dice(STEPS))
        const kind = ['owner', 'forwarder', 'database'][round % 3]
        if (kind === 'owner') {
          await owner.kill()
          const killed = owner
          owner = await standby
          standby = killed.start().then(() => killed)
          standby.catch(() => undefined)
        } else if (kind === 'forwarder') {
          await forwarder.kill()
          await forwarder.start()
        } else {
          await db.kill()
          await db.start()
        }
        await page.getByText(`The end of round ${round}.`).last().waitFor()
        await page.getByRole('button', { name: 'Send' }).waitFor()
        assert.equal(await shown(at, `go ${round}`), wanted(round), kind)
        const id = /session\/(\w+)/.exec(page.url())?.[1] ?? ''
        const { messages } = (await client.get(`/api/session?session_id=${id}`)).body.session
        // A page that is opened then shows the same.
        const own: Message[] = messages.slice(-2 * STEPS - 2)
        assert.equal(
          own.map(({ role }) => role),
          [
            'user',
            ...Array.from({ length: STEPS }, () => ['assistant', 'tool']).flat(),
            'assistant',
          ],
        )
        assert.is(messages.length, ((round % ROUNDS_PER_CHAT) + 1) * (2 * STEPS + 2))
      }
    } finally {
      await at?.close()
      closeClient()
      await owner.kill()
      await forwarder.close()
      await closeAll([first, await second], [provider, db])
      rmSync(workspace, { recursive: true, force: true })
    }
  })

proof.run()
