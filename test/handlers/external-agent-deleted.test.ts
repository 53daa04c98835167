/** Deleting a chat closes its session in the external agent, so that it can be continued elsewhere at once. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { acceptSettings, startApp } from '../_app.ts'
import { bundleProgram } from '../_program.ts'

const test = suite('deleted chats of external agents')

const AGENT = bundleProgram(join(import.meta.dirname, '../_acp-agent.ts'))

test('a deleted chat’s session is continued by another chat; a chat is not offered its own', async () => {
  await using app = await startApp({ env: { ACP_TEST: 'lists closes locks' } })
  const state = join(app.userHome, 'agent-state.json')
  writeFileSync(join(app.home, '.env'), `ACP_TEST_STATE=${state}\n`)
  const tester = { name: 'Tester', acp_command: process.execPath, acp_args: [AGENT] }
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({ checkpoints: { enabled: false }, providers: { tester } }),
  )
  await acceptSettings(app)
  const create = async (): Promise<string> =>
    (await app.post('/api/session/new', { model: '@acp:tester' })).body.session.session_id
  const offered = async (id: string): Promise<Record<string, string>[]> =>
    (await app.get(`/api/session/agent/sessions?session_id=${id}`)).body.sessions
  const [first, second] = [await create(), await create()]
  const { stream_id } = (
    await app.post('/api/chat/start', { session_id: first, message: 'hello one' })
  ).body
  for await (const { event } of app.events(`/api/chat/stream?stream_id=${stream_id}`))
    if (event === 'stream_end') break
  await app.post('/api/session/agent/open', { session_id: second })
  assert.equal(
    (await offered(second)).map(({ title, session_id }) => [title, session_id]),
    [['hello one', first]],
  )
  assert.equal(await offered(first), [])
  assert.is((await app.post('/api/session/delete', { session_id: first })).status, 200)
  const [past] = await offered(second)
  assert.is(past?.session_id, null)
  const adopted = await app.post('/api/session/agent/adopt', {
    session_id: second,
    agent_session_id: past?.agent_session_id,
  })
  assert.equal([adopted.status, adopted.body.message_count], [200, 2], adopted.text)
})

test.run()
