/** A chat in the page whose external agent is `agent-webui acp`: both ends of the protocol are ours, as real processes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SERVICE } from '../../build/start-program.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../_app.ts'
import { autoApprove } from '../_auto-approve.ts'
import { createProvider } from '../_provider.ts'
import { createDesk } from '../lib/cli/_run.ts'
import type { Seen } from './_chat.ts'

const test = suite('our engine as an external agent of our own service')

test('an edit, a command with approval, and a stop', async () => {
  using desk = createDesk()
  await using provider = await createProvider()
  desk.useProvider(provider.url)
  await using app = await startApp()
  writeFileSync(
    join(app.home, 'config.yaml'),
    `providers:
  twin:
    name: Twin
    acp_command: ${process.execPath}
    acp_args: ["${SERVICE}", acp]
    env: { HOME: ${desk.root}, AGENT_HOME: ${desk.home}, AGENT_BASE_HOME: ${desk.home}, TMPDIR: ${desk.root} }
`,
  )
  const { workspace } = desk
  await app.post('/api/workspaces/add', { path: workspace })
  const created = await app.post('/api/session/new', { model: '@acp:twin', workspace })
  const { session_id } = created.body.session
  const send = async (message: string): Promise<string> =>
    (await app.post('/api/chat/start', { session_id, message })).body.stream_id
  const follow = async (stream: string, until: (seen: Seen) => boolean): Promise<Seen[]> => {
    const seen: Seen[] = []
    for await (const event of app.events(`/api/chat/stream?stream_id=${stream}`)) {
      seen.push(event as Seen)
      if (until(event as Seen)) break
    }
    return seen
  }
  const isEnd = ({ event }: Seen): boolean => event === 'stream_end'
  writeFileSync(join(workspace, 'a.txt'), 'one\ntwo\n')
  const edit = { path: 'a.txt', old_string: 'two', new_string: 'three' }
  provider.push(
    { text: 'Changing.', toolCalls: [{ name: 'patch', arguments: edit }] },
    { toolCalls: [{ name: 'terminal', arguments: { command: 'echo gone; rm -rf ./b.txt' } }] },
    { text: 'Done.' },
  )
  writeFileSync(join(workspace, 'b.txt'), 'x')
  const stopApproving = autoApprove(app, session_id)
  const seen = await follow(await send('Change it'), isEnd)
  stopApproving()
  assert.ok(
    seen.some(({ event }) => event === 'done'),
    JSON.stringify(seen.at(-2)),
  )
  assert.is(readFileSync(join(workspace, 'a.txt'), 'utf8'), 'one\nthree\n')
  assert.not(existsSync(join(workspace, 'b.txt')))
  const { messages } = (await app.get(`/api/session?session_id=${session_id}`)).body.session
  const text = JSON.stringify(messages)
  assert.match(text, '+three')
  assert.match(text, 'gone')
  assert.is(messages.at(-1).content, 'Done.')
  const asked = seen.filter(({ event }) => event === 'approval')
  assert.is(asked.length, 1)
  assert.match(String(asked[0]?.data.command), 'rm -rf ./b.txt')

  provider.push({
    toolCalls: [{ name: 'terminal', arguments: { command: 'echo on; sleep 30' } }],
  })
  const stream = await send('Wait')
  await follow(stream, ({ event }) => event === 'tool')
  await app.post('/api/chat/cancel', { stream_id: stream })
  provider.push({ text: 'Still here.' })
  await follow(await send('And now?'), isEnd)
  const after = (await app.get(`/api/session?session_id=${session_id}`)).body.session.messages
  assert.is(after.at(-1).content, 'Still here.')
})

test.run()
