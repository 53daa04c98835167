/** What config.yaml says of one agent, in the whole service; and what an agent says that a person is to see. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bundleProgram } from '../../_program.ts'
import { startApp } from '../../_app.ts'
import type { Seen } from '../../handlers/_chat.ts'

const test = suite('settings of external agents')

const AGENT = bundleProgram(join(import.meta.dirname, '../../_acp-agent.ts'))

const start = async (traits = '', entry: Record<string, unknown> = {}) => {
  const app = await startApp({ env: { ACP_TEST: traits } })
  const agent = { acp_command: process.execPath, acp_args: [AGENT] }
  const workspace = join(app.userHome, 'project')
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'a.txt'), 'first\n')
  writeFileSync(
    join(app.home, '.env'),
    `ACP_TEST_STATE=${join(app.userHome, 'agent-state.json')}\nFIRST_KEY=s3cr3t-of-the-first\nANTHROPIC_API_KEY=sk-ant-hidden0123456789\n`,
  )
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({
      checkpoints: { enabled: false },
      mcp_servers: {
        notes: { command: 'notes', args: ['--all'], env: { WORD: '${FIRST_KEY}' }, cwd: '/srv' },
        part: { command: 'part', tools: { include: ['one'] } },
        off: { command: 'off', enabled: false },
      },
      providers: {
        // Another name of a provider: the agent is meant all the same.
        claude: { ...agent, ...entry, env: { OWN: '${FIRST_KEY}', FLAG: true } },
        other: agent,
      },
    }),
  )
  const newSession = async (id: string): Promise<string> =>
    (await app.post('/api/session/new', { model: `@acp:${id}`, workspace })).body.session.session_id
  const turn = async (
    session_id: string,
    message: string,
    on: (event: Seen) => unknown = () => undefined,
    more: Record<string, unknown> = {},
  ): Promise<string> => {
    const { status, body } = await app.post('/api/chat/start', { session_id, message, ...more })
    if (status !== 200) throw new Error(`chat/start answered ${status} ${JSON.stringify(body)}`)
    for await (const event of app.events(`/api/chat/stream?stream_id=${body.stream_id}`)) {
      await on(event as Seen)
      if (event.event === 'stream_end') break
    }
    const { session } = (await app.get(`/api/session?session_id=${session_id}`)).body
    return session.messages.at(-1).content
  }
  return { app, workspace, newSession, turn }
}

type At = Awaited<ReturnType<typeof start>>
const using = (args: Parameters<typeof start>, run: (at: At) => Promise<void>) => async () => {
  const at = await start(...args)
  try {
    await run(at)
  } finally {
    await at.app.close()
  }
}

test(
  'an agent gets none of our keys, and not the key of another agent',
  using([], async ({ newSession, turn }) => {
    const own = JSON.parse(await turn(await newSession('claude'), 'env'))
    assert.is(own.FLAG, 'true')
    assert.ok(own.OWN)
    assert.is(own.FIRST_KEY, undefined)
    const other = JSON.parse(await turn(await newSession('other'), 'env'))
    assert.ok(other.PATH)
    for (const name of ['OWN', 'FLAG', 'FIRST_KEY', 'ANTHROPIC_API_KEY'])
      assert.is(other[name], undefined, name)
  }),
)

test(
  'passes the profile’s MCP servers completely or not at all, only where enabled, and not where a setting excludes them',
  using(['', { acp_mcp: 'off' }], async ({ newSession, turn }) => {
    const received = JSON.parse(await turn(await newSession('other'), 'servers'))
    assert.equal(
      received.map(({ name }: { name: string }) => name),
      ['notes'],
    )
    assert.equal(received[0].args.slice(-3), ['/srv', 'notes', '--all'])
    assert.is(await turn(await newSession('claude'), 'servers'), '[]')
  }),
)

test(
  'an edit is shown before it is allowed',
  using([], async ({ app, workspace, newSession, turn }) => {
    const id = await newSession('other')
    const diffs: unknown[] = []
    await turn(id, 'write a.txt second', async ({ event, data }) => {
      if (event !== 'approval') return
      diffs.push(data.diff)
      await app.post('/api/approval/respond', { session_id: id, choice: 'once' })
    })
    assert.equal(diffs, ['--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-first\n+second\n'])
    assert.is(readFileSync(join(workspace, 'a.txt'), 'utf8'), 'second\n')
  }),
)

test(
  'an agent that exits during an approval leaves no open question',
  using([], async ({ app, newSession, turn }) => {
    const id = await newSession('other')
    const seen: string[] = []
    assert.match(await turn(id, 'perish echo hi', ({ event }) => seen.push(event)), /code 7/)
    assert.ok(seen.includes('approval') && seen.includes('apperror'), seen.join())
    const { body } = await app.get(`/api/approval/pending?session_id=${id}`)
    assert.is(body.pending ?? null, null)
    assert.match(await turn(id, 'hello'), /^Hello/)
  }),
)

test(
  'two requests for one call are allowed; stopping the turn closes them',
  using([], async ({ app, newSession, turn }) => {
    const id = await newSession('other')
    const answer = (choice: string) => app.post('/api/approval/respond', { session_id: id, choice })
    const asked: Seen[] = []
    const said = await turn(id, 'late echo hi', async event => {
      if (event.event !== 'approval') return
      asked.push(event)
      await answer('once')
    })
    assert.is(said, 'Both allowed.')
    assert.is(asked.length, 2)
    let open = 0
    await turn(id, 'late echo ho', async ({ event, data }) => {
      if (event !== 'approval') return
      open++
      const { active_stream_id } = (await app.get(`/api/session?session_id=${data.session_id}`))
        .body.session
      await app.get(`/api/chat/cancel?stream_id=${active_stream_id}`)
    })
    assert.ok(open >= 1 && open <= 2, String(open))
    assert.is((await app.get(`/api/approval/pending?session_id=${id}`)).body.pending ?? null, null)
  }),
)

test(
  'a rejected mode reports the reason',
  using(['strict'], async ({ app, newSession, turn }) => {
    const id = await newSession('other')
    await turn(id, 'hello')
    const { status, body } = await app.post('/api/session/agent/mode', {
      session_id: id,
      mode: 'free',
    })
    assert.is(status, 503)
    assert.match(body.error, /free needs a sandbox/)
  }),
)

test(
  'uses the first title of the agent until the user sets one; an image is sent with its message',
  using([], async ({ app, workspace, newSession, turn }) => {
    const id = await newSession('other')
    const titleOf = async () => (await app.get(`/api/session?session_id=${id}`)).body.session.title
    await turn(id, 'title A walk in the park')
    assert.is(await titleOf(), 'A walk in the park')
    await turn(id, 'title A run in the park')
    assert.is(await titleOf(), 'A walk in the park')
    await app.post('/api/session/rename', { session_id: id, title: 'Mine' })
    await turn(id, 'title Not yours')
    assert.is(await titleOf(), 'Mine')
    const dot =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    writeFileSync(join(workspace, 'dot.png'), Buffer.from(dot, 'base64'))
    const more = { attachments: ['dot.png'] }
    assert.match(await turn(id, 'recall this', undefined, more), /recall this \+ <image>$/)
    assert.match(await turn(id, 'recall that'), /recall that$/)
  }),
)

test.run()
