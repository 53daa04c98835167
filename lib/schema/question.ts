/** Approvals of commands, and questions of the agent. */
import { z } from 'zod'
import { Sentences } from './sentence.ts'
import { RunsIn } from './command-place.ts'

export const ApprovalChoice = z.enum(['once', 'session', 'always', 'deny'])
export type ApprovalChoice = z.infer<typeof ApprovalChoice>

export const RuleScope = z.enum(['session', 'workspace', 'profile'])
export type RuleScope = z.infer<typeof RuleScope>

/** A lasting permission; `words` is null for exactly what was shown, `any` for all calls of the tool. */
export type Rule = { scope: RuleScope; words: string[] | null; any?: true }

/** What a permission can cover besides exactly what is shown: this tool with any arguments, these files with any change, this server with any request. */
export const AnyCall = z
  .object({ of: z.enum(['arguments', 'changes', 'requests']), name: z.string() })
  .meta({ id: 'AnyCall' })
export type AnyCall = z.infer<typeof AnyCall>

/** A part of a text, in UTF-16 code units; `end` is behind it. */
export const TextSpan = z.object({ start: z.number(), end: z.number() })
export type TextSpan = z.infer<typeof TextSpan>

/** What a running command wants to connect to: its first line, and the place as it is shown. */
const Reached = z.object({
  command: z.string(),
  place: z.string(),
  private: z.literal(true).optional(),
  address: z.string().optional(),
})

/** Why an approval is asked for, in parts: `stake` is a label of `lib/base/stakes.ts`, `more` a number of further ones, `subagent` the task of the subagent that asks, `text` the words of a rule or of another program. */
export const Reason = z
  .union([
    z.object({ stake: z.string() }),
    z.object({ more: z.number() }),
    z.object({ reaches: Reached }),
    z.object({ subagent: z.string() }),
    z.object({ text: z.string() }),
  ])
  .meta({ id: 'Reason' })
export type Reason = z.infer<typeof Reason>

/** The tool call that waits for the answer and has done nothing yet: after a restart it is made again, and waits for this question. */
const CallId = z.string()

export const Approval = z
  .object({
    kind: z.literal('approval'),
    approval_id: z.string(),
    session_id: z.string(),
    command: z.string(),
    /** Label of the first matching rule, as in `command_allowlist`. */
    pattern_key: z.string(),
    pattern_keys: z.array(z.string()),
    description: z.string(),
    /** The code of the description, if it is a sentence of the server. */
    sentences: Sentences.optional(),
    /** The description in parts, for the page's own words. Absent: it is the words of another program. */
    reasons: z.array(Reason).optional(),
    /** The parts of `command` that it is asked about. Absent when they are not known. */
    marks: z.array(TextSpan).optional(),
    /** Working directory of the command. */
    cwd: z.string().optional(),
    /** Where the command would run; absent: directly on this computer, as all commands of this home. */
    runs_in: RunsIn.optional(),
    /** A running command waits to connect to this. `private`: in the person's own network; `address`: what the name stands for. */
    network: z
      .object({
        host: z.string(),
        port: z.number(),
        private: z.literal(true).optional(),
        address: z.string().optional(),
      })
      .optional(),
    /** Unified diff of the edit. */
    diff: z.string().optional(),
    /** It is a call of a tool or a change of files, not a command. */
    any: AnyCall.optional(),
    /** Allowed answers, always with `deny`. Default: all four. */
    choices: z.array(ApprovalChoice).optional(),
    /** Only an owner can allow it: it changes what controls the agent, leaves the sandbox, or goes beyond a budget. */
    needs_owner: z.literal(true).optional(),
    /** The shortest allowed rule: first words followed by ` *`. Absent when only the exact command can be allowed. */
    suggested_rule: z.string().optional(),
    call_id: CallId.optional(),
    requested_at: z.number(),
    /** When it is denied without an answer, in seconds since 1970. Absent: it waits without a limit. */
    expires_at: z.number().optional(),
  })
  .meta({ id: 'Approval' })
export type Approval = z.infer<typeof Approval>

export const Clarify = z
  .object({
    kind: z.literal('clarify'),
    clarify_id: z.string(),
    session_id: z.string(),
    question: z.string(),
    choices_offered: z.array(z.string()),
    /** The question is a plan (Markdown) to approve; see `lib/base/plan-answers.ts`. */
    plan: z.literal(true).optional(),
    call_id: CallId.optional(),
    requested_at: z.number(),
    /** When the agent continues without an answer, in seconds since 1970. Absent: it waits without a limit. */
    expires_at: z.number().optional(),
  })
  .meta({ id: 'Clarify' })
export type Clarify = z.infer<typeof Clarify>

export const Question = z.discriminatedUnion('kind', [Approval, Clarify])
export type Question = z.infer<typeof Question>

/** Why a question was settled without an answer of a person: the time was up, what asked is gone, or the turn ended. */
export const Unanswered = z.enum(['timeout', 'withdrawn', 'ended'])
export type Unanswered = z.infer<typeof Unanswered>

export const idOf = (question: Question): string =>
  question.kind === 'approval' ? question.approval_id : question.clarify_id

/** It stays open when the service stops, so that a plan is not lost. */
export const outlivesTurn = (question: Question): boolean =>
  question.kind === 'clarify' && question.plan === true
