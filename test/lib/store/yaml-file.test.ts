/** Edits of config.yaml change one value and no other byte. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { UserError } from '../../../lib/errors.ts'
import { editYaml, yamlFile, yamlFlag, yamlWord } from '../../../lib/store/yaml-file.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ dir: string; path: string }>('yaml file')
test.before.each(context => {
  context.dir = tempDir('yaml-file')
  context.path = join(context.dir, 'config.yaml')
})

/** Text of `path` after one edit of `before`. */
const edit = (path: string, before: string, way: string[], value: unknown): string => {
  writeFileSync(path, before)
  yamlFile(path).edit(way, value)
  return readFileSync(path, 'utf8')
}

const isUnreadable = (words: RegExp) => (error: unknown) =>
  error instanceof UserError && error.kind === 'conflict' && words.test(error.message)
const isConflict = (error: unknown): boolean =>
  error instanceof UserError && error.kind === 'conflict'

/** Damages to the file, and the expected reason. */
const DAMAGE: [text: string | Buffer, words: RegExp][] = [
  ['a: [1', /line 1/],
  ['a: 1\nb: 2\na: 2\n', /line 3: "a" is there twice \(first in line 1\)/],
  ['x:\n  a: 1\n  a: 2\n', /line 3: "a" is there twice/],
  ['a: *nowhere\n', /line 1/],
  ['- a\n- b\n', /a list, not a mapping/],
  ['just words\n', /a single value/],
  ['a: 1\n---\nb: 2\n', /line 2: a second document/],
  ['a:\n\tb: 1\n', /line 2: tabs/],
  ['a: "half', /line 1/],
  ['a: b: c\n', /line 1/],
  ['a:\n  - x\n - y\n', /line 3/],
  ['a: &a [*a]\n', /line 1: "a" contains itself/],
  ['a: &a {b: {c: *a}}\n', /line 1: "a" contains itself/],
  ['a: {<<: 5}\n', /"<<"/],
  ['? [a, b]\n: c\n', /a key has to be/],
  [`a: ${'['.repeat(300)}${']'.repeat(300)}\n`, /nested too deeply/],
  [`a: ${'['.repeat(50_000)}`, /./],
  [Buffer.from('a: 1\nb: "\xff\xfe"\n', 'latin1'), /not UTF-8 \(line 2\)/],
  [Buffer.from('\ufeffa: 1\n', 'utf16le'), /UTF-16/],
  [`a: ${'x'.repeat(1024 * 1024)}`, /larger than 1 MB/],
]

/** Aliases of aliases: a few bytes that expand to billions of values. */
const bomb = (): string =>
  Array.from({ length: 12 }, (_, n) =>
    n === 0 ? 'a0: &a0 [x]' : `a${n}: &a${n} [${`*a${n - 1},`.repeat(9)}]`,
  ).join('\n')

test('a damaged file is never treated as empty: no reads, no writes', ({ path }) => {
  for (const [text, words] of [...DAMAGE, [bomb(), /too many values/] as const]) {
    writeFileSync(path, text)
    const shown = text.toString('latin1').slice(0, 40)
    const file = yamlFile(path)
    assert.throws(() => file.read(), isUnreadable(words), shown)
    assert.equal(file.peek(), {}, shown)
    assert.equal([file.isLost(), words.test(`${file.problem()}`)], [true, true], shown)
    assert.throws(() => file.edit(['x'], 1), isConflict)
    assert.equal(readFileSync(path), Buffer.from(text), shown)
  }
})

test('uses the last good version, whatever the file contains later', async ({ path }) => {
  const good = { model: { provider: 'custom' } }
  for (const [text, words] of DAMAGE) {
    writeFileSync(path, 'model: {provider: custom}\n')
    const file = yamlFile(path)
    assert.equal(file.read(), good)
    writeFileSync(path, text)
    await immediate()
    assert.equal([file.read(), file.peek(), file.isLost()], [good, good, false])
    assert.match(`${file.problem()}`, words)
    assert.throws(() => file.edit(['x'], 1), isConflict)
    writeFileSync(path, 'model: {provider: other}\n')
    await immediate()
    assert.equal([file.read(), file.problem()], [{ model: { provider: 'other' } }, null])
  }
})

test('anything but a regular file is an error at once, without blocking', ({ path }) => {
  const kinds: [make: () => void, words: RegExp][] = [
    [() => mkdirSync(path), /a directory/],
    [() => void execFileSync('mkfifo', [path]), /a named pipe/],
    [() => symlinkSync('/dev/zero', path), /a device/],
    [() => symlinkSync(`${path}.gone`, path), /broken symlink/],
    [() => symlinkSync(path, path), /loop/],
  ]
  for (const [make, words] of kinds) {
    rmSync(path, { recursive: true, force: true })
    make()
    assert.throws(() => yamlFile(path).read(), isUnreadable(words))
    assert.throws(() => yamlFile(path).edit(['x'], 1), isConflict)
  }
  rmSync(path, { recursive: true, force: true })
})

test('reads many keys, anchors and merges', ({ path }) => {
  const kinds: ((n: number) => string)[] = [
    n => `key${n}: ${n}`,
    n => `${n === 0 ? 'x: &x {a: 1}\n' : ''}k${n}: {<<: *x}`,
    n => `k${n}: &a${n % 7} v\nj${n}: *a${n % 7}`,
  ]
  for (const make of kinds) {
    writeFileSync(path, Array.from({ length: 8_000 }, (_, n) => make(n)).join('\n'))
    assert.ok(Object.keys(yamlFile(path).read()).length >= 8_000)
  }
})

test('merge keys and anchors have their standard meaning', ({ path }) => {
  writeFileSync(
    path,
    'base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\none: {<<: *b, y: 9}\ntwo: {<<: [*b, *m]}\nthree: *b\n"<<": text\n__proto__: {p: 1}\n1: number\n~: nothing\n',
  )
  const read = yamlFile(path).read()
  assert.equal(read.one, { y: 9, x: 1 })
  assert.equal(read.two, { x: 1, y: 2, z: 4 })
  assert.equal(read.three, { x: 1, y: 2 })
  assert.equal([read['<<'], read['1'], read['']], ['text', 'number', 'nothing'])
  assert.ok(Object.hasOwn(read, '__proto__') && !('p' in {}))
})

test('rejects an edit through a scalar instead of replacing it', ({ path }) => {
  for (const text of ['agent: fast\n', 'agent: [a]\n', 'agent: 5\n']) {
    writeFileSync(path, text)
    assert.throws(() => yamlFile(path).edit(['agent', 'reasoning_effort'], 'high'), isConflict)
    assert.is(readFileSync(path, 'utf8'), text)
  }
})

test('rejects an edit of a read-only file with its reason', ({ path }) => {
  assert.throws(
    () => yamlFile(path, () => 'Managed elsewhere.').edit(['a'], 1),
    /Managed elsewhere/,
  )
})

test('writes no edit when one of several is rejected', ({ path }) => {
  writeFileSync(path, 'agent: fast\n')
  assert.throws(() =>
    yamlFile(path).editAll([
      [['model', 'default'], 'x'],
      [['agent', 'a'], 1],
    ]),
  )
  assert.is(readFileSync(path, 'utf8'), 'agent: fast\n')
})

const KEPT = `# my config   # with marks
_config_version: 13

model:
    default:   "gpt-5"      # the good one
    # where it lives
    base_url: 'http://x/v1'   
providers:   { a: {models: [x,y]},b: 1 }

list:
- one   # first
-   two
text: |
  keep

  me
agent:
  max_turns: 90   # plenty

# the end
`

const CASES: [name: string, way: string[], value: unknown, from: string, to: string][] = [
  ['a quoted value', ['model', 'default'], 'x/y:z', '"gpt-5"', 'x/y:z'],
  ['a plain number', ['agent', 'max_turns'], 5, '90', '5'],
  ['inside braces', ['providers', 'b'], 2, 'b: 1', 'b: 2'],
  ['a word a 1.1 reader takes for false', ['model', 'default'], 'off', '"gpt-5"', '"off"'],
  ['a word a 1.1 reader takes for a number', ['model', 'default'], '12:30', '"gpt-5"', '"12:30"'],
  ['a hint', ['model', 'default'], '@a:b', '"gpt-5"', '"@a:b"'],
  [
    'a new key of a mapping',
    ['agent', 'reasoning_effort'],
    'high',
    'plenty\n',
    'plenty\n  reasoning_effort: high\n',
  ],
  [
    'a new key after a comment',
    ['model', 'provider'],
    'openai',
    "'http://x/v1'   \n",
    "'http://x/v1'   \n    provider: openai\n",
  ],
  [
    'a new key inside braces',
    ['providers', 'a', 'api_key'],
    'k',
    '{models: [x,y]}',
    '{models: [x,y], api_key: k}',
  ],
  ['a key taken away', ['model', 'base_url'], undefined, "    base_url: 'http://x/v1'   \n", ''],
  ['a whole list', ['list'], ['a', 'off'], '- one   # first\n-   two\n', '  - a\n  - "off"\n'],
  [
    'a new mapping at the end',
    ['display', 'show_reasoning'],
    false,
    '  max_turns: 90   # plenty\n',
    '  max_turns: 90   # plenty\ndisplay:\n  show_reasoning: false\n',
  ],
]

for (const [name, way, value, from, to] of CASES) {
  test(`keeps every other byte: ${name}`, ({ path }) => {
    assert.is(
      edit(path, KEPT, way, value),
      KEPT.replace(from, () => to),
    )
  })
}

test('keeps Windows line endings', ({ path }) => {
  assert.is(
    edit(path, 'a:\r\n  b: 1 # c\r\nd: 2\r\n', ['a', 'x'], 2),
    'a:\r\n  b: 1 # c\r\n  x: 2\r\nd: 2\r\n',
  )
})

test('keeps a byte order mark', ({ path }) => {
  assert.is(edit(path, '\ufeffa: 1\n', ['a'], 2), '\ufeffa: 2\n')
  assert.is(edit(path, '\ufeff', ['a'], 2), '\ufeffa: 2\n')
})

test('a removed file is gone at once for what is shown, and for turns a moment later: an editor may be saving it', async ({
  path,
}) => {
  writeFileSync(path, 'a: 1\n')
  const file = yamlFile(path)
  assert.equal([file.read(), file.peek()], [{ a: 1 }, { a: 1 }])
  rmSync(path)
  await immediate()
  assert.equal([file.read(), file.peek(), file.problem()], [{ a: 1 }, {}, null])
  writeFileSync(path, 'a: 2\n')
  await immediate()
  assert.equal([file.read(), file.peek()], [{ a: 2 }, { a: 2 }])
})

test('creates missing parent mappings', ({ path }) => {
  assert.is(edit(path, '', ['a', 'b', 'c'], 1), 'a:\n  b:\n    c: 1\n')
  assert.is(edit(path, '# only a comment\n', ['a', 'b'], 1), '# only a comment\na:\n  b: 1\n')
  assert.is(edit(path, 'a: # c\nz: 1', ['a', 'b'], 1), 'a: # c\n  b: 1\nz: 1')
  assert.is(edit(path, 'a: {}\nz: 1\n', ['a', 'b'], 1), 'a:\n  b: 1\nz: 1\n')
  assert.is(edit(path, 'a: null\n', ['a', 'b', 'c'], 'x'), 'a:\n  b:\n    c: x\n')
  assert.is(edit(path, 'a: 1', ['b'], 2), 'a: 1\nb: 2\n')
})

test('creates a missing file', ({ path }) => {
  yamlFile(path).edit(['a', 'b'], true)
  assert.is(readFileSync(path, 'utf8'), 'a:\n  b: true\n')
})

test('writes nothing when nothing changes', ({ path }) => {
  const text = 'a:   "x"  # c\n'
  assert.is(edit(path, text, ['a'], 'x'), text)
  assert.is(edit(path, text, ['gone', 'too'], undefined), text)
})

test('handles unusual positions and spacing', ({ path }) => {
  const anchored = 'base: &b\n  x: 1 # one\nmodel:\n  <<: *b\n  y: 2\nother: *b\n'
  const after = parse(edit(path, anchored, ['model', 'x'], 9), { merge: true })
  assert.equal(after, { base: { x: 1 }, model: { x: 9, y: 2 }, other: { x: 1 } })
  const shared = parse(edit(path, anchored, ['other', 'x'], 7), { merge: true })
  assert.equal(shared, { base: { x: 1 }, model: { x: 1, y: 2 }, other: { x: 7 } })
  const folded = parse(edit(path, 'a: >\n  b\n  c\nd: 1\n', ['a'], 'two\nlines'))
  assert.equal(folded, { a: 'two\nlines', d: 1 })
  assert.equal(parse(edit(path, 'a:\n  b: 1\nc: 2\n', ['a', 'b'], undefined)), { a: {}, c: 2 })
})

/** A small deterministic generator: the same cases every time. */
const random = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}

const WORDS = [
  'off',
  'yes',
  '~',
  'a: b',
  '# x',
  '- x',
  '{',
  '[a]',
  "it's",
  '"q"',
  '@a:b',
  '1_0',
  '0o7',
  '1e3',
  'é:ö',
  ' pad ',
  '',
  '&a',
  '*a',
  '!t',
  '%d',
  '|',
  '>',
  '?',
  ': ',
  'x #y',
  '日本',
  '🙂',
  'line\nline',
  '\ttab',
  '2024-01-01',
  '=',
  '<<',
  'null',
  'true',
  '.inf',
  '12:34:56',
]

/** Each parses the file four times. */
const EDITS = process.env.PROOF === 'full' ? 1_000 : 200

test(`${EDITS} random edits: correct for YAML 1.2 and 1.1 readers, comments kept`, () => {
  const next = random(7)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!
  const comments = KEPT.match(/#.*/g)?.length
  let text = KEPT
  for (let n = 0; n < EDITS; n++) {
    if (n % 20 === 0) text = KEPT
    const way = pick([
      ['model', 'default'],
      ['model', 'k'],
      ['agent', 'x', 'y'],
      ['fresh'],
      ['providers', 'a', 'k'],
      ['deep', 'er', 'still'],
    ])
    const value = pick(WORDS)
    text = editYaml(text, [way, value])
    const at = (root: unknown): unknown =>
      way.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], root)
    assert.is(at(parse(text)), value)
    if (value !== '') assert.is(at(parse(text, { version: '1.1' })), value, `1.1 reads ${value}`)
    assert.is(text.match(/#(?! x|y).*/g)?.length ?? 0, comments, text)
  }
})

test('words and booleans mean the same in every spelling', () => {
  assert.equal([false, 'off', ' OFF ', true, 'Manual', 5, null].map(yamlWord), [
    'off',
    'off',
    'off',
    'on',
    'manual',
    '',
    '',
  ])
  assert.equal(
    [true, 'yes', 'ON', 'true', 1, false, 'no', 'off', 'False', 0, 'maybe', 2, undefined].map(
      yamlFlag,
    ),
    [
      true,
      true,
      true,
      true,
      true,
      false,
      false,
      false,
      false,
      false,
      undefined,
      undefined,
      undefined,
    ],
  )
})

test.run()
