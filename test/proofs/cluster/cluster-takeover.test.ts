/**
 * What a takeover must not end or repeat: turns of a rolling deploy, runs of scheduled tasks, repeated requests, and a
 * machine whose network is cut. `PROOF=full` deploys eleven times, a plain run once to and fro.
 */
import { rmSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type SpawnedApp, spawnApp } from '../../_app.ts'
import { createClient } from '../../_http.ts'
import { findPostgres } from '../../_postgres.ts'
import type { Step } from '../../_provider.ts'
import { startTcpProxy } from '../../_tcp-proxy.ts'
import { until } from '../../_wait.ts'
import { create, ran } from '../../handlers/_crons.ts'
import {
  closeAll,
  followByCursor,
  type Message,
  sessionOf,
  STANDBY_MS,
  settledSession,
  startAll,
  startChat,
  startForwarder,
} from './_cluster.ts'

const proof = suite('cluster: takeover')
const TURNS = 20
const deploys = process.env.PROOF === 'full' ? 11 : 2

const assistants = (body: { messages: { role: string }[] }): number =>
  body.messages.filter(({ role }) => role === 'assistant').length

if (findPostgres() === null) proof.skip('there is no PostgreSQL for this platform', () => undefined)
else {
  proof(
    `a rolling deploy under ${TURNS} running turns ends none (${deploys} deploys)`,
    async () => {
      const { db, provider, env, first, workspace } = await startAll()
      const forwarder = await startForwarder(db.url)
      const { closeClient, ...client } = createClient(() => forwarder.url)
      let owner = first
      let standby: SpawnedApp = first
      // The model answers step n + 1 only after deploy n, so that every turn runs during each: half of them wait for the
      // model, half are in the middle of its answer.
      const deployed = Array.from({ length: deploys + 1 }, () => Promise.withResolvers<void>())
      provider.otherwise = body => {
        const step = assistants(body)
        const isOdd = Number(/chat (\d+)/.exec(JSON.stringify(body.messages))?.[1]) % 2 === 1
        const gate = (deployed[step - 1] ?? deployed[0])?.promise
        const wait: Partial<Step> = step === 0 ? {} : isOdd ? { middle: gate } : { gate }
        if (step === deploys + 1) return { text: 'The end.', ...wait }
        const call = { id: `c${step}`, name: 'terminal', arguments: { command: `echo ${step}` } }
        return { text: [`step ${step} `, 'begins'], toolCalls: [call], ...wait }
      }
      deployed.at(-1)?.resolve()
      /** Turns that have asked for this step. */
      const asking = (step: number) =>
        new Set(
          provider.requests
            .filter(({ body }) => assistants(body) === step)
            .map(({ body }) => /chat (\d+)/.exec(JSON.stringify(body.messages))?.[1]),
        ).size
      const apps: SpawnedApp[] = [first]
      try {
        const chats: string[] = []
        const readers: Promise<string[]>[] = []
        for (let n = 0; n < TURNS; n++) {
          const { id, stream } = await startChat(client, `chat ${n}`)
          chats.push(id)
          readers.push(followByCursor(client, stream))
        }
        for (let deploy = 0; deploy < deploys; deploy++) {
          await until(() => asking(deploy + 1) === TURNS, `step ${deploy + 1} of all turns`)
          const next =
            deploy === 0
              ? spawnApp({ env, startTimeoutMs: STANDBY_MS })
              : standby.start().then(() => standby)
          await until(async () => {
            const [row] = await db.query(
              `select count(*) from pg_stat_activity where wait_event_type = 'Lock' and wait_event = 'advisory'`,
            )
            return Number(row?.count) > 0
          }, 'the standby waits')
          assert.is(await owner.stop(), 0)
          ;[owner, standby] = [await next, owner]
          if (!apps.includes(owner)) apps.push(owner)
          deployed[deploy]?.resolve()
        }
        for (const [n, id] of chats.entries()) {
          const { messages, last_turn } = await settledSession(client, id)
          assert.is(last_turn, 'done')
          assert.equal(
            await readers[n],
            messages.map((message: Message) => message.id),
            'a reader with a cursor was shown every message once',
          )
          const said = messages.filter(({ role }: Message) => role === 'assistant')
          assert.equal(
            said.map(({ content }: Message) => content),
            [
              ...Array.from({ length: deploys + 1 }, (_, step) => `step ${step} begins`),
              'The end.',
            ],
            `chat ${n}`,
          )
          const results = messages.filter(({ role }: Message) => role === 'tool')
          assert.equal(
            results.map(({ tool_call_id: call }: Message) => call),
            Array.from({ length: deploys + 1 }, (_, step) => `c${step}`),
          )
          for (const { content } of results) assert.not.match(content, /restarted|interrupted/)
        }
      } finally {
        closeClient()
        await forwarder.close()
        await closeAll(apps, [provider, db])
        rmSync(workspace, { recursive: true, force: true })
      }
    },
  )

  proof(
    'the run of a scheduled task continues on the other machine, and is recorded once',
    async () => {
      const { db, provider, env, first, workspace } = await startAll()
      const second = spawnApp({ env, startTimeoutMs: STANDBY_MS })
      try {
        provider.push(
          { end: 'headers' },
          { toolCalls: [{ id: 'c1', name: 'terminal', arguments: { command: 'rm -rf victim' } }] },
          { text: 'All done.' },
        )
        const id = await create(first)
        await first.post('/api/crons/run', { job_id: id })
        await provider.arrived(1)
        await first.kill()
        const next = await second
        await ran(next)
        const { runs } = (await next.get('/api/crons/history')).body
        assert.equal(
          runs.map((run: Record<string, unknown>) => [run.how, run.status, run.trigger]),
          [['ran', 'ok', 'manual']],
        )
        const [, again, last] = provider.requests
        assert.match(again?.body.messages[0].content, /scheduled run/)
        assert.match(last?.body.messages.at(-1).content, /denied|not allowed|approv/i)
        const { sessions } = (await next.get('/api/sessions')).body
        assert.equal([sessions.length, sessions[0].last_turn], [1, 'done'])
      } finally {
        await closeAll([first, await second], [provider, db])
        rmSync(workspace, { recursive: true, force: true })
      }
    },
  )

  proof('a request that is repeated after a takeover is not carried out again', async () => {
    const { db, provider, env, first, workspace } = await startAll()
    const second = spawnApp({ env, startTimeoutMs: STANDBY_MS })
    try {
      provider.push({ text: 'Once.' })
      const { body } = await first.post('/api/session/new', {})
      const id: string = body.session.session_id
      await first.post('/api/chat', { session_id: id, message: 'go' })
      const headers = { headers: { 'Idempotency-Key': 'fork-1' } }
      const project = { name: 'Once' }
      const made = await first.post('/api/projects/create', project, headers)
      assert.is(made.status, 200, made.text)
      await first.kill()
      const next = await second
      const other = await next.post('/api/projects/create', { name: 'Other' }, headers)
      assert.equal([other.status, other.body.code], [422, 'idempotency_key_reused'])
      const again = await next.post('/api/projects/create', project, headers)
      assert.is(again.status, 200, again.text)
      assert.equal(again.body, made.body)
      const { projects } = (await next.get('/api/projects')).body
      assert.is(projects.length, 1)
    } finally {
      await closeAll([first, await second], [provider, db])
      rmSync(workspace, { recursive: true, force: true })
    }
  })

  proof(
    'a machine that is cut from everything: the other one continues, and it writes nothing when it is back',
    async () => {
      const { db, provider, env, first, workspace } = await startAll()
      const own = { ...env }
      // Its database and the forwarders reach it through a network of its own. It keeps its port.
      await first.stop()
      const toDb = await startTcpProxy(db.port)
      const toFirst = await startTcpProxy(Number(new URL(first.url).port))
      env.AGENT_WEBUI_CLUSTER_URL = db.url.replace(`:${db.port}`, `:${toDb.port}`)
      env.AGENT_WEBUI_CLUSTER_ADDRESS = `http://127.0.0.1:${toFirst.port}`
      await first.start()
      const second = spawnApp({ env: own, startTimeoutMs: STANDBY_MS })
      const forwarder = await startForwarder(db.url)
      const { closeClient, ...client } = createClient(() => forwarder.url)
      try {
        provider.push({ text: 'Too late.', end: 'headers' })
        provider.otherwise = () => ({ text: 'The end.' })
        const { id } = await startChat(client, 'go')
        await provider.arrived(1)
        toDb.cut()
        toFirst.cut()
        // Sent into nothing: it may have arrived, so it is an error, and is not sent again.
        const lost = client.post('/api/session/new', {})
        await second
        assert.is((await lost).status, 502)
        const session = await settledSession(client, id)
        assert.is(session.messages.at(-1).content, 'The end.')
        toDb.heal()
        toFirst.heal()
        await until(() => first.output().includes('becomes its standby'), 'the old owner finds out')
        assert.equal((await sessionOf(client, id)).messages, session.messages)
        const late = await db.query(
          `select 1 from agent_webui.chunk older join agent_webui.chunk newer using (cell, path)
         where older.epoch < newer.epoch and older.at > newer.at`,
        )
        assert.equal(late, [], 'no byte of an earlier owner after one of a later one')
        const { sessions } = (await client.get('/api/sessions')).body
        assert.is(sessions.length, 1)
      } finally {
        closeClient()
        await forwarder.close()
        await toDb.close()
        await toFirst.close()
        await closeAll([first, await second], [provider, db])
        rmSync(workspace, { recursive: true, force: true })
      }
    },
  )
}

proof.run()
