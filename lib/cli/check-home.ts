/** Checks of the profile's files: unreadable ones, invalid values, and safeguards that are not supported. */
import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { isDirectory } from '../base/directories.ts'
import { callableSkills } from '../profiles/slash-commands.ts'
import { createFileCheck } from '../operations/file-problems.ts'
import { JobsFile } from '../cron/jobs-file.ts'
import { readSchedule } from '../cron/parse-schedule.ts'
import { UserError } from '../errors.ts'
import { AcceptedGuards } from '../commands/guards/accepted-guards.ts'
import { shownChanges } from '../commands/guards/setting-changes.ts'
import { skippedLines } from '../profiles/env-format.ts'
import { unreadKeys } from '../profiles/unread-keys.ts'
import { isManaged } from '../profiles/home.ts'
import { DEFAULT_PROFILE, missingActiveProfile } from '../profiles/homes.ts'
import { redact } from '../base/redact/redact.ts'
import { Skills } from '../profiles/skills/skills.ts'
import { fileReason } from '../store/file-error.ts'
import { makeDir } from '../store/make-dir.ts'
import { readText } from '../store/read-text.ts'
import { HomeGuards } from '../turns/context/guards.ts'
import { Workspaces } from '../workspaces/workspaces.ts'
import { type Check, fail, type CheckContext, ok, warn } from './check.ts'

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
  const said = `${dir} belongs to user ${owner}, and this is user ${uid}`
  return [
    warn(
      'home_foreign',
      'home',
      said,
      `Run agent-webui as user ${owner}, or set AGENT_HOME to your own home.`,
    ),
  ]
}

const MOST_LINES = 3

/** Such as a value in several lines. */
const skippedLineChecks = ({ home }: CheckContext): Check[] => {
  const path = join(home.dir, '.env')
  const lines = skippedLines(readText(path).text ?? '')
  if (lines.length === 0) return []
  const more = lines.length > MOST_LINES ? ` and ${lines.length - MOST_LINES} more` : ''
  const numbers = `${lines.slice(0, MOST_LINES).join(', ')}${more}`
  const said =
    lines.length === 1
      ? `line ${numbers} is not NAME=value and is ignored`
      : `lines ${numbers} are not NAME=value and are ignored`
  return [warn('env_lines_ignored', '.env', said, `Correct ${path}. Comments begin with #.`)]
}

/** Nothing fails until something is to be changed. */
const homeAccessCheck = ({ home: { dir }, config, machine }: CheckContext): Check[] => {
  const error = isManaged(dir, config.env) ? null : machine.accessError(dir)
  if (error === null) return []
  return [
    warn(
      'home_not_writable',
      'home',
      `${dir} cannot be written (${fileReason(error)}), so keys and settings of models cannot be changed`,
      'Make it writable for this user.',
    ),
  ]
}

/** Deleted by hand, for example. */
const activeProfileChecks = ({ config: { baseHome } }: CheckContext): Check[] => {
  const name = missingActiveProfile(baseHome)
  if (name === null) return []
  const said = `the active profile ${JSON.stringify(name)} does not exist; default is used`
  return [warn('profile_missing', 'profile', said, 'Choose another profile on the page.')]
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

export const homeChecks = (looked: CheckContext): Check[] => {
  const { home, config } = looked
  const problem = whyNoDirectory(home.dir)
  if (problem === 'missing')
    return [
      warn(
        'home_missing',
        'home',
        `${home.dir} does not exist yet`,
        'It is created when the server first starts.',
        {
          does: `create ${home.dir}`,
          apply: () => makeDir(home.dir),
        },
      ),
    ]
  if (problem !== null)
    return [
      fail(
        'home_not_directory',
        'home',
        `${home.dir} ${problem}`,
        'Repair it, or set AGENT_HOME to another directory.',
      ),
    ]
  const problems = home.problems()
  const isThere = existsSync(home.config.path)
  return [
    ok('home', `${home.dir}, profile ${home.name}`),
    ...homeOwnerCheck(looked),
    ...homeAccessCheck(looked),
    ...activeProfileChecks(looked),
    ...skippedLineChecks(looked),
    ...(problems.some(({ file }) => file === home.config.path)
      ? []
      : isThere || config.configPath === null
        ? [ok('config.yaml', isThere ? 'OK' : 'not found; using defaults')]
        : [
            warn(
              'config_missing',
              'config.yaml',
              `AGENT_CONFIG_PATH names ${config.configPath}, which does not exist, so defaults apply`,
              'Create it, or fix the variable.',
            ),
          ]),
  ]
}

/** Written by hand or by another program: the page refuses such a schedule. */
export const taskChecks = ({ homes, machine }: CheckContext): Check[] =>
  homes.list().flatMap(({ dir, name }) =>
    new JobsFile(join(dir, 'cron'), () => '')
      .read()
      .filter(({ schedule }) => readSchedule(schedule, machine.clock.now(), 'UTC') === undefined)
      .map(({ id }) =>
        warn(
          'task_schedule_invalid',
          `task ${id}${name === DEFAULT_PROFILE ? '' : ` of profile ${name}`}`,
          'its schedule cannot be read, so it never runs',
          'Give it another one in Tasks.',
        ),
      ),
  )

/** As the page names them: files of every profile that cannot be read. Those of the service are in `known-files.ts`. */
export const fileChecks = (
  { homes, home, config }: CheckContext,
  isStateUsable: boolean,
): Check[] => {
  const workspaces = new Workspaces(config, () => config.userHome)
  const nameOf = (file: string): string => {
    if (file === home.config.path) return 'config.yaml'
    const place = [home.dir, config.baseHome].find(dir => file.startsWith(`${dir}/`))
    return place === undefined ? file : file.slice(place.length + 1)
  }
  const find = createFileCheck({
    homes,
    // The one of the default profile is in the state directory.
    workspaces: isStateUsable ? workspaces : { problem: () => null },
    own: [],
    jobsOf: each => new JobsFile(join(each.dir, 'cron'), () => ''),
  })
  return find().map(({ file, reason, profile }) =>
    fail(
      'file_unreadable',
      nameOf(file),
      `${reason}`,
      `Fix ${file}. Until then, what profile ${profile} needs of it is refused.`,
    ),
  )
}

/** What the file says and nobody does: known settings of the host agent, and names that nothing here knows. */
const unreadChecks = ({ home }: CheckContext): Check[] => {
  const keys = emptyIfUnreadable(() => unreadKeys(home.values()))
  const unknown = keys.filter(({ why }) => why === null).map(({ key }) => key)
  const known = keys.filter(({ why }) => why !== null).map(({ key }) => key)
  return [
    ...(known.length === 0
      ? []
      : [
          ok('config.yaml', `settings of other programs, without effect here: ${known.join(', ')}`),
        ]),
    ...(unknown.length === 0
      ? []
      : [
          warn(
            'key_unknown',
            'config.yaml',
            `these keys have no effect here: ${unknown.join(', ')}`,
            'Correct their names, or leave them for the program that reads them. docs/configuration-keys.md has all that are read.',
          ),
        ]),
  ]
}

/** Values of config.yaml that are invalid and were dropped, and settings that count as something else. */
const settingsChecks = ({ home }: CheckContext): Check[] => [
  ...home
    .configProblems()
    .map(({ key, reason }) =>
      warn('value_invalid', key, reason, `Correct ${key} in ${home.config.path}.`),
    ),
  ...(home.lenient.settings().approvals.mode === 'smart'
    ? [
        warn(
          'value_invalid',
          'approvals.mode',
          'smart counts as manual: no model answers for you',
          'Set manual.',
        ),
      ]
    : []),
]

/** Settings that nobody confirmed, in every profile: the earlier values are in force. */
const changedChecks = ({ homes, acceptedSettings: accepted }: CheckContext): Check[] => {
  const problem = accepted.problem()
  return [
    ...(problem === null
      ? []
      : [
          fail(
            'accepted_settings_unreadable',
            'confirmed settings',
            `${accepted.path}: ${problem}. Settings that loosen what the agent may do stay off`,
            'Run agent-webui config, then accept them.',
          ),
        ]),
    ...homes.list().flatMap(home => {
      const found = shownChanges(home, { accepted, redact })
      if (found === null) return []
      const keys = found.changes.map(({ key }) => key).join(', ')
      return [
        warn(
          'settings_unconfirmed',
          keys,
          `${found.file} was changed by something else than the page, so the earlier values stay in force`,
          `Accept or restore them under Settings → Security, or run agent-webui config${home.name === DEFAULT_PROFILE ? '' : ` -p ${home.name}`}.`,
        ),
      ]
    }),
  ]
}

/** An unsupported safeguard that was not accepted blocks the agent: that is a failure. */
export const guardChecks = (looked: CheckContext): Check[] => {
  const { home, config, acceptedSettings } = looked
  const accepted = new AcceptedGuards(join(config.stateDir, 'accepted-guards.json'))
  const skills = new Skills({ userHome: config.userHome, callable: callableSkills })
  const guards = new HomeGuards(accepted, acceptedSettings, skills)
  return [
    ...settingsChecks(looked),
    ...unreadChecks(looked),
    ...changedChecks(looked),
    ...emptyIfUnreadable(() =>
      guards
        .list(home)
        .map(({ key, value, why, closes, accepted: isAccepted }) =>
          isAccepted
            ? warn(
                'guard_accepted',
                key,
                `${value}: ${closes.length === 0 ? 'has no effect here; dismissed' : 'not supported here; accepted'}`,
                why,
              )
            : closes.length === 0
              ? warn(
                  'guard_without_effect',
                  key,
                  `${value}: ${why}`,
                  'Change it, or dismiss it under Settings → Security.',
                )
              : fail(
                  'guard_unsupported',
                  key,
                  `${value}: ${why} Blocked because of it: ${closes.join(', ')}.`,
                  'Change it, or accept it under Settings → Security.',
                ),
        ),
    ),
  ]
}
