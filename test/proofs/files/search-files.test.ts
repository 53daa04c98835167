/** Searching: every match is found and counted whatever the file is like; what was not searched is reported. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Bench, createBench, refused } from '../../lib/agent/tools/_context.ts'

let bench: Bench
const test = suite('search_files')
test.before.each(() => {
  bench = createBench('/var/tmp')
})
test.after.each(() => bench.close())

const search = (args: Record<string, unknown>) => bench.json('search_files', args)
const git = (...args: string[]) => {
  const run = spawnSync('git', args, { cwd: bench.workspace, encoding: 'utf8' })
  assert.is(run.status, 0, run.stderr)
  return run.stdout.split('\0').filter(Boolean)
}

const KINDS: [title: string, bytes: Buffer, line: number, content: string][] = [
  ['CRLF', Buffer.from('a\r\nthe word\r\nb'), 2, 'the word'],
  ['UTF-16 LE', Buffer.from('\ufeffa\r\nthe word ü\r\n', 'utf16le'), 2, 'the word ü'],
  ['UTF-16 BE', Buffer.from('\ufeffa\nthe word ü', 'utf16le').swap16(), 2, 'the word ü'],
  ['Latin-1', Buffer.from('caf\xe9\nthe word \xfc\n', 'latin1'), 2, 'the word ü'],
  ['a byte order mark', Buffer.from('\ufeffthe word\n'), 1, 'the word'],
  ['stray bytes', Buffer.from([...Buffer.from('größe the word\n'), 0xff]), 1, 'größe the word'],
  [
    'a large file',
    Buffer.concat([Buffer.alloc(9_000_000, `${'x'.repeat(99)}\n`), Buffer.from('the word\n')]),
    90_001,
    'the word',
  ],
  ['no line end', Buffer.from('the word'), 1, 'the word'],
]
// Each search starts threads or programs: one looks at all kinds.
for (const pattern of ['the word', '(?i)^.*THE w\\S+', 'the (?!x)w'])
  test(`every kind of text with ${pattern}`, async () => {
    for (const [title, bytes] of KINDS) bench.write(title, bytes)
    const { matches, ...found } = await search({ pattern })
    assert.equal(found, { total_count: KINDS.length, truncated: false })
    for (const [title, , line, content] of KINDS)
      assert.equal(
        matches.filter(({ path }: { path: string }) => path === title),
        [{ path: title, line, content }],
      )
  })

test('truncates a long line around its match', async () => {
  bench.write('f', `${'x'.repeat(1_000_000)}needle${'y'.repeat(1_000_000)}\n`)
  const [hit] = (await search({ pattern: 'needle' })).matches
  assert.match(hit.content, /^\[…\] x+needley+ \[…\]$/)
  assert.ok(hit.content.length < 600)
})

test('context lines, also at the ends of a file', async () => {
  bench.write('f', 'a1\r\nb\r\nc\r\nd\r\ne1\r\n')
  const { matches } = await search({ pattern: '1', context: 2 })
  assert.equal(
    matches.map(({ line, content }: { line: number; content: string }) => [line, content]),
    [
      [1, 'a1\nb\nc'],
      [5, 'c\nd\ne1'],
    ],
  )
})

test('context lines in a large file that is read in pieces', async () => {
  // A line of 16 bytes for each number: pieces end at multiples of 8 MiB.
  const perPiece = (8 * 1024 * 1024) / 16
  const lines = Array.from({ length: 2 * perPiece + 9 }, (_, at) => `line ü ${at + 1}`.padEnd(14))
  bench.write('f', `${lines.join('\n')}\n`)
  const numbers = [perPiece, 2 * perPiece].flatMap(last =>
    [-3, -2, -1, 0, 1, 2, 3].map(more => last + more),
  )
  const { matches } = await search({ pattern: `ü (${numbers.join('|')})\\b`, context: 2 })
  assert.equal(
    matches,
    numbers.map(line => ({
      path: 'f',
      line,
      content: lines.slice(line - 3, line + 2).join('\n'),
    })),
  )
})

test('pages of every kind of result follow without a gap', async () => {
  for (let at = 0; at < 30; at++) bench.write(`d${at % 4}/f${at}`, 'word\nother\nword\n')
  const all = await search({ pattern: 'word', limit: 500 })
  assert.is(all.total_count, 60)
  assert.is(all.matches.length, 60)
  const pages = []
  for (let offset = 0; offset < 60; offset += 7) {
    const page = await search({ pattern: 'word', limit: 7, offset })
    assert.equal([page.total_count, page.truncated], [60, offset + 7 < 60])
    pages.push(...page.matches)
  }
  assert.equal(pages, all.matches)
  const names = await search({ pattern: 'word', output_mode: 'files_only', limit: 10, offset: 25 })
  assert.equal([names.files.length, names.truncated, names.total_count], [5, false, 60])
  const counts = await search({ pattern: 'word', output_mode: 'count', limit: 500 })
  assert.equal(new Set(Object.values(counts.counts)), new Set([2]))
  assert.is(Object.keys(counts.counts).length, 30)
})

test('reports what was not searched', async () => {
  bench.write('blob', Buffer.from('word\0'))
  bench.write('other', Buffer.from('no match\0'))
  bench.write('.gitignore', 'out/\n*.log\n')
  bench.write('out/a', 'word')
  bench.write('x.log', 'word')
  bench.write('closed', 'word')
  bench.write('.hidden/a', 'word')
  chmodSync(join(bench.workspace, 'closed'), 0)
  const isRoot = process.getuid?.() === 0
  const { total_count, not_searched } = await search({ pattern: 'word' })
  assert.is(total_count, isRoot ? 2 : 1)
  assert.equal(not_searched, { ignored: 2, binary: 2, ...(!isRoot && { unreadable: 1 }) })
  assert.is((await search({ pattern: 'word', path: 'x.log' })).total_count, 1)
  assert.is((await search({ pattern: 'word', path: 'out' })).total_count, 1)
  assert.match(await refused(search({ pattern: 'word', path: 'blob' })), 'binary')
})

const NAMES_TO_KEEP = ['a\nb', 'ü', '{c,d}', '[x]', 'd/-f', '-e', '--pre=x', '*']
const NAMES_TO_IGNORE = [
  ' a ',
  '?',
  '!n',
  '#c',
  'b\\',
  '.h',
  '[y]',
  '{e,f}',
  '**',
  '-g',
  'dir[1]/x y',
]

test('file names with any character, searched and ignored', async () => {
  for (const name of [...NAMES_TO_KEEP, ...NAMES_TO_IGNORE]) bench.write(`${name}/x`, 'word\n')
  const rules = NAMES_TO_IGNORE.map(name => `/${name.replace(/[\\*?[ ]/g, '\\$&')}/`)
  bench.write('.gitignore', rules.join('\n'))
  const { matches, not_searched } = await search({ pattern: 'word' })
  assert.equal(
    matches.map(({ path }: { path: string }) => path),
    NAMES_TO_KEEP.map(name => `${name}/x`).toSorted(),
  )
  assert.equal(not_searched, { ignored: NAMES_TO_IGNORE.length })
})

test('a pattern is never an option', async () => {
  bench.write('f', '--version\n-e\n--files\n')
  for (const pattern of ['--version', '-e', '--files', '--pre=sh'])
    assert.is((await search({ pattern })).total_count, pattern === '--pre=sh' ? 0 : 1)
})

test('neither reads nor lists secrets and state, also through links', async () => {
  mkdirSync(join(bench.home, '.ssh'))
  writeFileSync(join(bench.home, '.ssh/id'), 'SECRET')
  writeFileSync(join(bench.root, 'state/key'), 'SECRET')
  symlinkSync(join(bench.home, '.ssh'), join(bench.workspace, 'a'))
  symlinkSync(join(bench.home, '.ssh/id'), join(bench.workspace, 'b'))
  symlinkSync(bench.root, join(bench.workspace, 'c'))
  for (const path of ['.', bench.root, '~', 'c'])
    for (const target of ['content', 'files']) {
      const found = await search({ pattern: target === 'files' ? '*' : 'SECRET', target, path })
      assert.equal(
        (found.files ?? found.matches).filter((one: unknown) => /id|key/.test(JSON.stringify(one))),
        [],
        path,
      )
    }
  for (const path of ['a', 'b', 'c/state', '~/.ssh'])
    assert.match(await refused(search({ pattern: 'SECRET', path })), 'denied')
})

test('circular links stop no search and no read', async () => {
  bench.write('f', 'word\n')
  for (const dir of [bench.workspace, bench.root]) {
    symlinkSync(join(dir, 'two'), join(dir, 'one'))
    symlinkSync(join(dir, 'one'), join(dir, 'two'))
  }
  Object.assign(bench.ctx.turn, {
    forbidden: [...bench.ctx.turn.forbidden, join(bench.root, 'one')],
  })
  for (const target of ['content', 'files'])
    assert.ok(
      (await search({ pattern: target === 'files' ? '*' : 'word', target })).total_count > 0,
    )
  assert.match(JSON.stringify(await bench.json('read_file', { path: 'f' })), 'word')
})

test('refuses a pattern that does not terminate', async () => {
  bench.write('f', `${'a'.repeat(60)}!\n`)
  assert.match(await refused(search({ pattern: '^(a+)+(?=b)' })), 'too long')
})

test('letters beyond ASCII: composed or not', async () => {
  bench.write('composed', 'für\n'.normalize('NFC'))
  bench.write('decomposed', 'für\n'.normalize('NFD'))
  // What UTF-8 looks like to someone who reads it as Windows-1252.
  bench.write('other', 'fÃ¼r\n')
  const { matches } = await search({ pattern: 'für' })
  assert.equal(
    matches.map(({ path, line, content }: { path: string; line: number; content: string }) => [
      path,
      line,
      content.normalize('NFC'),
    ]),
    [
      ['composed', 1, 'für'],
      ['decomposed', 1, 'für'],
    ],
  )
  assert.equal(
    (await search({ pattern: 'fÃ¼r' })).matches.map(({ path }: { path: string }) => path),
    ['other'],
  )
})

test('a file with a NUL anywhere is binary, and a lone carriage return ends no line', async () => {
  bench.write('late', Buffer.from(`${'x\n'.repeat(9_000)}\0\nthe word`))
  bench.write('cr', 'a\rthe word\rb')
  const { matches, not_searched } = await search({ pattern: 'the word' })
  assert.equal(matches, [{ path: 'cr', line: 1, content: 'a\rthe word\rb' }])
  assert.equal(not_searched, { binary: 1 })
})

test('searches an invalid pattern as text', async () => {
  bench.write('g', 'call(a[0\n')
  const found = await search({ pattern: 'call(a[' })
  assert.is(found.total_count, 1)
  assert.match(found.note, 'plain text')
})

test('says that no match goes beyond its line', async () => {
  bench.write('f', 'one\ntwo\n')
  for (const pattern of ['one\\ntwo', 'one\ntwo']) {
    const { total_count, note } = await search({ pattern })
    assert.equal([total_count, /within one line/.test(note)], [0, true], pattern)
  }
})

test('a stopped search ends at once', async () => {
  bench.write('f', `${'a'.repeat(60)}!\n`)
  const work = bench.use('search_files', { pattern: '^(a+)+(?=b)' })
  bench.stop(new Error('stopped'))
  assert.match(await refused(work), 'stopped')
})

const isFull = process.env.PROOF === 'full'

/** A small stream of numbers that is the same in every run. */
const random = (seed: number) => (below: number) => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return Math.floor((seed / 2_147_483_648) * below)
}

const RULES = [
  '*.log',
  'out/',
  '/top',
  '!keep.log',
  'a/*/b',
  '**/deep',
  'x/**',
  '\\#odd',
  '# note',
  'd?c',
  '[ab].txt',
  '{a,b}',
  'q\\ ',
  'sp ',
  'a/b/',
  '*',
  '!*/',
  '!*.md',
]
const NAMES = [
  'a',
  'b',
  'x',
  'out',
  'top',
  'deep',
  'keep.log',
  'o.log',
  '#odd',
  'doc',
  'a.txt',
  '{a,b}',
  'q ',
  'sp',
  'n.md',
  '.hid',
]
const PATTERNS = [
  'one',
  'o',
  '^one',
  'two$',
  't.o',
  '\\bone\\b',
  'o*',
  'o?ne',
  'one|two',
  '[^o]ne',
  '\\s',
  '(?<!t)o',
  'on(?=e)',
  '^$',
  '.',
  '\\d{2,}',
  'one +two',
  'ö',
  '(?i)ONE',
  'e\\.t',
  '\\x6fne',
  'one{1,2}',
  'n[e]',
]

test('finds the same as git and a line-by-line search, over generated trees', async () => {
  const rounds = isFull ? 60 : 2
  for (let round = 0; round < rounds; round++) {
    const next = random(round + 1)
    const pick = <T>(list: T[]): T => list[next(list.length)] as T
    const work = bench.workspace
    mkdirSync(work, { recursive: true })
    git('init', '-q')
    for (let at = 0; at < 40; at++) {
      const path = Array.from({ length: 1 + next(3) }, () => pick(NAMES)).join('/')
      const lines = Array.from({ length: next(6) }, () =>
        pick(['one', 'two', 'one two', '', 'öne.two', ' 12 ', 'oone', 'e.t']),
      )
      const end = pick(['\n', '\r\n'])
      try {
        bench.write(path, lines.join(end) + pick(['', end]))
      } catch {
        // A file in place of a directory.
      }
    }
    const rules = () => `${Array.from({ length: 3 }, () => pick(RULES)).join('\n')}\n`
    for (const dir of ['', 'a/', 'x/']) {
      try {
        bench.write(`${dir}.gitignore`, rules())
      } catch {
        // The same.
      }
    }
    writeFileSync(join(work, '.git/info/exclude'), rules())
    const files = git('ls-files', '-z', '-o', '--exclude-standard').sort()
    const listed = await search({ pattern: '*', target: 'files', limit: 500 })
    assert.equal(listed.files.toSorted(), files, `round ${round}`)
    for (const pattern of isFull ? PATTERNS : PATTERNS.filter((_, at) => at % 4 === round % 4)) {
      const [flags, source] = pattern.startsWith('(?i)') ? ['i', pattern.slice(4)] : ['', pattern]
      const wanted = new RegExp(source, flags)
      const hits = files.flatMap(path => {
        const lines = readFileSync(join(work, path), 'utf8').split(/\r?\n/)
        if (lines.at(-1) === '') lines.pop()
        return lines.flatMap((line, at) => (wanted.test(line) ? [`${path}:${at + 1}:${line}`] : []))
      })
      const found = await search({ pattern, limit: 500 })
      const said = found.matches.map(
        (hit: { path: string; line: number; content: string }) =>
          `${hit.path}:${hit.line}:${hit.content}`,
      )
      assert.equal([found.total_count, said], [hits.length, hits], `round ${round}, ${pattern}`)
    }
    bench.close()
  }
})

test('searches many files completely', async () => {
  const dirs = isFull ? 100 : 10
  for (let dir = 0; dir < dirs; dir++) {
    mkdirSync(join(bench.workspace, `d${dir}`))
    for (let file = 0; file < 200; file++)
      writeFileSync(
        join(bench.workspace, `d${dir}/f${file}`),
        `some text\n${file === 7 ? 'the NEEDLE\n' : ''}`,
      )
  }
  const found = await search({ pattern: 'NEEDLE' })
  assert.equal(
    [found.total_count, found.matches.length, found.truncated],
    [dirs, Math.min(dirs, 50), dirs > 50],
  )
  assert.is((await search({ pattern: 'f', target: 'files' })).total_count, dirs * 200)
})

test.run()
