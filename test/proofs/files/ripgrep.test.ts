/** The program that searches: which one is used, what it opens, and what is said when it fails or is missing. */
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
import { findRipgrep, type Ripgrep } from '../../../lib/agent/search/ripgrep.ts'
import { searchFilesTool } from '../../../lib/agent/tools/search-files.ts'
import { type Bench, createBench, refused } from '../../lib/agent/tools/_context.ts'
import { ended, isAlive } from '../../_wait.ts'

const test = suite('ripgrep')

let bench: Bench
let real: Ripgrep
test.before.each(async () => {
  bench = createBench('/var/tmp')
  const found = await findRipgrep('')
  assert.ok(found, 'the npm package is installed')
  real = found
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
  bench.ctx.memo.set('ripgrep', Promise.resolve(fake(path)))
}
const NO_PACKAGE = '/nowhere/file.mjs'

const search = (args: Record<string, unknown>) => bench.json('search_files', args)

test('rejects a missing, old, broken, or silent program on the path', async () => {
  assert.is(await findRipgrep(join(bench.root, 'none'), { beside: NO_PACKAGE }), null)
  assert.is(await findRipgrep('.:bin', { beside: NO_PACKAGE }), null)
  for (const text of [
    'echo ripgrep 13.0.0',
    'echo ripgrep 15.0.0; exit 1',
    'echo hello',
    'exec sleep 60',
  ])
    assert.is(await findRipgrep(script(text), { beside: NO_PACKAGE }), null, text)
  const dir = script('')
  writeFileSync(join(dir, 'rg'), '\x7fELF')
  assert.is(await findRipgrep(dir, { beside: NO_PACKAGE }), null)
})

test('finds the package first, else the program on the path', async () => {
  assert.is(real.from, 'package')
  const dir = join(bench.root, 'bin')
  mkdirSync(dir)
  symlinkSync(real.path, join(dir, 'rg'))
  const found = await findRipgrep(`relative:${dir}`, { beside: NO_PACKAGE })
  assert.equal(found, { path: join(dir, 'rg'), version: real.version, from: 'PATH' })
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
  Object.assign(bench.ctx.turn, { forbidden: [...bench.ctx.turn.forbidden, ...denied, linked] })
  for (const path of [...denied, linked, ignored, outside, open]) age(path)
  const { matches } = await search({ pattern: 'word' })
  assert.equal(
    matches.map(({ path }: { path: string }) => path),
    ['open'],
  )
  if (wasRead(open))
    for (const path of [...denied, linked, ignored, outside]) assert.not.ok(wasRead(path), path)
})

test('without ripgrep, contents are not searched, and names are', async () => {
  bench.ctx.memo.set('ripgrep', Promise.resolve(null))
  bench.write('a', 'word\n')
  assert.match(await refused(search({ pattern: 'word' })), 'needs ripgrep')
  assert.equal((await search({ pattern: 'a', target: 'files' })).files, ['a'])
})

test('says that ripgrep failed', async () => {
  bench.write('a', 'word\n')
  for (const text of ['echo broken >&2; exit 101', 'kill -9 $$']) {
    usePath(text)
    assert.match(await refused(search({ pattern: 'word' })), 'ripgrep failed')
  }
})

test('a file that was deleted since it was listed is unreadable, and no error', async () => {
  bench.write('a', 'word\n')
  const gone = bench.write('b', 'word\n')
  usePath(`rm -f '${gone}'; exec '${real.path}' "$@"`)
  const { total_count, not_searched } = await search({ pattern: 'word' })
  assert.equal([total_count, not_searched], [1, { unreadable: 1 }])
})

test('shows nothing of a file that a link has replaced', async () => {
  const outside = join(bench.root, 'state', 'outside')
  writeFileSync(outside, 'word SECRET\n')
  const place = bench.write('a/f', 'word\n')
  for (const [path, target] of [
    [place, outside],
    [join(bench.workspace, 'a'), join(bench.root, 'state')],
  ] as const) {
    usePath(`rm -rf '${path}'; ln -s '${target}' '${path}'; exec '${real.path}' "$@"`)
    assert.equal((await search({ pattern: 'word' })).matches, [])
    rmSync(path)
    bench.write('a/outside', 'word\n')
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

test('after the time limit, what was found is shown, and the rest is not taken for searched', async () => {
  bench.write('a', 'word\n')
  bench.write('b', 'word\n')
  // It has counted a, and hangs.
  usePath(
    `case "$*" in *--count*) printf './a\\0001\\n'; exec sleep 60;; *) exec '${real.path}' "$@";; esac`,
  )
  const tool = searchFilesTool({ list: 60_000, read: 2_000, lines: 60_000 })
  const input = tool.input.parse({ pattern: 'word' })
  const { total_count, total_is_lower_bound, matches, not_searched, note } = JSON.parse(
    (await tool.run(bench.ctx, input)).content,
  )
  assert.equal([total_count, total_is_lower_bound], [1, true])
  assert.equal(not_searched, { files_out_of_time: 1 })
  assert.equal(matches, [{ path: 'a', line: 1, content: 'word' }])
  assert.match(note, '1 of 2')
})

test.run()
