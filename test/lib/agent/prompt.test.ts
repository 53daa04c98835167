/** The system prompt: order, omitted parts, and the constant part. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  type RuleName,
  rulesOf,
  type StablePromptParts,
  stablePrompt,
  needsToolEnforcement,
  workingRules,
} from '../../../lib/agent/prompt.ts'

const test = suite('prompt')

const bare: StablePromptParts = {
  soul: '',
  tools: [],
  enforceTools: false,
  isWatched: false,
  asks: null,
  instructions: '',
  memory: '',
  skills: [],
  context: [],
  startDay: '2026-04-08',
  model: 'claude-x',
  provider: 'anthropic',
  facts: '- System: linux',
}
const TOOLS = ['patch', 'terminal', 'todo', 'memory', 'session_search', 'skill_view']

test('everything in its order', () => {
  const text = stablePrompt({
    ...bare,
    soul: ' I am Ada. ',
    tools: TOOLS,
    enforceTools: true,
    instructions: 'INSTRUCTIONS',
    memory: 'NOTES',
    skills: [
      { category: 'dev', description: 'For code', skills: [{ name: 's', description: 'd' }] },
    ],
    context: [{ name: 'AGENTS.md', text: 'CONTEXT' }],
  })
  const order = [
    'I am Ada.',
    workingRules(TOOLS, { persists: true, isWatched: false }),
    'INSTRUCTIONS',
    'NOTES',
    '# Skills',
    'dev: For code\n- s: d',
    '# Project instructions',
    '## AGENTS.md\nCONTEXT',
    '# Environment',
    'shown on a web page',
  ].map(part => text.indexOf(part))
  assert.ok(order.every(at => at >= 0))
  assert.equal(
    order,
    order.toSorted((a, b) => a - b),
  )
  assert.not.match(text, 'capable assistant')
})

/** The rules that apply, by name. */
const namesOf = (tools: string[], more: Partial<Parameters<typeof rulesOf>[1]> = {}): RuleName[] =>
  rulesOf(tools, { persists: true, isWatched: true, ...more }).map(({ name }) => name)

test('each rule is there for the work that needs it, and only then', () => {
  const all: RuleName[] = [
    'parallel',
    'persist',
    'changes of others',
    'edit',
    'check',
    'todo',
    'progress',
    'data',
    'denied',
    'earlier chats',
    'code',
  ]
  const always: RuleName[] = ['parallel', 'data', 'denied']
  const cases: [tools: string[], more: object, expected: readonly RuleName[]][] = [
    [[...TOOLS, 'read_file'], {}, all],
    [[], {}, []],
    [['clarify'], { persists: false, isWatched: false }, always],
    [['clarify'], { isWatched: false }, ['persist', ...always]],
    [['clarify'], { persists: false }, ['progress', ...always]],
    [['todo'], {}, ['persist', 'progress', 'todo', ...always]],
    [['session_search'], {}, ['persist', 'progress', 'earlier chats', ...always]],
    [['read_file'], {}, ['persist', 'progress', 'code', ...always]],
    [['write_file'], {}, ['persist', 'progress', 'changes of others', 'edit', ...always]],
    [['patch'], {}, ['persist', 'progress', 'changes of others', 'edit', ...always]],
    [['terminal'], {}, ['persist', 'progress', 'changes of others', 'check', 'code', ...always]],
  ]
  for (const [tools, more, expected] of cases)
    assert.equal(
      namesOf(tools, more),
      all.filter(name => expected.includes(name)),
      tools.join(),
    )
})

test('says what is asked about only where commands run directly on this computer', () => {
  const factsOf = (more: Partial<StablePromptParts>): number =>
    (stablePrompt({ ...bare, ...more }).match(/^- .*/gm) ?? []).filter(line =>
      line.startsWith('- Commands run'),
    ).length
  for (const asks of ['nothing', 'changes', 'dangerous'] as const) {
    assert.is(factsOf({ asks, tools: ['terminal'] }), 1, asks)
    assert.is(factsOf({ asks, tools: ['patch'] }), 0, asks)
  }
  assert.is(factsOf({ asks: null, tools: ['terminal'] }), 0)
})

test('persistence is for every model, or as the user has set', () => {
  for (const model of ['openai/GPT-5', 'qwen3-coder', 'glm-4.7', 'kimi-k2', 'claude-opus-4.6', ''])
    assert.is(needsToolEnforcement(model, 'auto'), true, model)
  assert.is(needsToolEnforcement('claude', true), true)
  assert.is(needsToolEnforcement('gpt-5', false), false)
  assert.is(needsToolEnforcement('deepseek-chat', ['DeepSeek']), true)
  assert.is(needsToolEnforcement('gpt-5', ['deepseek', '']), false)
})

test.run()
