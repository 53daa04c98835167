/** Archives that are not whole, or that no backup of ours could be: nothing of them is restored. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { UserError } from '../../../../lib/errors.ts'
import { readArchive } from '../../../../lib/operations/backups/read-archive.ts'
import { restoreBackup } from '../../../../lib/operations/backups/restore.ts'
import { createPlaces, forge, HOME, type Raw } from './_places.ts'

const test = suite('damaged backups')

const places = createPlaces()
const home = join(places.dir, 'restored')

/** Restores `bytes`; the sentence of the refusal. Nothing is left. */
const refusal = async (bytes: Buffer): Promise<string> => {
  const file = join(places.out, 'given.tar.zst')
  writeFileSync(file, bytes)
  try {
    await restoreBackup({ file, home, state: join(home, 'webui'), passphrase: async () => null })
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    assert.not(existsSync(home))
    assert.not(readdirSync(places.dir).some(name => name.startsWith('.agent-webui')))
    return error.message
  }
  rmSync(home, { recursive: true })
  throw new Error('It was restored')
}

test('a backup that is cut off or changed anywhere is refused', async () => {
  const { path } = await places.make('good.tar.zst')
  const good = readFileSync(path)
  for (const share of [0, 0.1, 0.5, 0.9, 0.99])
    assert.match(
      await refusal(good.subarray(0, Math.floor(good.length * share))),
      /damaged|not a backup/,
    )
  // Its last 13 bytes are an empty frame, which has no content to lose.
  assert.match(await refusal(good.subarray(0, -14)), /damaged/)
  for (const share of [0.2, 0.4, 0.6, 0.8]) {
    const changed = Buffer.from(good)
    const at = Math.floor(good.length * share)
    changed[at] = (changed[at] ?? 0) ^ 0x10
    assert.match(await refusal(changed), /damaged|not a backup|doesn’t belong/)
  }
})

test('what is no backup of ours, or of a newer format, is refused', async () => {
  assert.match(await refusal(Buffer.from('text')), /not a backup/)
  assert.match(await refusal(await forge([], { head: 'x' })), /not a backup/)
  const head = { program: 'agent-webui', format: 2 }
  assert.match(await refusal(await forge([], { head })), /newer version.*format 2/)
  assert.match(
    await refusal(await forge([], { head: { program: 'other', format: 1 } })),
    /not a backup/,
  )
})

const file = (name: string): Raw => ({ name, text: 'x' })
const directory = (name: string): Raw => ({ name, type: 'directory' })
const link = (name: string, linkname: string): Raw => ({ name, type: 'symlink', linkname })

const STRANGE: Record<string, Raw[]> = {
  'an absolute path': [HOME, file('/etc/evil')],
  'a path with ..': [HOME, file('home/../../evil')],
  'a path through the root': [HOME, file('home/./x')],
  'an unknown directory': [directory('other'), file('other/x')],
  'an invalid profile': [directory('profiles/../x')],
  'a file at the top': [file('evil')],
  'a device': [HOME, { name: 'home/null', type: 'character-device' }],
  'a pipe': [HOME, { name: 'home/pipe', type: 'fifo' }],
  'a hard link': [HOME, { name: 'home/hard', type: 'link', linkname: '/etc/passwd' }],
  'a duplicate': [HOME, file('home/x'), file('home/x')],
  'a file in no directory': [HOME, file('home/a/x')],
  'a file below a file': [HOME, file('home/a'), file('home/a/x')],
  'a link out of it': [HOME, link('home/l', '../../etc')],
  'an absolute link': [HOME, link('home/l', '/etc')],
  'a link into another part': [HOME, directory('state'), link('home/l', '../state')],
  'links that lead out together': [
    HOME,
    directory('home/a'),
    link('home/a/b', '..'),
    link('home/c', 'a/b/..'),
  ],
  'a loop of links': [HOME, link('home/a', 'b'), link('home/b', 'a')],
  'a file below a link': [HOME, link('home/a', '.'), file('home/a/x')],
}

for (const [what, entries] of Object.entries(STRANGE)) {
  test(`${what} is refused`, async () => {
    assert.match(
      await refusal(await forge(entries)),
      /damaged|doesn’t belong|leads out|no file, dir/,
    )
  })
}

test('a list that does not fit is refused', async () => {
  const entries = [HOME, file('home/x')]
  const whole = (await forge(entries)).length
  assert.ok(whole > 0)
  assert.match(await refusal(await forge(entries, { manifest: null })), /ends too early/)
  assert.match(await refusal(await forge(entries, { manifest: '{' })), /cannot be read/)
  const lines = [
    { path: 'agent-webui-backup.json', type: 'file', mode: 0o600 },
    { path: 'home', type: 'directory', mode: 0o600 },
    { path: 'home/x', type: 'file', mode: 0o600, size: 1, sha256: 'other' },
  ]
  const manifest = lines.map(line => `${JSON.stringify(line)}\n`).join('')
  assert.match(await refusal(await forge(entries, { manifest })), /is not what was saved/)
  const again = await forge(entries)
  writeFileSync(join(places.out, 'fine.tar.zst'), again)
  assert.is((await readArchive(join(places.out, 'fine.tar.zst'))).files, 1)
})

test('a place that is not empty is left alone; an empty directory is used', async () => {
  const { path } = await places.make('again.tar.zst')
  const restore = () =>
    restoreBackup({ file: path, home, state: join(home, 'webui'), passphrase: async () => null })
  mkdirSync(home)
  writeFileSync(join(home, 'mine'), 'x')
  try {
    await restore()
    assert.unreachable()
  } catch (error) {
    assert.match((error as Error).message, /is not empty/)
  }
  assert.equal(readdirSync(home), ['mine'])
  rmSync(join(home, 'mine'))
  // What a killed restore left.
  mkdirSync(join(home, '.agent-webui-restore-0123456789ab'))
  mkdirSync(join(places.dir, '.agent-webui-restore-0123456789ab'))
  await restore()
  assert.ok(existsSync(join(home, 'webui/sessions/a.jsonl')))
  assert.not(readdirSync(places.dir).some(name => name.startsWith('.agent-webui')))
  rmSync(home, { recursive: true })
})

test('a state directory elsewhere is restored there', async () => {
  const { path } = await places.make('apart.tar.zst')
  const state = join(places.dir, 'apart')
  await restoreBackup({ file: path, home, state, passphrase: async () => null })
  assert.ok(existsSync(join(state, 'sessions/a.jsonl')))
  assert.not(existsSync(join(home, 'webui')))
  assert.is(readFileSync(join(home, 'profiles/work/SOUL.md'), 'utf8'), 'work')
})

test.after(() => {
  places.closeDatabase()
  rmSync(places.dir, { recursive: true, force: true })
})

test.run()
