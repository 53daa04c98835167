/** Types of permission rules: the lists of config.yaml, what a tool call reaches, and the verdict about it. */
import type { ShellContext } from '../shell/types.ts'

/** In order of precedence: a match in an earlier list decides, whatever the later ones say. */
export const RULE_LISTS = ['deny', 'ask', 'allow'] as const
export type RuleList = (typeof RULE_LISTS)[number]

/** Something that a tool call reaches. */
export type Access =
  /** `path` is a real path, null when it cannot be known. `tree`: everything below it, too; `into`: some files below it. */
  | {
      kind: 'read' | 'write'
      path: string | null
      reach: 'file' | 'tree' | 'into'
      /** As it was named, before links were followed. */
      alias?: string
      /** It may not be reached at all. */
      isUnsure?: true
      /** Names with a leading dot below it are not reached. */
      skipsHidden?: boolean
    }
  | { kind: 'command'; command: string; shell: ShellContext }
  /** Null for an address without a host. */
  | { kind: 'host'; host: string | null }
  | { kind: 'agent'; name: string }

/** A tool call as rules see it. */
export type RuledCall = {
  /** The tool's name; an external agent's call has the name of our corresponding tool. */
  tool: string
  /** The MCP server of the tool, where known. */
  server?: string
  accesses: readonly Access[]
}

/** `isUnsure`: the rule may apply, but what the call reaches cannot be known before it runs. */
export type Verdict = { list: 'deny' | 'ask'; rule: string; isUnsure?: true }
