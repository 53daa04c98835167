/** Backups: what is saved and what is not, files that change at the same time, and a disk that is full. */
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { zstdDecompressSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { UserError } from '../../../../lib/errors.ts'
import { openForBackup } from '../../../../lib/operations/backups/read-file.ts'
import { readArchive } from '../../../../lib/operations/backups/read-archive.ts'
import { restoreBackup } from '../../../../lib/operations/backups/restore.ts'
import { openDatabase } from '../../../../lib/store/sqlite.ts'
import { createPlaces, LONG, readTree } from './_places.ts'

const test = suite('backups')

const places = createPlaces()
const passphrase = 'correct horse battery'

const failureOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return error.message
  }
  throw new Error('It did not fail')
}

const onlyFrom = (...names: string[]) =>
  assert.equal(readdirSync(places.out).toSorted(), names.toSorted())

test('refuses a target that exists, is inside what is saved, or has no directory', async () => {
  writeFileSync(join(places.out, 'taken.tar.zst'), 'earlier')
  assert.match(await failureOf(places.make('taken.tar.zst')), /already exists/)
  assert.is(readFileSync(join(places.out, 'taken.tar.zst'), 'utf8'), 'earlier')
  assert.match(await failureOf(places.make('none/x.tar.zst')), /There is no directory/)
  for (const dir of [places.home, join(places.home, 'skills'), places.state])
    assert.match(
      await failureOf(places.make('x', { target: join(dir, 'x.tar.zst') })),
      /inside .*, which is what gets saved/,
    )
  symlinkSync(places.state, join(places.dir, 'alias'))
  const target = join(places.dir, 'alias', 'x.tar.zst')
  assert.match(await failureOf(places.make('x', { target })), /inside/)
  rmSync(join(places.out, 'taken.tar.zst'))
  onlyFrom()
})

test('saves every byte of state and homes, and restores them privately', async () => {
  places.write('notes.md', 'directly in the home', 0o666)
  places.write('projects/shared.sh', 'work', 0o775)
  places.write('webui/workspace/shared.txt', 'work', 0o644)
  places.write('mcp-tokens/server.json', '{}', 0o644)
  const made = await places.make('whole.tar.zst', { passphrase })
  assert.is(statSync(made.path).mode & 0o777, 0o600)
  const home = join(places.dir, 'restored')
  const restored = await restoreBackup({
    file: made.path,
    home,
    state: join(home, 'webui'),
    passphrase: async () => passphrase,
  })
  assert.ok(restored.hasKeys)
  const expected = readTree(places.home)
  for (const path of Object.keys(expected))
    if (/^(?:cache|webui\/cache|outside|webui\/instance|state\.db-)/.test(path))
      delete expected[path]
  const found = readTree(home)
  // The copy is one state of the database, without its log.
  delete expected['state.db']
  delete found['state.db']
  // A link to a file elsewhere is saved as that file, an absolute one is relative now.
  assert.is(readFileSync(join(home, 'SOUL.md'), 'utf8'), readFileSync('/etc/hostname', 'utf8'))
  delete expected['SOUL.md']
  delete found['SOUL.md']
  assert.is(found['skills/absolute'], '→ ../scripts/run.sh')
  expected['skills/absolute'] = '→ ../scripts/run.sh'
  for (const name of ['notes.md', 'mcp-tokens/server.json']) {
    assert.match(found[name] ?? '', /^600 /, name)
    expected[name] = expected[name]!.replace(/^\d+/, '600')
  }
  assert.equal(found, expected)

  assert.is(statSync(join(home, 'scripts/run.sh')).mtimeMs, 1_500_000_000_250)
  assert.is(statSync(join(home, 'skills')).mode & 0o777, 0o700)
  const sparse = statSync(join(home, 'sparse.bin'))
  assert.ok(sparse.blocks * 512 < 100_000, `${sparse.blocks} blocks`)
  const db = openDatabase(join(home, 'state.db'), { readonly: true })
  assert.equal(db.prepare('select x from t').pluck().all(), ['in the log'])
  db.close()
  assert.equal(
    made.problems.map(({ path }) => path),
    ['home/outside'],
  )
  for (const path of [
    home,
    made.path,
    join(places.home, 'notes.md'),
    join(places.state, 'workspace'),
  ])
    rmSync(path, { recursive: true })
  for (const name of ['projects', 'mcp-tokens'])
    rmSync(join(places.home, name), { recursive: true })
})

test('has no key without a passphrase, and with one only in the encrypted part', async () => {
  const config = places.write('config.yaml', 'model:\n  api_key: sk-in-the-config\n')
  const withoutKeys = (path: string, text: string) =>
    path === 'home/config.yaml' ? text.replace('sk-in-the-config', 'removed') : text
  for (const given of [null, passphrase]) {
    const { path, keyFiles } = await places.make('keys.tar.zst', { passphrase: given, withoutKeys })
    const plain = zstdDecompressSync(readFileSync(path)).toString('latin1')
    for (const key of [
      'signing-key-0123456789',
      'person-0123456789',
      'sk-0123456789abcdef',
      'auth-0123456789',
      'ssh-0123456789',
      'sk-in-the-config',
    ])
      assert.not(plain.includes(key), key)
    assert.ok(plain.includes('api_key: removed'))
    assert.equal(keyFiles.toSorted(), [
      'home/.env',
      'home/auth.json',
      'home/config.yaml',
      'home/home/.ssh/id_ed25519',
      'state/.signing_key',
      'state/people.json',
    ])
    if (given !== null) {
      const home = join(places.dir, 'with-keys')
      const to = { file: path, home, state: join(home, 'webui') }
      const wrong = restoreBackup({ ...to, passphrase: async () => 'wrong' })
      assert.match(await failureOf(wrong), /passphrase is wrong/)
      assert.not(existsSync(home))
      await restoreBackup({ ...to, passphrase: async () => given })
      assert.is(readFileSync(join(home, 'config.yaml'), 'utf8'), readFileSync(config, 'utf8'))
      rmSync(home, { recursive: true })
    }
    rmSync(path)
  }
})

test('has the default workspace and the worktrees with every file but .env; what it does not know is saved and named, unless it may be a key', async () => {
  const saved = {
    'webui/workspace/report.md': 'a report',
    'webui/workspace/.git/config': '[core]',
    'webui/workspace/cache/x.tmp': 'a name like one of ours',
    'webui/workspace/people.json': '[]',
    'webui/workspace/id_rsa_notes.txt': 'notes',
    'webui/workspace/instance.lock': 'a file of a project',
    'webui/workspace/data.jsonl': '{"a":1}\n{"b":2}',
    'webui/workspace/.env.example': 'KEY=',
    'webui/worktrees/app-ab12/.git': 'gitdir: /x',
    'webui/worktrees/app-ab12/big.partial': 'half',
    'skills/data.jsonl': '{"a":1}\n{"b":2}',
    'webui/new-thing/a.bin': 'unknown',
    'webui/new-thing/b/c.bin': 'unknown',
    'webui/other.json': '{}',
  }
  for (const [path, text] of Object.entries(saved)) places.write(path, text)
  places.write('webui/workspace/.env', 'KEY=value')
  const secret = ['new-thing/api-tokens.json', 'new-thing/.ssh/x', '.later', 'later-password']
  for (const name of secret) places.write(`webui/${name}`, 'later-0123456789')
  for (const name of ['new-thing/b/innocent.json', 'plain'])
    secret.push(name) && places.write(`webui/${name}`, '{"x":"key-0123456789"}')
  const { path, keyFiles, problems } = await places.make('work.tar.zst', {
    withoutKeys: (_, text) => text.replace('key-0123456789', 'removed'),
  })
  const home = join(places.dir, 'work')
  await restoreBackup({
    file: path,
    home,
    state: join(home, 'webui'),
    passphrase: async () => null,
  })
  for (const [name, text] of Object.entries(saved))
    assert.is(readFileSync(join(home, name), 'utf8'), text, name)
  assert.ok(keyFiles.includes('state/workspace/.env'))
  for (const name of secret) {
    assert.not.ok(existsSync(join(home, 'webui', name)), name)
    assert.ok(keyFiles.includes(`state/${name}`), name)
  }
  assert.equal(
    problems
      .map(each => each.path)
      .filter(name => name.startsWith('state/'))
      .toSorted(),
    ['state/new-thing', 'state/other.json', ...secret.map(name => `state/${name}`)].toSorted(),
  )
  for (const name of ['workspace', 'worktrees', 'new-thing', 'other.json', '.later'])
    rmSync(join(places.state, name), { recursive: true })
  for (const name of ['later-password', 'plain']) rmSync(join(places.state, name))
  rmSync(join(places.home, 'skills/data.jsonl'))
  rmSync(home, { recursive: true })
  rmSync(path)
})

test('other programs read it: tar, zstd', async () => {
  const { path } = await places.make('gnu.tar.zst')
  const listed = execFileSync('tar', ['--zstd', '-tf', path], { encoding: 'utf8' })
  assert.ok(listed.includes(LONG))
  const text = execFileSync('tar', ['--zstd', '-xOf', path, 'state/sessions/a.jsonl'])
  assert.is(String(text), '{"n":1}\n{"n":2}\n')
  rmSync(path)
})

test('a journal ends with its last whole line, also when it grows while it is read', async () => {
  const path = places.write('webui/sessions/grows.jsonl', '{"n":1}\n{"n":2}\n{"n":')
  const opened = await openForBackup(path, { isJournal: true })
  assert.ok(opened)
  writeFileSync(path, '3}\n{"n":4}\n', { flag: 'a' })
  assert.is(String(await buffer(opened.content())), '{"n":1}\n{"n":2}\n')
  await opened.close()
  writeFileSync(path, 'no line feed')
  const empty = await openForBackup(path, { isJournal: true })
  assert.is(empty?.size, 0)
  await empty?.close()
  rmSync(path)
})

test('a large file that shrinks while it is read keeps what was read, and is reported', async () => {
  const path = places.write('shrinks.bin', Buffer.alloc(2_000_000, 'x'))
  const opened = await openForBackup(path, { isJournal: false })
  assert.ok(opened)
  const content = opened.content()
  let length = 0
  const first = await content.next()
  if (!first.done) length += first.value.length
  truncateSync(path, 600_000)
  for (;;) {
    const next = await content.next()
    if (next.done) {
      assert.equal(next.value, { size: 600_000, padding: 1_400_000, changed: true })
      break
    }
    length += next.value.length
  }
  assert.is(length, 2_000_000)
  await opened.close()
  rmSync(path)
})

test('what vanishes, or becomes a directory or a link before it is opened, is left out', async () => {
  const path = places.write('gone.txt', 'x')
  rmSync(path)
  assert.is(await openForBackup(path, { isJournal: false }), null)
  mkdirSync(path)
  assert.is(await openForBackup(path, { isJournal: false }), null)
  rmSync(path, { recursive: true })
  symlinkSync('/etc/passwd', path)
  assert.is(await openForBackup(path, { isJournal: false }), null)
  rmSync(path)
  const pipe = openForBackup(join(places.home, 'pipe'), { isJournal: false })
  assert.is(await pipe, null)
})

test('a chat that comes back from the trash while it runs is saved', async () => {
  const trashed = places.write('webui/trash/t/t.jsonl', '{"n":1}\n')
  const moved = { done: false }
  const { path } = await places.make('moved.tar.zst', {
    // Called in the middle: after the first listing of the state directory, and before homes.
    withoutKeys(name, text) {
      if (name === 'state/settings.json') {
        renameSync(trashed, join(places.state, 'sessions/t.jsonl'))
        moved.done = true
      }
      return text
    },
  })
  assert.ok(moved.done)
  const { lines } = await readArchive(path)
  assert.ok(lines.some(line => line.path === 'state/sessions/t.jsonl'))
  rmSync(path)
  rmSync(join(places.state, 'trash'), { recursive: true })
})

test('a full disk leaves no file, and the leftovers of killed backups are removed', async () => {
  const probe = await open(join(places.dir, 'probe'), 'w')
  const handles = Object.getPrototypeOf(probe)
  await probe.close()
  const { writeFile } = handles
  handles.writeFile = async () => {
    throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  }
  try {
    assert.match(await failureOf(places.make('full.tar.zst')), /disk .* is full. Nothing was saved/)
  } finally {
    handles.writeFile = writeFile
  }
  onlyFrom()
  const leftover = '.agent-webui-backup-4194304-0123456789ab.partial'
  const running = `.agent-webui-backup-${process.pid}-0123456789ab.partial`
  for (const name of [leftover, running, 'mine.partial']) writeFileSync(join(places.out, name), 'x')
  const { path } = await places.make('after.tar.zst')
  onlyFrom('after.tar.zst', 'mine.partial', running)
  for (const name of readdirSync(places.out)) rmSync(join(places.out, name))
  assert.not(existsSync(path))
})

test.after(() => {
  places.closeDatabase()
  rmSync(places.dir, { recursive: true, force: true })
})

test.run()
