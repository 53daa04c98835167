/** Checks of the profile's files: unreadable ones, invalid values, and safeguards that are not supported. */
import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, lstatSync } from 'node:fs'
import { join, relative } from 'node:path'
import { isBelow } from '../../store/path-within.ts'
import { isDirectory } from '../../base/directories.ts'
import { findProgram } from '../../base/find-program.ts'
import { shownChanges } from '../../commands/guards/setting-changes.ts'
import { UserError } from '../../errors.ts'
import { skippedLines } from '../../profiles/env-format.ts'
import { findExposed } from '../../profiles/file-permissions.ts'
import { isManaged } from '../../profiles/home.ts'
import { DEFAULT_PROFILE, missingActiveProfile } from '../../profiles/homes.ts'
import { parseHooks } from '../../profiles/hooks/config.ts'
import { programOf, scriptsOf } from '../../profiles/hooks/scripts.ts'
import { unreadKeys } from '../../profiles/unread-keys.ts'
import { fileReason } from '../../store/file-error.ts'
import { makeDir } from '../../store/make-dir.ts'
import { readText } from '../../store/read-text.ts'
import { Workspaces } from '../../workspaces/workspaces.ts'
import { findFileProblems } from '../file-problems.ts'
import { type Check, type CheckContext, finding, ok } from './check.ts'

/** The result of `look`; empty when a file cannot be read, because `homeChecks` reports that. */
export const emptyIfUnreadable = <T>(look: () => T[]): T[] => {
  try {
    return look()
  } catch (error) {
    if (error instanceof UserError) return []
    throw error
  }
}

/** Files that another user owns can be unreadable, and are lost to that user with the next write. */
const homeOwnerCheck = ({ home: { dir }, machine: { uid, ownerOf } }: CheckContext): Check[] => {
  const owner = ownerOf(dir)
  if (uid === undefined || uid === owner) return []
  const advice = `Run agent-webui as user ${owner}, or set AGENT_HOME to your own home.`
  const message = `${dir} belongs to user ${owner}, and this is user ${uid}`
  return [finding('home_foreign', 'home', message, { advice })]
}

/** Nothing fails until something is to be changed. */
const homeAccessCheck = ({ home: { dir }, config, machine }: CheckContext): Check[] => {
  const error = isManaged(dir, config.env) ? null : machine.accessError(dir)
  if (error === null) return []
  const message = `${dir} cannot be written (${fileReason(error)}), so keys and settings of models cannot be changed`
  return [finding('home_not_writable', 'home', message)]
}

/** Deleted by hand, for example. */
const activeProfileChecks = ({ config: { baseHome } }: CheckContext): Check[] => {
  const name = missingActiveProfile(baseHome)
  if (name === null) return []
  const message = `the active profile ${JSON.stringify(name)} does not exist; default is used`
  return [finding('profile_missing', 'profile', message)]
}

const MOST_SHOWN = 3
export const firstOf = (list: readonly (string | number)[]): string =>
  `${list.slice(0, MOST_SHOWN).join(', ')}${list.length > MOST_SHOWN ? ` and ${list.length - MOST_SHOWN} more` : ''}`

/** Such as a value in several lines. */
const skippedLineChecks = ({ home }: CheckContext): Check[] => {
  const path = join(home.dir, '.env')
  const lines = skippedLines(readText(path).text ?? '')
  if (lines.length === 0) return []
  const message =
    lines.length === 1
      ? `line ${firstOf(lines)} is not NAME=value and is ignored`
      : `lines ${firstOf(lines)} are not NAME=value and are ignored`
  const advice = `Correct ${path}. Comments begin with #.`
  return [finding('env_lines_ignored', '.env', message, { advice })]
}

const configChecks = ({ home, config }: CheckContext): Check[] => {
  if (home.problems().some(({ file }) => file === home.configFile.path)) return []
  if (existsSync(home.configFile.path)) return [ok('config.yaml', 'OK')]
  if (config.configPath === null) return [ok('config.yaml', 'not found; using defaults')]
  const message = `AGENT_CONFIG_PATH names ${config.configPath}, which does not exist, so defaults apply`
  return [finding('config_missing', 'config.yaml', message)]
}

/** A link that leads nowhere is not missing: nothing is created in its place. */
const whyNoDirectory = (path: string): string | null => {
  if (isDirectory(path)) return null
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ? 'is not a directory' : 'missing'
  } catch (error) {
    return `cannot be used: ${fileReason(error)}`
  }
}

export const homeChecks = (context: CheckContext): Check[] => {
  const { dir, name } = context.home
  const problem = whyNoDirectory(dir)
  if (problem === 'missing') {
    const fix = { does: `create ${dir}`, apply: () => makeDir(dir) }
    return [finding('home_missing', 'home', `${dir} does not exist yet`, { fix })]
  }
  if (problem !== null) return [finding('home_not_directory', 'home', `${dir} ${problem}`)]
  return [
    ok('home', `${dir}, profile ${name}`),
    ...homeOwnerCheck(context),
    ...homeAccessCheck(context),
    ...activeProfileChecks(context),
    ...skippedLineChecks(context),
    ...configChecks(context),
  ]
}

/** Written by hand or by another program: the page refuses such a schedule. */
export const taskChecks = ({ homes, above }: CheckContext): Check[] =>
  homes.list().flatMap(home =>
    above.brokenTasks(home).map(id => {
      const about = `task ${id}${home.name === DEFAULT_PROFILE ? '' : ` of profile ${home.name}`}`
      const message = 'its schedule cannot be read, so it never runs'
      return finding('task_schedule_invalid', about, message)
    }),
  )

/** As the page names them: files of every profile that cannot be read. Those of the service are in `known-files.ts`. */
export const fileChecks = ({ homes, home, config, machine, above }: CheckContext): Check[] => {
  const workspaces = new Workspaces(config, () => config.userHome)
  const nameOf = (file: string): string => {
    if (file === home.configFile.path) return 'config.yaml'
    const place = [home.dir, config.baseHome].find(dir => isBelow(dir, file))
    return place === undefined ? file : relative(place, file)
  }
  // The one of the default profile is in the state directory.
  const isStateUsable =
    isDirectory(config.stateDir) && machine.accessError(config.stateDir) === null
  const problems = findFileProblems({
    homes,
    workspaces: isStateUsable ? workspaces : { problem: () => null },
    own: [],
    jobsOf: above.jobsOf,
  })
  return problems.map(({ file, reason, profile }) => {
    const advice = `Fix ${file}. Until then, what profile ${profile} needs of it is refused.`
    return finding('file_unreadable', nameOf(file), `${reason}`, { advice })
  })
}

/** What the file says and nobody does: known settings of the host agent, and names that nothing here knows. */
const unreadChecks = ({ home }: CheckContext): Check[] => {
  const about = 'config.yaml'
  const keys = emptyIfUnreadable(() => unreadKeys(home.values()))
  const namesOf = (isKnown: boolean) =>
    keys.filter(({ why }) => (why !== null) === isKnown).map(({ key }) => key)
  const [known, unknown] = [namesOf(true), namesOf(false)]
  const effect = 'settings of other programs, without effect here'
  return [
    ...(known.length === 0 ? [] : [ok(about, `${effect}: ${known.join(', ')}`)]),
    ...(unknown.length === 0
      ? []
      : [finding('key_unknown', about, `these keys have no effect here: ${unknown.join(', ')}`)]),
  ]
}

/** Values of config.yaml that are invalid and were dropped, and settings that count as something else. */
const settingsChecks = ({ home }: CheckContext): Check[] => {
  const invalid = home.configProblems().map(({ key, reason }) => {
    const advice = `Correct ${key} in ${home.configFile.path}.`
    return finding('value_invalid', key, `${reason}`, { advice })
  })
  if (home.lenient.config().approvals.mode !== 'smart') return invalid
  const message = 'smart counts as manual: no model answers for you'
  return [
    ...invalid,
    finding('value_invalid', 'approvals.mode', message, { advice: 'Set manual.' }),
  ]
}

/** Settings that nobody confirmed, in every profile: the earlier values are in force. */
const changedChecks = ({ homes, acceptedSettings: accepted }: CheckContext): Check[] => {
  const problem = accepted.problem()
  const unreadable = `${accepted.path}: ${problem}. Settings that loosen what the agent may do stay off`
  const findings = homes.list().flatMap(home => {
    const pending = shownChanges(home, accepted)
    if (pending === null) return []
    const message = `${pending.file} was changed by something else than the page, so the earlier values stay in force`
    const option = home.name === DEFAULT_PROFILE ? '' : ` -p ${home.name}`
    const advice = `Accept or restore them under Settings → Permissions, or run agent-webui config${option}.`
    const keys = pending.changes.map(({ key }) => key).join(', ')
    return [finding('settings_unconfirmed', keys, message, { advice })]
  })
  return problem === null
    ? findings
    : [finding('accepted_settings_unreadable', 'confirmed settings', unreadable), ...findings]
}

/** An unsupported safeguard that was not accepted blocks the agent: that is a failure. */
export const guardChecks = (context: CheckContext): Check[] => [
  ...settingsChecks(context),
  ...unreadChecks(context),
  ...changedChecks(context),
  ...emptyIfUnreadable(() =>
    context.above.guards(context.home).map(({ key, value, why, closes, accepted }) => {
      const isHarmless = closes.length === 0
      const state = isHarmless ? 'has no effect here; dismissed' : 'not supported here; accepted'
      if (accepted) return finding('guard_accepted', key, `${value}: ${state}`, { advice: why })
      if (isHarmless) return finding('guard_without_effect', key, `${value}: ${why}`)
      const blocked = `Blocked because of it: ${closes.join(', ')}.`
      return finding('guard_unsupported', key, `${value}: ${why} ${blocked}`)
    }),
  ),
]

export const hookChecks = ({ home }: CheckContext): Check[] =>
  emptyIfUnreadable(() => {
    // Relative names belong to the workspace, which differs from chat to chat.
    const elsewhere = join(home.dir, randomUUID())
    const place = { cwd: elsewhere, env: home.env() }
    const isKnown = (path: string) => !path.startsWith(elsewhere)
    return parseHooks(home.values().hooks).hooks.map(({ name, command, failClosed }) => {
      const program = programOf(command, place)
      const isMissing =
        program !== null && isKnown(program) && !findProgram(place.env.PATH ?? '', program)
      const missing = isMissing
        ? program
        : scriptsOf(command, place).find(path => isKnown(path) && !existsSync(path))
      if (missing === undefined) return ok(`hook ${name}`, command)
      const effect = failClosed ? 'it blocks every call' : 'it has no effect'
      const message = `${command}: ${missing} does not exist or is not executable`
      const advice = `Fix it, or its command in ${home.configFile.path}. Until then ${effect}.`
      return finding('hook_missing', `hook ${name}`, message, { advice })
    })
  })

export const secretChecks = ({ config }: CheckContext): Check[] => {
  const about = 'secrets'
  const open = findExposed(config)
  if (open.length === 0) return [ok(about, 'no file with secrets is open to other users')]
  return open.map(({ path, message, mode }) => {
    if (mode === null) return finding('file_exposed', about, `${path} ${message}`)
    const octal = mode.toString(8)
    const fix = {
      does: `set the mode of ${path} to ${octal}`,
      apply: () => chmodSync(path, mode),
    }
    const advice = `chmod ${octal} "${path}"`
    return finding('file_exposed', about, `${path} ${message}`, { advice, fix })
  })
}
