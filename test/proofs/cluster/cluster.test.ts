/**
 * Proofs of a cluster of two services on directories of their own, with a real PostgreSQL: the owner and the database are
 * killed with SIGKILL at random points of turns with many tool calls. What was acknowledged or shown is on the other machine,
 * once, in order. `PROOF=full` kills 200 times each, a plain run three times.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type SpawnedApp, spawnApp } from '../../_app.ts'
import { findPostgres, startPostgres } from '../../_postgres.ts'
import { freePort, launch, SERVICE, startService } from '../../../build/start-program.ts'
import { createClient } from '../../_http.ts'
import { until } from '../../_wait.ts'
import {
  answers,
  checkMessages,
  closeAll,
  createDice,
  type Event,
  type Message,
  readEvents,
  sessionOf,
  STANDBY_MS,
  settledSession,
  startAll,
  startChat,
  steps,
  theEndOrHere,
} from './_cluster.ts'

const rounds = process.env.PROOF === 'full' ? 200 : 3
const proof = suite('cluster')

if (findPostgres() === null) proof.skip('there is no PostgreSQL for this platform', () => undefined)
else {
  proof(`${rounds} kills of the owner: the other machine has everything`, async () => {
    const dice = createDice(20261123)
    const { db, provider, env, first, workspace } = await startAll()
    let owner = first
    const second = spawnApp({ env, startTimeoutMs: STANDBY_MS })
    let standby: Promise<SpawnedApp> = second
    try {
      for (let round = 0; round < rounds; round++) {
        provider.clear()
        provider.push(...steps())
        provider.otherwise = theEndOrHere
        const { id, stream } = await startChat(owner, `go ${round}`)
        let sent: Event[] = []
        try {
          sent = await readEvents(owner, stream, 1 + dice(120))
        } finally {
          await owner.kill()
        }
        const killed = owner
        owner = await standby
        // The killed one is the next standby: it starts when this one is killed.
        const again = killed.start().then(() => killed)
        again.catch(() => undefined)
        standby = again

        const session = await settledSession(owner, id)
        checkMessages(session.messages, `go ${round}`, sent)
        // The turn was continued there, to its end.
        assert.is(session.messages.at(-1).content, 'The end.')
        assert.not(session.messages.some((message: { _error?: unknown }) => message._error))

        const next = await owner.post('/api/chat', { session_id: id, message: 'and now?' })
        assert.equal([next.status, next.body.answer], [200, 'Here again.'])
        const { sessions } = (await owner.get('/api/sessions')).body
        assert.is(sessions.length, round + 1)
      }
    } finally {
      await owner.kill()
      // It is another process, and takes over now: before that it is not known which one to end.
      await standby.catch(() => undefined)
      await closeAll([first, await second], [provider, db])
      rmSync(workspace, { recursive: true, force: true })
    }
  })

  proof(`${rounds} kills of the database: the turn continues, and both have the same`, async () => {
    const dice = createDice(20261124)
    const { db, provider, env, first, workspace } = await startAll()
    const chats: { id: string; messages: Message[] }[] = []
    const second = { app: null as SpawnedApp | null }
    try {
      for (let round = 0; round < rounds; round++) {
        provider.clear()
        provider.push(...steps())
        provider.otherwise = () => ({ text: 'The end.' })
        const { id, stream } = await startChat(first, `go ${round}`)
        const killAt = 1 + dice(120)
        const sent: Event[] = []
        for await (const event of first.events(`/api/chat/stream?stream_id=${stream}`)) {
          sent.push(event as Event)
          if (sent.length === killAt) {
            await db.kill()
            await db.start()
          }
          if (event.event === 'stream_end') break
        }
        assert.is(sent.filter(({ event }) => event === 'done').length, 1)
        const { messages } = await settledSession(first, id)
        checkMessages(messages, `go ${round}`, sent)
        chats.push({ id, messages })
      }
      const [row] = await db.query('select epoch from agent_webui.cell')
      assert.is(Number(row?.epoch), 1, 'it was the owner all the time')
      assert.is(await first.stop(), 0)
      second.app = await spawnApp({ env, startTimeoutMs: STANDBY_MS })
      for (const { id, messages } of chats)
        assert.equal((await sessionOf(second.app, id)).messages, messages)
    } finally {
      await closeAll([first, ...(second.app ? [second.app] : [])], [provider, db])
      rmSync(workspace, { recursive: true, force: true })
    }
  })

  proof(
    'through a forwarder: a kill of the owner is a pause, and a POST is carried out once',
    async () => {
      const { db, provider, env, first, workspace } = await startAll()
      const second = spawnApp({ env, startTimeoutMs: STANDBY_MS })
      const home = mkdtempSync(join(tmpdir(), 'forwarder-'))
      const forwarder = await startService({
        home,
        args: ['forward'],
        env: { AGENT_WEBUI_CLUSTER_URL: db.url },
        ready: ' forwards at ',
      })
      const { closeClient, ...client } = createClient(() => forwarder.url)
      try {
        assert.is((await client.get('/forward/health')).body.status, 'ok')
        provider.push(...steps())
        provider.otherwise = theEndOrHere
        const { body } = await client.post('/api/session/new', {})
        const id: string = body.session.session_id
        const started = await client.post('/api/chat/start', { session_id: id, message: 'go' })
        const sent: Event[] = []
        for await (const event of client.events(
          `/api/chat/stream?stream_id=${started.body.stream_id}`,
        )) {
          sent.push(event as Event)
          if (sent.length === 40) await first.kill()
        }
        assert.ok(sent.length >= 40)
        // Nothing listens until the other one is there; the request waits.
        const session = await settledSession(client, id)
        checkMessages(session.messages, 'go', sent)
        provider.clear()
        const again = await client.post('/api/chat', { session_id: id, message: 'and now?' })
        assert.is(again.body.answer, 'Here again.')
        const { sessions } = (await (await second).get('/api/sessions')).body
        assert.is(sessions.length, 1)
      } finally {
        closeClient()
        assert.is(await forwarder.stop(), 0)
        await closeAll([first, await second], [provider, db])
        for (const dir of [workspace, home]) rmSync(dir, { recursive: true, force: true })
      }
    },
  )

  proof('a standby is healthy for its own machine, and serves nothing', async () => {
    const { db, provider, env, first, workspace } = await startAll()
    const home = mkdtempSync(join(tmpdir(), 'standby-'))
    const port = await freePort()
    const program = launch(process.execPath, [SERVICE, '--no-browser'], { home, port, env })
    const wait = () => launch(process.execPath, [SERVICE, 'doctor', '--wait', '0'], { home, env })
    try {
      await program.waitForOutput('waiting for its end')
      const asked = wait()
      assert.is(await asked.exited, 0, asked.output())
      const note = join(home, '.agent/webui/instance.json')
      const { address } = JSON.parse(readFileSync(note, 'utf8'))
      const health = await (await fetch(`${address}/health`)).json()
      assert.is(health.status, 'standby')
      assert.is((await fetch(`${address}/api/sessions`)).status, 503)
      assert.not(await answers(`http://127.0.0.1:${port}/health`))
      await first.kill()
      await program.waitForOutput(' answers at ')
      assert.is(await wait().exited, 0)
      assert.ok(await answers(`http://127.0.0.1:${port}/health`))
      assert.not(await answers(`${address}/health`), 'nothing waits any more')
    } finally {
      program.child.kill('SIGTERM')
      await program.exited
      await closeAll([first], [provider, db])
      for (const dir of [workspace, home]) rmSync(dir, { recursive: true, force: true })
    }
  })

  proof('an owner that was stopped and wakes up writes and answers nothing', async () => {
    const { db, provider, env, first, workspace } = await startAll()
    const second = spawnApp({ env, startTimeoutMs: STANDBY_MS })
    try {
      const gate = Promise.withResolvers<void>()
      provider.push({ text: 'Too late.', gate: gate.promise })
      provider.otherwise = () => ({ text: 'The end.' })
      const { id, stream } = await startChat(first, 'go')
      const events = first.events(`/api/chat/stream?stream_id=${stream}`)
      await events.until(({ event }) => event === 'message')
      // It waits for the model, so the other one gets the next step of the script.
      await provider.arrived(1)
      const { pid } = JSON.parse(readFileSync(join(first.state, 'instance.json'), 'utf8'))
      process.kill(pid, 'SIGSTOP')
      const next = await second
      const before = await settledSession(next, id)
      const waiting = first.get(`/api/session?session_id=${id}`).then(
        ({ status }) => status,
        () => 'cut',
      )
      process.kill(pid, 'SIGCONT')
      gate.resolve()
      await until(() => first.output().includes('becomes its standby'))
      assert.is(await waiting, 'cut')
      assert.equal((await sessionOf(next, id)).messages, before.messages)
      const late = await db.query(
        `select 1 from agent_webui.chunk older join agent_webui.chunk newer using (cell, key, version)
         where older.epoch < newer.epoch and older.at > newer.at`,
      )
      assert.equal(late, [], 'no byte of an earlier owner after one of a later one')
    } finally {
      await closeAll([first, await second], [provider, db])
      rmSync(workspace, { recursive: true, force: true })
    }
  })
}

const debian = findPostgres('debian')
if (debian === null) proof.skip("Debian's PostgreSQL is not installed", () => undefined)
else
  proof("Debian's PostgreSQL: another machine has what was acknowledged", async () => {
    const db = await startPostgres(debian)
    const env = {
      AGENT_WEBUI_CLUSTER_URL: db.url,
      AGENT_WEBUI_CLUSTER_KEY: 'a key that is only used in this test 01',
    }
    const first = await spawnApp({ env, startTimeoutMs: STANDBY_MS })
    const second = spawnApp({ env, startTimeoutMs: STANDBY_MS })
    try {
      const { body } = await first.post('/api/session/new', {})
      const id: string = body.session.session_id
      const answer = await first.post('/api/chat', { session_id: id, message: 'count to 5' })
      assert.is(answer.status, 200)
      const { messages } = await sessionOf(first, id)
      await first.kill()
      assert.equal((await sessionOf(await second, id)).messages, messages)
    } finally {
      await closeAll([first, await second], [db])
    }
  })

proof.run()
