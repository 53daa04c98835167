/** What a line of .env means. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { editEnv, parseEnv } from '../../../lib/profiles/env-format.ts'

const test = suite('env file')

const CASES: [line: string, values: Record<string, string>][] = [
  ['', {}],
  ['# A=1', {}],
  ['   # A=1', {}],
  ['no equals sign', {}],
  ['=value', {}],
  ['1A=x', {}],
  ['A-B=x', {}],
  ['__proto__ x=1', {}],
  ['A=1', { A: '1' }],
  ['  A = 1  ', { A: '1' }],
  ['A=', { A: '' }],
  ['A=b=c==', { A: 'b=c==' }],
  ['A="quoted text"', { A: 'quoted text' }],
  ["A='single'", { A: 'single' }],
  [`A="'both'"`, { A: 'both' }],
  ['A="', { A: '"' }],
  ['A="open', { A: '"open' }],
  ['A=a#b # c', { A: 'a#b # c' }],
  ['export A=1', { A: '1' }],
  ['export\tA=1', { A: '1' }],
  ['exportA=1', { exportA: '1' }],
  ['A=1\r\nB=2\rC=3\nA=4', { A: '4', B: '2', C: '3' }],
  ['ÄÖ=1', {}],
  ['A=ünï 🙂', { A: 'ünï 🙂' }],
]

for (const [line, values] of CASES)
  test(`reads ${JSON.stringify(line)}`, () => assert.equal(parseEnv(line), values))

test('no line can change a prototype', () => {
  const values = parseEnv('__proto__=x\nconstructor=y')
  assert.is(Object.getPrototypeOf(values), Object.prototype)
  assert.is(({} as Record<string, unknown>).x, undefined)
})

const BEFORE = `# my keys
OPENAI_API_KEY="sk-old"   
 export GLM_API_KEY=sk-glm # not a comment

# twice: the last one counts
HF_TOKEN=hf-1
HF_TOKEN=hf-2
odd line
`

test('a line is changed in place; comments, order and other lines are preserved', () => {
  assert.is(
    editEnv(BEFORE, 'OPENAI_API_KEY', 'sk-new'),
    BEFORE.replace('OPENAI_API_KEY="sk-old"   ', 'OPENAI_API_KEY=sk-new'),
  )
  assert.is(
    editEnv(BEFORE, 'GLM_API_KEY', 'sk-2'),
    BEFORE.replace(' export GLM_API_KEY=sk-glm # not a comment', 'export GLM_API_KEY=sk-2'),
  )
  assert.is(
    editEnv(BEFORE, 'HF_TOKEN', 'hf-3'),
    BEFORE.replace('HF_TOKEN=hf-1\nHF_TOKEN=hf-2', 'HF_TOKEN=hf-3'),
  )
})

test('appends a new name; a removed line leaves no trace', () => {
  assert.is(editEnv(BEFORE, 'A_KEY', 'x'), `${BEFORE}A_KEY=x\n`)
  assert.is(editEnv('A=1', 'B', '2'), 'A=1\nB=2\n')
  assert.is(editEnv('', 'B', '2'), 'B=2\n')
  assert.is(editEnv('A=1\r\nB=2\r\n', 'A', '3'), 'A=3\r\nB=2\r\n')
  assert.is(editEnv(BEFORE, 'HF_TOKEN', null), BEFORE.replace(/HF_TOKEN=.*\n/g, ''))
  assert.is(editEnv('A=1\n', 'A', null), '')
  assert.is(editEnv(BEFORE, 'NOT_THERE', null), BEFORE)
})

test('agent-home §3.1: rejects names and values that could do more than hold a value', () => {
  for (const name of ['PATH', 'LD_PRELOAD', 'NODE_OPTIONS', 'AGENT_HOME', 'A-B', '1A', ''])
    assert.throws(() => editEnv('', name, 'x'), undefined, name)
  for (const value of ['a\nB=2', 'a\rb', 'a\0b', `'"`, '\ud800'])
    assert.throws(() => editEnv('', 'A', value), undefined, JSON.stringify(value))
})

test('written values read back unchanged', () => {
  const values = ['', 'sk-1', 'a b', 'a#b', '$HOME', '`id`', `it's`, 'say "x"', '"x"', "'x'", 'ü']
  for (const value of values.filter(each => each !== "'x'" && each !== '"x"'))
    assert.is(parseEnv(editEnv('', 'A', value)).A, value, value)
})

test.run()
