/** Where an edit may go: at the text that was quoted, indented as the file is, and nowhere else. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Bench, createBench, refused } from './_context.ts'

const test = suite('patch')

let bench: Bench
test.before.each(() => {
  bench = createBench('/var/tmp')
})
test.after.each(() => bench.close())

const read = () => readFileSync(join(bench.workspace, 'f'), 'utf8')

/** Title, file, old, new, and the file afterwards; null when the edit must be refused. */
type Case = [string, string, string, string, string | null]

const REPLACED: Case[] = [
  ['one line between likely ones', 'f {\n a\n b\n c\n}\n', 'f {\n a\n X\n c\n}', 'f {}', null],
  ['white space inside a line', 's = "a  b"\n', 's = "a b"', 's = "c"', null],
  ['upper and lower case', 'Name\n', 'name', 'x', null],
  ['blank lines that are not there', 'a\nb\n', 'a\n\nb', 'x', null],
  ['a line more than the file', 'a\nb\n', 'a\nb\nc\n', 'x\n', null],
  ['two shifts at once', '    a\n      b\n', 'a\nb\n', 'a\nc\n', null],
  [
    'one shift in',
    '    if a:\n        b\n',
    'if a:\n    b\n',
    'if a:\n    c\nd\n',
    '    if a:\n        c\n    d\n',
  ],
  [
    'one shift out',
    'if a:\n    b\n',
    '    if a:\n        b\n',
    '    if a:\n        c\n',
    'if a:\n    c\n',
  ],
  ['further out than the file', 'a\n  b\n', '  a\n    b\n', 'c\n', null],
  [
    'spaces for tabs',
    'x:\n\tif a:\n\t\tb\n',
    '    if a:\n        b\n',
    '    if a:\n        b\n        c\n    d\n',
    'x:\n\tif a:\n\t\tb\n\t\tc\n\td\n',
  ],
  [
    'spaces for tabs, a level of its own',
    'x:\n\tif a:\n\t\tb\n',
    '  if a:\n    b\n',
    '  if a:\n    for c:\n      b\n',
    'x:\n\tif a:\n\t\tfor c:\n\t\t\tb\n',
  ],
  ['spaces for tabs, aligned', 'x:\n\tcall(\n', '    call(\n', '    call(a,\n         b)\n', null],
  ['spaces for tabs in two widths', '\ta\n\t\tb\n', '  a\n        b\n', '  a\n', null],
  ['tabs for spaces', 'x:\n    a\n', '\ta\n', '\ta\n\t\tb\n', 'x:\n    a\n        b\n'],
  [
    'no indentation quoted, tabs in the file',
    'x:\n\ta\n\tb\n',
    'a\nb\n',
    'a\nif c:\n    d\nb\n',
    null,
  ],
  [
    'no indentation quoted, a tab given, spaces in the file',
    'x:\n    a\n    b\n',
    'a\nb\n',
    'a\nif c:\n\td\nb\n',
    null,
  ],
  ['blank lines stay blank', 'x:\n    a\n', '  a\n', '  a\n\n  b\n', 'x:\n    a\n\n    b\n'],
  ['the last line without its end', 'a\nb', 'b\n', 'c\n', 'a\nc'],
  ['a line taken out', 'a\r\nb\r\nc\r\n', 'b\n', '', 'a\r\nc\r\n'],
  ['a file of carriage returns', 'a\rb\rc', 'a\nb', 'x\ny\nz', 'x\ry\rz\rc'],
  ['a space that does not break', 'a\u00a0b – c\n', 'a b - c', 'a b - d', 'a\u00a0b – d\n'],
  ['dots', 'wait…  \nx\n', 'wait...\nx', 'wait...\ny', 'wait…  \ny\n'],
  [
    'an escape that is meant',
    'print("a\\n")\n',
    'print("a\\n")',
    'print("b\\n")',
    'print("b\\n")\n',
  ],
  ['an escape beside real lines', 'a\nb\n', 'a\\nb', 'c\nd', null],
  [
    'Makefile',
    'all:\n\tcc a.c\n\tcc b.c\n',
    '    cc a.c\n    cc b.c\n',
    '    cc a.c\n    cc c.c\n',
    'all:\n\tcc a.c\n\tcc c.c\n',
  ],
  [
    'YAML',
    'a:\n  - b: 1\n    c: 2\n',
    '- b: 1\n  c: 2\n',
    '- b: 1\n  c: 3\n  d:\n    - 4\n',
    'a:\n  - b: 1\n    c: 3\n    d:\n      - 4\n',
  ],
]
for (const [title, before, old, fresh, after] of REPLACED)
  test(`replace: ${title}${after === null ? ' is rejected' : ''}`, async () => {
    bench.write('f', before)
    const work = bench.json('patch', { path: 'f', old_string: old, new_string: fresh })
    if (after === null) await refused(work)
    else await work
    assert.is(read(), after ?? before)
  })

test('a failed match gives the reason and the nearest text with line numbers', async () => {
  const lines = Array.from({ length: 40 }, (_, at) => `const value${at} = compute(${at})`)
  bench.write('f', `${lines.join('\n')}\n`)
  const miss = (old: string) =>
    refused(bench.use('patch', { path: 'f', old_string: old, new_string: 'x' }))
  const near = await miss('const value7 = compute(7)\nconst value8 = computed(8)\n')
  assert.match(near, '    8|const value7 = compute(7)\n    9|const value8 = compute(8)')
  assert.match(near, 'Line 9 is "const value8 = compute(8)" in the file')
  assert.match(await miss('const  value7 = compute(7)'), '    8|const value7')
  assert.match(await miss('something else altogether'), 'Nothing in the file is like it')
})

test('reports a change that was made before, and the lines of all matches', async () => {
  bench.write('f', 'const answer = 42\na\nb\na\n')
  const patch = (old: string, fresh: string) =>
    refused(bench.use('patch', { path: 'f', old_string: old, new_string: fresh }))
  assert.match(
    await patch('const answer = 41', 'const answer = 42'),
    'already in the file at line 1',
  )
  assert.match(await patch('a\n', 'c\n'), '(lines 2, 4)')
})

const PATCHED: Case[] = [
  ['lines that are there twice', 'a\nx\nb\nx\n', '', '@@\n-x\n+y', null],
  ['a context that makes them one', 'a\nx\nb\nx\n', '', '@@\n b\n-x\n+y', 'a\nx\nb\ny\n'],
  ['an anchor that makes them one', 'a\nx\nb\nx\n', '', '@@ b\n-x\n+y', 'a\nx\nb\ny\n'],
  ['an anchor that is there twice', 'f\nx\nf\nx\n', '', '@@ f\n-x\n+y', null],
  [
    'anchors one in the other',
    'A\nf\nx\nB\nf\nx\n',
    '',
    '@@ B\n@@ f\n-x\n+y',
    'A\nf\nx\nB\nf\ny\n',
  ],
  [
    'the line number of a unified diff',
    'a\nx\nb\nx\n',
    '',
    '@@ -4,1 +4,1 @@\n-x\n+y',
    'a\nx\nb\ny\n',
  ],
  ['a wrong line number', 'a\nx\nb\nx\n', '', '@@ -3,1 +3,1 @@\n-x\n+y', null],
  ['a part of a line', 'abc\n', '', '@@\n-bc\n+x', null],
  ['the end of the file', 'x\nb\nx\n', '', '@@\n-x\n+y\n*** End of File', 'x\nb\ny\n'],
  ['an end that is none', 'x\nb\n', '', '@@\n-x\n+y\n*** End of File', null],
  ['context that differs', 'a\nx\n', '', '@@\n b\n-x\n+y', null],
  ['hunks out of order', 'a\nb\n', '', '@@\n-b\n+c\n@@\n-a\n+d', null],
  ['an anchor for new lines that is there twice', 'f\nf\n', '', '@@ f\n+x', null],
  ['new lines behind an anchor', 'f\r\ng\r\n', '', '@@ f\n+x', 'f\r\nx\r\ng\r\n'],
  ['new lines at the end of a file without one', 'f', '', '@@\n+x', 'f\nx'],
  ['another indentation', 'x:\n\ta\n\tb\n', '', '@@\n     a\n-    b\n+    c', 'x:\n\ta\n\tc\n'],
]
for (const [title, before, , hunks, after] of PATCHED)
  test(`patch: ${title}${after === null ? ' is rejected' : ''}`, async () => {
    bench.write('f', before)
    const patch = `*** Begin Patch\n*** Update File: f\n${hunks}\n*** End Patch`
    const work = bench.json('patch', { mode: 'patch', patch })
    if (after === null) await refused(work)
    else await work
    assert.is(read(), after ?? before)
  })

/** The patch, and the files afterwards; null when it must be refused. The mode is left out. */
const FORMS: [string, string, Record<string, string> | null][] = [
  ['V4A', '*** Begin Patch\n*** Update File: f\n@@\n-b\n+x\n*** End Patch', { f: 'a\nx\nc\n' }],
  ['a unified diff', '--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n', { f: 'a\nx\nc\n' }],
  [
    'a unified diff of git, with wrong counts, in a fence',
    '```diff\ndiff --git a/f b/f\nindex 1234567..89abcde 100644\n--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@ head\n a\n-b\n+x\n```',
    { f: 'a\nx\nc\n' },
  ],
  [
    'without prefixes, with times, in CRLF',
    '--- f\t2026-01-01\r\n+++ f\t2026-01-02\r\n@@\r\n-b\r\n+x\r\n',
    { f: 'a\nx\nc\n' },
  ],
  [
    'a new file',
    '--- /dev/null\n+++ b/g\n@@ -0,0 +1,2 @@\n+x\n+y\n',
    { f: 'a\nb\nc\n', g: 'x\ny\n' },
  ],
  [
    'several files, one deleted',
    '--- a/f\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n',
    { g: 'x\n' },
  ],
  [
    'a renamed file',
    'diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n',
    { g: 'a\nx\nc\n' },
  ],
  [
    'removed dashes',
    '--- a/h\n+++ b/h\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n end\n',
    { f: 'a\nb\nc\n', h: '++ new\nend\n' },
  ],
  ['lines that are not there', '--- a/f\n+++ b/f\n@@ -1 +1 @@\n-z\n+x\n', null],
  ['no patch', 'Replace b by x.', null],
]
for (const [title, patch, after] of FORMS)
  test(`${title}${after === null ? ' is rejected' : ''}`, async () => {
    bench.write('f', 'a\nb\nc\n')
    bench.write('h', '-- old\nend\n')
    if (after === null) {
      await refused(bench.use('patch', { patch }))
      assert.is(read(), 'a\nb\nc\n')
      return
    }
    await bench.json('patch', { patch })
    for (const name of ['f', 'g', 'h']) {
      const place = join(bench.workspace, name)
      const text = existsSync(place) ? readFileSync(place, 'utf8') : undefined
      assert.is(text, after[name] ?? (name === 'h' ? '-- old\nend\n' : undefined), name)
    }
  })

test('what is given decides the mode', async () => {
  bench.write('f', 'a\nb\nc\n')
  await bench.json('patch', { mode: 'patch', path: 'f', old_string: 'b', new_string: 'x' })
  assert.is(read(), 'a\nx\nc\n')
  const patch = '*** Begin Patch\n*** Update File: f\n@@\n-x\n+y\n*** End Patch'
  await bench.json('patch', { mode: 'replace', patch })
  assert.is(read(), 'a\ny\nc\n')
  assert.match(await refused(bench.use('patch', {})), 'path, old_string and new_string')
})

test('a patch neither adds nor moves a file over another', async () => {
  bench.write('f', 'a\n')
  bench.write('g', 'b\n')
  const run = (patch: string) => refused(bench.use('patch', { mode: 'patch', patch }))
  assert.match(await run('*** Add File: f\n+x'), 'exists already')
  assert.match(await run('*** Update File: g\n*** Move to: f\n@@\n-b\n+c'), 'exists already')
  assert.is(read(), 'a\n')
})

test.run()
