/**
 * Assesses the risk of a shell command before it runs. Commands known to be harmless run, risky or unclear ones need
 * approval, and blocked ones never run.
 */
import { createDisk } from './shell/disk.ts'
import { resolve } from 'node:path'
import { isBelow } from '../store/path-within.ts'
import { textsIn } from './shell/code.ts'
import { inspect } from './shell/inspect.ts'
import { CONTROL, OWN_ADDRESS, UNCLEAR } from './shell/labels.ts'
import { pathsIn } from './shell/paths.ts'
import { MAX_COMMAND_CHARS, variants } from './shell/syntax.ts'
import { RULES } from './shell/rules.ts'
import type { ShellContext, SimpleCommand } from './shell/types.ts'
import type { Guards } from './types.ts'

export { normalizeCommand } from './shell/syntax.ts'
export type { ShellContext } from './shell/types.ts'

export type Assessment = {
  /** Why the command is blocked, even with approval. */
  blocked?: string
  /** Risk labels that need approval, most severe first. */
  labels: string[]
  /** It changes what controls the agent: no grant applies, only the user can approve it. */
  isControl?: true
  /** True when it certainly changes nothing. */
  isReadOnly: boolean
  /** Whether everything in it was understood. */
  isClear: boolean
}

const TOO_LONG: Assessment = {
  blocked: 'a command of this length',
  labels: [],
  isReadOnly: false,
  isClear: false,
}

/** Severity order of labels; unknown labels come last. */
const ORDER = new Map(
  [CONTROL, OWN_ADDRESS, ...RULES.map(({ label }) => label)].map((label, at) => [label, at]),
)
const rank = (label: string): number => ORDER.get(label) ?? (label === UNCLEAR ? 1_000 : 500)

/** Rules that match the raw text, because parsing hides these patterns. */
const RAW = new Set([
  'execute remote script via process substitution',
  'decoded text piped to shell',
  'start gateway outside systemd',
  'kill hermes/gateway process (self-termination)',
])

/** Deterministic and without side effects, but it reads script files the command would run. */
export const assessCommand = (command: string, shell: Partial<ShellContext> = {}): Assessment => {
  if (command.length > MAX_COMMAND_CHARS) return TOO_LONG
  const context: ShellContext = {
    disk: createDisk(),
    ...shell,
    home: shell.home || '/root',
    cwd: shell.cwd || '/somewhere/below/the/root',
  }
  const all = variants(command).map(text => ({ text, ...inspect(text, context) }))
  const findings = all.flatMap(each => each.findings)
  const raw = RULES.filter(
    ({ label, text }) => RAW.has(label) && all.some(each => text?.test(each.text)),
  ).map(({ label }) => label)
  const labels = [...new Set([...findings.map(({ label }) => label), ...raw])].sort(
    (a, b) => rank(a) - rank(b),
  )
  const blocked = findings.find(({ blocked: floor }) => floor !== undefined)?.blocked
  return {
    ...(blocked !== undefined && { blocked: blocked }),
    labels,
    ...(findings.some(({ isControl }) => isControl) && { isControl: true as const }),
    isReadOnly: labels.length === 0 && all.every(each => each.isReadOnly),
    isClear: all.every(each => each.isClear),
  }
}

/** True when the command certainly changes nothing, so that no checkpoint is needed. When in doubt, false. */
export const isReadOnly = (command: string, shell: Partial<ShellContext>): boolean =>
  assessCommand(command, shell).isReadOnly

/** Why the home's guards forbid a script: scripts in general, or a command visible in it. Null: allowed. */
export const deniedInScript = (code: string, shell: ShellContext, guards: Guards): string | null =>
  guards.commands() ??
  textsIn(code)
    .filter(({ isRun }) => isRun)
    .map(({ text }) => guards.command(text, shell))
    .find(why => why !== null) ??
  null

/** The script is assessed as part of a command, which adds to its length. */
const MAX_SCRIPT_CHARS = MAX_COMMAND_CHARS - 1_000

/** Assesses a script of `execute_code`. */
export const assessScript = (
  code: string,
  shell: Partial<ShellContext>,
): Pick<Assessment, 'blocked' | 'labels' | 'isControl'> => {
  // Too long to assess: blocked, as for commands.
  if (code.length > MAX_SCRIPT_CHARS) return { blocked: 'a script of this length', labels: [] }
  const context: ShellContext = {
    ...shell,
    home: shell.home || '/root',
    cwd: shell.cwd || '/somewhere/below/the/root',
  }
  // As a here-document it is assessed like any script on an interpreter's standard input. The end mark contains the
  // length, so that a script is unlikely to contain it.
  const mark = `END_${code.length}_OF_SCRIPT`
  const { findings } = inspect(`python3 - <<'${mark}'\n${code}\n${mark}\n`, context)
  const blocked = findings.find(({ blocked: floor }) => floor !== undefined)?.blocked
  return {
    ...(blocked !== undefined && { blocked: blocked }),
    labels: [...new Set(findings.map(({ label }) => label))],
    ...(findings.some(({ isControl }) => isControl) && { isControl: true as const }),
  }
}

/** All programs the command would start, including nested ones. */
export const startedPrograms = (command: string, shell: ShellContext): SimpleCommand[] => {
  if (command.length > MAX_COMMAND_CHARS) return []
  const context = { ...shell, seen: new Map<string, boolean>() }
  return variants(command).flatMap(text => inspect(text, context).simples)
}

/** The first path in the command that is inside `forbidden` and not inside `readable`; undefined when none is visible. */
export const forbiddenPathIn = (
  command: string,
  shell: ShellContext,
  forbidden: readonly string[],
  readable: readonly string[] = [],
): string | undefined => {
  const { disk = createDisk() } = shell
  return startedPrograms(command, { ...shell, disk })
    .flatMap(({ args, redirects, cwd }) =>
      pathsIn([...args, ...redirects.map(({ target }) => target)]).map(word => ({
        cwd: cwd ?? shell.cwd,
        word: word.replace(/^~(?=\/|$)/, shell.home),
      })),
    )
    .filter(({ word }) => word !== '' && word.length < 4_096 && !word.includes('\0'))
    .map(({ word, cwd }) => resolve(cwd, word))
    .find(path => {
      const real = disk.realPath(path)
      const contains = (root: string) => isBelow(disk.realPath(root), real)
      return forbidden.some(contains) && !readable.some(contains)
    })
}
