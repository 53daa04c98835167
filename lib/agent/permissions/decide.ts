/**
 * Decides about one command, however it is started: whether it runs, is refused, or needs the user's approval, and where it
 * runs. What the words of a command say decides little here: a sandbox contains what runs in it, and outside of one
 * everything that can change something is asked about, unless the user chose otherwise. See
 * docs/decisions/0007-one-decision.md.
 *
 * Answers that exist already (rules that allow, remembered approvals, approval modes) are looked up when the user would be
 * asked: `lib/turns/context/approver.ts`.
 */
import { Refusal } from '../../base/refusal.ts'
import type { RefusedBy } from '../../schema/refused-by.ts'
import { shellQuote } from '../../base/shell-quote.ts'
import { isBelow, isInside, realPath } from '../../store/path-within.ts'
import { isControlled, isCredential } from '../tools/protected-paths.ts'
import { changesOwnGit, losesHistory, losesWork } from '../shell/git.ts'
import { floorReason } from '../shell/floor.ts'
import { hostFindings, marksOf } from '../shell/host-patterns.ts'
import {
  CHANGES,
  CODE_FLAG,
  CONTROL,
  LOGIN_FILE,
  GIT_LOSS,
  OWN_ADDRESS,
  UNCONFINED,
} from '../shell/labels.ts'
import { namedPaths } from '../shell/paths.ts'
import { MAX_PARTS, readCommand, scriptAsCommand } from '../shell/read.ts'
import { literalsIn } from '../shell/inner.ts'
import { readingParts } from '../shell/readers.ts'
import { isTooLarge, MAX_COMMAND_CHARS } from '../shell/syntax.ts'
import type { CommandPart, ReadCommand, ShellContext } from '../shell/types.ts'
import type { CommandAccess, CommandRunner, Guards } from '../tool-services.ts'
import type { TextSpan } from '../../schema/question.ts'
import type { OutsidePolicy } from '../types.ts'

/** Where a command may run, and what it may change there. */
export type Approved = { access: CommandAccess; changesGit?: boolean }

/** Why the user is asked. */
export type Question = {
  labels: readonly string[]
  /** It may change what decides about the agent: no earlier answer applies. */
  isControl: boolean
  /** Places of the host agent's patterns in the text. */
  marks: readonly TextSpan[]
  /** The parts that can change something, as lines; absent where the text does not say. */
  lines?: readonly string[]
}

export type Decision =
  | { kind: 'refuse'; refusal: Refusal }
  | { kind: 'run'; approved: Approved; ask: Question | null; isReadOnly: boolean }

/** What of a turn decides about a command. */
export type DecisionScope = {
  guards?: Guards | undefined
  runner?: CommandRunner | undefined
  canUndo?: boolean
  forbidden: readonly string[]
  readable?: readonly string[]
  outside?: OutsidePolicy
}

/** Deletes or empties files, which a checkpoint brings back where there is one. */
const DESTRUCTIVE =
  /^(?:recursive delete.*|delete in root path|xargs with rm|find -exec rm|find -delete|overwrite project env file|SQL .*)$/

const TOO_LONG = 'Refused, and no approval can allow it: a command of this length.'

const refuse = (by: RefusedBy, sentence: string): Decision => ({
  kind: 'refuse',
  refusal: new Refusal(by, sentence),
})

/** `kill -9 123`: whatever the process is called. */
const endsThisService = ({ name, words }: CommandPart, { isOwnProcess }: ShellContext): boolean =>
  name === 'kill' &&
  words.some(({ value }, at) => {
    const isTarget = value !== null && /^-?\d+$/.test(value) && !(at === 0 && value.startsWith('-'))
    return isTarget && isOwnProcess?.(Number(value)) === true
  })

const asksThisService = (command: string, { ownAddresses = [] }: ShellContext): boolean =>
  ownAddresses.some(port =>
    new RegExp(
      `(?:localhost|127\\.[\\d.]+|\\[?::1?\\]?|0\\.0\\.0\\.0|\\b0|\\b0x7f\\w*|\\b2130706433):${port}\\b`,
      'i',
    ).test(command),
  )

/** Why a command that runs with everything the user can do is asked about, apart from the host agent's patterns. */
const ownReasons = (
  command: string,
  analysis: ReadCommand,
  shell: ShellContext,
): { control: string[]; more: string[] } => {
  const files = namedPaths(analysis, shell).flatMap(each =>
    each.path === null ? [] : { ...each, path: realPath(each.path) },
  )
  const control = [
    ...(analysis.parts.some(part => endsThisService(part, shell)) ||
    files.some(({ kind, path }) => kind !== 'read' && isControlled(shell, path))
      ? [CONTROL]
      : []),
    ...(asksThisService(command, shell) ? [OWN_ADDRESS] : []),
  ]
  const isSecret = files.some(({ path }) => isCredential(shell.home, path))
  return { control, more: isSecret ? [LOGIN_FILE] : [] }
}

const lineOf = ({ program, words }: CommandPart): string | null => {
  const all = [program, ...words.map(({ value, isGlob }) => (isGlob ? null : value))]
  return all.includes(null) ? null : all.map(word => shellQuote(word ?? '')).join(' ')
}

/** The parts that are more than readers, where the text says everything. */
const changingLines = (
  command: ReadCommand,
  reading: ReadonlySet<CommandPart>,
): readonly string[] | undefined => {
  if (!command.isPlain) return undefined
  const lines = command.parts
    .filter(part => !part.isInner && !reading.has(part))
    // What it reads from a pipe may be anything, as for a shell.
    .map(part => (part.assigns.length > 0 || part.isPiped ? null : lineOf(part)))
  return lines.includes(null) ? undefined : lines.filter(line => line !== null)
}

const forbiddenPath = (
  command: ReadCommand,
  shell: ShellContext,
  { forbidden, readable = [] }: DecisionScope,
): string | undefined => {
  const roots = forbidden.map(path => realPath(path))
  const open = readable.map(path => realPath(path))
  const isIn = (all: readonly string[], path: string) => all.some(root => isBelow(root, path))
  return namedPaths(command, shell)
    .flatMap(({ path }) => (path === null ? [] : realPath(path)))
    .find(path => isIn(roots, path) && !isIn(open, path))
}

/** A file outside that the words certainly change: inside, that would fail or change a private copy, and seem to have worked. */
const lostWrite = (
  command: ReadCommand,
  shell: ShellContext,
  runner: CommandRunner,
): string | null => {
  if (runner.hasOwnSystem || runner.isReadOnly || !runner.reach) return null
  const { workspace = shell.cwd } = shell
  const lost = namedPaths(command, shell).find(({ path, kind, isUnsure }) => {
    if (path === null || isUnsure || (kind !== 'write' && kind !== 'both')) return false
    const real = realPath(runner.hostPath(path))
    return !isInside(workspace, real) && !isBelow('/tmp', path) && runner.reach?.(real) !== 'write'
  })
  if (!lost) return null
  const otherwise = runner.canLeave
    ? ' Where the task needs it, repeat it with access "unconfined"; the user is asked.'
    : ''
  return `Not run: it changes ${lost.path}, which the sandbox does not allow.${otherwise}`
}

/**
 * Decides about a command; `access` is what the model asked for. The runner must be able to run something at this moment: see
 * `unavailableRunner`.
 */
export const decideCommand = (
  command: string,
  turn: DecisionScope,
  shell: ShellContext,
  access?: CommandAccess,
): Decision => {
  const { guards, runner, canUndo = false, outside = 'changes' } = turn
  const denial = guards?.command(command) ?? null
  if (denial !== null) return refuse('rule', denial)
  const analysis = readCommand(command)
  const { parts } = analysis
  if (isTooLarge(command) || parts.length >= MAX_PARTS) return refuse('checks', TOO_LONG)
  const floor = floorReason(analysis, command, shell)
  if (floor !== null) return refuse('checks', `Refused, and no approval can allow it: ${floor}.`)
  const deniedPath = forbiddenPath(analysis, shell, turn)
  if (deniedPath !== undefined)
    return refuse(
      'checks',
      `Access to ${deniedPath} is denied: it may hold secrets or the state of this service.`,
    )

  const reading = readingParts(analysis, shell)
  const isReadOnly = reading.size > 0 && parts.every(part => part.isInner || reading.has(part))
  const findings = hostFindings(command)
  const hostLabels = [...new Set(findings.map(({ label }) => label))]
  const run = (approved: Approved, labels: readonly string[], isControl = false): Decision => {
    const lines = changingLines(analysis, reading)
    const ask = { labels, isControl, marks: marksOf(findings), ...(lines && { lines }) }
    return { kind: 'run', approved, ask: labels.length > 0 ? ask : null, isReadOnly }
  }

  if (runner && (access !== 'unconfined' || runner.isReadOnly)) {
    const lost = lostWrite(analysis, shell, runner)
    if (lost !== null) return refuse('checks', lost)
    // No checkpoint covers other folders that it may change.
    const isUndoable = canUndo && runner.sharesFolders !== true
    const loses = parts.some(losesHistory) || (!isUndoable && parts.some(losesWork))
    const labels = runner.isReadOnly
      ? []
      : [
          ...(loses ? [GIT_LOSS] : []),
          ...(isUndoable ? [] : hostLabels.filter(label => DESTRUCTIVE.test(label))),
        ]
    return run({ access: 'confined', changesGit: changesOwnGit(analysis) }, labels)
  }
  const { control, more } = ownReasons(command, analysis, shell)
  // No program was found in the text: it could change anything.
  const isUnread = parts.length === 0 && command.trim() !== ''
  const isControl = control.length > 0 || isUnread
  const loses = parts.some(part => losesHistory(part) || losesWork(part)) ? [GIT_LOSS] : []
  const reasons = [...control, ...hostLabels, ...loses, ...more]
  const changes = [CHANGES, ...reasons]
  const approved: Approved = { access: 'unconfined' }
  if (runner) return run(approved, [UNCONFINED, ...reasons], isControl)
  if (outside === 'dangerous') return run(approved, isUnread ? changes : reasons, isControl)
  return isReadOnly && reasons.length === 0 ? run(approved, []) : run(approved, changes, isControl)
}

/** Decides about a script of `execute_code`, which is never only a reader. */
export const decideScript = (
  code: string,
  { runner, guards, forbidden }: DecisionScope,
  shell: ShellContext,
): Decision => {
  const texts = [code, ...literalsIn(code)]
  const denial =
    guards?.commands() ??
    texts.map(text => guards?.command(text) ?? null).find(why => why !== null) ??
    null
  if (denial !== null) return refuse('rule', denial)
  if (code.length > MAX_COMMAND_CHARS) return refuse('checks', TOO_LONG)
  // Its own command is decided when it is called.
  const beyondTools = code.replace(/\bterminal\(\s*(["'`])(?:(?!\1)[^\n])+\1/g, '')
  const floor = literalsIn(beyondTools)
    // A single word in code is rarely a command.
    .filter(text => /\s/.test(text))
    .map(text => floorReason(readCommand(text), text, shell))
    .find(reason => reason !== null)
  if (floor) return refuse('checks', `Refused, and no approval can allow it: ${floor}.`)
  const deniedPath = forbidden.find(path => code.includes(path))
  if (deniedPath !== undefined)
    return refuse(
      'checks',
      `Access to ${deniedPath} is denied: it may hold secrets or the state of this service.`,
    )
  if (runner) return { kind: 'run', approved: { access: 'confined' }, ask: null, isReadOnly: false }
  const findings = hostFindings(code)
  const { control, more } = ownReasons(code, scriptAsCommand(code), shell)
  const hostLabels = findings.map(({ label }) => label)
  const labels = [...new Set([...control, CODE_FLAG, ...hostLabels, ...more])]
  return {
    kind: 'run',
    approved: { access: 'unconfined' },
    ask: { labels, isControl: control.length > 0, marks: marksOf(findings) },
    isReadOnly: false,
  }
}
