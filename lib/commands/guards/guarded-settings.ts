/**
 * The settings of config.yaml that loosen what the agent may do, name programs that run without a question, or decide where
 * prompts and keys are sent. A program that the agent starts can write the file, so a change of these applies when a person confirmed it; accepted-settings.ts keeps
 * what was confirmed. A change that only tightens applies at once.
 */
import { isDeepStrictEqual } from 'node:util'
import { isObject, isObjectOrArray, type JsonObject } from '../../base/json.ts'
import { isLocalUrl } from '../../base/local-network.ts'
import { toSlug } from '../../models/provider-ids.ts'
import { PROVIDERS } from '../../models/providers.ts'
import { yamlFlag, yamlWord } from '../../store/yaml-file.ts'

/** Absent, and what says as little. */
const orNothing = (value: unknown): unknown =>
  value === null || value === '' || (isObjectOrArray(value) && Object.keys(value).length === 0)
    ? undefined
    : value

type Tightens = (now: unknown, accepted: unknown) => boolean

const never: Tightens = () => false
const absent: Tightens = now => now === undefined

/** One text counts as a list of one; undefined for what is no list. */
const listOf = (value: unknown): string[] | undefined => {
  if (value === undefined) return []
  const list = Array.isArray(value) ? value : isObject(value) ? undefined : [value]
  return list?.map(entry => JSON.stringify(entry))
}
const contains = (larger: unknown, smaller: unknown): boolean => {
  const [all, some] = [listOf(larger), listOf(smaller)]
  return all !== undefined && some?.every(entry => all.includes(entry)) === true
}
const moreEntries: Tightens = contains
const fewerEntries: Tightens = (now, accepted) => contains(accepted, now)

/** What is misspelled refuses every command (guard-rules.ts). */
const sandboxRank = (enabled: unknown): number => {
  if (enabled === undefined || yamlWord(enabled) === 'auto') return 1
  return yamlFlag(enabled) === false ? 0 : 2
}

const hasNoNetwork = (network: unknown): boolean =>
  network === undefined || yamlFlag(network) === false

const serverTightens: Tightens = (now, accepted) => {
  if (now === undefined) return true
  if (!isObject(now) || !isObject(accepted)) return false
  const { enabled, ...rest } = now
  const { enabled: _, ...before } = accepted
  return yamlFlag(enabled) === false && isDeepStrictEqual(rest, before)
}

/** An unsupported safeguard: it refuses something as long as it is asked for. */
const isAskedFor: Tightens = now => now !== undefined && yamlFlag(now) !== false

/** The host agent writes the address of a known service beside its name, and the name may be changed freely. */
const KNOWN_ADDRESSES: ReadonlySet<unknown> = new Set(
  [...PROVIDERS.values()].map(({ baseUrl }) => baseUrl),
)
/** A first address in the person's own network is how a local model is set up by hand. Another one could send prompts and keys elsewhere. */
const isKnownAddress: Tightens = (now, accepted) =>
  now === undefined ||
  (accepted === undefined && typeof now === 'string' && isLocalUrl(now)) ||
  KNOWN_ADDRESSES.has(typeof now === 'string' ? now.replace(/\/+$/, '') : now)

/** A key may be changed. A variable in its place could be any secret of the home. */
const namesNoVariable: Tightens = now => !JSON.stringify(now ?? null).includes('${')

const isNoPlace: Tightens = now => now === undefined || now === '.'

/** Without a list, all default toolsets are on. */
const isSmallerList: Tightens = (now, accepted) =>
  now !== undefined && accepted !== undefined && contains(accepted, now)

type Rule = readonly [pattern: string, tightens: Tightens | null]

const endpointRules = (at: string): Rule[] => [
  ...['base_url', 'url', 'api', 'key_env', 'api_key_env'].map(
    key => [`${at}.${key}`, absent] as const,
  ),
  ...['api_key', 'extra_headers', 'default_headers'].map(
    key => [`${at}.${key}`, namesNoVariable] as const,
  ),
]

/** `*`: every other key. The first pattern that matches counts; null: may be changed freely. */
const RULES: readonly Rule[] = [
  ['base_url', isKnownAddress],
  ['model.base_url', isKnownAddress],
  // Not an address here, but the older name of `api_key`.
  ['model.api', namesNoVariable],
  ...['api_key', 'extra_headers', 'default_headers'].map(
    key => [`model.${key}`, namesNoVariable] as const,
  ),
  ...[
    'providers.*',
    'custom_providers.*',
    'fallback_providers.*',
    'fallback_model',
    'delegation',
    'auxiliary.*',
    'stt',
    'stt.*',
    'tts',
    'tts.*',
  ].flatMap(endpointRules),
  ['compression.summary_base_url', absent],
  ...['acp_command', 'acp_args', 'env'].map(key => [`custom_providers.*.${key}`, absent] as const),
  // All of a workspace is inside, where less is asked about.
  ['terminal.cwd', isNoPlace],
  ['workspace', absent],
  ['default_workspace', absent],
  ['platform_toolsets.*', isSmallerList],
  ['skills.external_dirs', fewerEntries],
  ['agent.prefill_messages_file', absent],
  ['checkpoints.enabled', now => yamlFlag(now) !== false],
  ['checkpoints.max_snapshots', absent],
  ['approvals.timeout', null],
  ['approvals.gateway_timeout', null],
  // Other spellings of `off` mean `manual`.
  ['approvals.mode', now => yamlWord(now) !== 'off'],
  ['approvals.cron_mode', now => !['approve', 'allow'].includes(yamlWord(now))],
  ['approvals.outside_sandbox', now => yamlWord(now) === 'changes'],
  ['approvals.deny', moreEntries],
  ['approvals.command_approval_required', moreEntries],
  ['approvals.*', never],
  ['permissions.deny', moreEntries],
  ['permissions.ask', moreEntries],
  ['permissions.allow', fewerEntries],
  ['permissions.*', never],
  ['command_allowlist', fewerEntries],
  // Fewer hooks may be a loss of protection, more are more programs.
  ['hooks', never],
  ['mcp_servers.*', serverTightens],
  ['sandbox.enabled', (now, accepted) => sandboxRank(now) >= sandboxRank(accepted)],
  [
    'sandbox.network',
    (now, accepted) =>
      hasNoNetwork(now) ||
      yamlFlag(accepted) === true ||
      (yamlFlag(now) === undefined && contains(accepted, now)),
  ],
  ['sandbox.readable', fewerEntries],
  ['sandbox.writable', fewerEntries],
  ['sandbox.hidden', moreEntries],
  ['sandbox.*', never],
  ['terminal.timeout', null],
  ['terminal.persistent_shell', null],
  // Where commands run, what is mounted there, which secrets they see, and files that are sourced for them.
  ['terminal.*', never],
  ['code_execution.mode', never],
  ['security.*', never],
  ['browser.allow_private_urls', now => yamlFlag(now) !== true],
  ['budgets.*', never],
  ['memory.write_approval', isAskedFor],
  ['skills.write_approval', isAskedFor],
  ['agent.disabled_toolsets', moreEntries],
  // Programs that the service starts itself.
  ['lsp.servers', absent],
  ...['model', 'providers.*'].flatMap(at =>
    ['acp_command', 'acp_args', 'env'].map(key => [`${at}.${key}`, absent] as const),
  ),
  // A mode that only reads may be left out, too: not every agent has one that asks.
  ...['model', 'providers.*', 'custom_providers.*'].flatMap(at =>
    ['acp_mode', 'acp_options'].map(key => [`${at}.${key}`, never] as const),
  ),
]

type Path = readonly string[]

const childOf = (node: unknown, key: string): unknown =>
  isObjectOrArray(node) && Object.hasOwn(node, key) ? (node as JsonObject)[key] : undefined

const valueAt = (tree: unknown, path: Path): unknown => orNothing(path.reduce(childOf, tree))

const matches = (pattern: Path, nodes: readonly unknown[]): string[][] => {
  const [head, ...rest] = pattern
  if (head === undefined) return [[]]
  const keys =
    head === '*'
      ? new Set(nodes.flatMap(node => (isObjectOrArray(node) ? Object.keys(node) : [])))
      : [head]
  return [...keys].flatMap(key =>
    matches(
      rest,
      nodes.map(node => childOf(node, key)),
    ).map(path => [key, ...path]),
  )
}

/** The paths that are guarded in any of these. */
const guardedPaths = (nodes: readonly unknown[]): { path: Path; tightens: Tightens }[] => {
  const paths = new Map<string, { path: Path; tightens: Tightens | null }>()
  for (const [pattern, tightens] of RULES)
    for (const path of matches(pattern.split('.'), nodes)) {
      const id = JSON.stringify(path)
      if (!paths.has(id)) paths.set(id, { path, tightens })
    }
  return [...paths.values()].flatMap(({ path, tightens }) => (tightens ? { path, tightens } : []))
}

/** A copy with `value` at `path`; undefined removes it. What is no mapping on the way is replaced for a value. */
const withValue = (tree: unknown, path: Path, value: unknown): unknown => {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (!isObjectOrArray(tree) || (Array.isArray(tree) && !Object.hasOwn(tree, key)))
    return value === undefined ? tree : { [key]: withValue({}, rest, value) }
  const child = withValue(childOf(tree, key), rest, value)
  if (Array.isArray(tree)) return tree.map((each, at) => (String(at) === key ? child : each))
  const { [key]: _, ...others } = tree as JsonObject
  return child === undefined ? others : { ...tree, [key]: child }
}

/**
 * What identifies the entries of these lists, whose order may change: the name of an endpoint, and what makes up a
 * destination where there is none. Entries after the first with the same one are numbered.
 */
const ENTRY_KEYS: Readonly<Record<string, (entry: unknown) => string>> = {
  custom_providers(entry) {
    const name = childOf(entry, 'name')
    return (typeof name === 'string' && toSlug(name)) || 'custom'
  },
  fallback_providers: entry =>
    ['provider', 'base_url', 'api_key_env', 'key_env']
      .map(key => childOf(entry, key))
      .filter(value => typeof value === 'string' && value !== '')
      .join(' '),
}

const keysOf = (list: readonly unknown[], keyOf: (entry: unknown) => string): string[] => {
  const seen = new Map<string, number>()
  return list.map(entry => {
    const key = keyOf(entry)
    const count = (seen.get(key) ?? 0) + 1
    seen.set(key, count)
    return count === 1 ? key : `${key}#${count}`
  })
}

/** Short forms of sections as mappings, and lists of entries as mappings from what identifies them. */
const inFull = (values: Readonly<JsonObject>): Readonly<JsonObject> => {
  const full: JsonObject = {}
  for (const name of ['sandbox', 'checkpoints'])
    if (yamlFlag(values[name]) !== undefined) full[name] = { enabled: values[name] }
  for (const [name, keyOf] of Object.entries(ENTRY_KEYS)) {
    const list = values[name]
    if (!Array.isArray(list)) continue
    const keys = keysOf(list, keyOf)
    full[name] = Object.fromEntries(keys.map((key, at) => [key, list[at]]))
  }
  return { ...values, ...full }
}

/** The lists of `values` as lists again, with the entries of `full`. */
const withLists = (full: Readonly<JsonObject>, values: Readonly<JsonObject>): JsonObject => {
  const lists: JsonObject = {}
  for (const [name, keyOf] of Object.entries(ENTRY_KEYS)) {
    const list = values[name]
    if (Array.isArray(list)) lists[name] = keysOf(list, keyOf).map(key => childOf(full[name], key))
  }
  return { ...full, ...lists }
}

/** A change that waits. Undefined: not there. */
export type SettingChange = { path: readonly string[]; accepted: unknown; now: unknown }

/** The guarded settings of config.yaml alone. */
export const guardedPart = (values: Readonly<JsonObject>): JsonObject => {
  const full = inFull(values)
  return guardedPaths([full]).reduce<unknown>((tree, { path, tightens }) => {
    const value = valueAt(full, path)
    // Keys themselves are not copied.
    const isKept = tightens !== namesNoVariable || !namesNoVariable(value, undefined)
    return withValue(tree, path, isKept ? value : undefined)
  }, {}) as JsonObject
}

/** The values in force, and the changes of the file that wait. */
type SettingsInForce = { inForce: Readonly<JsonObject>; changes: SettingChange[] }

/** The values in force, and what the file says otherwise. The same object while nothing waits. */
export const withAccepted = (
  values: Readonly<JsonObject>,
  accepted: Readonly<JsonObject>,
): SettingsInForce => {
  const full = inFull(values)
  const changes = guardedPaths([full, accepted]).flatMap(({ path, tightens }): SettingChange[] => {
    const [now, before] = [valueAt(full, path), valueAt(accepted, path)]
    const applies = isDeepStrictEqual(now, before) || tightens(now, before)
    return applies ? [] : [{ path, accepted: before, now }]
  })
  if (changes.length === 0) return { inForce: values, changes }
  const inForce = changes.reduce<unknown>(
    (tree, { path, accepted: before }) => withValue(tree, path, before),
    full,
  )
  return { inForce: withLists(inForce as Readonly<JsonObject>, values), changes }
}

/** The edits that bring the values in force back into the file. Below what is no mapping there, all of that is replaced. */
export const restoringEdits = (
  values: Readonly<JsonObject>,
  { inForce, changes }: SettingsInForce,
): [path: readonly string[], value: unknown][] =>
  changes.map(({ path }) => {
    const depth = path.findIndex((_, at) => {
      const node = path.slice(0, at).reduce<unknown>(childOf, values)
      return node !== undefined && node !== null && !isObject(node)
    })
    const at = depth < 0 ? path : path.slice(0, depth)
    return [at, at.reduce<unknown>(childOf, inForce)]
  })

/** `accepted` after a person changed `before` to `after`: only what that person changed is confirmed by it. */
export const mergeEdit = (accepted: unknown, before: unknown, after: unknown): unknown => {
  if (isDeepStrictEqual(before, after)) return accepted
  const all = [accepted, before, after].filter(value => value !== undefined)
  if (all.every(Array.isArray)) {
    const [base, old, now] = [accepted ?? [], before ?? [], after ?? []] as unknown[][]
    const isIn = (list: unknown[] = [], value: unknown) =>
      list.some(each => isDeepStrictEqual(each, value))
    const rest = base?.filter(value => isIn(now, value) || !isIn(old, value)) ?? []
    return [...rest, ...(now ?? []).filter(value => !isIn(old, value) && !isIn(rest, value))]
  }
  if (all.every(isObject) && after !== undefined) {
    const keys = new Set(all.flatMap(value => Object.keys(value as JsonObject)))
    return Object.fromEntries(
      [...keys].flatMap(key => {
        const value = mergeEdit(childOf(accepted, key), childOf(before, key), childOf(after, key))
        return value === undefined ? [] : [[key, value]]
      }),
    )
  }
  return after
}
