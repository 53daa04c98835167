/** What the agent asked, what was answered and by whom is part of a chat: everywhere, and after everything that happens to it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Decision } from '../../lib/schema/decision.ts'
import type { Message } from '../../lib/schema/message.ts'
import { createTestClock } from '../_clock.ts'
import { startChat, startChatAt } from './_chat.ts'

const decisions = suite('decisions')

type Chat = Awaited<ReturnType<typeof startChat>>

const run = (command: string, id: string) => ({
  toolCalls: [{ id, name: 'terminal', arguments: { command } }],
})
const QUESTION = {
  toolCalls: [
    {
      id: 'c2',
      name: 'clarify',
      arguments: { question: 'Which database?', choices: ['SQLite', 'PostgreSQL'] },
    },
  ],
}
const SCRIPT = [run('rm -rf build', 'c1'), QUESTION, { text: 'Then SQLite.' }, { text: 'A title' }]

const read = async ({ app }: Chat, id: string, more = ''): Promise<Message[]> =>
  (await app.get(`/api/session?session_id=${id}${more}`)).body.session.messages

const decided = (messages: readonly Message[]): Decision[] =>
  messages.flatMap(({ _decisions: all = [] }) => all)

/** A chat in which a command was allowed and a question answered. */
const answered = async (chat: Chat): Promise<string> => {
  const id = await chat.newSession()
  const stream = await chat.send(id, 'start')
  await chat.follow(stream, 'approval')
  await chat.app.post('/api/approval/respond', { session_id: id, choice: 'session' })
  await chat.follow(stream, 'clarify')
  await chat.app.post('/api/clarify/respond', { session_id: id, response: 'SQLite' })
  await chat.follow(stream)
  return id
}

const brief = ({ kind, what, answer }: Decision) => `${kind}: ${what} — ${answer}`
const BOTH = ['approval: rm -rf build — session', 'clarify: Which database? — SQLite']

const withChat =
  (script: Parameters<typeof startChat>, test: (chat: Chat) => Promise<void>) => async () => {
    await using chat = await startChat(...script)
    await test(chat)
  }

decisions(
  'they are with the message after which they were asked: whole, by pages, and in the events of the turn',
  withChat(SCRIPT, async chat => {
    const id = await chat.newSession()
    const stream = await chat.send(id, 'start')
    await chat.follow(stream, 'approval')
    await chat.app.post('/api/approval/respond', { session_id: id, choice: 'session' })
    await chat.follow(stream, 'clarify')
    await chat.app.post('/api/clarify/respond', { session_id: id, response: 'SQLite' })
    const seen = await chat.follow(stream)

    const whole = await read(chat, id)
    const asking = whole.filter(({ _decisions: all }) => all)
    assert.equal(
      asking.map(({ tool_calls: calls }) => calls?.[0]?.id),
      ['c1', 'c2'],
    )
    assert.equal(decided(whole).map(brief), BOTH)
    const [allowed, chosen] = decided(whole) as [Decision, Decision]
    assert.equal([allowed.scope, allowed.by, allowed.reason], ['session', undefined, undefined])
    assert.equal([chosen.choices, chosen.call_id], [['SQLite', 'PostgreSQL'], 'c2'])
    assert.ok(allowed.answered_at >= allowed.asked_at)

    // What a page that is open has after the event is what another one reads.
    assert.equal(
      seen.flatMap(({ event, data }) =>
        event === 'answered' ? [{ id: data.message_id, all: data.decisions }] : [],
      ),
      asking.map(message => ({ id: message.id, all: message._decisions })),
    )

    assert.equal(await read(chat, id, '&limit=50'), whole)
    const tail = await read(chat, id, '&limit=2')
    assert.equal(tail, whole.slice(-2))
    // The question was answered after the last message of this page.
    const before = await read(chat, id, `&limit=2&before=${whole[2]!.id}`)
    assert.equal(before, whole.slice(0, 2))
    assert.is(decided(before).length, 1)
  }),
)

decisions(
  'no model gets them',
  withChat([...SCRIPT, { text: 'Yes.' }], async chat => {
    const id = await answered(chat)
    await chat.turn(id, 'Is it done?')
    for (const { body } of chat.provider.requests)
      assert.not.match(JSON.stringify(body), '_decisions')
  }),
)

decisions(
  'they stay after a restart, in a copy, a branch and an import, and leave with what is cut off',
  withChat(SCRIPT, async chat => {
    const { app } = chat
    const id = await answered(chat)
    const whole = await read(chat, id)
    await app.restart()
    assert.equal(await read(chat, id), whole)
    const copy = (await app.post('/api/session/duplicate', { session_id: id })).body.session
    assert.equal(decided(await read(chat, copy.session_id)), decided(whole))
    assert.equal(decided(await read(chat, copy.session_id, '&limit=50')), decided(whole))
    const fork = await app.post('/api/session/branch', { session_id: id, keep_count: 2 })
    const branch = fork.body.session_id ?? fork.body.session.session_id
    assert.equal(decided(await read(chat, branch)).map(brief), BOTH.slice(0, 1))

    const json = (await app.get(`/api/session/export?session_id=${id}&format=json`)).body
    const imported = (await app.post('/api/session/import', json)).body.session
    assert.equal(decided(imported.messages), decided(whole))

    await app.post('/api/session/truncate', { session_id: copy.session_id, keep_count: 2 })
    assert.equal(decided(await read(chat, copy.session_id)).map(brief), BOTH.slice(0, 1))
    await app.post('/api/session/truncate', { session_id: id, keep_count: 1 })
    assert.equal(decided(await read(chat, id)), [])
  }),
)

decisions(
  'what runs without a question says what allowed it',
  withChat(
    [
      run('rm -rf build', 'c1'),
      run('rm -rf build', 'c2'),
      { text: 'Done.' },
      { text: 'A title' },
      run('rm -rf other', 'c3'),
      { text: 'Done.' },
    ],
    async chat => {
      const id = await chat.newSession()
      const stream = await chat.send(id, 'start')
      await chat.follow(stream, 'approval')
      await chat.app.post('/api/approval/respond', { session_id: id, choice: 'session' })
      await chat.follow(stream)
      await chat.app.post('/api/session/yolo', { session_id: id, enabled: true })
      const seen = await chat.turn(id, 'once more')
      const all = decided(await read(chat, id))
      assert.equal(
        all.map(({ call_id: call, answer, auto }) => [call, answer, auto]),
        [
          ['c1', 'session', undefined],
          ['c2', 'once', 'rule'],
          ['c3', 'once', 'yolo'],
        ],
      )
      assert.ok(all.slice(1).every(({ asked_at, answered_at }) => asked_at === answered_at))
      const { decisions: noted } = seen.find(({ event }) => event === 'answered')!.data
      assert.equal(noted, [all[2]])
      const md = await chat.app.get(`/api/session/export?session_id=${id}&format=md`)
      assert.match(md.text, '`rm -rf other` without a question: auto-approval of this chat was on')
    },
  ),
)

decisions(
  'what a rule of the configuration or a hook allows is recorded with its step, and in exports',
  withChat(
    [
      run('rm -rf build', 'c1'),
      { text: 'Done.' },
      { text: 'A title' },
      run('rm -rf other', 'c2'),
      { text: 'Done.' },
    ],
    async chat => {
      const { app } = chat
      const config = join(app.home, 'config.yaml')
      const plain = readFileSync(config, 'utf8')
      const allowing = `echo '{"hookSpecificOutput": {"permissionDecision": "allow"}}'`
      const hook = { matcher: '.*', command: allowing }
      const id = await chat.newSession()
      for (const more of [
        { permissions: { allow: ['bash(rm -rf build)'] } },
        { hooks: { PreToolUse: [hook] } },
      ]) {
        const lines = Object.entries(more).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
        writeFileSync(config, `${plain}${lines.join('\n')}\n`)
        const seen = await chat.turn(id, 'go')
        assert.not.ok(seen.some(({ event }) => event === 'approval'))
      }
      const all = decided(await read(chat, id))
      assert.equal(
        all.map(({ call_id: call, what, answer, auto }) => [call, what, answer, auto]),
        [
          ['c1', 'rm -rf build', 'once', 'config'],
          ['c2', 'rm -rf other', 'once', 'hook'],
        ],
      )
      assert.ok(all.every(({ asked_at, answered_at }) => asked_at === answered_at))
      const md = await app.get(`/api/session/export?session_id=${id}&format=md`)
      assert.match(
        md.text,
        '`rm -rf build` without a question: a rule of the configuration allows it',
      )
      assert.match(md.text, '`rm -rf other` without a question: a hook allowed it')
    },
  ),
)

decisions(
  'exports and share links say them; a link keeps the command to itself unless tool output is included',
  withChat(SCRIPT, async chat => {
    const { app } = chat
    const id = await answered(chat)
    const exported = async (format: string) =>
      (await app.get(`/api/session/export?session_id=${id}&format=${format}`)).text
    const md = await exported('md')
    assert.match(md, '**Allowed** `rm -rf build` for this chat')
    assert.match(md, '**Asked:** Which database? — SQLite')
    const html = await exported('html')
    assert.match(html, '<b>Allowed</b> <code>rm -rf build</code> for this chat')
    assert.match(html, '<b>Asked:</b> Which database? — SQLite')

    await app.post('/api/shares/enable', { enabled: true })
    const shared = async (tool_output: boolean) => {
      const { body } = await app.post('/api/shares/create', { session_id: id, tool_output })
      return (await app.get(`/share/${body.token}`)).text
    }
    const short = await shared(false)
    assert.match(short, '<b>Asked:</b> Which database? — SQLite')
    assert.match(short, '<b>Allowed</b> a step that needed approval for this chat')
    assert.not.match(short, 'rm -rf build')
    assert.match(await shared(true), '<b>Allowed</b> <code>rm -rf build</code>')
  }),
)

decisions('no answer in time is no success: the list says so until the next message', async () => {
  const clock = createTestClock()
  await using chat = await startChatAt(
    clock,
    ...SCRIPT.slice(0, 1),
    { text: 'Not done.' },
    {
      text: 'A title',
    },
  )
  const id = await chat.newSession()
  const stream = await chat.send(id, 'start')
  await chat.follow(stream, 'approval')
  const done = chat.follow(stream)
  await clock.advance(300_000)
  await done
  const row = async () => (await chat.app.get('/api/sessions')).body.sessions[0]
  const [late] = decided(await read(chat, id)) as [Decision]
  assert.equal([late.answer, late.reason], ['deny', 'timeout'])
  assert.is(Math.round(late.answered_at - late.asked_at), 300)
  const shown = await row()
  assert.equal([shown.last_turn, shown.last_turn_missed], ['done', true])
  chat.provider.push({ text: 'Hello.' })
  await chat.turn(id, 'I am back')
  assert.is((await row()).last_turn_missed, undefined)
})

decisions.run()
