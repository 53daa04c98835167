/** `agent-webui import` and `export`: in, out, and in again. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createDesk } from './_run.ts'

type Desk = ReturnType<typeof createDesk>
const test = suite<{ desk: Desk; other: Desk }>('import and export')
test.before.each(context => {
  Object.assign(context, { desk: createDesk(), other: createDesk() })
})
test.after.each(({ desk, other }) => {
  for (const each of [desk, other]) each.close()
})

const CHAT = {
  uuid: 'u1',
  name: 'Moved',
  created_at: '2025-01-01T00:00:00Z',
  updated_at: '2025-01-02T00:00:00Z',
  chat_messages: [
    { uuid: '1', sender: 'human', text: 'Hello', created_at: '2025-01-01T00:00:00Z' },
    {
      uuid: '2',
      sender: 'assistant',
      created_at: '2025-01-01T00:01:00Z',
      content: [
        { type: 'thinking', thinking: 'Hm' },
        { type: 'tool_use', id: 't', name: 'search', input: { q: 1 } },
        { type: 'tool_result', tool_use_id: 't', content: 'found' },
        { type: 'text', text: 'Here **it** is.' },
      ],
    },
  ],
}

const onlyJson = (dir: string): Record<string, unknown> => {
  const [name = ''] = readdirSync(dir).filter(each => !each.startsWith('_'))
  return JSON.parse(readFileSync(join(dir, name), 'utf8'))
}

test('an imported chat comes out as JSON and Markdown, and goes in again as it was', async ({
  desk,
  other,
}) => {
  const file = join(desk.workspace, 'export.json')
  writeFileSync(file, JSON.stringify([CHAT, { odd: true }]))
  const dry = await desk.talk(['import', file, '--dry-run', '--json'])
  assert.equal([dry.code, JSON.parse(dry.out).counts.new], [1, 1])
  assert.not.ok(existsSync(join(desk.home, 'webui', 'sessions')))
  const first = await desk.talk(['import', file, '--json'])
  // Something was set aside.
  assert.equal([first.code, JSON.parse(first.out).problem_count], [1, 1])
  assert.is((await desk.talk(['export', 'out'])).code, 0)
  assert.is((await desk.talk(['export', '--as', 'markdown', '--all', 'md'])).code, 0)
  const [markdown = ''] = readdirSync(join(desk.workspace, 'md'))
  const text = readFileSync(join(desk.workspace, 'md', markdown), 'utf8')
  for (const part of ['# Moved', 'Hello', 'Tool call: search', 'found', 'Here **it** is.'])
    assert.ok(text.includes(part), part)

  const sessions = join(desk.workspace, 'out', 'sessions')
  const { session_id: id, ...before } = onlyJson(sessions)
  const { code } = await other.talk(['import', join(sessions, `${String(id)}.json`)])
  assert.is(code, 0)
  assert.is((await other.talk(['export', 'out'])).code, 0)
  const { session_id: _, ...after } = onlyJson(join(other.workspace, 'out', 'sessions'))
  const ours = { workspace: null, imported: null, imported_lines: null }
  assert.equal({ ...after, ...ours }, { ...before, ...ours })
})

test('beside a running server, new chats are imported and none is replaced', async ({ desk }) => {
  const file = join(desk.workspace, 'export.json')
  const run = async (...chats: object[]) => {
    writeFileSync(file, JSON.stringify(chats))
    return JSON.parse((await desk.talk(['import', file, '--json'])).out).counts
  }
  await run(CHAT)
  const state = join(desk.home, 'webui')
  writeFileSync(join(state, 'instance.json'), JSON.stringify({ pid: process.pid }))
  const [first] = CHAT.chat_messages
  const later = { ...CHAT, updated_at: '2025-02-01T00:00:00Z', chat_messages: [first] }
  const none = { new: 0, updated: 0, unchanged: 0, kept: 0 }
  assert.equal(await run(later, { ...CHAT, uuid: 'u2' }), { ...none, new: 1, kept: 1 })
  assert.equal(await run(CHAT), { ...none, unchanged: 1 })
  rmSync(join(state, 'instance.json'))
  assert.equal(await run(later), { ...none, updated: 1 })
})

test('names in the report cannot control the terminal', async ({ desk }) => {
  const file = join(desk.workspace, 'export.json')
  writeFileSync(
    file,
    JSON.stringify([CHAT, { uuid: 'u', name: '\u001b]0;x\u0007', chat_messages: [] }]),
  )
  const { code, out } = await desk.talk(['import', file])
  assert.is(code, 1)
  assert.match(out, 'has no messages')
  assert.not.match(out, /[\u001b\u0007]/)
})

test('refuses what is no file, no profile, and a name of no option', async ({ desk }) => {
  const file = join(desk.workspace, 'export.json')
  writeFileSync(file, JSON.stringify([CHAT]))
  for (const [words, code] of [
    [['import'], 2],
    [['import', file, file], 2],
    [['import', file, '--all'], 2],
    [['export', 'out', '--all', 'abc'], 2],
    [['export', '--as', 'pdf', 'out'], 2],
    [['import', file, '-p', 'nobody'], 1],
    [['import', join(desk.workspace, 'nowhere')], 1],
  ] as const)
    assert.is((await desk.talk(words)).code, code, words.join(' '))
})

test.run()
