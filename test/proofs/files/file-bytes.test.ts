/** Every tool and route that edits text, over encodings, line ends and shapes of files: no byte outside the edit changes. */
import {
  chmodSync,
  linkSync,
  lstatSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readForAgent, writeForAgent } from '../../../lib/agent/acp/client-files.ts'
import { readTextFile } from '../../../lib/agent/tools/text-file.ts'
import { splitLines } from '../../../lib/store/text-rewrite.ts'
import { readText, saveText } from '../../../lib/workspaces/text-files.ts'
import { type Bench, createBench, refused } from '../../lib/agent/tools/_context.ts'

const test = suite('file bytes')

let bench: Bench
test.before.each(() => {
  bench = createBench('/var/tmp')
})
test.after.each(() => bench.close())

const place = (name = 'f') => join(bench.workspace, name)
const bytesOf = (name = 'f') => readFileSync(place(name))
const area = () => ({ root: bench.workspace, isHidden: () => false }) as never

// ── Files ───────────────────────────────────────────────────────────────────────────────────────────────────────────

type Coding = { name: string; bom: number[]; lines: string[]; write: (text: string) => Buffer }

const utf8 = (text: string) => Buffer.from(text)
const utf16 = (text: string) => Buffer.from(text, 'utf16le')
const latin = (text: string) => Buffer.from(text, 'latin1')

const WORDS = ['alpha "one"  ', '\tbeta – größe 😀', '', '  gamma\u00a0x', 'delta']
const PLAIN = ['alpha "one"  ', '\tbeta größe', '', '  gamma', 'delta']
const CODINGS: Coding[] = [
  { name: 'UTF-8', bom: [], lines: WORDS, write: utf8 },
  { name: 'UTF-8 with a mark', bom: [0xef, 0xbb, 0xbf], lines: WORDS, write: utf8 },
  { name: 'UTF-16 LE', bom: [0xff, 0xfe], lines: WORDS, write: utf16 },
  {
    name: 'UTF-16 BE',
    bom: [0xfe, 0xff],
    lines: WORDS,
    write: text => utf16(text).swap16(),
  },
  { name: 'Latin-1', bom: [], lines: PLAIN, write: latin },
  // Curly quotes and a euro sign.
  { name: 'Windows-1252', bom: [], lines: [...PLAIN, '\x93a\x94 \x80'], write: latin },
  // "日本語 アイ" and a yen price, then a lone byte.
  {
    name: 'Shift-JIS',
    bom: [],
    lines: ['delta', '\x93\xfa\x96{\x8c\xea \x83A\x83C', '\\5', 'x'],
    write: latin,
  },
  {
    name: 'stray bytes',
    bom: [],
    lines: [utf8('größe – ö').toString('latin1'), 'a\xffb\xfe', 'c'],
    write: latin,
  },
]
const ENDS = [['\n'], ['\r\n'], ['\r'], ['\r\n', '\n']]

type Made = { name: string; coding: Coding; lines: string[]; ends: string[]; bytes: Buffer }

const LONG = 'z'.repeat(1_000_000)

function* files(): Generator<Made> {
  for (const coding of CODINGS)
    for (const pattern of ENDS)
      for (const isOpen of [false, true])
        for (const long of [false, true]) {
          if (long && (isOpen || pattern[0] !== '\r\n' || pattern.length > 1)) continue
          const lines = [
            ...coding.lines,
            'MARK here',
            ...(long ? [LONG] : []),
            ...coding.lines,
            'end',
          ]
          const ends = lines.map((_, at) => pattern[at % pattern.length] ?? '\n')
          if (isOpen) ends[ends.length - 1] = ''
          const name = `${coding.name}, ${JSON.stringify(pattern.join(' '))}, ${isOpen ? 'open' : 'closed'}${long ? ', long' : ''}`
          yield { name, coding, lines, ends, bytes: bytesFor(coding, lines, ends) }
        }
}

const bytesFor = (coding: Coding, lines: string[], ends: string[]): Buffer =>
  Buffer.concat([
    Buffer.from(coding.bom),
    coding.write(lines.map((line, at) => line + ends[at]).join('')),
  ])

/** The file with one line become others, each with the end of the line that was there. */
const edited = ({ coding, lines, ends }: Made, fresh: string[]): Buffer => {
  const at = lines.indexOf('MARK here')
  return bytesFor(
    coding,
    lines.toSpliced(at, 1, ...fresh),
    ends.toSpliced(at, 1, ...fresh.map(() => ends[at] ?? '\n')),
  )
}

const same = (found: Buffer, wanted: Buffer, name: string): void => {
  if (found.equals(wanted)) return
  const at = found.findIndex((byte, index) => byte !== wanted[index])
  const [a, b] = [found, wanted].map(each =>
    each.subarray(Math.max(0, at - 20), at + 30).toString('latin1'),
  )
  assert.unreachable(
    `${name}: byte ${at} of ${found.length}/${wanted.length}: ${JSON.stringify(a)} instead of ${JSON.stringify(b)}`,
  )
}

// ── Ways to edit ────────────────────────────────────────────────────────────────────────────────────────────────────

/** Where an agent is not given the text, what a person would paste. */
const textOf = async (): Promise<string> => {
  try {
    return await readForAgent(bench.ctx, 'f', null, null)
  } catch {
    return readTextFile(place()).text
  }
}

/** Makes `MARK here` the given lines. */
type Way = (fresh: string[]) => Promise<unknown>

const swap = (text: string, fresh: string[]): string => {
  const at = text.indexOf('MARK here')
  const [, end = '\n'] = /^MARK here(\r\n|\n|\r)/.exec(text.slice(at)) ?? []
  return text.slice(0, at) + fresh.join(end) + text.slice(at + 'MARK here'.length)
}

const WAYS: Record<string, Way> = {
  'patch, inside a line': fresh =>
    bench.json('patch', { path: 'f', old_string: 'MARK here', new_string: fresh.join('\n') }),
  'patch, whole line': fresh =>
    bench.json('patch', {
      path: 'f',
      old_string: 'MARK here\n',
      new_string: `${fresh.join('\n')}\n`,
    }),
  'patch, V4A': fresh =>
    bench.json('patch', {
      mode: 'patch',
      patch: `*** Begin Patch\n*** Update File: f\n@@\n-MARK here\n${fresh.map(line => `+${line}`).join('\n')}\n*** End Patch`,
    }),
  async 'fs/write_text_file'(fresh) {
    await writeForAgent(bench.ctx, 'f', swap(await textOf(), fresh))
  },
  'POST /api/file/save': async fresh => {
    if (bytesOf().length > 200_000)
      return bench.json('patch', {
        path: 'f',
        old_string: 'MARK here',
        new_string: fresh.join('\n'),
      })
    const { content, version } = readText(area(), 'f')
    return saveText(area(), 'f', swap(content, fresh), version)
  },
  'write_file of plain lines': async fresh => {
    const text = await textOf()
    await bench.use('read_file', { path: 'f' })
    const result = await bench.json('write_file', {
      path: 'f',
      content: splitLines(swap(text, fresh))
        .map(line => line.replace(/[\r\n]+$/, '') + (/[\r\n]$/.test(line) ? '\n' : ''))
        .join(''),
    })
    // A line that is too long to be shown whole: the rest of it is not known.
    if (bytesOf().length < 200_000) return result
    assert.is(result.code, 'file_partly_read')
    return WAYS['patch, inside a line']?.(fresh)
  },
}

for (const [name, edit] of Object.entries(WAYS))
  test(`${name}: every other byte stays`, async () => {
    for (const [at, made] of [...files()].entries()) {
      const fresh = at % 2 === 0 ? ['CHANGED'] : ['one', 'two', 'three']
      bench.write('f', made.bytes)
      await edit(fresh)
      same(bytesOf(), edited(made, fresh), made.name)
    }
  })

test('a rejected edit leaves the file unchanged', async () => {
  for (const made of files()) {
    bench.write('f', made.bytes)
    for (const given of [
      { old_string: 'MARK there', new_string: 'x' },
      { old_string: made.lines.find(line => /^[a-z ]+$/.test(line)) ?? 'e', new_string: 'x' },
      { mode: 'patch', patch: '*** Update File: f\n@@\n-MARK here\n+x\n@@\n-not there\n+y' },
    ])
      await bench.use('patch', { path: 'f', ...given }).then(
        () => bench.write('f', made.bytes),
        () => {},
      )
    same(bytesOf(), made.bytes, made.name)
  }
})

test('writes additions in the encoding of the file, or rejects them', async () => {
  const CASES: [string, string, string | null][] = [
    ['UTF-8', 'ö€→', 'ö€→'],
    ['UTF-16 LE', 'ö€→', 'ö€→'],
    ['Latin-1', 'ö', '\xf6'],
    ['Latin-1', '€', '\x80'],
    ['Latin-1', '→', null],
    ['Shift-JIS', 'ö', null],
    ['Shift-JIS', 'o', 'o'],
    ['stray bytes', 'ö', utf8('ö').toString('latin1')],
    ['UTF-8', 'half \ud83d', null],
  ]
  const all = [...files()]
  for (const [name, fresh, wanted] of CASES) {
    const made = all.find(one => one.coding.name === name)
    if (!made) throw new Error(name)
    bench.write('f', made.bytes)
    const work = bench.use('patch', { path: 'f', old_string: 'MARK here', new_string: fresh })
    if (wanted === null)
      assert.match(await refused(work), /encoding|Windows-1252|Shift_JIS|surrogate/, name)
    else await work
    same(bytesOf(), wanted === null ? made.bytes : edited(made, [wanted]), `${name} ${fresh}`)
  }
})

test('reads text in every encoding', async () => {
  const READ: [string, Buffer, string, string | undefined][] = [
    ['a mark', Buffer.from('\ufeffgröße\r\nb'), '  1|größe\n  2|b', undefined],
    ['UTF-16', Buffer.from('\ufeffgröße\nb', 'utf16le'), '  1|größe\n  2|b', 'UTF-16 LE'],
    ['Latin-1', latin('gr\xf6\xdfe \x80\n'), '  1|größe €', 'Windows-1252'],
    [
      'stray',
      Buffer.concat([utf8('größe '), latin('\xff')]),
      '  1|größe \ufffd',
      'UTF-8 with other bytes',
    ],
    ['carriage returns', utf8('a\rb\r'), '  1|a\n  2|b', undefined],
  ]
  for (const [name, bytes, content, encoding] of READ) {
    bench.write('f', bytes)
    const read = await bench.json('read_file', { path: 'f' })
    assert.equal([read.content, read.encoding], [content, encoding], name)
  }
  bench.write('f', Buffer.from([0xff, 0xfe, 0, 0, 65, 0, 0, 0]))
  assert.match(await refused(bench.use('read_file', { path: 'f' })), 'binary')
})

test('no edit splits a character of an unknown encoding', async () => {
  // The second byte of "ア" is an A. One such character says nothing about the encoding.
  const bytes = Buffer.from('\x83A = A\n', 'latin1')
  bench.write('f', bytes)
  for (const given of [
    { old_string: 'A', new_string: 'B', replace_all: true },
    { old_string: 'A = A', new_string: 'C' },
  ])
    assert.match(await refused(bench.use('patch', { path: 'f', ...given })), 'Quote whole lines')
  same(bytesOf(), bytes, 'refused')
  await bench.use('patch', { path: 'f', old_string: ' = A', new_string: ' = B' })
  assert.is(bytesOf().toString('latin1'), bytes.toString('latin1').replace('= A', '= B'))
})

test('lines kept from a quoted block keep white space, signs and line endings', async () => {
  const before = 'first  \r\nsay “hi” – “now”\t\nthird \r\nfourth\n'
  bench.write('f', before)
  await bench.json('patch', {
    path: 'f',
    old_string: 'first\nsay "hi" - "now"\nthird\nfourth',
    new_string: 'first\nsay "hi" - "later"\nthird\nFOURTH',
  })
  assert.is(bytesOf().toString(), 'first  \r\nsay “hi” – “later”\nthird \r\nFOURTH\n')
})

test('keeps permissions, names and links of a file', async () => {
  const edit = (path: string) => bench.json('patch', { path, old_string: 'one', new_string: 'two' })
  bench.write('f', 'one\n')
  chmodSync(place(), 0o751)
  linkSync(place(), place('second'))
  symlinkSync('f', place('link'))
  await edit('link')
  assert.is(bytesOf('second').toString(), 'two\n')
  assert.is(lstatSync(place('link')).isSymbolicLink(), true)
  assert.is(statSync(place()).mode & 0o777, 0o751)
  assert.is(statSync(place()).nlink, 2)
  await bench.json('read_file', { path: 'second' })
  await bench.json('write_file', { path: 'second', content: 'three\n' })
  assert.is(bytesOf().toString(), 'three\n')
  saveText(area(), 'f', 'four\n', undefined)
  assert.is(bytesOf('second').toString(), 'four\n')
  bench.write('run.sh', 'one\n')
  chmodSync(place('run.sh'), 0o755)
  const patch = '*** Update File: run.sh\n*** Move to: go.sh\n@@\n-one\n+two'
  await bench.json('patch', { mode: 'patch', patch })
  assert.is(statSync(place('go.sh')).mode & 0o777, 0o755)
})

test('a patch whose last file cannot be written changes none', async () => {
  bench.write('a', 'one\n')
  bench.write('gone', 'bye\n')
  bench.write('file', 'x\n')
  const patch =
    '*** Update File: a\n@@\n-one\n+two\n*** Delete File: gone\n*** Add File: dir/new\n+x\n*** Add File: file/below\n+x'
  await refused(bench.use('patch', { mode: 'patch', patch }))
  assert.is(bytesOf('a').toString(), 'one\n')
  assert.is(bytesOf('gone').toString(), 'bye\n')
  assert.not(lstatSync(place('dir'), { throwIfNoEntry: false }))
})

test('does not overwrite changes made during the approval', async () => {
  const path = join(bench.root, 'outside.txt')
  writeFileSync(path, 'one\ntwo\n')
  bench.ctx.approve = async () => {
    writeFileSync(path, 'one\ntwo\nthree\n')
    return 'once'
  }
  const result = await bench.json('patch', { path, old_string: 'one', new_string: '1' })
  assert.is(result.code, 'file_changed')
  assert.is(readFileSync(path, 'utf8'), 'one\ntwo\nthree\n')
})

test('write_file reports what it kept of the old file and what it could not', async () => {
  const write = async (content: string) => {
    // A binary file is refused.
    await bench.use('read_file', { path: 'f' }).catch(() => null)
    return bench.json('write_file', { path: 'f', content })
  }
  bench.write('f', Buffer.from('\ufeffone\r\n', 'utf16le'))
  assert.match((await write('new\n')).kept, 'UTF-16 LE, byte order mark')
  assert.is(bytesOf().toString('utf16le'), '\ufeffnew\r\n')
  bench.write('f', Buffer.from([1, 0, 2]))
  assert.match((await write('new\n')).kept, 'binary')
  bench.write('f', 'one\n')
  assert.not('kept' in (await write('new\r\n')))
  assert.is(bytesOf().toString(), 'new\r\n')
})

test('random edits of random files change only their target', async () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * below)
  }
  const SIGNS = [
    'a',
    'b',
    ' ',
    '\t',
    '\n',
    '\r\n',
    '\r',
    'é',
    '“',
    '😀',
    '\xff',
    '\0x',
    '  \n',
    '    x\n',
  ]
  const rounds = process.env.PROOF === 'full' ? 4_000 : 400
  for (let round = 0; round < rounds; round++) {
    const text = Array.from({ length: 5 + random(60) }, () => SIGNS[random(SIGNS.length)]).join('')
    const isLatin = random(3) === 0
    const bytes = isLatin
      ? Buffer.from(text.replace(/\0/g, ''), 'latin1')
      : Buffer.from(text.replace(/\0/g, ''))
    const from = random(bytes.length)
    const old = bytes.toString(isLatin ? 'latin1' : 'utf8').slice(from, from + 1 + random(12))
    bench.write('f', bytes)
    const result = await bench
      .use('patch', { path: 'f', old_string: old, new_string: 'NEW' })
      .catch(() => null)
    const after = bytesOf()
    if (result === null) {
      same(after, bytes, JSON.stringify(old))
      continue
    }
    const at = after.indexOf('NEW')
    const head = bytes.subarray(0, at)
    const tail = after.subarray(at + 3)
    same(after.subarray(0, at), head, JSON.stringify({ text, old }))
    same(bytes.subarray(bytes.length - tail.length), tail, JSON.stringify({ text, old }))
    const gone = bytes
      .subarray(at, bytes.length - tail.length)
      .toString(isLatin ? 'latin1' : 'utf8')
    const fold = (value: string) =>
      value
        .replace(/\r\n?|\n/g, '\n')
        .replace(/[“”]/g, '"')
        .replace(/[ \t\r]+/g, '')
    assert.is(fold(gone).trimEnd(), fold(old).trimEnd(), JSON.stringify({ text, old }))
  }
})

test.run()
