/** settings.json: what is accepted, what is ignored, what earlier versions left behind. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Settings as SettingsSchema } from '../../../handlers/settings.ts'
import type { Settings } from '../../../lib/base/settings.ts'
import { SettingsStore, type SettingsOptions, toBoolean } from '../../../lib/profiles/settings.ts'
import { resolveDefaultWorkspace } from '../../../lib/workspaces/default-workspace.ts'
import { usableWorkspace } from '../../../lib/workspaces/workspace-paths.ts'
import { changesReported, writeOld } from '../../_wait.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ dir: string; path: string }>('settings')
test.before.each(context => {
  context.dir = tempDir('settings')
  context.path = join(context.dir, 'settings.json')
})

const open = (dir: string, options: Partial<SettingsOptions> & { env?: string } = {}) =>
  new SettingsStore(join(dir, 'settings.json'), {
    botName: 'Agent',
    usableWorkspace: path => usableWorkspace(path, dir),
    defaultWorkspace: saved =>
      resolveDefaultWorkspace(
        { defaultWorkspace: options.env ?? null, userHome: dir, stateDir: dir },
        saved,
      ),
    migrateDefaultModel: () => assert.unreachable('no default model to adopt'),
    ...options,
  })
const onDisk = (path: string) => JSON.parse(readFileSync(path, 'utf8'))

test('a rejected patch writes nothing: no file appears', ({ dir, path }) => {
  const patch = { theme: {}, unknown: 1, send_key: 'x', password_hash: 'h', default_model: 'm' }
  const { ignored } = open(dir).save(patch)
  assert.equal(ignored, ['theme', 'unknown', 'send_key', 'password_hash', 'default_model'])
  assert.is(existsSync(path), false)
  open(dir).get()
  assert.is(existsSync(path), false)
})

test('a broken file: defaults are read, nothing is written, and sign-in is refused', ({
  dir,
  path,
}) => {
  for (const text of ['{"theme": "nord"', '[]', '"x"', 'null']) {
    writeFileSync(path, text)
    const settings = open(dir)
    assert.is(settings.get().theme, 'dark')
    assert.throws(() => settings.save({ theme: 'nord' }), /Fix or delete/)
    assert.is(settings.password.read().kind, 'damaged')
    assert.is(readFileSync(path, 'utf8'), text)
  }
})

test('a file that breaks while the service runs keeps the password', ({ dir, path }) => {
  const settings = open(dir)
  writeFileSync(path, JSON.stringify({ password_hash: 'a'.repeat(64) }))
  settings.get()
  writeFileSync(path, '{"password')
  assert.equal(settings.password.read(), { kind: 'hash', hash: 'a'.repeat(64) })
})

test('the defaults, which clients rely on', ({ dir }) => {
  const settings = open(dir).get()
  assert.equal(SettingsSchema.parse(settings), {
    default_workspace: join(dir, 'workspace'),
    onboarding_completed: false,
    send_key: 'enter',
    show_token_usage: false,
    show_steps: false,
    show_cli_sessions: false,
    sync_to_insights: false,
    check_for_updates: true,
    theme: 'dark',
    skin: 'default',
    language: 'en',
    bot_name: 'Agent',
    sound_enabled: false,
    notifications_enabled: false,
    show_thinking: true,
    sidebar_density: 'compact',
    accent: 'theme',
    font_size: 'default',
    density: 'comfortable',
    reading_font: 'sans',
    // Of the additions: the page follows the browser until a language is saved.
    language_from: 'browser',
  })
})

test('values that count as false', () => {
  for (const value of [
    false,
    0,
    '',
    ' ',
    'false',
    'FALSE',
    '0',
    'no',
    'off',
    ' Off ',
    null,
    undefined,
  ])
    assert.is(toBoolean(value), false, String(value))
  for (const value of [true, 1, -1, 'true', 'yes', 'on', '1', 'x'])
    assert.is(toBoolean(value), true)
})

const X = undefined
type Row = [key: keyof Settings, given: unknown, stored: unknown]
const COERCED: Row[] = [
  ...(
    [
      'onboarding_completed',
      'show_token_usage',
      'show_cli_sessions',
      'sync_to_insights',
      'check_for_updates',
      'sound_enabled',
      'notifications_enabled',
      'show_thinking',
      'show_steps',
    ] as const
  ).flatMap((key): Row[] => [
    [key, 'no', false],
    [key, 'yes', true],
    [key, 0, false],
    [key, 7, true],
    [key, {}, X],
    [key, [], X],
  ]),
  ['send_key', 'ctrl+enter', 'ctrl+enter'],
  ['send_key', 'Enter', X],
  ['send_key', 1, X],
  ['sidebar_density', 'detailed', 'detailed'],
  ['sidebar_density', 'wide', X],
  ['accent', 'blue', 'blue'],
  ['accent', '#ff0000', X],
  ['font_size', 'larger', 'larger'],
  ['font_size', 18, X],
  ['density', 'compact', 'compact'],
  ['density', 'detailed', X],
  ['reading_font', 'serif', 'serif'],
  ['reading_font', 'Comic Sans MS', X],
  ['theme', ' my-own theme ', 'my-own theme'],
  ['theme', 'system', 'system'],
  ['theme', '', X],
  ['theme', 'a\nb', X],
  ['theme', 'x'.repeat(65), X],
  ['theme', true, X],
  ['skin', 'ares', 'ares'],
  ['skin', 'pink', X],
  ['language', 'pt-BR', 'pt-BR'],
  ['language', 'x', X],
  ['language', 'en_US', X],
  ['language', 'en-US\n', X],
  ['language', 'en-waytoolong', X],
  ['bot_name', '  Rob  ', 'Rob'],
  ['bot_name', '   ', 'Agent'],
  ['bot_name', null, 'Agent'],
  ['bot_name', 42, '42'],
  ['bot_name', '🤖'.repeat(64), '🤖'.repeat(64)],
  ['bot_name', 'x'.repeat(65), X],
  ['bot_name', ['x'], X],
  ['bot_name', true, X],
  ['default_workspace', '/nowhere/at/all', X],
  ['default_workspace', '/etc', X],
  ['default_workspace', 5, X],
]
for (const [key, given, stored] of COERCED) {
  test(`${key}: ${JSON.stringify(given)?.slice(0, 40)} ${stored === X ? 'is ignored' : `becomes ${JSON.stringify(stored).slice(0, 40)}`}`, ({
    dir,
  }) => {
    const settings = open(dir)
    const before = settings.get()
    const result = settings.save({ [key]: given })
    assert.equal(result.ignored, stored === X ? [key] : [])
    const from = key === 'language' ? { language_from: 'setting' } : {}
    assert.equal(result.settings, stored === X ? before : { ...before, ...from, [key]: stored })
    assert.equal(open(dir).get(), result.settings)
  })
}

test('a saved language is kept until the browser’s is chosen again', ({ dir, path }) => {
  writeFileSync(path, JSON.stringify({ language: 'de' }))
  assert.is(open(dir).get().language_from, 'setting')
  open(dir).save({ language_from: 'browser' })
  assert.is(open(dir).get().language_from, 'browser')
  open(dir).save({ language: 'fr' })
  assert.equal([open(dir).get().language, open(dir).get().language_from], ['fr', 'setting'])
})

test('the default workspace: the first usable of environment, saved, ~/workspace, ~/work, our own', ({
  dir,
}) => {
  const make = (name: string) => {
    mkdirSync(join(dir, name))
    return join(dir, name)
  }
  const saved = make('saved')
  assert.is(open(dir).get().default_workspace, join(dir, 'workspace'))
  open(dir).save({ default_workspace: '~/saved' })
  assert.is(open(dir).get().default_workspace, saved)
  const env = make('env')
  assert.is(open(dir, { env }).get().default_workspace, env)
  const settings = open(dir)
  settings.get()
  rmSync(saved, { recursive: true })
  assert.is(settings.get().default_workspace, join(dir, 'workspace'))
  rmSync(join(dir, 'workspace'), { recursive: true })
  assert.is(settings.get().default_workspace, join(dir, 'workspace'))
  rmSync(join(dir, 'workspace'), { recursive: true })
  const work = make('work')
  assert.is(settings.get().default_workspace, work)
  settings.save({ default_workspace: '' })
  assert.is(settings.get().default_workspace, work)
})

const SKINS: [file: Record<string, unknown>, skin: string][] = [
  [{ theme: 'slate' }, 'slate'],
  [{ theme: 'solarized' }, 'poseidon'],
  [{ theme: 'monokai' }, 'sisyphus'],
  [{ theme: 'nord' }, 'slate'],
  [{ theme: 'oled' }, 'default'],
  [{ theme: 'constructor' }, 'default'],
  [{ theme: 'light' }, 'default'],
  [{ theme: 'nord', skin: 'ares' }, 'ares'],
  [{ theme: 'nord', skin: 'pink' }, 'slate'],
]
test('keeps the theme as given; the skin follows unless chosen', ({ dir, path }) => {
  for (const [file, skin] of SKINS) {
    writeFileSync(path, JSON.stringify(file))
    const found = open(dir).get()
    assert.equal([found.theme, found.skin], [file.theme, skin])
  }
  const settings = open(dir)
  settings.save({ theme: 'dark', skin: 'mono' })
  assert.is(settings.save({ theme: 'light' }).settings.skin, 'mono')
  assert.is(settings.save({ theme: 'monokai' }).settings.skin, 'sisyphus')
  assert.is(settings.save({ theme: 'nord', skin: 'ares' }).settings.skin, 'ares')
})

test('stores only chosen values, keeps unknown keys, drops obsolete ones', ({ dir, path }) => {
  const legacy = {
    bubble_layout: true,
    assistant_language: 'x',
    future: { a: 1 },
    theme: 'nord',
    language: 7,
    password_hash: 'h',
  }
  writeFileSync(path, JSON.stringify(legacy))
  const { settings } = open(dir).save({ sound_enabled: 'on' })
  assert.equal(onDisk(path), {
    future: { a: 1 },
    theme: 'nord',
    language: 7,
    password_hash: 'h',
    sound_enabled: true,
  })
  assert.is(settings.language, 'en')
  assert.not('password_hash' in settings)
})

test('a password hash of an earlier version is read, never ignored when invalid, and removed', async ({
  dir,
  path,
}) => {
  const read = () => open(dir).password.read()
  assert.equal(read(), { kind: 'none' })
  const hash = 'ab'.repeat(32)
  for (const none of [{}, { password_hash: null }, { password_hash: '' }]) {
    writeFileSync(path, JSON.stringify(none))
    await nextIteration()
    assert.equal(read(), { kind: 'none' })
  }
  for (const odd of [
    5,
    true,
    false,
    0,
    [],
    {},
    { password_hash: hash },
    [hash],
    'x',
    `${hash}0`,
    ` ${hash}`,
  ]) {
    writeFileSync(path, JSON.stringify({ password_hash: odd }))
    await nextIteration()
    assert.is(read().kind, 'damaged', JSON.stringify(odd))
  }
  writeFileSync(path, JSON.stringify({ theme: 'x', password_hash: hash.toUpperCase() }))
  await nextIteration()
  const settings = open(dir)
  assert.equal(settings.password.read(), { kind: 'hash', hash })
  assert.equal(settings.save({ password_hash: null }).ignored, ['password_hash'])
  assert.equal(settings.password.read(), { kind: 'hash', hash })
  settings.password.store('cd'.repeat(32))
  assert.equal(onDisk(path), { theme: 'x', password_hash: 'cd'.repeat(32) })
  assert.equal(settings.password.read(), { kind: 'hash', hash: 'cd'.repeat(32) })
  settings.password.store(null)
  assert.equal(onDisk(path), { theme: 'x' })
  assert.equal(settings.password.read(), { kind: 'none' })
})

test('an old default model is migrated once, and later when it cannot be written', ({
  dir,
  path,
}) => {
  writeFileSync(path, '{"default_model":"old","theme":"nord"}')
  const adopted: string[] = []
  let isStuck = true
  const settings = open(dir, {
    migrateDefaultModel(model) {
      if (isStuck) throw new Error('config.yaml is broken')
      adopted.push(model)
    },
  })
  assert.is(settings.get().theme, 'nord')
  assert.is(onDisk(path).default_model, 'old')
  isStuck = false
  for (let n = 0; n < 3; n++) assert.is(settings.get().theme, 'nord')
  assert.equal(adopted, ['old'])
  assert.equal(onDisk(path), { theme: 'nord' })
})

test('picks up changes by another program on next use', async ({ dir, path }) => {
  const settings = open(dir)
  for (const theme of ['aaa', 'bbb', 'ccc']) {
    writeFileSync(path, JSON.stringify({ theme }))
    await changesReported()
    assert.is(settings.get().theme, theme)
  }
  rmSync(path)
  await changesReported()
  assert.is(settings.get().theme, 'dark')
})

test('what another program wrote a moment ago is not lost by a change', ({ dir, path }) => {
  const settings = open(dir)
  for (const theme of ['aaa', 'bbb', 'ccc']) {
    settings.get()
    writeOld(path, JSON.stringify({ theme }))
    settings.save({ bot_name: theme })
    assert.equal(onDisk(path), { theme, bot_name: theme })
  }
})

test.run()
