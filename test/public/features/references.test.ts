/** What a text names: a table of texts with the references found in them. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  findReferences,
  type Reference,
  wholeReference,
} from '../../../public/features/references/find-references.ts'

const test = suite('references in a text')

/** `path`, `path:line`, `path:line-end`; URLs as they are. */
const shown = (one: Reference): string => {
  if (one.kind === 'url') return one.href
  const end = one.endLine === null ? '' : `-${one.endLine}`
  return one.line === null ? one.path : `${one.path}:${one.line}${end}`
}

/** A text and what it names, separated by spaces. */
const CASES: readonly (readonly [string, string])[] = [
  // Paths
  ['src/a.ts', 'src/a.ts'],
  ['See src/a.ts.', 'src/a.ts'],
  ['See src/a.ts, then src/b.ts;', 'src/a.ts src/b.ts'],
  ['(src/a.ts)', 'src/a.ts'],
  ['[src/a.ts]', 'src/a.ts'],
  ['“src/a.ts”', 'src/a.ts'],
  ['"src/a.ts"', 'src/a.ts'],
  ["'src/a.ts'", 'src/a.ts'],
  ['`src/a.ts`', 'src/a.ts'],
  ['src/a.ts!', 'src/a.ts'],
  ['is it src/a.ts?', 'src/a.ts'],
  ['./src/a.ts', './src/a.ts'],
  ['/work/project/src/a.ts', '/work/project/src/a.ts'],
  ['file:///work/a.ts', '/work/a.ts'],
  ['file://localhost/work/a.ts', '/work/a.ts'],
  ['package.json', 'package.json'],
  ['.gitignore', '.gitignore'],
  ['.github/workflows/ci.yml', '.github/workflows/ci.yml'],
  ['app/[id]/page.tsx', 'app/[id]/page.tsx'],
  ['app/(group)/page.tsx', 'app/(group)/page.tsx'],
  ['(app/(group)/page.tsx)', 'app/(group)/page.tsx'],
  ['src/', 'src/'],
  ['src/net', 'src/net'],
  ['the file Makefile is', 'Makefile'],
  ['Dockerfile', 'Dockerfile'],
  ['LICENSE', 'LICENSE'],
  ['@src/a.ts', 'src/a.ts'],
  ['--config=src/a.json', 'src/a.json'],
  ['a.test.ts', 'a.test.ts'],
  ['archive.tar.gz', 'archive.tar.gz'],
  ['src/ünïcode/日本.md', 'src/ünïcode/日本.md'],
  ['日本/メモ.md。', '日本/メモ.md'],
  ['src/a-b_c.d.ts', 'src/a-b_c.d.ts'],
  ['libc++/a.c++', 'libc++/a.c++'],
  ['src/a.ts…', 'src/a.ts'],
  ['a/src/x.ts', 'a/src/x.ts'],
  ['- src/a.ts (new)', 'src/a.ts'],
  ['**src/a.ts**', 'src/a.ts'],
  // With a line
  ['src/a.ts:12', 'src/a.ts:12'],
  ['src/a.ts:12:5', 'src/a.ts:12'],
  ['src/a.ts:12:5: error', 'src/a.ts:12'],
  ['src/a.ts:12.', 'src/a.ts:12'],
  ['src/a.ts:12-20', 'src/a.ts:12-20'],
  ['src/a.ts:20-12', 'src/a.ts:20'],
  ['src/a.ts:12:5-9', 'src/a.ts:12'],
  ['src/a.ts#L12', 'src/a.ts:12'],
  ['src/a.ts#L12-L20', 'src/a.ts:12-20'],
  ['src/a.ts#L12-20', 'src/a.ts:12-20'],
  ['src/a.ts#L12C3-L20C9', 'src/a.ts:12-20'],
  ['src/a.ts(12,5): error TS2345', 'src/a.ts:12'],
  ['src/a.ts(12)', 'src/a.ts:12'],
  ['at run (src/a.ts:12:5)', 'src/a.ts:12'],
  ['    at Object.<anonymous> (/work/a.js:3:9)', '/work/a.js:3'],
  ['File "src/a.py", line 7, in main', 'src/a.py:7'],
  ['a.go:3:1: undefined: x', 'a.go:3'],
  ['--> src/main.rs:4:5', 'src/main.rs:4'],
  ['Makefile:3: *** missing', 'Makefile:3'],
  ['src/a.ts:0', ''],
  ['see src/a.ts:12, src/b.ts:3', 'src/a.ts:12 src/b.ts:3'],
  // Not paths
  ['and so on', ''],
  ['version 1.2.3', ''],
  ['commit cb320dd', ''],
  ['3.14', ''],
  ['v1.20', ''],
  ['24/7', ''],
  ['2026/01/02', ''],
  ['12:30', ''],
  ['C:\\Users\\a.txt', ''],
  ['C:/Users/a.txt', ''],
  ['src\\a.ts', ''],
  ['~/secret.txt', ''],
  ['../outside.ts', ''],
  ['a/../../b.ts', ''],
  ['// comment', ''],
  ['//host/path', ''],
  ['$HOME/a.ts', ''],
  ['src/*.ts', ''],
  ['...', ''],
  ['- - -', ''],
  ['/', ''],
  ['mailto:a@example.org', ''],
  ['ftp://example.org/a.ts', ''],
  ['javascript:alert(1)', ''],
  ['data:text/html,x', ''],
  [`${'x'.repeat(600)}.ts`, ''],
  ['a\u202e/gpj.ts', ''],
  // URLs
  ['https://example.org', 'https://example.org/'],
  ['https://example.org/a.ts:12', 'https://example.org/a.ts:12'],
  ['(https://example.org/a)', 'https://example.org/a'],
  ['https://en.example.org/wiki/A_(b)', 'https://en.example.org/wiki/A_(b)'],
  ['(https://en.example.org/wiki/A_(b))', 'https://en.example.org/wiki/A_(b)'],
  ['https://example.org/a?b=c&d=e#f.', 'https://example.org/a?b=c&d=e#f'],
  ['https://example.org/a,b', 'https://example.org/a,b'],
  ['<https://example.org/a>', 'https://example.org/a'],
  ['"https://example.org/a"', 'https://example.org/a'],
  ['HTTP://EXAMPLE.ORG', 'http://example.org/'],
  ['http://localhost:3000/', 'http://localhost:3000/'],
  ['http://[::1]:3000/x', 'http://[::1]:3000/x'],
  ['https://user:pw@example.org/', 'https://user:pw@example.org/'],
  ['https://раураl.com/', 'https://xn--l-7sba6dbr.com/'],
  ['https://example.org/\u202egpj.exe', 'https://example.org/'],
  ['https://', ''],
  ['http://', ''],
  ['Local: http://127.0.0.1:5173/ ready', 'http://127.0.0.1:5173/'],
]

for (const [text, expected] of CASES)
  test(`finds ${expected || 'nothing'} in ${JSON.stringify(text.slice(0, 60))}`, () => {
    const found = findReferences(text)
    assert.is(found.map(shown).join(' '), expected)
    // What is linked is part of the text, in its order.
    let last = 0
    for (const { start, end } of found) {
      assert.ok(start >= last && end > start && end <= text.length)
      last = end
    }
  })

test('takes inline code with spaces as one name, but no command', () => {
  const whole = (text: string) => {
    const found = wholeReference(text)
    return found ? shown(found) : ''
  }
  assert.is(whole('docs/release notes.md:3'), 'docs/release notes.md:3')
  assert.is(whole('src/a.ts'), '')
  assert.is(whole('npm test'), '')
  assert.is(whole('https://example.org/a b.md'), '')
})

test('takes linear time for hostile text', () => {
  const hostile = [
    'a/'.repeat(30_000),
    '('.repeat(60_000),
    ')'.repeat(60_000),
    'a.'.repeat(30_000),
    ':1'.repeat(30_000),
    'http://'.repeat(9_000),
    `${'a'.repeat(59_000)}:1`,
    'src/a.ts '.repeat(7_000),
    '#L1-'.repeat(15_000),
    '"a", line '.repeat(6_000),
  ]
  // No more than this is looked at in one text; in quadratic time, the rounds would take longer than the runner waits.
  for (const text of hostile)
    for (let round = 0; round < 100; round++) assert.ok(findReferences(text).length <= 200)
})

test.run()
