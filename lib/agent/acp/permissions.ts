/** Answers an agent's permission requests with our approvals, mapped to the options it offers. */
import { sentence } from '../../base/sentences.ts'
import type { Words } from '../../base/sentences.ts'
import { Refusal } from '../../base/refusal.ts'
import type { PermissionOption, RequestPermissionOutcome } from '@agentclientprotocol/sdk'
import { stakesOf } from '../reasons.ts'
import { CONTROL } from '../shell/labels.ts'
import { shellContextFor } from '../tools/command-gate.ts'
import { CONTROL_APPROVAL } from '../tools/allowed-paths.ts'
import { isControlled } from '../tools/protected-paths.ts'
import { isAbsolute } from 'node:path'
import { shortenCounting } from '../../base/shorten.ts'
import { isInside, realPath } from '../../store/path-within.ts'
import { decideCommand } from '../permissions/decide.ts'
import type { ApprovalChoice } from '../../schema/question.ts'
import { denial } from '../permissions/denied-path.ts'
import type { AgentRequest, ApprovalRequest, Guards } from '../types.ts'
import { withRule } from '../permissions/check-call.ts'
import { addToApproval, ruledCall } from './permission-rules.ts'
import { askInstead } from './questions.ts'
import { type Call, commandOf, pathsOf, shownPath } from './tool-calls.ts'

export type PermissionContext = {
  /** The agent's display name. */
  name: string
  request: AgentRequest
  /** Approved commands (`allowedKey`), which need no second approval when the agent runs them in our terminal. */
  allowed: Set<string>
  warn: (message: Words) => void
  /** The proposed change; '' if unknown. */
  diff: string
  /** What the agent says about it; '' if nothing. */
  explanation: string
}

/** A command with its directory, because elsewhere it may do something else. */
export const allowedKey = (command: string, cwd: string): string =>
  JSON.stringify([command, realPath(cwd)])

const cancelled: RequestPermissionOutcome = { outcome: 'cancelled' }

const pick = (
  options: readonly PermissionOption[],
  ...kinds: PermissionOption['kind'][]
): RequestPermissionOutcome => {
  for (const kind of kinds) {
    const option = options.find(each => each.kind === kind)
    if (option) return { outcome: 'selected', optionId: option.optionId }
  }
  return cancelled
}

/** What lasts is stored here, and answered "once" each time: what an agent remembers may cover more than was shown. */
export const answerFor = (
  choice: ApprovalChoice,
  options: readonly PermissionOption[],
): RequestPermissionOutcome =>
  choice === 'deny'
    ? pick(options, 'reject_once', 'reject_always')
    : pick(options, 'allow_once', 'allow_always')

/** Kinds that always need an approval, regardless of the offered options. */
const ACTING = new Set(['execute', 'edit', 'delete', 'move'])

/** Two options of the same kind are a question, which an approval can't answer. */
const isQuestion = ({ kind: act }: Call, options: readonly PermissionOption[]): boolean =>
  !ACTING.has(act) && new Set(options.map(({ kind }) => kind)).size < options.length

const ACTS: Readonly<Record<string, string>> = {
  execute: 'run a command',
  edit: 'change files',
  delete: 'delete files',
  move: 'move files',
  read: 'read files',
  search: 'search files',
  fetch: 'fetch from the network',
  switch_mode: 'switch to another mode',
}

const VERBS: Readonly<Record<string, string>> = {
  edit: 'edit',
  delete: 'delete',
  move: 'move',
  read: 'read',
}

/** What is approved if there is no command: the files, otherwise the agent's title; with its arguments. */
const namedAct = (call: Call, workspace: string, name: string, diff: string) => {
  const verb = VERBS[call.kind]
  const paths = pathsOf(call, workspace)
  const names = paths.map(path => shownPath(path, workspace))
  const isPathTitle = isAbsolute(call.title)
  const what =
    verb && paths.length > 0
      ? [verb, ...names].join(' ')
      : isPathTitle
        ? `access ${call.title}`
        : call.title || call.name || ACTS[call.kind] || 'use a tool'
  const isShown = diff !== '' || (call.kind === 'read' && paths.length > 0)
  const args = JSON.stringify(call.rawInput ?? {})
  const of = CHANGES.has(call.kind) ? ('changes' as const) : ('arguments' as const)
  const key = verb && paths.length > 0 ? [verb, ...paths].join(' ') : what
  // A call without a name or files could be any.
  const isNamed = call.kind !== 'execute' && (paths.length > 0 || call.title || call.name)
  return {
    command: isShown || args === '{}' ? what : `${what} ${args}`,
    whole: JSON.stringify([call.rawInput, call.content]),
    ...(isNamed && { any: { of, name: what, key: `${name}: ${key}` } }),
  }
}

const CHANGES: ReadonlySet<string> = new Set(['edit', 'delete', 'move'])

/** Why the profile's guards forbid a request that is no command, or null. */
const deniedByHome = (guards: Guards | undefined, call: Call, cwd: string): string | null => {
  if (!guards) return null
  if (call.kind === 'execute') return guards.commands()
  const paths = CHANGES.has(call.kind) ? pathsOf(call, cwd) : []
  return paths.map(path => guards.write(realPath(path))).find(why => why !== null) ?? null
}

const MAX_EXPLANATION_CHARS = 1_500

/** Nothing that is shown already. */
const shownExplanation = (explanation: string, texts: readonly string[]): string => {
  const plain = explanation.replace(/^```\w*\n([\s\S]*?)\n?```$/, '$1').trim()
  return texts.some(words => words.trim() === plain)
    ? ''
    : shortenCounting(plain, MAX_EXPLANATION_CHARS)
}

const quotedFrom = (words: string): string => (words === '' ? '' : `It says: ${words}`)

const sameText = (a: string, b: string): boolean =>
  a.trim().toLowerCase() === b.trim().toLowerCase()

/** Asks which of several options of one kind is meant. */
const askOptions = async (
  options: readonly PermissionOption[],
  call: Call,
  callId: string,
  { name, request, explanation, warn }: PermissionContext,
): Promise<RequestPermissionOutcome> => {
  const args = JSON.stringify(call.rawInput ?? {})
  const question = [
    `${name}: ${call.title || 'how to continue?'}`,
    shownExplanation(explanation, [call.title]),
    args === '{}' ? '' : shortenCounting(args, MAX_EXPLANATION_CHARS),
  ].filter(words => words !== '')
  const names = options.map(option => option.name)
  const answer = await askInstead(question.join('\n\n'), names, request, callId)
  const chosen = options.find(option => sameText(option.name, answer))
  if (chosen) return { outcome: 'selected', optionId: chosen.optionId }
  warn(sentence('turn.agent_no_choice', { name, answer }))
  return answerFor('deny', options)
}

/** Throws the `Refusal` where no one is asked; its message becomes the result of the call. */
export const askPermission = async (
  options: readonly PermissionOption[],
  call: Call,
  callId: string,
  context: PermissionContext,
): Promise<RequestPermissionOutcome> => {
  const { name, request, allowed, warn, diff, explanation } = context
  const { workspace } = request
  const command = commandOf(call)
  const shell = shellContextFor(request, workspace)
  // The agent starts it by itself, outside the sandbox of this service.
  const decision =
    command === '' ? null : decideCommand(command, { ...request, runner: undefined }, shell)
  const question = decision?.kind === 'run' ? decision.ask : null
  const paths = pathsOf(call, workspace)
  const isControl =
    question?.isControl === true ||
    (call.kind !== 'read' && paths.some(path => isControlled(request, realPath(path))))
  const labels = [
    ...(question?.labels ?? []),
    ...(isControl && !question?.isControl ? [CONTROL] : []),
  ]
  const forbiddenPath = paths.find(path => request.forbidden.some(closed => isInside(closed, path)))
  const { rules } = request
  const ruled = ruledCall(call, shell)
  const verdict = rules?.decide(ruled) ?? null
  const byRule =
    (command === '' ? deniedByHome(request.guards, call, workspace) : null) ??
    (rules && verdict?.list === 'deny' ? denial(verdict, rules) : null)
  const refusal =
    decision?.kind === 'refuse'
      ? decision.refusal
      : byRule !== null
        ? new Refusal('rule', byRule)
        : forbiddenPath !== undefined
          ? new Refusal(
              'checks',
              `Refused, and no approval can allow it: it touches ${forbiddenPath}.`,
            )
          : null
  if (refusal) {
    const what = command === '' ? 'turn.agent_refused_access' : 'turn.agent_refused_command'
    warn(sentence(what, { name, reason: refusal.message }))
    throw refusal
  }
  if (command === '' && isQuestion(call, options)) return askOptions(options, call, callId, context)
  const act =
    ACTS[command === '' ? call.kind : 'execute'] ??
    (isAbsolute(call.title) ? 'access files' : 'use a tool')
  const isOnlyPermanent = !options.some(({ kind }) => kind === 'allow_once')
  const isOutside = command === '' && paths.some(path => !isInside(workspace, path))
  const reasons = [
    `${name} asks to ${act}${isOutside ? ' outside the workspace' : ''}.`,
    // In its own words, which must not pass for ours.
    quotedFrom(shownExplanation(explanation, [command, call.title])),
    ...stakesOf(labels),
    isOnlyPermanent ? 'It offers no one-time permission: the agent remembers an approval.' : '',
  ]
  const isUnknown = call.kind === 'execute' && command === ''
  const ask: ApprovalRequest = {
    ...(command === '' ? namedAct(call, workspace, name, diff) : { command }),
    cwd: workspace,
    ...addToApproval(verdict, labels.length > 0 ? labels : [`${name}: ${act}`], reasons),
    ...(diff !== '' && { diff }),
    ...(question && question.marks.length > 0 && { marks: question.marks }),
    ...(question?.lines && { lines: question.lines }),
    ...((isControl || isUnknown) && CONTROL_APPROVAL),
  }
  const choice = await request.approve(withRule(rules, ruled, ask), callId)
  if (choice !== 'deny' && command !== '') allowed.add(allowedKey(command, workspace))
  return answerFor(choice, options)
}
