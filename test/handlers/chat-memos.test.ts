/** What the model knows of files and directories goes with the messages in which it learned it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { createProvider, type Scripted } from '../_provider.ts'

const test = suite<{ app: TestApp; provider: Scripted }>('what a chat knows')
test.before.each(async context => {
  context.provider = await createProvider()
  context.app = await startApp()
  writeFileSync(
    join(context.app.home, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${context.provider.url}\n  default: test-model\n`,
  )
})
test.after.each(async ({ app, provider }) => {
  await app.close()
  await provider.close()
})

test('a later turn may overwrite what was read, not one after that was undone', async ({
  app,
  provider,
}) => {
  const workspace = join(app.home, 'work')
  mkdirSync(join(workspace, 'sub'), { recursive: true })
  await app.post('/api/workspaces/add', { path: workspace })
  const notes = join(workspace, 'notes.md')
  writeFileSync(notes, 'mine')
  const made = await app.post('/api/session/new', { workspace })
  const { session_id } = made.body.session
  await app.post('/api/session/rename', { session_id, title: 'Talk' })
  const call = async (name: string, args: Record<string, unknown>) => {
    provider.push({ toolCalls: [{ name, arguments: args }] }, { text: 'Done.' })
    const { status, text } = await app.post('/api/chat', { session_id, message: 'Do it' })
    assert.is(status, 200, text)
    const { messages } = provider.requests.at(-1)!.body
    return JSON.parse(messages.findLast(({ role }: { role: string }) => role === 'tool').content)
  }
  await call('read_file', { path: 'notes.md' })
  assert.is((await call('write_file', { path: 'notes.md', content: 'ours' })).bytes_written, 4)
  assert.is((await call('terminal', { command: 'cd sub' })).cwd, join(workspace, 'sub'))
  assert.match((await call('terminal', { command: 'pwd' })).output, /sub\n$/)
  for (let turn = 0; turn < 4; turn++) await app.post('/api/session/undo', { session_id })
  writeFileSync(notes, 'ours')
  const refused = await call('write_file', { path: 'notes.md', content: 'lost' })
  assert.is(refused.code, 'file_not_read')
  assert.is(readFileSync(notes, 'utf8'), 'ours')
  assert.is((await call('terminal', { command: 'pwd' })).output, `${workspace}\n`)
})

test.run()
