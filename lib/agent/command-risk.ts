/**
 * Judges a command before it runs. What is understood as harmless runs; what is dangerous or not understood is
 * asked about; what nobody may run is refused.
 */
import { resolve } from 'node:path'
import { isInside } from '../store/path-within.ts'
import { textsIn } from './shell/code.ts'
import { inspect } from './shell/inspect.ts'
import { CONTROL, OWN_ADDRESS, UNCLEAR } from './shell/labels.ts'
import { pathsIn } from './shell/paths.ts'
import { MAX_COMMAND_CHARS, readings } from './shell/syntax.ts'
import { RULES } from './shell/rules.ts'
import type { ShellContext, Simple } from './shell/types.ts'
import type { Guards } from './types.ts'

export { normalizeCommand as normalise } from './shell/syntax.ts'
export type { ShellContext as Place } from './shell/types.ts'

export type Assessment = {
  /** Why the command is refused without asking. */
  blocked?: string
  /** Reasons to ask, most severe first. */
  labels: string[]
  /** No grant covers it, and nobody but a person answers. */
  isControl?: true
  /** It surely changes nothing. */
  isReadOnly: boolean
  /** Its programs with their arguments, in order, as a rule of the person may cover them; null when not understood. */
  commands: string[][] | null
}

const TOO_LONG: Assessment = {
  blocked: 'a command of this length',
  labels: [],
  isReadOnly: false,
  commands: null,
}

/** Labels in the order of the table, those of no table behind it. */
const ORDER = new Map(
  [CONTROL, OWN_ADDRESS, ...RULES.map(({ label }) => label)].map((label, at) => [label, at]),
)
const rank = (label: string): number => ORDER.get(label) ?? (label === UNCLEAR ? 1_000 : 500)

/** Readings of raw text that no taking apart shows. */
const RAW = new Set([
  'execute remote script via process substitution',
  'decoded text piped to shell',
  'start gateway outside systemd',
  'kill hermes/gateway process (self-termination)',
])

/** Deterministic; it reads the scripts that the command would run, and changes nothing. */
export const assessCommand = (command: string, place: Partial<ShellContext> = {}): Assessment => {
  if (command.length > MAX_COMMAND_CHARS) return TOO_LONG
  const where: ShellContext = {
    ...place,
    home: place.home || '/root',
    cwd: place.cwd || '/somewhere/below/the/root',
    seen: new Map(),
  }
  const all = readings(command).map(text => ({ text, ...inspect(text, where) }))
  const findings = all.flatMap(each => each.findings)
  const raw = RULES.filter(
    ({ label, text }) => RAW.has(label) && all.some(each => text?.test(each.text)),
  ).map(({ label }) => label)
  const labels = [...new Set([...findings.map(({ label }) => label), ...raw])].sort(
    (a, b) => rank(a) - rank(b),
  )
  const blocked = findings.find(({ blocked: floor }) => floor !== undefined)?.blocked
  const isClear = all.every(each => each.isClear)
  return {
    ...(blocked !== undefined && { blocked: blocked }),
    labels,
    ...(findings.some(({ isControl }) => isControl) && { isControl: true as const }),
    isReadOnly: labels.length === 0 && all.every(each => each.looks),
    commands: isClear ? (all[0]?.commands ?? null) : null,
  }
}

/** It surely only looks: nothing has to be recorded before it runs. In doubt it does more. */
export const isReadOnly = (command: string, place: Partial<ShellContext>): boolean =>
  assessCommand(command, place).isReadOnly

/** Why the home forbids the script: scripts at all, or a command it openly runs; null when it does not. */
export const deniedInScript = (code: string, place: ShellContext, guards: Guards): string | null =>
  guards.commands() ??
  textsIn(code)
    .filter(({ isRun }) => isRun)
    .map(({ text }) => guards.command(text, place))
    .find(why => why !== null) ??
  null

/** Why a script of `execute_code` must not run; undefined when it holds nothing of the kind openly. */
export const blockedInScript = (code: string, place: Partial<ShellContext>): string | undefined => {
  const { blocked } = assessScript(code, place)
  return blocked
}

/** It is read as a part of a command. */
const MAX_SCRIPT_CHARS = MAX_COMMAND_CHARS - 1_000

/** A script given as text, in the language of `execute_code`. */
export const assessScript = (
  code: string,
  place: Partial<ShellContext>,
): Pick<Assessment, 'blocked' | 'labels' | 'isControl'> => {
  // What is too long to be read is not run, like a command.
  if (code.length > MAX_SCRIPT_CHARS) return { blocked: 'a script of this length', labels: [] }
  const where: ShellContext = {
    ...place,
    home: place.home || '/root',
    cwd: place.cwd || '/somewhere/below/the/root',
  }
  // Handed over as a here-document nobody can close, it is read like any script on an interpreter's input.
  const mark = `END_${code.length}_OF_SCRIPT`
  const { findings } = inspect(`python3 - <<'${mark}'\n${code}\n${mark}\n`, where)
  const blocked = findings.find(({ blocked: floor }) => floor !== undefined)?.blocked
  return {
    ...(blocked !== undefined && { blocked: blocked }),
    labels: [...new Set(findings.map(({ label }) => label))],
    ...(findings.some(({ isControl }) => isControl) && { isControl: true as const }),
  }
}

/** Every program the command would start, those inside others included. */
export const startedPrograms = (command: string, place: ShellContext): Simple[] => {
  if (command.length > MAX_COMMAND_CHARS) return []
  const where = { ...place, seen: new Map<string, boolean>() }
  return readings(command).flatMap(text => inspect(text, where).simples)
}

/** The first place a command names that lies in one of `forbidden` (and in none of `readable`); undefined when it names none openly. */
export const forbiddenPathIn = (
  command: string,
  place: ShellContext,
  forbidden: readonly string[],
  readable: readonly string[] = [],
): string | undefined => {
  return startedPrograms(command, place)
    .flatMap(({ args, redirects, cwd }) =>
      pathsIn([...args, ...redirects.map(({ target }) => target)]).map(word => ({
        cwd: cwd ?? place.cwd,
        word: word.replace(/^~(?=\/|$)/, place.home),
      })),
    )
    .filter(({ word }) => word !== '' && word.length < 4_096 && !word.includes('\0'))
    .map(({ word, cwd }) => resolve(cwd, word))
    .find(path => {
      const lies = (root: string) => isInside(root, path)
      return forbidden.some(lies) && !readable.some(lies)
    })
}
