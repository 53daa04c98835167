/** Reading, writing, patching and searching: hostile paths first, then the work. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Bench, createBench, refused } from './_context.ts'

const test = suite('file tools')

let bench: Bench
test.before.each(() => {
  // Writing below /tmp is free, so what is outside the workspace must lie elsewhere.
  bench = createBench('/var/tmp')
})
test.after.each(() => bench.close())

const read = (path: string) => readFileSync(join(bench.workspace, path), 'utf8')

test('a workspace in /dev/shm is a directory, not a device', async () => {
  if (!existsSync('/dev/shm')) {
    console.log('skipped: there is no /dev/shm')
    return
  }
  const memory = createBench('/dev/shm')
  try {
    assert.match(
      await refused(memory.use('write_file', { path: '/dev/null', content: 'x' })),
      'denied',
    )
    assert.match(
      await refused(memory.use('write_file', { path: '/dev/shm', content: 'x' })),
      'denied',
    )
    await memory.json('write_file', { path: 'a.txt', content: 'one' })
    assert.is(readFileSync(join(memory.workspace, 'a.txt'), 'utf8'), 'one')
    assert.equal(memory.asked, [])
    await memory.use('write_file', { path: '../home/b.txt', content: 'x' })
    assert.is(memory.asked.length, 1)
  } finally {
    memory.close()
  }
})

test('secrets can neither be read nor written, by any way', async () => {
  mkdirSync(join(bench.home, '.ssh'))
  writeFileSync(join(bench.home, '.ssh/id_rsa'), 'KEY')
  writeFileSync(join(bench.root, 'state/.signing_key'), 'KEY')
  symlinkSync(join(bench.home, '.ssh/id_rsa'), join(bench.workspace, 'innocent.txt'))
  symlinkSync(join(bench.root, 'state'), join(bench.workspace, 'data'))
  bench.say('always')
  for (const path of [
    '~/.ssh/id_rsa',
    '../home/.ssh/id_rsa',
    join(bench.home, '.ssh/id_rsa'),
    'innocent.txt',
    'data/.signing_key',
    '../state/.signing_key',
    '/etc/shadow',
    '/proc/self/environ',
    `/proc/self/root${bench.root}/state/.signing_key`,
  ]) {
    assert.match(await refused(bench.use('read_file', { path })), 'denied', path)
    assert.match(await refused(bench.use('write_file', { path, content: 'x' })), 'denied', path)
  }
  assert.is(readFileSync(join(bench.root, 'state/.signing_key'), 'utf8'), 'KEY')
  assert.equal(bench.asked, [])
})

test('protected files cannot be written', async () => {
  bench.say('always')
  for (const path of [
    '~/.bashrc',
    '~/.config/systemd/user/x.service',
    '/etc/hosts',
    '/dev/null',
    '/boot/x',
    bench.root,
  ])
    assert.match(await refused(bench.use('write_file', { path, content: 'x' })), 'denied', path)
  assert.match(await refused(bench.use('read_file', { path: 'a\0b' })), 'NUL')
})

test('a write outside of the workspace requests approval', async () => {
  const path = join(bench.root, 'outside.txt')
  const denied = await bench.json('write_file', { path, content: 'x' })
  assert.is(denied.status, 'blocked')
  assert.not(existsSync(path))
  assert.equal(bench.asked[0]?.patternKeys, ['write outside the workspace'])
  assert.match(
    bench.asked[0]?.diff ?? '',
    /^--- \/dev\/null\n\+\+\+ [^\n]*outside\.txt\n@@.*\n\+x\n/,
  )
  bench.say('once')
  assert.is((await bench.json('write_file', { path, content: 'x' })).bytes_written, 1)
  symlinkSync(path, join(bench.workspace, 'link'))
  bench.say('deny')
  assert.is(
    (await bench.json('write_file', { path: 'link', content: 'changed' })).status,
    'blocked',
  )
  assert.match(bench.asked.at(-1)?.diff ?? '', /\n-x\n[^+]*\n\+changed\n/)
  assert.is(readFileSync(path, 'utf8'), 'x')
})

test('a link created during the approval gains nothing', async () => {
  const aim = join(bench.root, 'aim.txt')
  bench.ctx.approve = async () => {
    symlinkSync(join(bench.home, 'elsewhere'), aim)
    return 'once'
  }
  assert.match(
    await refused(bench.use('write_file', { path: aim, content: 'x' })),
    'a different file',
  )
  assert.not(existsSync(join(bench.home, 'elsewhere')))
})

test('does not read binary files', async () => {
  bench.write('blob', Buffer.from([1, 2, 0, 3]))
  bench.write('image.png', 'x')
  bench.write('src/parser.ts', 'x')
  assert.match(await refused(bench.use('read_file', { path: 'blob' })), 'binary')
  assert.match(await refused(bench.use('read_file', { path: 'image.png' })), 'image')
  assert.match(await refused(bench.use('read_file', { path: 'src' })), 'directory')
  assert.match(await refused(bench.use('read_file', { path: '/dev/zero' })), 'not a regular file')
  assert.match(await refused(bench.use('read_file', { path: 'src/parsre.ts' })), 'parser.ts')
  assert.match(await refused(bench.use('read_file', { path: 'no/where' })), 'does not exist')
})

test('reading in pages with line numbers', async () => {
  bench.write('ten.txt', Array.from({ length: 10 }, (_, at) => `line ${at + 1}\r\n`).join(''))
  const page = await bench.json('read_file', { path: 'ten.txt', offset: 9, limit: 1 })
  assert.equal(page, {
    content: '  9|line 9',
    total_lines: 10,
    file_size: 81,
    truncated: true,
    hint: 'Use offset=10 to read on.',
  })
  const last = await bench.json('read_file', { path: './ten.txt', offset: 10 })
  assert.is(last.content, '  10|line 10')
  assert.is(last.truncated, false)
})

test('writing creates directories and keeps the mode', async () => {
  const made = await bench.json('write_file', { path: 'a/b/c.txt', content: 'äöü' })
  assert.equal(made, { bytes_written: 6, dirs_created: true })
  chmodSync(join(bench.workspace, 'a/b/c.txt'), 0o750)
  await bench.json('write_file', { path: 'a/b/c.txt', content: 'x' })
  assert.is(statSync(join(bench.workspace, 'a/b/c.txt')).mode & 0o777, 0o750)
  assert.is(read('a/b/c.txt'), 'x')
})

test('replace: ambiguous, missing, everywhere', async () => {
  bench.write('f', 'x y x')
  const ask = (more: object) =>
    bench.json('patch', { path: 'f', old_string: 'x', new_string: 'z', ...more })
  assert.match(await refused(ask({})), '2 places')
  assert.match(await refused(ask({ old_string: 'nope' })), 'not found')
  assert.match(await refused(ask({ old_string: ' ' })), 'blank')
  assert.match(await refused(ask({ path: 'none' })), 'does not exist')
  await ask({ replace_all: true })
  assert.is(read('f'), 'z y z')
})

test('a patch over several files', async () => {
  bench.write('a.ts', 'class A {\n  one() {\n    return 1\n  }\n  two() {\n    return 1\n  }\n}\n')
  bench.write('old.txt', 'bye\n')
  bench.write('move.txt', 'stay\nhere')
  const patch = `*** Begin Patch
*** Update File: a.ts
@@   two() {
-    return 1
+    return 2
   }
*** Add File: dir/new.txt
+hello
+world
*** Delete File: old.txt
*** Update File: move.txt
*** Move to: moved.txt
@@
-here
+there
*** End of File
*** End Patch`
  const result = await bench.json('patch', { mode: 'patch', patch })
  assert.match(read('a.ts'), /one\(\) \{\n {4}return 1[\s\S]*two\(\) \{\n {4}return 2/)
  assert.is(read('dir/new.txt'), 'hello\nworld\n')
  assert.not(existsSync(join(bench.workspace, 'old.txt')))
  assert.is(read('moved.txt'), 'stay\nthere')
  assert.equal(result.files_created, ['dir/new.txt', 'moved.txt'])
  assert.equal(result.files_deleted, ['old.txt', 'move.txt'])
  assert.match(result.diff, '-    return 1\n+    return 2')
})

test('a patch is all or nothing', async () => {
  bench.write('a', 'one\n')
  const patch =
    '*** Begin Patch\n*** Update File: a\n@@\n-one\n+two\n*** Update File: b\n@@\n-x\n+y\n*** End Patch'
  assert.match(await refused(bench.use('patch', { mode: 'patch', patch })), 'does not exist')
  const lost = patch.replace('File: b', 'File: a')
  assert.match(await refused(bench.use('patch', { mode: 'patch', patch: lost })), 'twice')
  const wrong = '*** Update File: a\n@@\n-three\n+two'
  assert.match(await refused(bench.use('patch', { mode: 'patch', patch: wrong })), 'not found')
  const odd = '*** Update File: a\n@@\n-one\n+two\nwhat is this'
  assert.match(await refused(bench.use('patch', { mode: 'patch', patch: odd })), 'Line 5')
  assert.is(read('a'), 'one\n')
})

test('searching contents', async () => {
  bench.write('src/a.ts', 'const alpha = 1\nconst beta = 2\n')
  bench.write('src/b.md', 'Alpha\n')
  bench.write('node_modules/x/a.ts', 'alpha')
  bench.write('.gitignore', 'dist/\n*.log\n!keep.log\n/only-here.txt\n')
  bench.write('dist/a.ts', 'alpha')
  bench.write('x.log', 'alpha')
  bench.write('keep.log', 'alpha')
  bench.write('only-here.txt', 'alpha')
  bench.write('sub/only-here.txt', 'alpha')
  bench.write('blob', Buffer.from('alpha\0'))
  symlinkSync('/etc', join(bench.workspace, 'etc'))
  const found = await bench.json('search_files', { pattern: 'alpha' })
  assert.equal(found.matches.map((hit: { path: string }) => hit.path).sort(), [
    'keep.log',
    'src/a.ts',
    'sub/only-here.txt',
  ])
  assert.equal(
    (await bench.json('search_files', { pattern: '(?i)^alpha', file_glob: '*.md' })).matches,
    [{ path: 'src/b.md', line: 1, content: 'Alpha' }],
  )
  const around = await bench.json('search_files', { pattern: 'beta', path: 'src', context: 1 })
  assert.is(around.matches[0].content, 'const alpha = 1\nconst beta = 2')
  assert.equal(
    (await bench.json('search_files', { pattern: 'const', output_mode: 'count' })).counts,
    { 'src/a.ts': 2 },
  )
  assert.equal(
    (await bench.json('search_files', { pattern: 'const', output_mode: 'files_only' })).files,
    ['src/a.ts'],
  )
  const cut = await bench.json('search_files', { pattern: 'const', limit: 1 })
  assert.is(cut.matches.length, 1)
  assert.is(cut.total_count, 2)
  assert.is(cut.truncated, true)
  assert.is((await bench.json('search_files', { pattern: 'alpha = (' })).total_count, 0)
})

test('a match with the end of its line has a place; what ripgrep cannot do is no empty result', async () => {
  bench.write('a.txt', 'x\nalpha\nend\n')
  const { total_count, matches } = await bench.json('search_files', { pattern: 'pha\\R' })
  assert.equal([total_count, matches], [1, [{ path: 'a.txt', line: 2, content: 'alpha' }]])
  const withRipgrep = (script: string) => {
    const path = bench.write('rg', `#!/bin/sh\ncase "$*" in ${script} esac\nexit 1\n`)
    chmodSync(path, 0o700)
    bench.ctx.memo.set('ripgrep', Promise.resolve({ path, version: '15', from: 'PATH' }))
    return bench.use('search_files', { pattern: 'alpha', path: 'a.txt' })
  }
  const failing = '*--count*) echo "rg: no memory" >&2; exit 2;;'
  assert.match(await refused(withRipgrep(failing)), 'no memory')
  // A file that became shorter while it was mapped.
  const killed = await withRipgrep(`*--mmap*) kill -BUS $$;; ${failing.replace('2;;', '1;;')}`)
  assert.is(JSON.parse(killed.content).total_count, 0)
})

test('searching names', async () => {
  bench.write('src/deep/a.ts', '')
  bench.write('src/b.ts', '')
  bench.write('readme.md', '')
  const names = async (pattern: string) =>
    (await bench.json('search_files', { pattern, target: 'files' })).files.sort()
  assert.equal(await names('*.ts'), ['src/b.ts', 'src/deep/a.ts'])
  assert.equal(await names('src/*.ts'), ['src/b.ts'])
  assert.equal(await names('**/deep/*'), ['src/deep/a.ts'])
  assert.equal(await names('read'), ['readme.md'])
  assert.equal(await names('*.{md,txt}'), ['readme.md'])
})

test('a search sees no secrets, obeys a stop, and is not blocked by any pattern', async () => {
  mkdirSync(join(bench.home, '.ssh'))
  writeFileSync(join(bench.home, '.ssh/id_rsa'), 'alpha')
  writeFileSync(join(bench.root, 'state/key'), 'alpha')
  assert.is(
    (await bench.json('search_files', { pattern: 'alpha', path: bench.root })).total_count,
    0,
  )
  assert.match(
    await refused(bench.use('search_files', { pattern: 'x', path: '../state' })),
    'denied',
  )
  bench.write('trap', `${'a'.repeat(40)}!`)
  assert.match(await refused(bench.use('search_files', { pattern: '^(a+)+(?=b)' })), 'too long')
  bench.stop(new Error('stopped'))
  assert.match(await refused(bench.use('search_files', { pattern: 'x' })), 'stopped')
})

test.run()
