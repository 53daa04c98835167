/** Names and quotations that look like what is there, although their characters differ. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Bench, createBench, refused } from './_context.ts'

const test = suite('characters that look the same')

let bench: Bench
test.before.each(() => {
  bench = createBench()
})
test.after.each(() => bench.close())

const nfd = (text: string): string => text.normalize('NFD')

/** What is on the disk, and how the model writes it. */
const NAMES: [what: string, there: string, written: string][] = [
  ['decomposed', nfd('café.txt'), 'café.txt'],
  ['composed', 'café.txt', nfd('café.txt')],
  ['a narrow space', 'Screenshot at 1.23\u202fPM.txt', 'Screenshot at 1.23 PM.txt'],
  ['a fixed space', 'a\u00a0b.txt', 'a b.txt'],
  ['an ideographic space', 'a\u3000b.txt', 'a b.txt'],
  ['two spaces', 'a  b.txt', 'a b.txt'],
  ['Korean in parts', nfd('한국어.txt'), '한국어.txt'],
  ['Japanese in parts', nfd('ガイド.txt'), 'ガイド.txt'],
  ['Vietnamese', nfd('Tiếng Việt.txt'), 'Tiếng Việt.txt'],
  ['wide letters', 'ＡＢ.txt', 'AB.txt'],
  ['a ligature', 'oﬀice.txt', 'office.txt'],
  ['a curly apostrophe', 'l’été.txt', "l'été.txt"],
  ['a directory', `${nfd('Übung')}/a.txt`, 'Übung/a.txt'],
  ['a directory and a file', `${nfd('Übung')}/${nfd('ä b')}.txt`, 'Übung/ä\u00a0b.txt'],
]
for (const [what, there, written] of NAMES)
  test(`a name with ${what} is found, and no twin is made`, async () => {
    bench.write(there, 'old\n')
    assert.match((await bench.json('read_file', { path: written })).content, 'old')
    await bench.json('patch', { path: written, old_string: 'old', new_string: 'new' })
    await bench.json('write_file', { path: written, content: 'whole\n' })
    assert.is(readFileSync(join(bench.workspace, there), 'utf8'), 'whole\n')
    assert.equal(readdirSync(bench.workspace), [there.split('/')[0]])
    const patch = `*** Begin Patch\n*** Add File: ${written}\n+x\n*** End Patch`
    assert.match(await refused(bench.use('patch', { mode: 'patch', patch })), 'exists')
  })

test('the exact name comes first, and one of several look-alikes is not guessed', async () => {
  bench.write('café', 'composed')
  bench.write(nfd('café'), 'decomposed')
  assert.match((await bench.json('read_file', { path: 'café' })).content, 'composed')
  assert.match((await bench.json('read_file', { path: nfd('café') })).content, 'decomposed')
  bench.write('a\u00a0b', 'x')
  bench.write('a\u202fb', 'x')
  await refused(bench.use('read_file', { path: 'a b' }))
  await refused(bench.use('write_file', { path: 'a b', content: 'x' }))
  assert.not(readdirSync(bench.workspace).includes('a b'))
})

test('a name in a missing directory is used as it is', async () => {
  await bench.json('write_file', { path: 'neu/é/ü.txt', content: 'x' })
  assert.is(readFileSync(join(bench.workspace, 'neu/é/ü.txt'), 'utf8'), 'x')
})

test('a look-alike of a denied file is denied', async () => {
  bench.ctx.turn.forbidden = [join(bench.workspace, nfd('é'))]
  bench.write(nfd('é'), 'KEY')
  assert.match(await refused(bench.use('read_file', { path: 'é' })), 'denied')
})

/** The file, old_string, new_string, the file afterwards. */
const EDITS: [what: string, ...texts: [string, string, string, string]][] = [
  [
    'composed for decomposed',
    nfd('let café = 1\n'),
    'let café = 1',
    'let café = 2',
    nfd('let café = 2\n'),
  ],
  [
    'decomposed for composed',
    'let café = 1\n',
    nfd('let café = 1'),
    nfd('let café = 2'),
    'let café = 2\n',
  ],
  ['several lines', nfd('é\nü\nend\n'), 'é\nü\n', 'é\nö\n', `${nfd('é')}\nö\nend\n`],
  ['with Windows line ends', nfd('é a\r\nü b\r\n'), 'é a\nü b', 'é A\nü b', nfd('é A\r\nü b\r\n')],
  [
    'another indentation',
    nfd('  é = 1\n  ü = 2\n'),
    'é = 1\nü = 2',
    'é = 3\nü = 2',
    nfd('  é = 3\n  ü = 2\n'),
  ],
  [
    'quotes and dots (review)',
    'say “hello” — it’s fine…\n',
    'say "hello" - it\'s fine...',
    'say "bye" - it\'s fine...',
    'say “bye” — it’s fine…\n',
  ],
  [
    'two quoted words',
    '“a” and “b” – c…\n',
    '"a" and "b" - c...',
    '"x" and "y" - c...',
    '“x” and “y” – c…\n',
  ],
  ['a fixed space', 'x =\u00a01 + 2\n', 'x = 1 + 2', 'x = 1 + 3', 'x =\u00a01 + 3\n'],
  ['dots within more dots', 'a…. b\n', 'a.... b', 'a.... c', 'a…. c\n'],
  ['signs that were changed on purpose', 'say “hi”\n', 'say "hi"', "say 'hi'", "say 'hi'\n"],
  [
    'untouched lines between',
    '“a”\n“b”\n“c”\n',
    '"a"\n"b"\n"c"',
    '"A"\n"b"\n"C"',
    '“A”\n“b”\n“C”\n',
  ],
]
for (const [what, before, old, fresh, after] of EDITS)
  test(`patch: ${what}`, async () => {
    bench.write('f', before)
    await bench.json('patch', { path: 'f', old_string: old, new_string: fresh })
    assert.is(
      JSON.stringify(readFileSync(join(bench.workspace, 'f'), 'utf8')),
      JSON.stringify(after),
    )
  })

test('a search finds names and contents in either form', async () => {
  bench.write(nfd('café.txt'), nfd('crème brûlée (한국어)\n'))
  bench.write('thé.txt', 'crème brûlée (한국어)\n')
  for (const pattern of ['crème', nfd('crème'), 'br(û)l', '한국어', nfd('한국어'), 'crème.*\\(한'])
    assert.is((await bench.json('search_files', { pattern })).total_count, 2, pattern)
  for (const pattern of ['caf*', 'café*', nfd('*é.txt'), 'é'])
    assert.ok(
      (await bench.json('search_files', { pattern, target: 'files' })).total_count > 0,
      pattern,
    )
})

test('a part of a line that only looks like the text is refused with what to do', async () => {
  writeFileSync(join(bench.workspace, 'f'), nfd('// 한국어 주석\n'))
  const edit = { path: 'f', old_string: '한국어 주석', new_string: 'x' }
  assert.match(
    await refused(bench.use('patch', edit)),
    'quote whole lines. The nearest text is:\n    1|',
  )
})

test.run()
