/** Diagnostics after an edit over the whole service: off by default, in the result and the journal, in a sandbox. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../_provider.ts'
import { reason } from '../lib/commands/sandbox/_sandbox.ts'
import { startChat } from './_chat.ts'
import { requirePrefix } from './_prefix.ts'

const test = suite<{ chat: Chat }>('diagnostics over HTTP')
type Chat = Awaited<ReturnType<typeof startChat>>

test.before.each(async state => {
  state.chat = await startChat()
})
test.after.each(({ chat }) => chat.close())

const FAKE = join(import.meta.dirname, '../lib/workspaces/diagnostics/_server.mjs')

/** JSON is YAML. */
const configure = ({ app, provider }: Chat, sections: Record<string, unknown>): void =>
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({
      model: { provider: 'custom', base_url: provider.url, default: 'test-model' },
      checkpoints: { enabled: false },
      ...sections,
    }),
  )

const servers = { fake: { command: [process.execPath, FAKE, 'none'], extensions: ['.fake'] } }

const use = (name: string, args: Record<string, unknown>): Step => ({
  toolCalls: [{ id: 'c1', name, arguments: args }],
})

const newSession = async ({ app }: Chat): Promise<string> => {
  const { body } = await app.post('/api/session/new', {})
  await app.post('/api/session/rename', { session_id: body.session.session_id, title: 'Named' })
  return body.session.session_id
}

/** Runs a turn with one call and returns its result. */
const runCall = async (chat: Chat, session: string, step: Step) => {
  chat.provider.push(step, { text: 'Done.' })
  await chat.follow(await chat.send(session, 'go'))
  const result = chat.provider.requests
    .at(-1)
    ?.body.messages.findLast((message: { role: string }) => message.role === 'tool')
  return JSON.parse(String(result?.content))
}

test('nothing is started unless lsp.enabled is on', async ({ chat }) => {
  configure(chat, { lsp: { servers } })
  const session = await newSession(chat)
  const result = await runCall(chat, session, use('write_file', { path: 'a.fake', content: 'bad' }))
  assert.is(result.bytes_written, 3)
  assert.not.ok('diagnostics' in result)
})

test('the result of an edit keeps its diagnostics in later requests', async ({ chat }) => {
  configure(chat, { lsp: { enabled: true, servers } })
  const session = await newSession(chat)
  const wrote = use('write_file', { path: 'a.fake', content: 'bad one\n' })
  assert.equal((await runCall(chat, session, wrote)).diagnostics, [
    'a.fake:1:1 error: bad word [fake 1]',
  ])
  const patched = use('patch', { path: 'a.fake', old_string: 'bad one', new_string: 'poor one' })
  const result = await runCall(chat, session, patched)
  assert.is(result.success, true)
  assert.equal(result.diagnostics, ['a.fake:1:1 warning: poor word [fake]'])
  requirePrefix(chat.provider.requests)
})

test('in a sandbox, a server of the workspace runs and cannot write outside', async ({ chat }) => {
  if (reason !== null) return
  configure(chat, {
    lsp: { enabled: true, wait_timeout: 20 },
    sandbox: { enabled: true, readable: [dirname(process.execPath)] },
  })
  const session = await newSession(chat)
  const { body } = await chat.app.get(`/api/session?session_id=${session}`)
  const { workspace } = body.session
  const bin = join(workspace, 'node_modules/.bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(
    join(bin, 'tsc'),
    `#!/bin/sh\necho x > ${chat.app.home}/escaped\necho "$@" > ${workspace}/ran\nexec ${process.execPath} ${workspace}/server.mjs none\n`,
  )
  chmodSync(join(bin, 'tsc'), 0o755)
  writeFileSync(join(workspace, 'server.mjs'), readFileSync(FAKE))
  const result = await runCall(chat, session, use('write_file', { path: 'a.ts', content: 'bad' }))
  assert.equal(result.diagnostics, ['a.ts:1:1 error: bad word [fake 1]'])
  assert.is(readFileSync(join(workspace, 'ran'), 'utf8'), '--lsp --stdio\n')
  assert.throws(() => readFileSync(join(chat.app.home, 'escaped')), 'ENOENT')
})

test.run()
