/** Answers an agent's permission requests with our approvals, mapped to the options it offers. */
import type {
  PermissionOption,
  RequestPermissionOutcome,
  RequestPermissionRequest,
} from '@agentclientprotocol/sdk'
import { CONTROL, describeLabels } from '../shell/labels.ts'
import { shellContextFor } from '../tools/command-gate.ts'
import { CONTROL_APPROVAL } from '../tools/allowed-paths.ts'
import { isControlled } from '../tools/protected-paths.ts'
import { isInside, realPath } from '../../store/path-within.ts'
import { decideCommand } from '../permissions/decide.ts'
import type { ApprovalChoice } from '../../schema/question.ts'
import { denial } from '../permissions/denied-path.ts'
import type { AgentRequest, ApprovalRequest, Guards } from '../types.ts'
import { addToApproval, ruledCall } from './permission-rules.ts'
import { type Call, commandOf, pathsOf, shownPath } from './tool-calls.ts'

export type PermissionContext = {
  /** The agent's display name. */
  name: string
  request: Pick<
    AgentRequest,
    | 'approve'
    | 'clarify'
    | 'workspace'
    | 'env'
    | 'forbidden'
    | 'guards'
    | 'tools'
    | 'controlPaths'
    | 'ownAddresses'
    | 'outside'
    | 'isOwnProcess'
    | 'rules'
  >
  /** Approved commands (`allowedKey`), which need no second approval when the agent runs them in our terminal. */
  allowed: Set<string>
  warn: (message: string) => void
  /** The answer that denies it, where no one is asked; the sentence becomes the result of the call. */
  refuse: (sentence: string) => RequestPermissionOutcome
  /** The proposed change; '' if unknown. */
  diff: string
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

/** ACP has no `session` choice: we store it, and answer "once" each time. */
export const answerFor = (
  choice: ApprovalChoice,
  options: readonly PermissionOption[],
): RequestPermissionOutcome => {
  switch (choice) {
    case 'once':
    case 'session':
      return pick(options, 'allow_once', 'allow_always')
    case 'always':
      return pick(options, 'allow_always', 'allow_once')
    case 'deny':
      return pick(options, 'reject_once', 'reject_always')
  }
}

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

/** What is approved if there is no command: the files, otherwise the agent's title. */
const namedAct = (call: Call, workspace: string): string => {
  const verb = VERBS[call.kind]
  const paths = pathsOf(call, workspace).map(path => shownPath(path, workspace))
  return verb && paths.length > 0 ? [verb, ...paths].join(' ') : call.title || 'use a tool'
}

const CHANGES: ReadonlySet<string> = new Set(['edit', 'delete', 'move'])

/** Why the profile's guards forbid a request that is no command, or null. */
const deniedByHome = (guards: Guards | undefined, call: Call, cwd: string): string | null => {
  if (!guards) return null
  if (call.kind === 'execute') return guards.commands()
  const paths = CHANGES.has(call.kind) ? pathsOf(call, cwd) : []
  return paths.map(path => guards.write(realPath(path))).find(why => why !== null) ?? null
}

export const askPermission = async (
  { options }: Pick<RequestPermissionRequest, 'options'>,
  call: Call,
  callId: string,
  { name, request, allowed, warn, refuse, diff }: PermissionContext,
): Promise<RequestPermissionOutcome> => {
  const { workspace } = request
  const command = commandOf(call)
  const shell = shellContextFor(request, workspace)
  // The agent starts it by itself, outside the sandbox of this service.
  const decision =
    command === '' ? null : decideCommand(command, { ...request, runner: undefined, shell })
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
  const denied =
    (decision?.kind === 'refuse' ? decision.sentence : null) ??
    (command === '' ? deniedByHome(request.guards, call, workspace) : null) ??
    (rules && verdict?.list === 'deny' ? denial(verdict, rules) : null) ??
    (forbiddenPath === undefined
      ? null
      : `Refused, and no approval can allow it: it touches ${forbiddenPath}.`)
  if (denied !== null) {
    warn(`${name} was refused ${command === '' ? 'access' : 'a command'}. ${denied}`)
    return refuse(denied)
  }
  if (command === '' && isQuestion(call, options)) {
    if (!request.tools.some(({ kind }) => kind === 'ask')) return answerFor('deny', options)
    const answer = await request.clarify(
      call.title || `${name} asks how to continue.`,
      options.map(option => option.name),
      callId,
    )
    const chosen = options.find(option => option.name === answer)
    return chosen ? { outcome: 'selected', optionId: chosen.optionId } : answerFor('deny', options)
  }
  const act = ACTS[call.kind] ?? 'use a tool'
  const isOnlyPermanent = !options.some(({ kind }) => kind === 'allow_once')
  const description = [
    `${name} asks to ${act}.`,
    describeLabels(labels),
    isOnlyPermanent ? 'It offers no one-time permission: the agent remembers an approval.' : '',
  ]
    .filter(sentence => sentence !== '')
    .join(' ')
  const ask: ApprovalRequest = {
    command: command || namedAct(call, workspace),
    cwd: workspace,
    ...addToApproval(verdict, labels.length > 0 ? labels : [`${name}: ${act}`], description),
    ...(diff !== '' && { diff }),
    ...(question && question.marks.length > 0 && { marks: question.marks }),
    ...(question?.lines && { lines: question.lines }),
    ...(isControl && CONTROL_APPROVAL),
  }
  const isAllowed = (rules?.covers(ruled, ask) ?? null) !== null
  const choice = isAllowed ? 'once' : await request.approve(ask, callId)
  if (choice !== 'deny' && command !== '') allowed.add(allowedKey(command, workspace))
  return answerFor(choice, options)
}
