/** The system prompt: order, omitted parts, and the constant part. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  truncateText,
  type StablePromptParts,
  stablePrompt,
  systemPrompt,
  needsToolEnforcement,
} from '../../../lib/agent/prompt.ts'

const test = suite('prompt')

const bare: StablePromptParts = {
  soul: '',
  tools: [],
  enforceTools: false,
  instructions: '',
  memory: '',
  skills: [],
  context: [],
  startDay: '2026-04-08',
  model: 'claude-x',
  provider: 'anthropic',
  facts: '- System: linux',
}
const moment = { workspace: '/w', personality: '', preamble: '' }

test('omits empty parts', () => {
  const text = stablePrompt(bare)
  assert.ok(text.startsWith('You are a capable assistant'))
  assert.match(
    text,
    /# Environment\nAs of the start.*\n- System: linux\n- The conversation began on 2026-04-08\./,
  )
  assert.match(text, 'You are claude-x, served by anthropic.')
  assert.not.match(text, /\n\n\n|^\s|\s$|# Skills|# Project/)
})

test('everything in its order', () => {
  const text = stablePrompt({
    ...bare,
    soul: ' I am Ada. ',
    tools: ['patch', 'terminal', 'memory', 'session_search', 'skill_view', 'skill_manage'],
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
    'Read a file before',
    'run its tests',
    'memory tool',
    'session_search before',
    'as a skill with skill_manage',
    'Act through your tools',
    'INSTRUCTIONS',
    'NOTES',
    '# Skills',
    'dev: For code\n- s: d',
    '# Project instructions',
    '## AGENTS.md\nCONTEXT',
    '# Environment',
    'web page',
  ].map(part => text.indexOf(part))
  assert.ok(order.every(at => at >= 0))
  assert.equal(
    order,
    order.toSorted((a, b) => a - b),
  )
  assert.not.match(text, 'capable assistant')
})

test('the prompt does not mention unavailable tools', () => {
  const skills = [{ category: '', description: '', skills: [{ name: 's', description: '' }] }]
  const text = stablePrompt({ ...bare, tools: ['terminal'], skills })
  assert.not.match(text, /session_search|skill_manage|memory tool|Read a file|# Skills/)
  assert.not.match(stablePrompt({ ...bare, enforceTools: true }), 'Act through your tools')
  const viewing = stablePrompt({ ...bare, tools: ['skill_view'], skills })
  assert.match(viewing, 'follow it.\n\n- s\n')
})

test('truncates skill descriptions to 60 characters', () => {
  const description = '🦊'.repeat(61)
  const skills = [{ category: '', description: '', skills: [{ name: 's', description }] }]
  const text = stablePrompt({ ...bare, tools: ['skill_view'], skills })
  assert.match(text, `- s: ${'🦊'.repeat(59)}…\n`)
})

test('tool use enforcement: by model name, always, never, or as listed', () => {
  for (const model of ['openai/GPT-5', 'gpt-5.3-codex', 'gemini-3', 'gemma-3', 'x-ai/grok-4'])
    assert.is(needsToolEnforcement(model, 'auto'), true, model)
  for (const model of ['claude-opus-4.6', 'deepseek-chat', ''])
    assert.is(needsToolEnforcement(model, 'auto'), false, model)
  assert.is(needsToolEnforcement('claude', true), true)
  assert.is(needsToolEnforcement('gpt-5', false), false)
  assert.is(needsToolEnforcement('deepseek-chat', ['DeepSeek']), true)
  assert.is(needsToolEnforcement('gpt-5', ['deepseek', '']), false)
})

test('long text keeps 70 % of the limit from its start and 20 % from its end', () => {
  const text = `${'a'.repeat(50_000)}${'z'.repeat(50_000)}`
  const cut = truncateText(text, 'AGENTS.md')
  assert.is(cut.lastIndexOf('a'.repeat(3)) >= 0 && cut.indexOf('AGENTS.md is longer') > 0, true)
  assert.is(cut.match(/^a+/)?.[0].length, 14_000)
  assert.is(cut.match(/z+$/)?.[0].length, 4_000)
  assert.is(truncateText('short'), 'short')
  const soul = stablePrompt({ ...bare, soul: 'x'.repeat(100_000) })
  assert.ok(soul.length < 20_000)
})

test('the per-turn part follows the constant part, which does not change', () => {
  const stable = stablePrompt(bare)
  const plain = systemPrompt(stable, moment)
  assert.ok(plain.startsWith(`${stable}\n\nThe active workspace is /w`))
  assert.match(plain, '[Workspace: <absolute path>]')
  const received = systemPrompt(stable, {
    workspace: '/w',
    personality: ' Be brief. ',
    preamble: 'Nobody watches.',
  })
  assert.ok(received.startsWith(plain))
  assert.ok(received.endsWith('Be brief.\n\nNobody watches.'))
})

test.run()
