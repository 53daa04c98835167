/** `agent-webui backup` and `agent-webui restore`: arguments, passphrases, and what they say. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createDesk } from '../../lib/cli/_run.ts'

const test = suite('backup and restore at a terminal')

const desk = createDesk()
const out = join(desk.root, 'out')
mkdirSync(out)
mkdirSync(join(desk.home, 'webui/sessions'), { recursive: true })
mkdirSync(join(desk.home, 'profiles/work'), { recursive: true })
writeFileSync(join(desk.home, 'webui/sessions/a.jsonl'), '{"n":1}\n')
writeFileSync(join(desk.home, '.env'), 'OPENAI_API_KEY=sk-0123456789abcdef\n')
writeFileSync(
  join(desk.home, 'config.yaml'),
  'model:\n  api_key: sk-fedcba9876543210 # mine\n  default: x\n',
)
const file = (name: string) => join(out, name)

test('refuses a passphrase in an argument, options it does not know, and more than one file', async () => {
  for (const [args, why] of [
    [['backup'], /needs a file name/],
    [['backup', 'a', 'b'], /takes one file name/],
    [['backup', 'a', '--passphrase=x'], /visible to other programs/],
    [['backup', 'a', '--everything'], /not an option of backup/],
    [['backup', 'a', '--passphrase-file', 'x'], /for keys, which are saved with --with-keys/],
    [['restore', 'a', '--force'], /not an option of restore/],
    [['backup', file('a'), '-p', 'none'], /does not exist/],
    [['backup', file('a'), '--with-keys'], /encrypted with a passphrase/],
  ] as const) {
    const { code, err } = await desk.talk(args)
    assert.is.not(code, 0)
    assert.match(err, why)
  }
  assert.not(existsSync(file('a')))
})

test('asks for a new passphrase twice, without echo', async () => {
  const keys = ['backup', file('asked.tar.zst'), '--with-keys']
  assert.match((await desk.talk(keys, { answers: ['long enough', 'another'] })).err, /don’t match/)
  assert.match(
    (await desk.talk(keys, { answers: ['short', 'short'] })).err,
    /at least 8 characters/,
  )
  assert.not(existsSync(file('asked.tar.zst')))
})

test('the agent cannot save or restore keys', async () => {
  const env = { AGENT_SESSION_KEY: 'x', AGENT_WEBUI_BACKUP_PASSPHRASE: 'long enough' }
  const saved = await desk.talk(['backup', file('agent.tar.zst'), '--with-keys'], { env })
  assert.match(saved.err, /The agent cannot/)
  assert.match((await desk.talk(['restore', 'x'], { env })).err, /The agent cannot/)
})

test('saves without keys, lists, checks, and restores elsewhere', async () => {
  const path = file('plain.tar.zst')
  const saved = await desk.talk(['backup', path])
  assert.is(saved.code, 0, saved.err)
  assert.match(saved.out, /^3 files .* saved to .* and read back/)
  assert.match(saved.out, /Keys and passwords are not in it \(2 files\)/)
  const listed = await desk.talk(['restore', '--list', path])
  assert.match(listed.out, /state\/sessions\/a\.jsonl/)
  assert.match(listed.err, /profiles: default, work\nKeys: not in it/)
  assert.match((await desk.talk(['restore', '--check', path])).out, /complete and undamaged/)
  assert.match((await desk.talk(['restore', path])).err, /is not empty/)
  const to = join(desk.root, 'restored')
  const restored = await desk.talk(['restore', path, '--to', to])
  assert.is(restored.code, 0, restored.err)
  assert.match(restored.out, /AGENT_HOME=.*restored agent-webui/)
  assert.match(restored.out, /Keys and passwords were not restored/)
  const config = readFileSync(join(to, 'config.yaml'), 'utf8')
  assert.is(config, 'model:\n  api_key: removed-from-backup # mine\n  default: x\n')
  assert.ok(existsSync(join(to, 'webui/sessions/a.jsonl')))
  rmSync(to, { recursive: true })
})

test('a config.yaml that cannot be parsed counts as a key, because its keys are not known', async () => {
  const config = join(desk.home, 'config.yaml')
  const before = readFileSync(config, 'utf8')
  writeFileSync(config, `${before}: [`)
  const { out: text } = await desk.talk(['backup', file('broken.tar.zst'), '-p', 'default'])
  writeFileSync(config, before)
  assert.match(text, /Keys and passwords are not in it \(2 files\)/)
  const listed = await desk.talk(['restore', '--list', file('broken.tar.zst')])
  assert.not.match(listed.out, /config\.yaml/)
})

test('saves keys with a passphrase from a file, and restores them with one from the environment', async () => {
  const path = file('keys.tar.zst')
  writeFileSync(join(desk.root, 'phrase'), 'correct horse\n')
  const given = ['--passphrase-file', join(desk.root, 'phrase')]
  const saved = await desk.talk(['backup', path, '--with-keys', ...given])
  assert.match(saved.out, /2 files with keys, encrypted/)
  const to = join(desk.root, 'restored')
  const restore = ['restore', path, '--to', to]
  assert.match((await desk.talk(restore)).err, /This backup has keys.*--without-keys/)
  const env = { AGENT_WEBUI_BACKUP_PASSPHRASE: 'correct horse' }
  assert.is((await desk.talk(restore, { env })).code, 0)
  for (const name of ['.env', 'config.yaml'])
    assert.equal(readFileSync(join(to, name)), readFileSync(join(desk.home, name)))
})

test.after(() => rmSync(desk.root, { recursive: true, force: true }))

test.run()
