/** Applies permission rules to one tool call: refuses it, asks first, or answers the approvals it asks for. */
import { reasonFields, stakesOf } from '../reasons.ts'
import { shellContextFor } from '../tools/command-gate.ts'
import { type Decision, decideCommand, decideScript } from './decide.ts'
import type { ApprovalRequest } from '../tool-services.ts'
import type { Tool, ToolContext } from '../types.ts'
import { denial } from './denied-path.ts'
import type { RuledCall, Verdict } from './types.ts'
import type { Rules } from './rules.ts'

const ruleKey = (rule: string): string => `rule: ${rule}`

/** For the approval card. */
export const reasonFor = ({ rule, isUnsure }: Verdict): string =>
  isUnsure
    ? `Asked because the rule “${rule}” may apply: what this reaches can’t be known before it runs.`
    : `Asked because of the rule “${rule}”.`

/** What an approval that a rule requires has in common, whatever is asked. */
export const ruleApproval = (verdict: Verdict, labels: readonly string[]) => ({
  patternKeys: [ruleKey(verdict.rule), ...labels],
  ...reasonFields(reasonFor(verdict), ...stakesOf(labels)),
  rule: verdict.rule,
  choices: ['once', 'deny'] as const,
})

export type CheckedCall = {
  /** Why it is denied; null when no rule denies it. */
  denied: string | null
  /** The rules that ask and allow, for the context in which the call runs. */
  within: (ctx: ToolContext) => {
    /** Asks first where a rule requires that. False: the user said no. */
    askFirst: () => Promise<boolean>
    /** `approve` of the call: what `allow` covers, and what was just approved, is not asked about. */
    approve: ToolContext['approve']
  }
}

const MAX_SHOWN_CHARS = 4_000

type ShownCall = {
  command: string
  cwd: string
  labels: string[]
  /** The tool itself asks about or refuses it, whatever a rule says. */
  isLeftToTool: boolean
}

/** What the card shows, with the labels that the tool would ask about. */
const shownCall = (tool: Tool, input: unknown, call: RuledCall, ctx: ToolContext): ShownCall => {
  const [first] = call.accesses
  const cwd = ctx.turn.workspace
  const describe = (command: string, at: string, decision: Decision): ShownCall => ({
    command,
    cwd: at,
    labels: decision.kind === 'run' ? [...(decision.ask?.labels ?? [])] : [],
    isLeftToTool: decision.kind === 'refuse' || decision.ask?.isControl === true,
  })
  if (tool.name === 'execute_code') {
    const { code } = input as { code: string }
    return describe(code, cwd, decideScript(code, ctx.turn, shellContextFor(ctx.turn, cwd)))
  }
  if (first?.kind === 'command') {
    const { command, shell } = first
    const { access } = input as { access?: 'unconfined' }
    return describe(command, shell.cwd, decideCommand(command, ctx.turn, shell, access))
  }
  const paths = call.accesses.flatMap(access =>
    'path' in access && access.path ? [access.path] : [],
  )
  const what = paths.length > 0 ? [...new Set(paths)].join(' ') : JSON.stringify(input)
  const command = `${tool.name} ${what}`.slice(0, MAX_SHOWN_CHARS)
  return { command, cwd, labels: [], isLeftToTool: false }
}

/** Names the rule that allows it, if there is one. */
export const withRule = (
  rules: Rules | undefined,
  call: RuledCall,
  ask: ApprovalRequest,
): ApprovalRequest =>
  (rules?.covers(call, ask) ?? null) === null ? ask : { ...ask, allowedBy: 'config' }

/**
 * An MCP server may ask for other things during a call (sampling), and a command for destinations in the network; what allows
 * the call does not allow these.
 */
export const isAboutCall = ({ server }: Tool, { patternKeys, network }: ApprovalRequest): boolean =>
  network === undefined &&
  (server === undefined || patternKeys.every(key => key.startsWith('mcp: ')))

/** `input`: as validated by the tool. Throws when a path in it is invalid. */
export const checkCall = (
  rules: Rules | undefined,
  tool: Tool,
  input: unknown,
  ctx: ToolContext,
): CheckedCall => {
  if (!rules)
    return {
      denied: null,
      within: ({ approve }) => ({ askFirst: async () => true, approve }),
    }
  const call: RuledCall = {
    tool: tool.name,
    ...(tool.server !== undefined && { server: tool.server }),
    accesses: tool.reaches?.(input, ctx) ?? [],
  }
  const verdict = rules.decide(call)
  const within = (running: ToolContext) => {
    let approved: string | null = null
    return {
      async askFirst() {
        if (verdict === null) return true
        const { command, cwd, labels, isLeftToTool } = shownCall(tool, input, call, running)
        if (isLeftToTool) return true
        const choice = await running.approve({ command, cwd, ...ruleApproval(verdict, labels) })
        if (choice !== 'deny') approved = command
        return choice !== 'deny'
      },
      async approve(ask: ApprovalRequest) {
        const isSame = call.accesses.some(({ kind }) => kind === 'command')
          ? approved?.trim() === ask.command.trim()
          : approved !== null
        if (!isAboutCall(tool, ask)) return running.approve(ask)
        // What was approved about a command is not that it leaves the sandbox.
        if (isSame && !ask.isControl && !ask.leavesSandbox) return 'once'
        return running.approve(withRule(rules, call, ask))
      },
    }
  }
  return { denied: verdict?.list === 'deny' ? denial(verdict, rules) : null, within }
}
