/** A turn over HTTP: what streams is masked as a whole, and what was read masked is written as it was. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { redact } from '../../lib/base/redact/redact.ts'
import { gate } from '../_provider.ts'
import { startChat, textOf } from './_chat.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
const test = suite<{ chat: Chat; workspace: string; id: string }>('redacted turns')

const KEY = 'glm-4711-AbCdEfGh-0815'
const OTHER = 'sk-proj-0123456789abcdefghijklmnop'

test.before.each(async context => {
  context.chat = await startChat()
  const { app } = context.chat
  writeFileSync(join(app.home, '.env'), `GLM_API_KEY=${KEY}\n`)
  context.workspace = join(app.userHome, 'work')
  mkdirSync(context.workspace)
  await app.post('/api/workspaces/add', { path: context.workspace })
  const made = await app.post('/api/session/new', { workspace: context.workspace })
  context.id = made.body.session.session_id
})
test.after.each(({ chat }) => chat.close())

const cutEach = (text: string, size: number): string[] =>
  text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []

test('text, reasoning and output streamed in pieces equal the redacted whole', async ({
  chat,
  id,
}) => {
  const text = `The key is ${KEY}, the other ${OTHER}.`
  for (const size of [1, 3, 7, 12]) {
    chat.provider.push(
      {
        reasoning: cutEach(`I think of ${text}`, size),
        toolCalls: [
          {
            id: `t${size}`,
            name: 'terminal',
            arguments: {
              command: `for part in ${cutEach(KEY, size).join(' ')}; do printf %s "$part"; sleep 0.02; done`,
            },
          },
        ],
      },
      { text: cutEach(text, size) },
    )
    const seen = await chat.turn(id, `Say it in pieces of ${size}.`)
    assert.is(textOf(seen, 'token'), redact(text))
    assert.is(textOf(seen, 'reasoning'), redact(`I think of ${text}`))
    assert.is(textOf(seen, 'tool_output').trim(), redact(KEY))
    assert.not.match(JSON.stringify(seen), KEY)
    // Ids and order: all deltas of a message name it, and it follows them.
    const spoken = seen.filter(each => each.event === 'token')
    const last = seen.findLast(each => each.event === 'message')
    const message = last?.data.message as { id: string; content: string }
    assert.equal([...new Set(spoken.map(each => each.data.message_id))], [message.id])
    assert.is(message.content, redact(text))
  }
})

test('redacts the snapshot of a running turn, its live file, and a stopped turn', async ({
  chat,
  id,
}) => {
  const { app, provider } = chat
  const half = gate()
  provider.push({
    text: [`Here: ${KEY} and ${KEY.slice(0, 12)}`, '. The end.'],
    middle: half.opened,
  })
  const stream = await chat.send(id, 'Say it.')
  await chat.follow(stream, 'token')
  const live = (await app.get(`/api/session?session_id=${id}`)).body.session.live
  assert.match(live.text, /^Here: /)
  const files = readdirSync(join(app.state, 'live'))
  for (const text of [
    JSON.stringify(live),
    ...files.map(name => readFileSync(join(app.state, 'live', name), 'utf8')),
  ])
    assert.not.match(text, KEY)
  await app.get(`/api/chat/cancel?stream_id=${stream}`)
  half.open()
  const journal = readFileSync(join(app.state, 'sessions', `${id}.jsonl`), 'utf8')
  assert.not.match(journal, KEY)
  assert.match(journal, 'glm-47...0815')
})

test('a file that was read redacted is written back in full', async ({ chat, id, workspace }) => {
  const path = join(workspace, 'settings.ini')
  const stored = `name = one\nkey = ${KEY}\nTOKEN=hunter2\n`
  const shown = redact(stored).replace(KEY, 'glm-47...0815')
  writeFileSync(path, stored)
  const call = (name: string, args: Record<string, unknown>) => ({
    toolCalls: [{ name, arguments: args }],
  })
  chat.provider.push(
    call('read_file', { path }),
    call('write_file', { path, content: 'name = two\nkey = glm-47...0815\nTOKEN=***\n' }),
    call('patch', { path, old_string: 'key = glm-47...0815', new_string: 'key  = glm-47...0815' }),
    call('write_file', { path: join(workspace, 'copy.ini'), content: 'k = glm-47...0815' }),
    call('write_file', { path, content: 'TOK=***\n' }),
    call('memory', { action: 'add', target: 'memory', content: 'The key is glm-47...0815' }),
    call('terminal', { command: 'echo glm-47...0815 > key.txt' }),
    { text: 'Done.' },
  )
  await chat.turn(id, 'Change the settings.')
  const answers = chat.provider.requests.map(({ body }) => JSON.stringify(body.messages.at(-1)))
  assert.not.match(answers.join('\n'), KEY)
  assert.match(answers[1] ?? '', 'glm-47...0815')
  assert.ok(shown.includes('***'))
  assert.is(readFileSync(path, 'utf8'), `name = two\nkey  = ${KEY}\nTOKEN=hunter2\n`)
  for (const at of [4, 5, 6, 7])
    assert.match(answers[at] ?? '', /is the mask of a secret/, `${at}: ${answers[at]}`)
  assert.not.ok(readdirSync(workspace).some(name => name === 'copy.ini' || name === 'key.txt'))
})

test.run()
