/** The events hooks can be configured for, in the spelling of the host agent and in the one other agents share. */

export type HookEvent =
  | 'before tool'
  | 'after tool'
  /** The user sent a message. */
  | 'prompt'
  /** The first message of a chat. */
  | 'session start'
  /** The agent wants to end its turn: it can be made to continue. */
  | 'turn end'
  /** The turn has ended: observers. */
  | 'turn ended'
  | 'subagent end'
  | 'subagent ended'

export type EventSpelling = {
  event: HookEvent
  /** `host`: the host agent's format; `common`: the one widely used agents share. They differ in details. */
  dialect: 'host' | 'common'
  /** Fires only for calls that succeeded or failed. */
  only?: 'success' | 'failure'
  /** Fires only in turns that changed files with a tool. */
  afterChanges?: true
}

export const EVENTS: Readonly<Record<string, EventSpelling>> = {
  PreToolUse: { event: 'before tool', dialect: 'common' },
  pre_tool_call: { event: 'before tool', dialect: 'host' },
  PostToolUse: { event: 'after tool', dialect: 'common', only: 'success' },
  PostToolUseFailure: { event: 'after tool', dialect: 'common', only: 'failure' },
  post_tool_call: { event: 'after tool', dialect: 'host' },
  UserPromptSubmit: { event: 'prompt', dialect: 'common' },
  pre_llm_call: { event: 'prompt', dialect: 'host' },
  SessionStart: { event: 'session start', dialect: 'common' },
  on_session_start: { event: 'session start', dialect: 'host' },
  Stop: { event: 'turn end', dialect: 'common' },
  pre_verify: { event: 'turn end', dialect: 'host', afterChanges: true },
  post_llm_call: { event: 'turn ended', dialect: 'host' },
  on_session_end: { event: 'turn ended', dialect: 'host' },
  SubagentStop: { event: 'subagent end', dialect: 'common' },
  subagent_stop: { event: 'subagent ended', dialect: 'host' },
}

/** Events of those agents that can only observe: without them nothing is less protected. */
export const OBSERVERS: ReadonlySet<string> = new Set([
  'Notification',
  'SessionEnd',
  'SubagentStart',
  'StopFailure',
  'PostCompact',
  'InstructionsLoaded',
  'CwdChanged',
  'FileChanged',
  'subagent_start',
  'on_session_finalize',
  'on_session_reset',
  'pre_api_request',
  'post_api_request',
  'api_request_error',
  'pre_auxiliary_call',
  'post_auxiliary_call',
  'pre_approval_request',
  'post_approval_response',
  'outbound',
])

/** Keys of the section that are no events: the host agent's limits of long output. */
export const OTHER_KEYS: ReadonlySet<string> = new Set(['output_spill'])

/** Events whose hooks block with exit code 2. Of the host agent's events, only one reads it. */
export const blocksByExitCode = ({ event, dialect }: EventSpelling): boolean =>
  event === 'before tool' || (dialect === 'common' && event !== 'session start')
