/** The guards of a home, evaluated on each use so that a changed file takes effect immediately. */
import { basename, delimiter } from 'node:path'
import { deniedBy } from '../../agent/permissions/command-pattern.ts'
import { matchesGlob } from '../../agent/glob.ts'
import { listProblem } from '../../agent/permissions/rule.ts'
import type { Guards } from '../../agent/types.ts'
import { findProgram } from '../../base/find-program.ts'
import { toolInfo } from '../../base/tools.ts'
import { redact } from '../../base/redact/redact.ts'
import { messageOf, missing } from '../../errors.ts'
import { type AcceptedGuards, valueId } from '../../commands/guards/accepted-guards.ts'
import type { AcceptedSettings } from '../../commands/guards/accepted-settings.ts'
import {
  type BlockedPart,
  denyRules,
  type GuardedHome,
  instructionFiles,
  type UnsupportedGuard,
  unsupportedGuards,
  writeRoots,
} from '../../commands/guards/guard-rules.ts'
import { parseHooks } from '../../profiles/hooks/config.ts'
import type { Home } from '../../profiles/home.ts'
import type { Skills } from '../../profiles/skills/skills.ts'
import type { Guard } from '../../schema/guard.ts'
import { isInside, realPath } from '../../store/path-within.ts'
import { isKnownName } from './enabled-toolsets.ts'

/** The home in the form the guard table reads. */
const guardedHome = (home: Home, skills: Skills): GuardedHome => {
  const env = home.env()
  const config = home.config()
  return {
    dir: home.dir,
    configPath: home.configFile.path,
    values: home.values(),
    env,
    isToolset: name => isKnownName(config, name),
    ruleProblem: list => {
      const problem = listProblem(list)
      return problem && `${problem}`
    },
    unknownSkills(names) {
      const all = skills.names(home)
      return names.filter(name => !all.has(name))
    },
    hookProblems: parseHooks,
    hasProgram: name => findProgram(env.PATH ?? '', name) !== undefined,
  }
}

/** The error for something that an unsupported guard blocks. */
const toSentence = ({ key, file, why }: UnsupportedGuard): string =>
  `Refused because of ${key} in ${file}. ${why} Change it there, or accept it in the settings under Security.`

const SHOWN_CHARS = 400

/** What hooks may protect. */
const HOOKED: readonly BlockedPart[] = ['commands', 'scripts', 'writes']

const toText = (value: unknown): string =>
  redact(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, SHOWN_CHARS)

/** With an unreadable home everything is blocked. */
const safely = (decide: () => string | null): string | null => {
  try {
    return decide()
  } catch (error) {
    return messageOf(error)
  }
}

/** The guards of all homes, with what their owners accepted. */
export class HomeGuards {
  readonly #accepted: AcceptedGuards
  readonly #settings: AcceptedSettings
  readonly #skills: Skills

  constructor(accepted: AcceptedGuards, settings: AcceptedSettings, skills: Skills) {
    this.#accepted = accepted
    this.#settings = settings
    this.#skills = skills
  }

  of(home: Home): Guards {
    return {
      commands: () => safely(() => this.#closing(home, 'commands')),
      command: command =>
        safely(() => this.#closing(home, 'commands') ?? this.#deniedCommand(home, command)),
      write: path => safely(() => this.#closing(home, 'writes') ?? this.#deniedWrite(home, path)),
      tool: name =>
        safely(() => {
          const own = toolInfo(name)?.closedBy
          return this.#closing(home, 'tools') ?? (own ? this.#closing(home, own) : null)
        }),
    }
  }

  /** The guards of this home that we do not support, including accepted ones. */
  list(home: Home): Guard[] {
    return unsupportedGuards(guardedHome(home, this.#skills)).map(guard => ({
      key: guard.key,
      file: guard.file,
      value: toText(guard.value),
      value_id: valueId(guard),
      why: guard.why,
      closes: [...guard.closes],
      accepted: this.#accepted.has(home.name, guard),
    }))
  }

  /** `valueId` is the `value_id` that the user saw. */
  accept(home: Home, key: string, valueId: string, yes: boolean): void {
    const guards = unsupportedGuards(guardedHome(home, this.#skills))
    const guard = guards.find(each => each.key === key)
    if (!guard) throw missing(`${key} asks for nothing that is refused here.`)
    this.#accepted.set(home.name, guard, valueId, yes)
  }

  /** The error of the first guard that blocks this and was not accepted; null when none does. */
  #closing(home: Home, what: BlockedPart): string | null {
    const lost = this.#lostHooks(home, what)
    if (lost !== null) return lost
    const guard = unsupportedGuards(guardedHome(home, this.#skills), what).find(
      each => !this.#accepted.has(home.name, each),
    )
    return guard ? toSentence(guard) : null
  }

  /** Hooks that nobody confirmed do not run. Those that a damaged file says nothing of any more may protect something. */
  #lostHooks(home: Home, what: BlockedPart): string | null {
    const problem = this.#settings.problem()
    if (problem === null || !HOOKED.includes(what)) return null
    const { changes } = this.#settings.look(home.name, home.configFile.path, home.configFile.read())
    return changes.some(({ path }) => path[0] === 'hooks')
      ? `Refused because ${this.#settings.path} cannot be used (${problem}), so the hooks of ${home.configFile.path} do not run. Accept them in the settings under Security.`
      : null
  }

  #deniedCommand(home: Home, command: string): string | null {
    const { deny, review } = denyRules(home.values())
    const denied = deniedBy(command, deny)
    if (denied !== undefined)
      return `Refused, and no approval can allow it: approvals.deny in ${home.configFile.path} forbids "${denied}".`
    const reviewed = deniedBy(command, review)
    return reviewed === undefined
      ? null
      : `Refused: approvals.command_approval_required in ${home.configFile.path} names "${reviewed}". Such commands run only in the command-line client.`
  }

  #deniedWrite(home: Home, path: string): string | null {
    for (const { name, roots } of writeRoots(home.env(), home.dir))
      if (!roots.some(root => isInside(realPath(root), path)))
        return `Writing to ${path} is denied: it lies outside ${name} (${roots.join(delimiter)}).`
    const closing = this.#closing(home, 'instructions')
    const isInstruction = () =>
      instructionFiles(home.values()).some(pattern => matchesGlob(pattern, basename(path)))
    return closing !== null && isInstruction() ? closing : null
  }
}
