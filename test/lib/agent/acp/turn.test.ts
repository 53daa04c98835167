/** What a person sees of a good turn: approvals, questions, cards, results, in the words of our own tools. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { answerFor } from '../../../../lib/agent/acp/permissions.ts'
import type { AnswerForm } from '../../../../lib/agent/answer-form.ts'
import type { ApprovalChoice } from '../../../../lib/schema/question.ts'
import { agentSuite } from './_external.ts'

const test = agentSuite('acp turns')

test('a permission request is an approval; a denial reaches the agent and the transcript', async at => {
  const denied = await at.say('run echo hi', { approve: 'deny' })
  assert.is(denied.text, 'It was c.')
  assert.equal(at.asked, [
    {
      command: 'echo hi',
      patternKeys: ['Tester: run a command'],
      description: 'Tester asks to run a command.',
      reasons: [{ text: 'Tester asks to run a command.' }],
      cwd: at.workspace,
    },
  ])
  const result = denied.messages.find(({ role }) => role === 'tool')
  assert.equal(JSON.parse(String(result?.content)), {
    status: 'blocked',
    error: 'The user denied this.',
  })
  const allowed = await at.say('run printf "%s\\n" hi', { approve: 'session' })
  assert.is(allowed.text, 'It was a.')
  const output = allowed.messages.find(({ role }) => role === 'tool')
  assert.equal(JSON.parse(String(output?.content)), { output: 'hi\n', exit_code: 0, error: null })
  assert.ok(allowed.events.some(event => event.type === 'tool_output' && event.text === 'hi\n'))
})

test('a risky command has our labels and asks once', async at => {
  await at.say('run rm -rf ./old')
  assert.is(at.asked.length, 1)
  assert.equal(at.asked[0]?.patternKeys, ['recursive delete'])
})

test('maps each choice onto the offered options', () => {
  const offer = (...kinds: ('allow_once' | 'allow_always' | 'reject_once' | 'reject_always')[]) =>
    kinds.map(kind => ({ optionId: kind, name: kind, kind }))
  const all = offer('allow_always', 'allow_once', 'reject_once', 'reject_always')
  const cases: [ApprovalChoice, ReturnType<typeof offer>, string][] = [
    ['once', all, 'allow_once'],
    ['session', all, 'allow_once'],
    ['always', all, 'allow_once'],
    ['always', offer('allow_always', 'reject_once'), 'allow_always'],
    ['deny', all, 'reject_once'],
    ['always', offer('allow_once', 'reject_once'), 'allow_once'],
    ['deny', offer('allow_once', 'reject_always'), 'reject_always'],
  ]
  for (const [choice, options, optionId] of cases)
    assert.equal(answerFor(choice, options), { outcome: 'selected', optionId })
  assert.equal(answerFor('deny', offer('allow_once')), { outcome: 'cancelled' })
})

test('other options are a question; unattended the answer is no', async at => {
  const slow = await at.say('choose', { answer: 'Slower' })
  assert.is(slow.text, '{"outcome":"selected","optionId":"slower"}')
  assert.equal(at.questions, ['Tester: Which way?'])
  const declined = await at.say('choose', { answer: 'Slower', request: { tools: [] } })
  assert.is(declined.text, '{"outcome":"selected","optionId":"no"}')
})

test('asks for a form field by field', async at => {
  assert.is((await at.say('form', { answer: '7' })).text, '{"action":"accept","content":{"age":7}}')
  assert.equal(at.questions, ['About you\n\nAge', 'About you\n\nSure'])
  assert.is((await at.say('form')).text, '{"action":"cancel"}')
  assert.is((await at.say('form', { answer: 'old' })).text, '{"action":"decline"}')
})

test('reasoning, text and usage form one message under the id of its deltas', async at => {
  const { events, messages, outcome } = await at.say('hello')
  assert.equal(messages, [
    {
      id: 'm1',
      role: 'assistant',
      content: 'Hello there.',
      reasoning: 'A greeting.',
      provider: 'acp',
      model: 'tester',
    },
  ])
  assert.ok(events.every(event => !('messageId' in event) || event.messageId === 'm1'))
  assert.is(outcome.usage.context_length, 200_000)
  assert.is(outcome.usage.last_prompt_tokens, 1_200)
  assert.is(outcome.usage.estimated_cost, 0.5)
  // The agent says what the session costs, not the turn.
  assert.is((await at.say('hello')).outcome.usage.estimated_cost, 0)
})

test('plans, reads and edits appear as calls of our own tools', async at => {
  const changed: unknown[] = []
  const { messages, text } = await at.say('work', {
    request: { beforeChange: async what => void changed.push(what) },
  })
  assert.is(text, 'I look first.Done.')
  assert.is(readFileSync(join(at.workspace, 'a.txt'), 'utf8'), 'first\nchanged\n')
  assert.equal(changed, ['workspace', [join(at.workspace, 'a.txt')]])
  const called = messages.flatMap(({ tool_calls }) => tool_calls ?? [])
  assert.equal(
    called.map(call => call.function.name),
    ['todo', 'read_file', 'patch'],
  )
  assert.is(called[1]?.function.arguments, '{"path":"a.txt"}')
  const results = messages
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => String(content))
  assert.is(JSON.parse(results[0] ?? '').todos[1].status, 'in_progress')
  assert.is(JSON.parse(results[1] ?? '').content, 'first\n')
  assert.match(
    JSON.parse(results[2] ?? '').diff,
    /^--- a\/a\.txt\n\+\+\+ b\/a\.txt\n@@[^\n]*\n first\n\+changed\n/,
  )
})

test('answers parallel calls once each, in any order', async at => {
  const { messages } = await at.say('together')
  assert.equal(
    messages.map(({ role, tool_calls, tool_call_id }) => [
      role,
      tool_calls?.[0]?.id ?? tool_call_id,
    ]),
    [
      ['assistant', 'p1'],
      ['assistant', 'p2'],
      ['tool', 'p2'],
      ['tool', 'p1'],
      ['assistant', undefined],
    ],
  )
  // Again: the agent reuses its ids, ours stay unique.
  const again = await at.say('together')
  assert.is(again.messages[0]?.tool_calls?.[0]?.id, 'p1_2')
})

test('its environment is exactly the given one', async at => {
  at.place.env = { NOTE: 'yes' }
  const { text } = await at.say('env')
  const names = Object.keys(JSON.parse(text)).filter(name => !/^(?:PWD|SHLVL|_|OLDPWD)$/.test(name))
  assert.equal(names.sort(), ['ACP_TEST', 'ACP_TEST_STATE', 'HOME', 'NOTE', 'PATH'])
})

test('an answer of a form: told with the message, asked for once more, in the same session; the next message is plain', async at => {
  const answerForm: AnswerForm = {
    name: 'city',
    schema: { type: 'object', required: ['city', 'degrees'] },
    strict: false,
    problemOf: words => (words.startsWith('{') ? null : 'It is not JSON.'),
  }
  const { outcome, messages } = await at.say('prose', { request: { answerForm } })
  assert.is(outcome.text, '{"city":"Rome","degrees":21}')
  assert.equal(
    messages.map(({ role }) => role),
    ['assistant', 'assistant'],
  )
  const heard = (await at.say('recall')).text
  assert.is(heard.split(' | ').length, 3)
  assert.match(heard, '"degrees"')
  const never = await at.say('prose forever', { request: { answerForm } })
  assert.equal([never.outcome.status, never.outcome.text], ['finished', 'Still prose.'])
  const command = await at.say('/compact now', { request: { answerForm } })
  assert.is(command.outcome.status, 'finished')
})

test.run()
