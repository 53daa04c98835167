/** Permission rules for the requests of an external agent: what a call reaches, and approvals that a rule requires. */
import { realPath } from '../../store/path-within.ts'
import { asObject } from '../../base/json.ts'
import type { Reason } from '../../schema/question.ts'
import { reasonFor, ruleApproval } from '../permissions/check-call.ts'
import { reasonFields } from '../reasons.ts'
import { denial } from '../permissions/denied-path.ts'
import type { Access, RuledCall, Verdict } from '../permissions/types.ts'
import type { ShellContext } from '../shell/types.ts'
import type { ToolContext } from '../types.ts'
import { type Call, commandOf, describe, firstText, pathsOf } from './tool-calls.ts'

const WRITES: ReadonlySet<string> = new Set(['edit', 'delete', 'move'])

/** For a call that runs a command and does not say which: read as one that could be any. */
const ANY_COMMAND = '"$ANY_COMMAND"'

const NO_PATH = { path: null, reach: 'file' } as const

/** The call as rules see it, under the name of our corresponding tool. What it does not say could be anything. */
export const ruledCall = (call: Call, shell: ShellContext): RuledCall => {
  const workspace = shell.workspace ?? shell.cwd
  const command = commandOf(call) || (call.kind === 'execute' ? ANY_COMMAND : '')
  const raw = asObject(call.rawInput)
  const url = firstText(raw.url, raw.uri)
  const kind = WRITES.has(call.kind) ? 'write' : 'read'
  const reach = call.kind === 'edit' || call.kind === 'read' ? 'file' : 'tree'
  const paths = pathsOf(call, workspace)
  const isUnnamed = paths.length === 0 && (kind === 'write' || call.kind === 'read')
  const accesses: Access[] = [
    ...(command === '' ? [] : [{ kind: 'command' as const, command, shell }]),
    ...paths.map(path => ({ kind, path: realPath(path), named: path, reach }) as const),
    ...(isUnnamed ? [{ kind, ...NO_PATH } as const] : []),
    ...(call.kind === 'fetch'
      ? [{ kind: 'host' as const, host: URL.parse(url)?.hostname ?? null }]
      : []),
  ]
  return { tool: describe(call, workspace).name, accesses }
}

/** Asks where a rule requires it before the agent's own file request is served. Throws a sentence when that is refused. */
export const checkFileRequest = async (
  ctx: ToolContext,
  tool: 'read_file' | 'write_file',
  fullPath: string,
): Promise<void> => {
  const {
    turn: { rules },
  } = ctx
  const kind = tool === 'read_file' ? 'read' : 'write'
  const verdict = rules?.decide({ tool, accesses: [{ kind, path: fullPath, reach: 'file' }] })
  if (!rules || !verdict) return
  if (verdict.list === 'deny') throw new Error(denial(verdict, rules))
  const choice = await ctx.approve({
    command: `${kind} ${fullPath}`,
    cwd: ctx.turn.workspace,
    ...ruleApproval(verdict, []),
  })
  if (choice === 'deny') throw new Error(`The user denied access to ${fullPath}.`)
}

/** What a verdict adds to an approval that is asked for anyway. */
export const addToApproval = (
  verdict: Verdict | null,
  labels: readonly string[],
  reasons: readonly (string | Reason)[],
) =>
  verdict === null
    ? { patternKeys: [...labels], ...reasonFields(...reasons) }
    : { ...ruleApproval(verdict, labels), ...reasonFields(reasonFor(verdict), ...reasons) }
