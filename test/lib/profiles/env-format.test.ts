/** What a line of .env means. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { editEnv, parseEnv, skippedLines } from '../../../lib/profiles/env-format.ts'

const test = suite('env file')

/** What python-dotenv 1.x makes of each text, except of names that no program of ours can use. */
const CASES: [text: string, values: Record<string, string>][] = [
  ['', {}],
  ['# A=1', {}],
  ['   # A=1', {}],
  ['no equals sign', {}],
  ['=value', {}],
  ['A=1', { A: '1' }],
  ['  A = 1  ', { A: '1' }],
  ['A=', { A: '' }],
  ['A=b=c==', { A: 'b=c==' }],
  ['A="quoted text"', { A: 'quoted text' }],
  ["A='single'", { A: 'single' }],
  ['A="\'both\'"', { A: "'both'" }],
  ['A="', {}],
  ['A="open\nB=2', { B: '2' }],
  ['A=a#b # c', { A: 'a#b' }],
  ['A=a #b', { A: 'a' }],
  ['A=# c', { A: '# c' }],
  ['A= # c', { A: '# c' }],
  ['A=a\t# c', { A: 'a' }],
  ['export A=1', { A: '1' }],
  ['export\tA=1', { A: '1' }],
  ['exportA=1', { exportA: '1' }],
  ['A=1\r\nB=2\rC=3\nA=4', { A: '4', B: '2', C: '3' }],
  ['A=ünï 🙂', { A: 'ünï 🙂' }],
  ['A="x" # note', { A: 'x' }],
  ["A='x' # note", { A: 'x' }],
  ['A="x"# note', { A: 'x' }],
  ['A="x" y\nB=2', { B: '2' }],
  ['A="two\nlines"\nB=2', { A: 'two\nlines', B: '2' }],
  ["A='two\nlines'", { A: 'two\nlines' }],
  ['A="a\\nb"', { A: 'a\nb' }],
  ["A='a\\nb'", { A: 'a\\nb' }],
  ['A=a\\nb', { A: 'a\\nb' }],
  ['A="say \\"hi\\""', { A: 'say "hi"' }],
  ["A='it\\'s'", { A: "it's" }],
  ['A="a\\\\b"', { A: 'a\\b' }],
  ["'A'=x", { A: 'x' }],
  ['A="#x"', { A: '#x' }],
  ['A=x"y"', { A: 'x"y"' }],
  ['A="a" "b"\nC=1', { C: '1' }],
  ['A\nB=2', { B: '2' }],
  ['A=1 B=2', { A: '1 B=2' }],
  ['A=${B}\nB=2', { A: '', B: '2' }],
  ['B=2\nA=${B}x', { B: '2', A: '2x' }],
  ['A=${NO:-d}', { A: 'd' }],
  ['A=${NO}', { A: '' }],
  ["B=2\nA='${B}'", { B: '2', A: '2' }],
  ['A=$B', { A: '$B' }],
  ['A=a b  c  ', { A: 'a b  c' }],
  ['A =x', { A: 'x' }],
  ['A= x', { A: 'x' }],
  ['export  A = "x" # y', { A: 'x' }],
  ['A: x', {}],
  ['\n\n  A=1\n\n#c\nB=2', { A: '1', B: '2' }],
  ['A="tab\\there"', { A: 'tab\there' }],
  ['A=x\\ # y', { A: 'x\\' }],
  ['A="é"', { A: 'é' }],
  ['A=sk-123 #old', { A: 'sk-123' }],
  ['A=sk-123#old', { A: 'sk-123#old' }],
  ["A='x", {}],
  ['A=`x`', { A: '`x`' }],
  ['A=x;B=y', { A: 'x;B=y' }],
  ['A=""', { A: '' }],
  ["A=''", { A: '' }],
  ['A="" # empty', { A: '' }],
  ['A="\\u0041"', { A: '\\u0041' }],
  ['1A=x', {}],
  ['A-B=x', {}],
  ["'A B'=x", {}],
  ['ÄÖ=1', {}],
]

for (const [text, values] of CASES)
  test(`reads ${JSON.stringify(text)}`, () => assert.equal(parseEnv(text), values))

test('values may refer to earlier lines and to the environment', () =>
  assert.equal(parseEnv('A=${HOME}/x\nB=${A}/y', { HOME: '/h' }), { A: '/h/x', B: '/h/x/y' }))

test('names the lines at which something begins that is no variable', () =>
  assert.equal(
    skippedLines('A=1\n\nodd line\n# c\nB="two\nlines"\nC="x" y\n\n  D="open\nE=1\n1F=2'),
    [3, 7, 9, 11],
  ))

test('a variable in several lines is replaced and removed as a whole', () => {
  const text = '# top\nA="one\ntwo" # note\n\nB=2\n'
  assert.is(editEnv(text, 'A', 'x'), '# top\nA=x\n\nB=2\n')
  assert.is(editEnv(text, 'A', null), '# top\n\nB=2\n')
  assert.is(editEnv(text, 'B', 'y z'), '# top\nA="one\ntwo" # note\n\nB=\'y z\'\n')
})

test('every value that can be saved is read as it was given', () => {
  for (const value of [
    'a b',
    'a #b',
    '#x',
    "it's",
    'say "x"',
    `it's "x"`,
    'a\\b',
    'a\\nb',
    '$A',
    ' x ',
  ])
    assert.is(parseEnv(editEnv('', 'A', value)).A, value, value)
})

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

test('rejects names and values that could do more than hold a value', () => {
  for (const name of ['PATH', 'LD_PRELOAD', 'NODE_OPTIONS', 'AGENT_HOME', 'A-B', '1A', ''])
    assert.throws(() => editEnv('', name, 'x'), undefined, name)
  for (const value of ['a\nB=2', 'a\rb', 'a\0b', '${A}', '\ud800'])
    assert.throws(() => editEnv('', 'A', value), undefined, JSON.stringify(value))
})

test('written values read back unchanged', () => {
  const values = ['', 'sk-1', 'a b', 'a#b', '$HOME', '`id`', `it's`, 'say "x"', '"x"', "'x'", 'ü']
  for (const value of values.filter(each => each !== "'x'" && each !== '"x"'))
    assert.is(parseEnv(editEnv('', 'A', value)).A, value, value)
})

test.run()
