/** What agents ask with a permission request: their user's answers, which of several ways, and what the card says about it. */
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { describe, mergeCall } from '../../../../lib/agent/acp/tool-calls.ts'
import { CallUpdate } from '../../../../lib/agent/acp/updates.ts'
import { type TurnOutput, agentSuite } from './_external.ts'

const test = agentSuite('acp questions')

const ask = (toolCall: object) => `ask ${JSON.stringify({ toolCallId: 'q1', ...toolCall })}`

const QWEN = [
  { optionId: 'proceed_once', name: 'Submit', kind: 'allow_once' },
  { optionId: 'cancel', name: 'Cancel', kind: 'reject_once' },
]
const question = (text: string, ...labels: string[]) => ({
  question: text,
  header: text.slice(0, 12),
  options: labels.map(label => ({ label, description: `about ${label}` })),
})
const qwenAsk = (questions: unknown, _meta: object = { qwenInteractionKind: 'user_question' }) =>
  ask({ title: 'Ask user', kind: 'other', options: QWEN, rawInput: { questions }, _meta })

test('questions of Qwen Code are questions of ours, and it gets the answers by their index', async at => {
  const questions = [question('Which color?', 'Red', 'Blue'), question('How many?', '1', '2')]
  const { text } = await at.say(qwenAsk(questions), { answer: ' Blue ' })
  assert.is(text, 'proceed_once {"answers":{"0":"Blue","1":"Blue"}}')
  assert.equal(at.asked, [])
  assert.equal(at.questions, [
    'Which color?\n\n- Red: about Red\n- Blue: about Blue',
    'How many?\n\n- 1: about 1\n- 2: about 2',
  ])
  const named = await at.say(qwenAsk([question('Where?')], { toolName: 'ask_user_question' }), {
    answer: 'here',
  })
  assert.is(named.text, 'proceed_once {"answers":{"0":"here"}}')
  const many = { ...question('Which?', 'A', 'B'), multiSelect: true }
  const several = await at.say(qwenAsk([many]), { answer: 'A, B' })
  assert.is(several.text, 'proceed_once {"answers":{"0":"A, B"}}')
  assert.match(at.questions.at(-1) ?? '', 'Several answers are possible')
})

test('without an answer, or without anybody to ask, its question is denied; what is none is an approval', async at => {
  const questions = [question('Which color?', 'Red')]
  const choose = ask({ title: 'Which?', kind: 'other', options: SEVERAL })
  const refusers: [TurnOutput, string][] = [
    [await at.say(qwenAsk(questions)), 'timeout'],
    [await at.say(qwenAsk(questions), { answer: '  ' }), 'user'],
    [await at.say(qwenAsk(questions), { answer: 'Red', request: { tools: [] } }), 'policy'],
    [await at.say(choose), 'timeout'],
    [await at.say(choose, { answer: 'Allow', request: { tools: [] } }), 'policy'],
    [await at.say(choose, { answer: 'Reject' }), 'user'],
  ]
  for (const [{ text, messages }, by] of refusers) {
    assert.match(text, /^(?:cancel|no)$/)
    assert.is(messages.find(({ role }) => role === 'tool')?._refused_by, by)
  }
  for (const broken of [[], 'x', [{ question: '' }], [7, null]])
    assert.is((await at.say(qwenAsk(broken))).text, 'proceed_once', JSON.stringify(broken))
  assert.is(at.asked.length, 4)
})

const SEVERAL = [
  { optionId: 'once', name: 'Allow', kind: 'allow_once' },
  { optionId: 'switch', name: 'Switch to Default Mode and allow once', kind: 'allow_once' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
]
const content = (text: string) => [{ type: 'content', content: { type: 'text', text } }]

test('several options of one kind: the question says who asks, why, and with what', async at => {
  const request = ask({
    title: 'sub look',
    kind: 'other',
    options: SEVERAL,
    rawInput: { prompt: 'Look at it' },
    content: content('Auto Mode couldn’t classify this action.'),
  })
  const cases: [answer: string | null, chosen: string, questions: number, warnings: number][] = [
    ['Allow', 'once', 1, 0],
    [' allow', 'once', 1, 0],
    ['Switch to Default Mode and allow once', 'switch', 1, 0],
    ['Reject', 'no', 1, 0],
    [null, 'no', 1, 0],
    ['yes', 'no', 1, 1],
  ]
  for (const [answer, chosen, asked, warned] of cases) {
    const before = at.questions.length
    const { text, warnings } = await at.say(request, { answer })
    assert.equal([text, warnings.length], [chosen, warned], String(answer))
    assert.is(at.questions.length - before, asked, String(answer))
  }
  assert.is(
    at.questions[0],
    'Tester: sub look\n\nAuto Mode couldn’t classify this action.\n\n{"prompt":"Look at it"}',
  )
})

test('an approval says what the agent says about it, once', async at => {
  const described = async (toolCall: object) => {
    await at.say(ask(toolCall))
    return at.asked.at(-1)!
  }
  const run = { title: 'make', kind: 'execute', rawInput: { command: 'make' } }
  assert.is(
    (await described({ ...run, content: content('It needs the network.') })).description,
    'Tester asks to run a command. It says: It needs the network.',
  )
  for (const shown of ['make', '```sh\nmake\n```', ' '])
    assert.is(
      (await described({ ...run, content: content(shown) })).description,
      'Tester asks to run a command.',
    )
  // OpenCode: the directory is the title, and the call came before as what it is.
  const path = '/srv/x/note.txt'
  const outside = {
    title: '/srv/x',
    kind: 'other',
    rawInput: { filepath: path, parentDir: '/srv/x' },
    locations: [{ path }],
  }
  const write = await described({ ...outside, before: { title: 'write', kind: 'edit' } })
  assert.equal(
    [write.command.split(' {')[0], write.description],
    [`edit ${path}`, 'Tester asks to change files outside the workspace.'],
  )
  const bare = await described({ ...outside, toolCallId: 'q2' })
  assert.equal(
    [bare.command.split(' {')[0], bare.description],
    ['access /srv/x', 'Tester asks to access files outside the workspace.'],
  )
  const inside = await described({
    kind: 'edit',
    toolCallId: 'q3',
    locations: [{ path: join(at.workspace, 'a.txt') }],
  })
  assert.is(inside.description, 'Tester asks to change files.')
})

test('tools keep the name that the agent gives them; a title in words is no name', () => {
  const cases: [given: object, name: string, preview: string][] = [
    [{ title: 'sub look', kind: 'other', _meta: { toolName: 'agent' } }, 'agent', 'sub look'],
    [{ title: 'sub look', kind: 'other' }, 'tool', 'sub look'],
    [{ title: 'Ask user 1 question', kind: 'think' }, 'think', 'Ask user 1 question'],
    [
      { title: 'x y', kind: 'other', _meta: { claudeCode: { toolName: 'ToolSearch' } } },
      'tool_search',
      'x y',
    ],
    [{ title: 'AskUserQuestion', kind: 'other' }, 'ask_user_question', 'AskUserQuestion'],
    [{ title: 'WriteFile', kind: 'edit' }, 'write_file', 'WriteFile'],
    [
      { title: 'mcp__echo__echo_back', kind: 'other' },
      'mcp_echo_echo_back',
      'mcp__echo__echo_back',
    ],
    [{ toolCallId: 'write_file__abc_1', title: 'edit', kind: 'edit' }, 'write_file', 'edit'],
    [{ toolCallId: 'web_search-1764238712345-1', title: 'think', kind: 'think' }, 'web_search', ''],
    [{ toolCallId: 'call_1234567', title: 'think', kind: 'think' }, 'think', ''],
    [{ toolCallId: 'toolu__01', title: 'Look it up', kind: 'other' }, 'tool', 'Look it up'],
    [{ title: 'Compact conversation', kind: 'other' }, 'tool', 'Compact conversation'],
    [{ title: '/srv/x', kind: 'other' }, 'tool', '/srv/x'],
    [{ kind: 'other', name: 'run_query', title: 'run_query' }, 'run_query', ''],
  ]
  for (const [given, name, preview] of cases) {
    const call = mergeCall(undefined, CallUpdate.parse({ toolCallId: 'c1', ...given }))
    const found = describe(call, '/w')
    assert.equal([found.name, found.preview], [name, preview], JSON.stringify(given))
  }
})

test.run()
