/** Approvals and questions over HTTP: one durable queue, answered once, seen everywhere. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Approval } from '../../lib/schema/question.ts'
import { startApp } from '../_app.ts'
import { startChat, types } from './_chat.ts'

const approvals = suite('approvals')

const runs = (command: string, id = 'c1') => ({
  toolCalls: [{ id, name: 'terminal', arguments: { command } }],
})

type Chat = Awaited<ReturnType<typeof startChat>>
const withChat =
  (script: Parameters<typeof startChat>, run: (chat: Chat) => Promise<void>) => async () => {
    await using chat = await startChat(...script)
    await run(chat)
  }

/** A directory in the session's workspace that a dangerous command would delete. */
const makeVictim = async ({ app }: Chat, id: string): Promise<string> => {
  const { workspace } = (await app.get(`/api/session/status?session_id=${id}`)).body
  const victim = join(workspace, 'victim')
  mkdirSync(victim)
  return victim
}

approvals(
  'rejects bad input with a reason; without an open approval the answer is empty',
  async () => {
    await using app = await startApp()
    const { body } = await app.post('/api/session/new', {})
    const { session_id } = body.session
    const bad = await app.post('/api/approval/respond', { session_id, choice: 'maybe' })
    assert.equal([bad.status, bad.body.error], [400, 'Invalid choice: maybe'])
    const missing = await app.post('/api/approval/respond', { choice: 'once' })
    assert.is(missing.status, 400)
    const silent = await app.post('/api/clarify/respond', { session_id })
    assert.equal([silent.status, silent.body.error], [400, 'response is required'])
    const none = await app.post('/api/approval/respond', { session_id, choice: 'once' })
    assert.equal(none.body, { ok: true, choice: 'once', accepted: false, answer: null })
    const open = await app.get(`/api/approval/pending?session_id=${session_id}`)
    assert.equal(open.body, { pending: null, pending_count: 0 })
    assert.equal((await app.get('/api/inbox')).body.questions, [])
  },
)

approvals('inject_test is 404 for requests through a proxy, by POST and by GET', async () => {
  await using app = await startApp()
  const { body } = await app.post('/api/session/new', {})
  const { session_id } = body.session
  for (const path of ['/api/approval/inject_test', '/api/clarify/inject_test']) {
    const through = await app.request('POST', path, {
      body: { session_id },
      headers: { 'x-forwarded-for': '203.0.113.9' },
    })
    assert.is(through.status, 404)
    assert.is((await app.post(path, { session_id })).status, 200)
    assert.is((await app.get(`${path}?session_id=${session_id}`)).status, 200)
  }
  const open = await app.get(`/api/approval/pending?session_id=${session_id}`)
  assert.is(open.body.pending_count, 2)
  assert.is(open.body.pending.pattern_key, 'test_pattern')
  // Approvals of a deleted session are in no inbox.
  await app.post('/api/session/delete', { session_id })
  assert.equal((await app.get('/api/inbox')).body.questions, [])
})

approvals(
  'denied: the command does not run, the model gets the denial, and stream, pending list, inbox and row had the card',
  withChat([runs('rm -rf victim'), { text: 'As you wish.' }, { text: 'A title' }], async chat => {
    const id = await chat.newSession()
    const victim = await makeVictim(chat, id)
    const stream = await chat.send(id, 'delete it')
    const seen = await chat.follow(stream, 'approval')
    const asked = seen.at(-1)!.data as { approval_id: string; command: string; pattern_key: string }
    assert.equal([asked.command, asked.pattern_key], ['rm -rf victim', 'recursive delete'])
    const { body } = await chat.app.get(`/api/approval/pending?session_id=${id}`)
    assert.is(body.pending.approval_id, asked.approval_id)
    assert.is((await chat.app.get('/api/inbox')).body.questions.length, 1)
    assert.is((await chat.app.get('/api/sessions')).body.sessions[0].waiting, 1)
    const { session } = (await chat.app.get(`/api/session?session_id=${id}`)).body
    assert.is(session.questions[0].approval_id, asked.approval_id)
    assert.is(session.live.stream_id, stream)

    const answer = { session_id: id, choice: 'deny', approval_id: asked.approval_id }
    assert.is((await chat.app.post('/api/approval/respond', answer)).body.accepted, true)
    await chat.follow(stream)
    assert.ok(existsSync(victim))
    const received = chat.provider.requests[1]!.body.messages.at(-1)
    assert.is(received.role, 'tool')
    assert.match(received.content, /denied|blocked/i)
    const late = await chat.app.post('/api/approval/respond', { ...answer, choice: 'once' })
    assert.equal([late.body.accepted, late.body.answer], [false, 'deny'])
    assert.is((await chat.app.get('/api/sessions')).body.sessions[0].waiting, 0)
    const journal = readFileSync(join(chat.app.state, 'sessions', `${id}.jsonl`), 'utf8')
    assert.match(journal, '"t":"asked"')
    assert.match(journal, '"t":"answered"')
  }),
)

approvals(
  'session: asks once per session; always: applies to this command only',
  withChat(
    [
      runs('rm -rf victim'),
      runs('rm -rf victim', 'c2'),
      { text: 'Done twice.' },
      { text: 'A title' },
      runs('rm -rf victim', 'c3'),
      { text: 'Done.' },
      { text: 'Other title' },
      runs('rm -rf victim', 'c4'),
      { text: 'Done again.' },
    ],
    async chat => {
      const config = join(chat.app.home, 'config.yaml')
      writeFileSync(config, `# keep me\n${readFileSync(config, 'utf8')}`)
      const answer = async (id: string, stream: string, choice: string) => {
        await chat.follow(stream, 'approval')
        await chat.app.post('/api/approval/respond', { session_id: id, choice })
        return chat.follow(stream)
      }
      const first = await chat.newSession()
      await makeVictim(chat, first)
      const seen = await answer(first, await chat.send(first, 'delete'), 'session')
      assert.is(types(seen).filter(type => type === 'approval').length, 1)
      assert.is(types(seen).filter(type => type === 'tool_complete').length, 2)

      const second = await chat.newSession()
      await answer(second, await chat.send(second, 'delete'), 'always')
      assert.match(readFileSync(config, 'utf8'), /^# keep me\n/)
      assert.not.match(readFileSync(config, 'utf8'), /command_allowlist/)
      const { grants } = (await chat.app.get('/api/approval/grants')).body
      assert.equal(
        grants.map((grant: { command: string }) => grant.command),
        ['rm -rf victim'],
      )
      const again = await chat.turn(second, 'delete again')
      assert.not.ok(types(again).includes('approval'))
    },
  ),
)

const script = (command: string, id: string) => [
  runs(command, id),
  { text: 'Done.' },
  { text: 'A title' },
]

approvals(
  'offers a rule, rejects one that allows more, and applies it in its session or until removed',
  withChat(
    [
      ...script('git push --force origin one', 'c1'),
      ...script('git push --force origin two', 'c2').slice(0, 2),
      ...script('git push --force origin three', 'c3'),
      ...script('git push --force origin four; rm -rf victim', 'c4').slice(0, 2),
      ...script('git push --force origin five', 'c5').slice(0, 2),
    ],
    async chat => {
      const asked = async (id: string) => {
        const stream = await chat.send(id, 'go')
        const { data } = (await chat.follow(stream, 'approval')).at(-1)!
        const respond = async (more: object) => {
          const body = { session_id: id, approval_id: data.approval_id, choice: 'deny', ...more }
          return chat.app.post('/api/approval/respond', body)
        }
        return { data, respond, end: () => chat.follow(stream) }
      }
      const first = await chat.newSession()
      const one = await asked(first)
      assert.is(one.data.suggested_rule, 'git push --force *')
      const { requested_at, expires_at = 0 } = one.data as Approval
      assert.is(Math.round(expires_at - requested_at), 300)
      for (const rule of ['*', '', 'git push *', 'rm *', 'git push --force origin two']) {
        const { status, body } = await one.respond({ choice: 'always', rule })
        assert.is(status, 400, rule)
        assert.match(body.error, /rule|covers|command/i)
      }
      const rule = 'git push --force *'
      const odd = await one.respond({ choice: 'always', rule, scope: 'everywhere' })
      assert.is(odd.status, 400)
      const yes = await one.respond({ choice: 'always', rule, scope: 'session' })
      assert.is(yes.body.accepted, true)
      await one.end()
      assert.equal((await chat.app.get('/api/approval/grants')).body.grants, [])
      assert.not.ok(types(await chat.turn(first, 'again')).includes('approval'))

      // Another session knows nothing of it; this time it is for the workspace.
      const second = await chat.newSession()
      const three = await asked(second)
      await three.respond({ choice: 'always', rule, scope: 'workspace' })
      await three.end()
      const { grants } = (await chat.app.get('/api/approval/grants')).body
      assert.equal([grants.length, grants[0].command, grants[0].scope], [1, rule, 'workspace'])
      const four = await asked(second)
      assert.is(four.data.suggested_rule, undefined)
      await four.respond({})
      await four.end()
      await chat.app.post('/api/approval/grants/revoke', { id: grants[0].id })
      const five = await asked(second)
      await five.respond({})
      await five.end()
    },
  ),
)

approvals(
  'requests for control files always ask, whatever is disabled or allowed',
  withChat(
    [
      runs('printf "\\nx: 1\\n" >> "$AGENT_HOME/config.yaml"', 'c1'),
      runs('printf "\\nx: 1\\n" >> "$AGENT_HOME/config.yaml"', 'c2'),
      runs('cd "$AGENT_HOME" && sed -i s/a/b/ conf*.yaml', 'c3'),
      { text: 'Done.' },
      { text: 'A title' },
    ],
    async chat => {
      const config = join(chat.app.home, 'config.yaml')
      writeFileSync(config, `${readFileSync(config, 'utf8')}approvals:\n  mode: off\n`)
      const id = await chat.newSession()
      await chat.app.post('/api/session/yolo', { session_id: id, enabled: true })
      const stream = await chat.send(id, 'change it')
      let after = 0
      for (const choice of ['always', 'deny', 'deny']) {
        const asked = (await chat.follow(stream, 'approval', after)).at(-1)!
        after = Number(asked.id)
        assert.equal(asked.data.choices, ['once', 'deny'])
        const { approval_id } = asked.data
        await chat.app.post('/api/approval/respond', { session_id: id, approval_id, choice })
      }
      await chat.follow(stream)
      assert.is(readFileSync(config, 'utf8').match(/^x: 1$/gm)?.length, 1)
      assert.equal((await chat.app.get('/api/approval/grants')).body.grants, [])
    },
  ),
)

approvals(
  'cancel denies the open approval, and the command never runs',
  withChat([runs('rm -rf victim')], async chat => {
    const id = await chat.newSession()
    const victim = await makeVictim(chat, id)
    const stream = await chat.send(id, 'delete')
    await chat.follow(stream, 'approval')
    await chat.app.post('/api/chat/cancel', { stream_id: stream })
    const seen = await chat.follow(stream)
    assert.equal(types(seen).slice(-2), ['cancel', 'stream_end'])
    assert.ok(types(seen).includes('answered'))
    assert.is((await chat.app.get(`/api/approval/pending?session_id=${id}`)).body.pending, null)
    assert.ok(existsSync(victim))
    // Every call has its answer: the history stays one that providers accept.
    const messages = await chat.messages(id)
    assert.equal(
      messages.map(message => message.role),
      ['user', 'assistant', 'tool', 'assistant'],
    )
  }),
)

approvals(
  'a question reaches the user and its answer the model',
  withChat(
    [
      {
        toolCalls: [
          {
            id: 'q',
            name: 'clarify',
            arguments: { question: 'Red or blue?', choices: ['red', 'blue'] },
          },
        ],
      },
      { text: 'Blue it is.' },
      { text: 'Colors' },
    ],
    async chat => {
      const id = await chat.newSession()
      const stream = await chat.send(id, 'paint')
      await chat.follow(stream, 'clarify')
      const { pending } = (await chat.app.get(`/api/clarify/pending?session_id=${id}`)).body
      assert.equal(
        [pending.question, pending.choices_offered, pending.kind],
        ['Red or blue?', ['red', 'blue'], 'clarify'],
      )
      await chat.app.post('/api/clarify/respond', { session_id: id, answer: 'blue' })
      await chat.follow(stream)
      assert.match(chat.provider.requests[1]!.body.messages.at(-1).content, 'blue')
    },
  ),
)

approvals('the approval stream sends open, new and resolved approvals', async () => {
  await using app = await startApp()
  const { body } = await app.post('/api/session/new', {})
  const { session_id } = body.session
  await app.post('/api/approval/inject_test', { session_id, command: 'one' })
  const seen: string[] = []
  for await (const event of app.events(`/api/approval/stream?session_id=${session_id}`)) {
    const data = event.data as Record<string, unknown>
    seen.push(event.event)
    if (event.event === 'initial') {
      assert.is(data.pending_count, 1)
      await app.post('/api/approval/inject_test', { session_id, command: 'two' })
    }
    if (event.event === 'approval') {
      assert.is(data.command, 'two')
      await app.post('/api/approval/respond', { session_id, choice: 'once' })
    }
    if (event.event === 'settled') break
  }
  assert.equal(seen, ['initial', 'approval', 'settled'])
  for await (const event of app.events(`/api/clarify/stream?session_id=${session_id}`)) {
    assert.equal([event.event, event.data.pending], ['initial', null])
    break
  }
})

approvals.run()
