/** config.yaml as typed settings: bad values cost only themselves, spellings of booleans and numbers, defaults, documentation. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { systemClock } from '../../../lib/base/clock.ts'
import { configKeysPage } from '../../../build/config-docs.ts'
import {
  DEFAULT_PROFILE_CONFIG,
  ProfileConfigSchema,
  parseProfileConfig,
} from '../../../lib/profiles/config.ts'
import type { FieldMeta } from '../../../lib/profiles/config-schema-helpers.ts'
import { openHome } from '../../../lib/profiles/home.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite('profiles/config')

type Values = Record<string, unknown>
type Leaf = { path: readonly string[]; schema: z.ZodType; meta: FieldMeta }

const leavesOf = (schema: z.ZodType, path: readonly string[] = []): Leaf[] =>
  schema instanceof z.ZodObject
    ? Object.entries(schema.shape).flatMap(([key, inner]) =>
        leavesOf(inner as z.ZodType, [...path, key]),
      )
    : [{ path, schema, meta: schema.meta() as FieldMeta }]

const LEAVES = leavesOf(ProfileConfigSchema)
const isRaw = ({ schema }: Leaf) => schema instanceof z.ZodUnknown

const nested = (path: readonly string[], value: unknown): Values =>
  Object.fromEntries([[path[0] ?? '', path.length === 1 ? value : nested(path.slice(1), value)]])
const at = (values: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((found, key) => (found as Values)[key], values)
const keysOf = (values: Values) => parseProfileConfig(values).problems.map(({ key }) => key)

test('reports an unusable value under its key and applies the default', () => {
  for (const leaf of LEAVES.filter(each => !isRaw(each))) {
    const key = leaf.path.join('.')
    // A mapping is a bad value everywhere but in a mapping, where its entries are bad.
    const isMapping = leaf.schema instanceof z.ZodRecord
    const { value, problems } = parseProfileConfig(
      nested(leaf.path, isMapping ? 'text' : { not: 'meant' }),
    )
    assert.equal(
      problems.map(problem => problem.key),
      [key],
    )
    assert.equal(at(value, leaf.path), at(DEFAULT_PROFILE_CONFIG, leaf.path), key)
  }
})

test('reports a section of the wrong shape once', () => {
  assert.equal(keysOf({ agent: 'fast', memory: [1], approvals: 5 }), [
    'agent',
    'memory',
    'approvals',
  ])
})

test('a bad value does not affect its neighbors', () => {
  const { value, problems } = parseProfileConfig({
    compression: { threshold: 'half', target_ratio: 0.1, enabled: false },
    budgets: { turn: { usd: -1, tokens: 5 }, day: { usd: 2 } },
  })
  assert.equal(problems.map(({ key }) => key).toSorted(), [
    'budgets.turn.usd',
    'compression.threshold',
  ])
  assert.is(value.compression.threshold, undefined)
  assert.is(value.compression.target_ratio, 0.1)
  assert.is(value.compression.enabled, false)
  assert.is(value.budgets.turn.usd, undefined)
  assert.is(value.budgets.turn.tokens, 5)
  assert.is(value.budgets.day.usd, 2)
})

test('drops bad entries of lists and mappings one by one', () => {
  const { value, problems } = parseProfileConfig({
    command_allowlist: ['recursive delete', 5, {}],
    terminal: { env_passthrough: [null, 'GH_TOKEN'] },
    credential_pool_strategies: { openai: 'random', zai: 'dice' },
    compression: { model_thresholds: { big: 0.9, small: 'x', none: null } },
  })
  assert.equal(value.command_allowlist, ['recursive delete'])
  assert.equal(value.terminal.env_passthrough, ['GH_TOKEN'])
  assert.equal(value.credential_pool_strategies, { openai: 'random' })
  assert.equal(value.compression.model_thresholds, { big: 0.9 })
  assert.equal(problems.map(({ key }) => key).toSorted(), [
    'command_allowlist[1]',
    'command_allowlist[2]',
    'compression.model_thresholds.small',
    'credential_pool_strategies.zai',
    'terminal.env_passthrough[0]',
  ])
})

test('a report never contains the value: it may be a secret in the wrong place', () => {
  const { problems } = parseProfileConfig({
    agent: { max_turns: 'sk-secret-0123456789' },
    approvals: { mode: 'sk-secret-0123456789' },
  })
  assert.is(problems.length, 2)
  assert.not.match(JSON.stringify(problems), 'sk-secret')
})

test('a misspelled approval mode means ask, a misspelled cron mode deny', () => {
  const { value } = parseProfileConfig({ approvals: { mode: 'offf', cron_mode: 'approved' } })
  assert.equal([value.approvals.mode, value.approvals.cron_mode], ['manual', 'deny'])
})

test('only off switches approvals off; what else counts as false is reported and means ask', () => {
  const parsed = (mode: unknown) => parseProfileConfig({ approvals: { mode } })
  for (const given of ['no', 'n', 'false', 'none', 0, '0', 'o', 'disabled', [], {}, [false]]) {
    const { value, problems } = parsed(given)
    assert.is(value.approvals.mode, 'manual', JSON.stringify(given))
    assert.equal(
      problems.map(({ key }) => key),
      ['approvals.mode'],
    )
  }
  for (const given of [false, 'off', 'Off', ' OFF '])
    assert.is(parsed(given).value.approvals.mode, 'off', String(given))
})

const ON = [true, 'true', 'True', 'yes', 'on', 'ON', 1, '1', ' on ']
const OFF = [false, 'false', 'no', 'off', 'Off', 0, '0']

test('every spelling of a boolean means the same for every key', () => {
  const flags = LEAVES.filter(({ meta }) => meta.type === 'true or false')
  assert.ok(flags.length >= 6)
  for (const { path } of flags)
    for (const [spellings, wanted] of [
      [ON, true],
      [OFF, false],
    ] as const)
      for (const given of spellings)
        assert.is(
          at(parseProfileConfig(nested(path, given)).value, path),
          wanted,
          `${path.join('.')}: ${given}`,
        )
})

test('off disables a whole section', () => {
  for (const given of OFF)
    assert.is(parseProfileConfig({ checkpoints: given }).value.checkpoints.enabled, false)
  assert.is(parseProfileConfig({ checkpoints: 'on' }).value.checkpoints.enabled, true)
})

test('accepts numbers in quotes; rejects words, infinity and lists', () => {
  const turns = (max_turns: unknown) => parseProfileConfig({ agent: { max_turns } }).value.agent
  for (const [given, wanted] of [
    ['12', 12],
    [' 12 ', 12],
    ['1_000', 1_000],
    ['1e3', 1_000],
    [7.5, 7.5],
  ])
    assert.is(turns(given).max_turns, wanted, String(given))
  for (const bad of [
    'none',
    'Infinity',
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '0x10',
    true,
    [5],
    0,
    -1,
  ])
    assert.is(turns(bad).max_turns, 90, String(bad))
})

test('number limits: zero means no timeout only where allowed', () => {
  const { value } = parseProfileConfig({
    approvals: { gateway_timeout: 0, timeout: 0 },
    cron: { max_run_seconds: '0' },
    compression: { protect_last_n: 0.4, max_attempts: 11 },
  })
  assert.equal(value.approvals.gateway_timeout, 0)
  assert.equal(value.approvals.timeout, 60)
  assert.equal(value.cron.max_run_seconds, 0)
  assert.equal(value.compression.protect_last_n, 1)
  assert.equal(value.compression.max_attempts, 3)
})

test('null and blank text are the same as an absent key', () => {
  for (const nothing of [null, undefined, '', '  '])
    for (const leaf of LEAVES.filter(each => !isRaw(each))) {
      const { value, problems } = parseProfileConfig(nested(leaf.path, nothing))
      assert.equal(problems, [], leaf.path.join('.'))
      assert.equal(at(value, leaf.path), at(DEFAULT_PROFILE_CONFIG, leaf.path))
    }
})

test('reads names from a list or a string; an empty list is not absent', () => {
  const cli = (given: unknown) =>
    parseProfileConfig({ platform_toolsets: { cli: given } }).value.platform_toolsets.cli
  assert.equal(cli('web, file todo'), ['web', 'file', 'todo'])
  assert.equal(cli(['web', 'web', ' file ']), ['web', 'file'])
  assert.equal(cli([]), [])
  assert.is(cli(undefined), null)
  assert.is(cli(', '), null)
})

test('ignores unknown keys: other programs share the file', () => {
  assert.equal(keysOf({ honcho: { a: 1 }, agent: { verbose: true }, _config_version: 13 }), [])
})

test('defaults', () => {
  const { agent, approvals, memory, delegation, clarify, cron, code_execution, timezone } =
    DEFAULT_PROFILE_CONFIG
  assert.is(agent.max_turns, 90)
  assert.is(agent.tool_use_enforcement, 'auto')
  assert.is(agent.disabled_toolsets, null)
  assert.equal(approvals.gateway_timeout, 300)
  assert.equal([memory.memory_char_limit, memory.user_char_limit], [2_200, 1_375])
  assert.equal([delegation.max_iterations, delegation.max_depth], [50, 2])
  assert.equal([clarify.timeout, agent.clarify_timeout], [120, undefined])
  assert.is(cron.max_run_seconds, 7_200)
  assert.equal([code_execution.timeout, code_execution.max_tool_calls], [300, 50])
  assert.is(timezone, '')
})

test('reports an unknown time zone', () => {
  assert.equal(keysOf({ timezone: 'Mars/Olympus' }), ['timezone'])
  assert.is(parseProfileConfig({ timezone: ' Europe/Berlin ' }).value.timezone, 'Europe/Berlin')
})

test('settings are the same object until the file changes; a broken file keeps the last ones', async () => {
  const dir = tempDir('profile-config')
  const path = join(dir, 'config.yaml')
  writeFileSync(
    path,
    'agent: {max_turns: 5, system_prompt: "Hi ${NAME}"}\nclarify: {timeout: soon}\n',
  )
  const home = openHome({ name: 'default', dir, env: { NAME: 'Ann' }, clock: systemClock })
  const first = home.config()
  assert.is(first.agent.max_turns, 5)
  assert.is(first.agent.system_prompt, 'Hi Ann')
  assert.is(home.config(), first)
  assert.equal(
    home.configProblems().map(({ key }) => key),
    ['clarify.timeout'],
  )
  writeFileSync(path, 'agent: {max_turns: 5\n  broken')
  await immediate()
  assert.is(home.config().agent.max_turns, 5)
  writeFileSync(path, 'agent:\n  max_turns: 6\n')
  await immediate()
  assert.is(home.config().agent.max_turns, 6)
  assert.equal(home.configProblems(), [])
})

test('rejects a file that was never readable, except for lenient readers', () => {
  const dir = tempDir('profile-config')
  writeFileSync(join(dir, 'config.yaml'), 'agent: {broken\n')
  const home = openHome({ name: 'default', dir, env: {}, clock: systemClock })
  assert.throws(() => home.config(), /config\.yaml cannot be read/)
  assert.equal(home.lenient.config(), DEFAULT_PROFILE_CONFIG)
  assert.equal(home.configProblems(), [])
})

test('every key is documented, and docs/configuration-keys.md is up to date (npm run docs)', () => {
  for (const { path, meta } of LEAVES)
    assert.ok(meta?.description && typeof meta.type === 'string', path.join('.'))
  const written = readFileSync(
    new URL('../../../docs/configuration-keys.md', import.meta.url),
    'utf8',
  )
  assert.is(written, configKeysPage())
})

test.run()
