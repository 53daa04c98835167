/**
 * Protections configured in the shared home ("guards") that this service does not support. The
 * command line uses the same home, so a protection switched on there must not be silently off here: what it protects is
 * refused until the user accepts that value. Settings that merely have no effect (an unknown toolset, secrets that are
 * masked anyway) are reported and refuse nothing.
 */
import { homedir } from 'node:os'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { isObject, type JsonObject } from '../../base/json.ts'
import { isHostPattern } from '../../base/host-pattern.ts'
import type { BLOCKED_BY_GUARD } from '../../schema/guard.ts'
import { yamlFlag, yamlWord } from '../../store/yaml-file.ts'

export type BlockedPart = (typeof BLOCKED_BY_GUARD)[number]

/** A guard that is configured but not supported. */
export type UnsupportedGuard = {
  /** The key in the file, such as `terminal.backend`, or the name of a variable. */
  key: string
  /** The file that contains it. */
  file: string
  value: unknown
  /** Empty: nothing is refused; the setting only has no effect. */
  closes: readonly BlockedPart[]
  /** What it asks for, and why it is not supported. */
  why: string
}

export type GuardedHome = {
  readonly dir: string
  readonly configPath: string
  readonly values: Readonly<Record<string, unknown>>
  readonly env: Readonly<Record<string, string>>
  /** Whether a program of this name is on the PATH. */
  readonly hasProgram: (name: string) => boolean
  /** Whether this is the name of a toolset, a composite toolset or an MCP server. */
  readonly isToolset: (name: string) => boolean
  /** Why a list of permission rules cannot be read; null when it can. */
  readonly ruleProblem: (list: unknown) => string | null
  /** Those of the names that no skill has. */
  readonly unknownSkills: (names: string[]) => string[]
  /** Sentences about hooks that do not run: those that may protect something, and those that only observe. */
  readonly hookProblems: (section: unknown) => { refused: string[]; notes: string[] }
}

const bag = (value: unknown): Readonly<JsonObject> => (isObject(value) ? value : {})

/** Not configured: absent, empty, `null` or `false`. */
const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  (typeof value === 'string' && value.trim() === '') ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0)

/** On, or not clearly off: a misspelled "yes" still asks for protection. */
const isAskedFor = (value: unknown): boolean => !isNothing(value) && yamlFlag(value) !== false

type Rule = {
  key: string
  closes: readonly BlockedPart[]
  why: string | ((value: unknown, home: GuardedHome) => string)
  /** Whether the configured value asks for something unsupported. */
  isUnsupported: (value: unknown, home: GuardedHome) => boolean
  /** Read from a variable instead of config.yaml. */
  variable?: true
}

/** Backends that are supported: this computer, and containers on it. */
const LOCAL = ['', 'local', 'docker', 'podman']
const isLocal = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'string' && LOCAL.includes(value.trim().toLowerCase()))

const COMMANDS: readonly BlockedPart[] = ['commands', 'scripts']
const EVERYTHING: readonly BlockedPart[] = [...COMMANDS, 'writes', 'tools']
const NOT_A_MAPPING = 'This should be a mapping, so the service can’t tell what it asks for.'
const NOT_A_LIST = 'This should be a list of texts, so the service can’t tell what it asks for.'
const OTHER_PLACE =
  'It asks for commands to run elsewhere, but this service runs them on this computer or in a container (docker, podman).'

const isNoMapping = (value: unknown): boolean =>
  value !== undefined && value !== null && !isObject(value)

const isText = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number'
/** One text counts as a list of one. */
const isNoList = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  !isText(value) &&
  !(Array.isArray(value) && value.every(isText))

/** A section must be a mapping, or nothing in it can be read. */
const section = (key: string, closes: readonly BlockedPart[]): Rule => ({
  key,
  closes,
  why: NOT_A_MAPPING,
  isUnsupported: isNoMapping,
})

const list = (key: string, closes: readonly BlockedPart[]): Rule => ({
  key,
  closes,
  why: NOT_A_LIST,
  isUnsupported: isNoList,
})

const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : isText(value) ? [value] : [])
    .filter(isText)
    .map(each => String(each).trim())
    .filter(each => each !== '')

/** Unknown names in a list of toolsets; one text may hold several names. */
const unknownToolsets = (value: unknown, { isToolset }: GuardedHome): string[] =>
  (typeof value === 'string' ? value.split(/[,\s]+/).filter(Boolean) : textsOf(value)).filter(
    name => !isToolset(name),
  )

/** Other programs have toolsets of their own, so unknown names are reported but nothing is refused. */
const toolsetNames = (key: string, follows: string): Rule => ({
  key,
  closes: [],
  why: (value, home) => {
    const names = unknownToolsets(value, home)
    return `${quotedList(names)} ${names.length === 1 ? 'names' : 'name'} no toolset here, so ${follows}.`
  },
  isUnsupported: (value, home) => !isNoList(value) && unknownToolsets(value, home).length > 0,
})

const quotedList = (names: readonly string[]): string => names.map(name => `"${name}"`).join(', ')

/** A misspelled name leaves a skill on that should be off. */
const skillNames = (key: string): Rule => ({
  key,
  closes: [],
  why: (value, home) => {
    const names = home.unknownSkills(textsOf(value))
    return `${quotedList(names)} ${names.length === 1 ? 'names' : 'name'} no skill here, so it turns no skill off.`
  },
  isUnsupported: (value, home) =>
    !isNoList(value) && !isNothing(value) && home.unknownSkills(textsOf(value)).length > 0,
})

const isSandboxSwitch = (value: unknown): boolean =>
  yamlFlag(value) !== undefined || yamlWord(value) === 'auto'

const SANDBOX_KEYS = ['enabled', 'network', 'readable', 'writable', 'hidden']
/** The entries of `sandbox.network` that are no host. */
const noHosts = (value: unknown): string[] =>
  isNothing(value) || yamlFlag(value) !== undefined
    ? []
    : [value]
        .flat()
        .map(each => (typeof each === 'string' ? each : (JSON.stringify(each) ?? '')))
        .filter(each => !isHostPattern(each))

const unknownSandboxKeys = (value: unknown): string[] =>
  Object.keys(bag(value)).filter(key => !SANDBOX_KEYS.includes(key))

const MASKING_STAYS = 'It asks to show secrets, but this service always masks them.'

/** The variable the command line reads. */
const secretsVariable = (key: string): Rule => ({
  key,
  variable: true,
  closes: [],
  why: MASKING_STAYS,
  isUnsupported: value => yamlFlag(value) === false,
})

/** A list of permission rules that cannot be read refuses what it could be about: everything, for `deny` and `ask`. */
const rules = (key: string, closes: readonly BlockedPart[]): Rule => ({
  key,
  closes,
  why: (value, { ruleProblem }) =>
    `This list contains something that isn’t a rule. ${ruleProblem(value) ?? ''}`.trim(),
  isUnsupported: (value, { ruleProblem }) => ruleProblem(value) !== null,
})

const unknownLists = (value: unknown): string[] =>
  Object.keys(bag(value)).filter(key => !/^(?:deny|ask|allow)$/.test(key))

/** In display order. */
const RULES: readonly Rule[] = [
  section('terminal', COMMANDS),
  {
    key: 'terminal.backend',
    closes: COMMANDS,
    why: OTHER_PLACE,
    isUnsupported: value => !isLocal(value),
  },
  // An older key, and the variable of the command line. `terminal.backend` takes precedence.
  {
    key: 'terminal.env_type',
    closes: COMMANDS,
    why: OTHER_PLACE,
    isUnsupported: (value, home) => !isLocal(value) && isNothing(bag(home.values.terminal).backend),
  },
  {
    key: 'TERMINAL_ENV',
    variable: true,
    closes: COMMANDS,
    why: OTHER_PLACE,
    isUnsupported: (value, home) => !isLocal(value) && isNothing(bag(home.values.terminal).backend),
  },
  {
    key: 'sandbox',
    closes: COMMANDS,
    why: 'This should be a mapping, or true, false, or auto, so the service can’t tell whether commands run in a sandbox.',
    isUnsupported: value => isNoMapping(value) && !isSandboxSwitch(value),
  },
  {
    key: 'sandbox.enabled',
    closes: COMMANDS,
    why: 'This should be true, false, or auto, so the service can’t tell whether commands run in a sandbox.',
    isUnsupported: value => !isNothing(value) && !isSandboxSwitch(value),
  },
  {
    key: 'sandbox',
    closes: COMMANDS,
    why: value =>
      `It has no key ${unknownSandboxKeys(value).join(', ')}, so the service can’t tell what is wanted. Its keys are ${SANDBOX_KEYS.join(', ')}.`,
    isUnsupported: value => unknownSandboxKeys(value).length > 0,
  },
  list('sandbox.hidden', [...COMMANDS, 'tools']),
  {
    key: 'sandbox.network',
    closes: COMMANDS,
    why: value =>
      `${noHosts(value)
        .map(each => `“${each}”`)
        .join(
          ', ',
        )} should be a host such as registry.npmjs.org, *.github.com, or db.example:5432. Commands are not named here any more: each host is asked about while the command waits.`,
    isUnsupported: value => noHosts(value).length > 0,
  },
  {
    key: 'hooks',
    closes: [...COMMANDS, 'writes'],
    why: (value, { hookProblems }) =>
      `${hookProblems(value).refused.join(' ')} A hook may protect something, so the others run and this is refused.`,
    isUnsupported: (value, { hookProblems }) => hookProblems(value).refused.length > 0,
  },
  {
    key: 'hooks',
    closes: [],
    why: (value, { hookProblems }) => hookProblems(value).notes.join(' '),
    isUnsupported: (value, { hookProblems }) => {
      const { refused, notes } = hookProblems(value)
      return refused.length === 0 && notes.length > 0
    },
  },
  section('approvals', COMMANDS),
  list('approvals.deny', COMMANDS),
  list('approvals.command_approval_required', COMMANDS),
  section('permissions', EVERYTHING),
  {
    key: 'permissions',
    closes: EVERYTHING,
    why: value =>
      `It may contain the lists deny, ask, and allow; ${unknownLists(value).join(', ')} is unknown.`,
    isUnsupported: value => unknownLists(value).length > 0,
  },
  rules('permissions.deny', EVERYTHING),
  rules('permissions.ask', EVERYTHING),
  rules('permissions.allow', []),
  section('security', [...COMMANDS, 'writes']),
  {
    key: 'security.tirith_fail_open',
    closes: COMMANDS,
    why: 'It asks to refuse commands that the tirith scanner can’t check, but this service doesn’t run tirith.',
    isUnsupported: (value, { values }) =>
      value !== undefined &&
      value !== null &&
      yamlFlag(value) !== true &&
      yamlFlag(bag(values.security).tirith_enabled) !== false,
  },
  {
    key: 'security.tirith_enabled',
    closes: COMMANDS,
    why: 'It asks for the installed tirith scanner to check commands, but this service doesn’t run tirith.',
    isUnsupported: (value, { values, hasProgram }) => {
      const path = bag(values.security).tirith_path
      return isAskedFor(value) && hasProgram(typeof path === 'string' && path ? path : 'tirith')
    },
  },
  {
    key: 'security.protected_instruction_files',
    closes: ['instructions'],
    why: 'It asks for approval of every change to instruction files such as AGENTS.md, but this service treats them like any other file.',
    isUnsupported: isAskedFor,
  },
  {
    key: 'code_execution.mode',
    closes: ['scripts'],
    why: 'It asks for scripts to run outside the project, but this service runs them in the workspace.',
    isUnsupported: value => !isNothing(value) && yamlWord(value) !== 'project',
  },
  {
    key: 'memory.write_approval',
    closes: ['memory'],
    why: 'It asks for approval before notes are saved, but this service saves them immediately.',
    isUnsupported: isAskedFor,
  },
  {
    key: 'skills.write_approval',
    closes: ['skills'],
    why: 'It asks for approval before skills change, but this service changes them immediately.',
    isUnsupported: isAskedFor,
  },
  section('agent', ['tools']),
  list('agent.disabled_toolsets', ['tools']),
  section('platform_toolsets', ['tools']),
  list('platform_toolsets.cli', ['tools']),
  section('skills', ['skills']),
  list('skills.disabled', ['skills']),
  toolsetNames('agent.disabled_toolsets', 'it turns no tool off'),
  toolsetNames('platform_toolsets.cli', 'it turns no tool on'),
  skillNames('skills.disabled'),
  skillNames('skills.platform_disabled.cli'),
  {
    key: 'toolsets',
    closes: [],
    why: 'Neither this service nor the command line reads this key. Use platform_toolsets.cli and agent.disabled_toolsets.',
    // Older command lines wrote these values by default.
    isUnsupported: value =>
      textsOf(value).some(name => !/^(?:all|(?:agent|hermes)-cli)$/.test(name)),
  },
  {
    key: 'security.redact_secrets',
    closes: [],
    why: MASKING_STAYS,
    isUnsupported: value => yamlFlag(value) === false,
  },
  secretsVariable('AGENT_REDACT_SECRETS'),
  secretsVariable('HERMES_REDACT_SECRETS'),
]

const valueAt = (home: GuardedHome, { key, variable }: Rule): unknown => {
  if (variable) return Object.hasOwn(home.env, key) ? home.env[key] : undefined
  return key.split('.').reduce<unknown>((value, name) => bag(value)[name], home.values)
}

/** The unsupported guards of a home; with `what`, only those that refuse it. */
export const unsupportedGuards = (home: GuardedHome, what?: BlockedPart): UnsupportedGuard[] =>
  RULES.flatMap(rule => {
    if (what !== undefined && !rule.closes.includes(what)) return []
    const value = valueAt(home, rule)
    if (!rule.isUnsupported(value, home)) return []
    const file = rule.variable ? join(home.dir, '.env') : home.configPath
    const why = typeof rule.why === 'string' ? rule.why : rule.why(value, home)
    return [{ key: rule.key, file, value, closes: rule.closes, why }]
  })

/** `deny`: patterns of commands that never run. `review`: commands that need approval in every mode, which only the command line offers. */
export const denyRules = (values: Readonly<JsonObject>): { deny: string[]; review: string[] } => {
  const approvals = bag(values.approvals)
  return {
    deny: textsOf(approvals.deny),
    review: textsOf(approvals.command_approval_required),
  }
}

/** Names of instruction files covered by `security.protected_instruction_files`. */
export const instructionFiles = (values: Readonly<JsonObject>): string[] => [
  'AGENTS.md',
  'CLAUDE.md',
  'SOUL.md',
  'HERMES.md',
  '.hermes.md',
  '.cursorrules',
  ...textsOf(bag(values.security).protected_instruction_extra_patterns),
]

const ROOTS = ['AGENT_WRITE_SAFE_ROOT', 'HERMES_WRITE_SAFE_ROOT'] as const

/** Directories the file tools may write to. When several variables are set, all of them apply. */
export const writeRoots = (
  env: Readonly<Record<string, string>>,
  dir: string,
): { name: string; roots: string[] }[] =>
  ROOTS.flatMap(name => {
    const value = env[name]
    if (value === undefined || value === '') return []
    const home = env.HOME || homedir()
    const roots = value
      .split(delimiter)
      .map(each => each.trim())
      .filter(each => each !== '')
      .map(each => each.replace(/^~(?=$|[/\\])/, () => home))
      .map(each => (isAbsolute(each) ? each : resolve(dir, each)))
    return [{ name, roots }]
  })
