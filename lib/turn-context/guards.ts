/** The guards of a home, evaluated on each use so that a changed file takes effect immediately. */
import { accessSync, constants } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import { deniedBy } from '../agent/deny-rules.ts'
import { matchesGlob } from '../agent/glob.ts'
import { listProblem } from '../agent/permissions/rule.ts'
import type { Guards } from '../agent/types.ts'
import { messageOf, missing } from '../errors.ts'
import { type AcceptedGuards, valueId } from '../guards/accepted-guards.ts'
import type { AcceptedSettings } from '../guards/accepted-settings.ts'
import {
  type Closed,
  denyRules,
  type GuardedHome,
  instructionFiles,
  type UnsupportedGuard,
  unsupportedGuards,
  writeRoots,
} from '../guards/guard-rules.ts'
import { parseHooks } from '../hooks/config.ts'
import type { Home } from '../profiles/home.ts'
import type { Guard } from '../schema/guard.ts'
import { isInside, realPath } from '../store/path-within.ts'
import { isKnownName } from './enabled-toolsets.ts'

const isRunnable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    // Missing or not executable.
    return false
  }
}

/** The home in the form the guard table reads. */
const guardedHome = (home: Home, skillNames: GuardsOptions['skillNames']): GuardedHome => {
  const env = home.env()
  const values = home.values()
  const settings = home.settings()
  return {
    dir: home.dir,
    configPath: home.config.path,
    values,
    env,
    isToolset: name => isKnownName(settings, name),
    ruleProblem: list => {
      const problem = listProblem(list)
      return problem && `${problem}`
    },
    unknownSkills(names) {
      const known = skillNames(home)
      return names.filter(name => !known.has(name))
    },
    hookProblems: parseHooks,
    hasProgram: name =>
      name.includes('/')
        ? isRunnable(name)
        : (env.PATH ?? '').split(delimiter).some(dir => dir !== '' && isRunnable(join(dir, name))),
  }
}

/** The error for something that an unsupported guard blocks. */
const toSentence = ({ key, file, why }: UnsupportedGuard): string =>
  `Refused because of ${key} in ${file}. ${why} Change it there, or accept it in the settings under Security.`

const TOOLS: Readonly<Record<string, Closed>> = {
  execute_code: 'scripts',
  memory: 'memory',
  skill_manage: 'skills',
}

export type GuardsFor = (home: Home) => Guards

export type GuardsOptions = {
  acceptedGuards: AcceptedGuards
  acceptedSettings: Pick<AcceptedSettings, 'look' | 'problem' | 'path'>
  redact: (text: string) => string
  /** The names by which skills of a home can be disabled. */
  skillNames: (home: Home) => ReadonlySet<string>
}

const SHOWN_CHARS = 400

/** What hooks may protect. */
const HOOKED: readonly Closed[] = ['commands', 'scripts', 'writes']

export const createGuards = ({
  acceptedGuards: accepted,
  acceptedSettings: settings,
  redact,
  skillNames,
}: GuardsOptions) => {
  /** Hooks that nobody confirmed do not run. Those that a damaged file says nothing of any more may protect something. */
  const lostHooks = (home: Home, what: Closed): string | null => {
    const problem = settings.problem()
    if (problem === null || !HOOKED.includes(what)) return null
    const { changes } = settings.look(home.name, home.config.path, home.config.read())
    return changes.some(({ path }) => path[0] === 'hooks')
      ? `Refused because ${settings.path} cannot be used (${problem}), so the hooks of ${home.config.path} do not run. Accept them in the settings under Security.`
      : null
  }

  /** The error of the first guard that blocks this and was not accepted; null when none does. */
  const closing = (home: Home, what: Closed): string | null => {
    const lost = lostHooks(home, what)
    if (lost !== null) return lost
    const found = unsupportedGuards(guardedHome(home, skillNames), what).find(
      guard => !accepted.has(home.name, guard),
    )
    return found ? toSentence(found) : null
  }

  /** With an unreadable home everything is blocked. */
  const safely = (decide: () => string | null): string | null => {
    try {
      return decide()
    } catch (error) {
      return messageOf(error)
    }
  }

  const of: GuardsFor = home => ({
    commands: () => safely(() => closing(home, 'commands')),
    command: command =>
      safely(() => {
        const why = closing(home, 'commands')
        if (why !== null) return why
        const { deny, review } = denyRules(home.values())
        const denied = deniedBy(command, deny)
        if (denied !== undefined)
          return `Refused, and no approval can allow it: approvals.deny in ${home.config.path} forbids "${denied}".`
        const reviewed = deniedBy(command, review)
        return reviewed === undefined
          ? null
          : `Refused: approvals.command_approval_required in ${home.config.path} names "${reviewed}". Such commands run only in the command-line client.`
      }),
    write: path =>
      safely(() => {
        const why = closing(home, 'writes')
        if (why !== null) return why
        for (const { name, roots } of writeRoots(home.env(), home.dir))
          if (!roots.some(root => isInside(realPath(root), path)))
            return `Writing to ${path} is denied: it lies outside ${name} (${roots.join(delimiter)}).`
        const isInstruction = () =>
          instructionFiles(home.values()).some(pattern => matchesGlob(pattern, basename(path)))
        const instructions = closing(home, 'instructions')
        return instructions !== null && isInstruction() ? instructions : null
      }),
    tool: name =>
      safely(() => {
        const why = closing(home, 'tools')
        const own = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined
        return why ?? (own ? closing(home, own) : null)
      }),
  })
  const toText = (value: unknown): string =>
    redact(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, SHOWN_CHARS)

  return {
    of,
    /** The guards of this home that we do not support, including accepted ones. */
    list: (home: Home): Guard[] =>
      unsupportedGuards(guardedHome(home, skillNames)).map(guard => ({
        key: guard.key,
        file: guard.file,
        value: toText(guard.value),
        value_id: valueId(guard),
        why: guard.why,
        closes: [...guard.closes],
        accepted: accepted.has(home.name, guard),
      })),
    /** `shown` is the `value_id` that the user saw. */
    accept(home: Home, key: string, shown: string, yes: boolean): void {
      const guard = unsupportedGuards(guardedHome(home, skillNames)).find(each => each.key === key)
      if (!guard) throw missing(`${key} asks for nothing that is refused here.`)
      accepted.set(home.name, guard, shown, yes)
    },
  }
}
