/** Ripgrep as a filter: it selects at least what our pattern finds, opens nothing that is denied, and can fail without harm. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readGuard } from '../../../lib/agent/tools/allowed-paths.ts'
import { listFiles } from '../../../lib/agent/search/list-files.ts'
import { findRipgrep, type Ripgrep, selectFiles } from '../../../lib/agent/search/ripgrep.ts'
import { LARGE_BYTES } from '../../../lib/agent/search/candidates.ts'
import { toPrefilter } from '../../../lib/agent/search/prefilter.ts'
import { createRandom } from '../../_random.ts'
import { type Bench, createBench, refused } from '../../lib/agent/tools/_context.ts'
import { ended, isAlive } from '../../_wait.ts'

const test = suite('ripgrep')

let bench: Bench
let real: Ripgrep
test.before.each(async () => {
  bench = createBench('/var/tmp')
  const found = await findRipgrep('')
  assert.ok(found, 'the npm package is installed')
  real = { ...found, minMeanBytes: 0 }
  bench.ctx.memo.set('ripgrep', Promise.resolve(real))
})
test.after.each(() => bench.close())

/** A shell script in place of ripgrep. */
const script = (text: string): string => {
  const dir = join(bench.root, 'bin')
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'rg'), `#!/bin/sh\n${text}\n`)
  chmodSync(join(dir, 'rg'), 0o755)
  return dir
}
const fake = (path: string): Ripgrep => ({ path, version: '15', from: 'PATH' })
const usePath = (text: string) => {
  const path = join(script(text), 'rg')
  bench.ctx.memo.set('ripgrep', Promise.resolve({ ...fake(path), minMeanBytes: 0 }))
}
const NO_PACKAGE = '/nowhere/file.mjs'

const search = (args: Record<string, unknown>) => bench.json('search_files', args)

test('rejects a missing, old, broken, or silent program on the path', async () => {
  assert.is(await findRipgrep(join(bench.root, 'none'), NO_PACKAGE), null)
  assert.is(await findRipgrep('.:bin', NO_PACKAGE), null)
  for (const text of [
    'echo ripgrep 13.0.0',
    'echo ripgrep 15.0.0; exit 1',
    'echo hello',
    'exec sleep 60',
  ])
    assert.is(await findRipgrep(script(text), NO_PACKAGE), null, text)
  const dir = script('')
  writeFileSync(join(dir, 'rg'), '\x7fELF')
  assert.is(await findRipgrep(dir, NO_PACKAGE), null)
})

test('finds the package first, else the program on the path', async () => {
  assert.is(real.from, 'package')
  const dir = join(bench.root, 'bin')
  mkdirSync(dir)
  symlinkSync(real.path, join(dir, 'rg'))
  const found = await findRipgrep(`relative:${dir}`, NO_PACKAGE)
  assert.equal(found, { path: join(dir, 'rg'), version: real.version, from: 'PATH' })
})

const isFull = process.env.PROOF === 'full'

const ATOMS =
  'a b A ü é 😀 . \\d \\w \\s \\W [ab] [^a] [à-ü] [a-ü] [\\w-é] \\. \\/ - \\x61 \\u00fc \\b ^ $ (?=a) (?!b) (?<=a) \\1 \\t | ( ) (?: (?<n> * + ? {2} {1,3}? {2,} { } ]'.split(
    ' ',
  )
const LINE_PARTS = [
  'a',
  'b',
  'A',
  'ü',
  'é',
  '😀',
  ' ',
  '-',
  '.',
  '/',
  '\t',
  '1',
  '{',
  '\r',
  '\ufeff',
]

test('selects every line that the pattern matches, for generated patterns and lines', () => {
  const { below, pick } = createRandom(7)
  const make = (parts: readonly string[], most: number) =>
    Array.from({ length: 1 + below(most) }, () => pick(parts)).join('')
  let tried = 0
  while (tried < (isFull ? 3_000 : 150)) {
    const source = make(ATOMS, 7)
    const flags = pick(['', '', 'i'])
    const prefilter = isValid(source, flags) ? toPrefilter(source, flags) : null
    if (prefilter === null) continue
    tried++
    const lines = Array.from({ length: 40 }, () => make(LINE_PARTS, 8))
    const encoding = pick(['utf8', 'latin1'] as const)
    const place = bench.write('f', Buffer.from(`${lines.join('\n')}\n`, encoding))
    const args = ['--no-config', '--text', '--encoding=none', '-n', '-e', prefilter, '--', place]
    const { status, stdout, stderr } = spawnSync(real.path, args, { encoding: 'latin1' })
    assert.is.not(status, 2, `${source} → ${prefilter}\n${stderr}`)
    const selected = new Set(stdout.split('\n').map(line => Number.parseInt(line, 10)))
    const pattern = new RegExp(source, flags)
    for (const [at, line] of lines.entries()) {
      const seen = encoding === 'latin1' ? Buffer.from(line, 'latin1').toString('latin1') : line
      if (seen.split('\r').some(part => pattern.test(part.replace(/^\ufeff/, ''))))
        assert.ok(
          selected.has(at + 1),
          `${source} (${flags}) → ${prefilter} misses ${JSON.stringify(line)}`,
        )
    }
  }
})

const isValid = (source: string, flags: string): boolean => {
  try {
    new RegExp(source, `${flags}gm`)
    return true
  } catch {
    return false
  }
}

test('does not translate what it cannot, or what matches every line', () => {
  for (const source of ['.*', 'a?', '^$', 'a|', '(?i:a)', 'a\\nb', '\\k<n>', '[]', '\\cA', 'a)'])
    assert.is(toPrefilter(source, ''), null, source)
})

const OLD = new Date(2001, 1, 1)
/** Whether reading changes the access time here. */
const wasRead = (path: string): boolean => statSync(path).atimeMs !== OLD.getTime()
const age = (path: string): string => {
  utimesSync(path, OLD, new Date())
  return path
}

test('opens no denied and no ignored file, whatever its name', async () => {
  const names = ['key', 'a b ', '[x]', '{a,b}', '!n', '*', 'line\nbreak', '-e', 'back\\slash']
  const denied = names.map(name => bench.write(`in/${name}/secret`, 'word\n'))
  const linked = bench.write('state-file', 'word\n')
  linkSync(linked, join(bench.workspace, 'linked'))
  const ignored = bench.write('out/x', 'word\n')
  const outside = join(bench.root, 'state', 'outside')
  writeFileSync(outside, 'word\n')
  symlinkSync(outside, join(bench.workspace, 'link'))
  bench.write('.gitignore', 'out/\n')
  const open = bench.write('open', 'word\n')
  Object.assign(bench.ctx, { forbidden: [...bench.ctx.forbidden, ...denied, linked] })
  for (const path of [...denied, linked, ignored, outside, open]) age(path)
  const { matches } = await search({ pattern: 'word' })
  assert.equal(
    matches.map(({ path }: { path: string }) => path),
    ['open'],
  )
  if (wasRead(open))
    for (const path of [...denied, linked, ignored, outside]) assert.not.ok(wasRead(path), path)
})

test('a file that ripgrep cannot read is reported, and one deleted in between is no error', async () => {
  bench.write('a', 'word\n')
  usePath(`printf './b\\0'; echo 'rg: ./a: Permission denied (os error 13)' >&2; exit 2`)
  bench.write('b', 'word\n')
  bench.write('c', 'word\n')
  // The script does not name c, as if it had no match.
  assert.is((await search({ pattern: 'word' })).total_count, 2)
})

test('searches small files, and few of many, without ripgrep', async () => {
  // The script names no file, as if none had a match.
  usePath('exit 1')
  for (let at = 0; at < 8; at++) bench.write(`a${at}`, 'word\n')
  assert.is((await search({ pattern: 'word' })).total_count, 0)
  assert.is((await search({ pattern: 'word', file_glob: 'a7' })).total_count, 1)
  bench.ctx.memo.set('ripgrep', Promise.resolve(fake(join(bench.root, 'bin/rg'))))
  assert.is((await search({ pattern: 'word' })).total_count, 8)
  bench.write('large', `${'x\n'.repeat(500_000)}word\n`)
  assert.is((await search({ pattern: 'word' })).total_count, 0)
})

test('searches by itself when ripgrep fails', async () => {
  bench.write('a', 'word\n')
  for (const text of [
    'exit 2',
    'echo regex error >&2; exit 2',
    'exit 101',
    'kill -9 $$',
    'yes rg: | head -c 9000 >&2; exit 2',
  ]) {
    usePath(text)
    const found = await search({ pattern: 'word' })
    assert.equal([found.total_count, found.truncated], [1, false], text)
  }
  rmSync(join(bench.root, 'bin/rg'))
  assert.is((await search({ pattern: 'word' })).total_count, 1)
})

test('a pattern without a literal start has a process of its own', async () => {
  bench.write('a', 'word\n')
  bench.write('b', Buffer.from([0, 1, 2]))
  bench.write('c', 'other\n')
  const mark = join(bench.root, 'calls')
  usePath(`echo call >> '${mark}'; exec '${real.path}' "$@"`)
  for (const [pattern, calls] of [
    ['word', 1],
    ['(?i)WORD', 2],
    ['\\w+rd', 2],
  ] as const) {
    rmSync(mark, { force: true })
    const found = await search({ pattern })
    assert.equal([found.total_count, found.not_searched], [1, { binary: 1 }], pattern)
    assert.is(statSync(mark).size, 5 * calls, pattern)
  }
  // Each of the two can fail.
  for (const part of ['PDF', 'rd'])
    for (const failure of ['exit 2', 'kill -9 $$']) {
      usePath(`case "$*" in *${part}*) ${failure};; esac; exec '${real.path}' "$@"`)
      assert.is((await search({ pattern: '\\w+rd' })).total_count, 1, part)
    }
})

test('a stopped search kills ripgrep', async () => {
  bench.write('a', 'word\n')
  const mark = join(bench.root, 'pid')
  usePath(`echo $$ > '${mark}'; kill -STOP $$`)
  const work = refused(search({ pattern: 'word' }))
  while (!statSync(mark, { throwIfNoEntry: false })?.size) await new Promise(setImmediate)
  const pid = Number(readFileSync(mark, 'utf8'))
  assert.ok(isAlive(pid))
  bench.stop(new Error('stopped'))
  assert.match(await work, 'stopped')
  await ended(pid)
})

const SIZE = LARGE_BYTES + 1_000_000
const FILLER = Buffer.alloc(SIZE, `${'x'.repeat(99)}\n`)
const LARGE: [title: string, bytes: () => Buffer][] = [
  [
    'a byte order mark and CRLF',
    () =>
      Buffer.concat([
        Buffer.from('\ufeffword 1\r\nb\r\nword 2\r\n'),
        FILLER,
        Buffer.from('c\r\nd\r\nword 3\r\n'),
      ]),
  ],
  [
    'long lines',
    () =>
      Buffer.concat([
        FILLER,
        Buffer.from(`word 1${'y'.repeat(900_000)}word\nz\n${'y'.repeat(900_000)} word 2\nend\n`),
      ]),
  ],
  [
    'mixed encodings',
    () =>
      Buffer.concat([
        FILLER,
        Buffer.from('gr\xfc word 1\n', 'latin1'),
        Buffer.from('grü word 2\n\n'),
      ]),
  ],
  ['one line', () => Buffer.concat([Buffer.alloc(SIZE, 'x'), Buffer.from(' word 1\r')])],
  [
    'carriage returns',
    () =>
      Buffer.concat([Buffer.alloc(SIZE, `${'x'.repeat(99)}\r`), Buffer.from('word 1\rb\rword 2')]),
  ],
  ['UTF-16', () => Buffer.from(`\ufeff${'x\n'.repeat(SIZE / 4)}word 1\nword 2`, 'utf16le')],
  ['many matches', () => Buffer.alloc(SIZE, 'word\nother word\n')],
]

test('finds the same lines of large files as without ripgrep', async () => {
  for (const [title, bytes] of isFull ? LARGE : LARGE.slice(0, 3)) {
    const place = bench.write('f', bytes())
    for (const args of [
      { pattern: 'word \\d', context: 2 },
      { pattern: '^word', path: 'f', offset: 1, limit: 2 },
      { pattern: '(ü|b) ?word|word\\b(?! 1)', path: 'f', limit: 3 },
    ]) {
      bench.ctx.memo.set('ripgrep', Promise.resolve(null))
      const wanted = await search(args)
      bench.ctx.memo.set('ripgrep', Promise.resolve(real))
      assert.equal(await search(args), wanted, `${title}: ${args.pattern}`)
    }
    rmSync(place)
  }
})

test('after the time limit, what was not seen is not taken for searched', async () => {
  bench.write('a', 'word\n')
  bench.write('b', 'word\n')
  const path = join(script(`printf './a\\0'; exec sleep 60`), 'rg')
  const { signal } = bench.ctx
  const listing = await listFiles({
    root: bench.workspace,
    denied: readGuard(bench.ctx),
    signal,
    until: Infinity,
  })
  const selection = await selectFiles(fake(path), {
    root: bench.workspace,
    listing,
    files: listing.files,
    prefilter: 'word',
    signal,
    timeoutMs: 300,
  })
  assert.equal(
    selection?.files.map(({ relative }) => relative),
    ['a'],
  )
  assert.is(selection?.isPartial, true)
})

test.run()
