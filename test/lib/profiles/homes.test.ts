/** A profile is a parameter: homes share nothing, and what changes on disk is seen at the next use. */
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../lib/base/clock.ts'
import { ALLOCATOR } from '../../../build/node-flags.mjs'
import { UserError } from '../../../lib/errors.ts'
import { Homes } from '../../../lib/profiles/homes.ts'
import { lookAgain } from '../../../lib/store/file-stats.ts'
import { tempDir } from '../../_temp-dir.ts'

type Env = Record<string, string>
const test = suite<{ base: string }>('homes')
test.before.each(context => {
  context.base = tempDir('homes')
})

const open = (
  base: string,
  given: { agentHome?: string; configPath?: string | null; env?: Env } = {},
) =>
  new Homes({ baseHome: base, agentHome: base, configPath: null, env: {}, ...given }, systemClock)

const profile = (base: string, name: string): string => {
  const dir = join(base, 'profiles', name)
  mkdirSync(dir, { recursive: true })
  return dir
}

const refuses = (kind: string, words?: RegExp) => (error: unknown) =>
  error instanceof UserError && error.kind === kind && (!words || words.test(error.message))

test('rejects an invalid name; an unknown one is missing', ({ base }) => {
  const homes = open(base)
  for (const name of [
    '',
    'Upper',
    '..',
    'a/b',
    '-a',
    'a\n',
    'default\n',
    'a'.repeat(65),
    'ä',
    'a\0',
  ])
    assert.throws(() => homes.open(name), refuses('invalid'), JSON.stringify(name))
  assert.throws(() => homes.open('gone'), refuses('missing', /does not exist/))
  writeFileSync(join(base, 'profiles-file'), '')
  mkdirSync(join(base, 'profiles'))
  writeFileSync(join(base, 'profiles', 'file'), '')
  assert.throws(() => homes.open('file'), refuses('missing'))
  rmSync(join(base, 'profiles'), { recursive: true })
  writeFileSync(join(base, 'profiles'), '')
  assert.throws(() => homes.open('gone'), refuses('missing'))
})

test('a session of a deleted profile is read-only and gets no other home', ({ base }) => {
  const homes = open(base)
  const dir = profile(base, 'work')
  writeFileSync(join(base, '.env'), 'OPENAI_API_KEY=sk-of-the-base-home\n')
  assert.is(homes.of('work').dir, dir)
  rmSync(dir, { recursive: true })
  for (const name of ['work', 'never', '../x', 'profiles']) {
    const gone = homes.of(name)
    assert.is(gone.name, name)
    for (const read of [gone.values, gone.env, gone.dotenv, gone.authJson, gone.configFile.read])
      assert.throws(read, refuses('conflict'))
    assert.throws(() => gone.childEnv(), refuses('conflict'))
    assert.throws(() => gone.configFile.edit(['a'], 1), refuses('conflict'))
    assert.equal([gone.peek(), gone.problems()], [{}, []])
    assert.is(existsSync(gone.dir), false)
  }
  for (const name of [null, undefined, '', 'default']) assert.is(homes.of(name).dir, base)
})

test('uses a valid cookie, else the active profile', ({ base }) => {
  const homes = open(base)
  profile(base, 'work')
  profile(base, 'play')
  assert.is(homes.forCookie(undefined).name, 'default')
  writeFileSync(join(base, 'active_profile'), 'work\n')
  assert.is(homes.active(), 'work')
  assert.is(homes.forCookie(undefined).name, 'work')
  assert.is(homes.forCookie('Not Valid').name, 'work')
  assert.is(homes.forCookie('play\n').name, 'work')
  assert.is(homes.forCookie('play').name, 'play')
  assert.is(homes.forCookie('default').name, 'default')
  assert.is(homes.forCookie('gone').name, 'default')
})

test('the active profile: marker, else AGENT_HOME, else default', ({ base }) => {
  const started = profile(base, 'started')
  profile(base, 'marked')
  const homes = open(base, { agentHome: started })
  assert.is(homes.active(), 'started')
  writeFileSync(join(base, 'active_profile'), 'marked')
  assert.is(homes.active(), 'marked')
  writeFileSync(join(base, 'active_profile'), 'gone')
  assert.is(homes.active(), 'default')
  writeFileSync(join(base, 'active_profile'), '')
  assert.is(homes.active(), 'started')
  assert.is(open(base).active(), 'default')
  assert.is(open(base, { agentHome: join(base, 'elsewhere', 'x') }).active(), 'default')
})

test('AGENT_CONFIG_PATH applies to the base profile only', ({ base }) => {
  const configPath = join(base, 'elsewhere.yaml')
  writeFileSync(configPath, 'model: there\n')
  const work = profile(base, 'work')
  writeFileSync(join(work, 'config.yaml'), 'model: here\n')
  const homes = open(base, { configPath, env: { AGENT_CONFIG_PATH: configPath } })
  assert.equal(homes.base.values(), { model: 'there' })
  assert.equal(homes.open('work').values(), { model: 'here' })
  assert.is(homes.base.childEnv().AGENT_CONFIG_PATH, configPath)
  assert.is(homes.open('work').childEnv().AGENT_CONFIG_PATH, undefined)
})

test('a home’s .env overrides the process environment, is reread when it changes, and applies to that home only', ({
  base,
}) => {
  const a = profile(base, 'a')
  profile(base, 'b')
  const homes = open(base, { env: { OPENAI_API_KEY: 'process', PATH: '/bin' } })
  writeFileSync(join(a, '.env'), 'OPENAI_API_KEY=secret-of-a\n')
  assert.is(homes.open('a').env().OPENAI_API_KEY, 'secret-of-a')
  assert.is(homes.open('b').env().OPENAI_API_KEY, 'process')
  assert.equal(homes.open('b').dotenv(), {})
  assert.is(homes.base.env().OPENAI_API_KEY, 'process')
  writeFileSync(join(a, '.env'), 'OPENAI_API_KEY=other\n')
  assert.is(homes.open('a').env().OPENAI_API_KEY, 'other')
  rmSync(join(a, '.env'))
  assert.is(homes.open('a').env().OPENAI_API_KEY, 'process')
  assert.is(homes.open('a').env(), homes.open('a').env())
})

test('two homes share no configuration, credentials or edits', ({ base }) => {
  const a = profile(base, 'a')
  const b = profile(base, 'b')
  for (const [dir, word] of [
    [a, 'alpha'],
    [b, 'beta'],
  ] as const) {
    writeFileSync(join(dir, 'config.yaml'), `model: ${word}\n`)
    writeFileSync(join(dir, 'auth.json'), JSON.stringify({ active_provider: word }))
  }
  const homes = open(base)
  homes.open('a').configFile.edit(['agent', 'reasoning_effort'], 'high')
  assert.equal(homes.open('a').values(), { model: 'alpha', agent: { reasoning_effort: 'high' } })
  assert.equal(homes.open('b').values(), { model: 'beta' })
  assert.equal(homes.base.values(), {})
  assert.equal(homes.open('b').authJson(), { active_provider: 'beta' })
  writeFileSync(join(b, 'auth.json'), '{"broken')
  assert.equal(homes.open('b').authJson(), { active_provider: 'beta' })
  assert.equal(homes.base.authJson(), {})
})

/** As written in config.yaml. */
const ref = (name: string) => `\${${name}}`

test('expands variables for use, never in text that is edited', ({ base }) => {
  writeFileSync(join(base, '.env'), 'KEY=s3cret$X\nX=no\n')
  writeFileSync(
    join(base, 'config.yaml'),
    `model: {api_key: "${ref('KEY')}", default: "a${ref('NONE')}${ref('toString')}b"}\nlist: ["${ref('KEY')}", 1]\n`,
  )
  const { base: home } = open(base)
  assert.equal(home.values(), {
    model: {
      api_key: 's3cret$X',
      default: `a${ref('NONE')}${ref('toString')}b`,
    },
    list: ['s3cret$X', 1],
  })
  assert.equal((home.configFile.read().model as Env).api_key, ref('KEY'))
  assert.is(home.values(), home.values())
  writeFileSync(join(base, '.env'), 'KEY=changed\n')
  lookAgain()
  assert.equal((home.values().model as Env).api_key, 'changed')
})

test('child processes get their home and only the keys passed explicitly', ({ base }) => {
  writeFileSync(
    join(base, '.env'),
    'OPENAI_API_KEY=k\nHF_TOKEN=k\nSUDO_PASSWORD=k\nTENOR_API_KEY=shared\nPLAIN=yes\n',
  )
  writeFileSync(
    join(base, 'config.yaml'),
    'terminal:\n  env_passthrough: [TENOR_API_KEY, AGENT_WEBUI_PASSWORD, 5]\n',
  )
  const env = {
    PATH: '/bin',
    HOME: '/h',
    SSH_AUTH_SOCK: '/s',
    TOKENIZERS_PARALLELISM: '1',
    KEYBOARD: 'x',
    AGENT_WEBUI_PASSWORD: 'p',
    NOTIFY_SOCKET: '/run/s',
    ...ALLOCATOR,
    WATCHDOG_USEC: '1',
    WATCHDOG_PID: '1',
    AGENT_HOME: '/wrong',
    AWS_SECRET_ACCESS_KEY: 'k',
    AWS_ACCESS_KEY_ID: 'k',
    FAL_KEY: 'k',
    GITHUB_TOKEN: 'k',
    ANTHROPIC_TOKEN: 'k',
    CLAUDE_CODE_OAUTH_TOKEN: 'k',
    VOICE_TOOLS_OPENAI_KEY: 'k',
    openai_api_key: 'k',
    OPENAI_API_KEY_2: 'k',
    PGPASSWORD: 'k',
  }
  const { PATH, ...child } = open(base, { env }).base.childEnv({
    AGENT_SESSION_KEY: 'abc',
    TERMINAL_CWD: '/w',
  })
  // Directories of tool managers follow, where the machine has them.
  assert.is(PATH?.split(':')[0], '/bin')
  assert.equal(child, {
    HOME: '/h',
    SSH_AUTH_SOCK: '/s',
    TOKENIZERS_PARALLELISM: '1',
    KEYBOARD: 'x',
    PLAIN: 'yes',
    TENOR_API_KEY: 'shared',
    AGENT_SESSION_KEY: 'abc',
    TERMINAL_CWD: '/w',
    AGENT_HOME: base,
  })
})

test('a managed home is never written', ({ base }) => {
  writeFileSync(join(base, '.managed'), '')
  writeFileSync(join(base, 'config.yaml'), 'model: x\n')
  const { base: home } = open(base)
  assert.equal(home.values(), { model: 'x' })
  assert.throws(() => home.configFile.edit(['model'], 'y'), refuses('conflict', /managed/))
})

test('a profile may be a link to a directory', ({ base }) => {
  mkdirSync(join(base, 'real'))
  mkdirSync(join(base, 'profiles'))
  symlinkSync(join(base, 'real'), join(base, 'profiles', 'linked'))
  assert.is(open(base).open('linked').name, 'linked')
})

test.run()
