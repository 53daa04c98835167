/** A question of the agent that was settled: what was asked, how it was answered, and by whom. Part of the transcript. */
import { z } from 'zod'
import { isObject } from '../base/json.ts'
import { RuleScope, Unanswered } from './question.ts'

/**
 * What allowed something without a question: auto-approval of the chat, a permission that was given before, a rule of the
 * configuration, a hook, approvals that are turned off, or the settings of the scheduled task.
 */
export const AutoApproval = z.enum(['yolo', 'rule', 'config', 'hook', 'off', 'task'])
export type AutoApproval = z.infer<typeof AutoApproval>

export const Decision = z
  .object({
    /** The id of the approval or the question. */
    id: z.string(),
    kind: z.enum(['approval', 'clarify', 'plan']),
    /** The command, the question, or the first line of the plan; long ones are cut. */
    what: z.string(),
    /** The tool call that waited, if it is known. */
    call_id: z.string().exactOptional(),
    choices: z.array(z.string()).exactOptional(),
    /** A choice of an approval (`deny` when no one answered), or the person's words (then empty). */
    answer: z.string(),
    /** No one answered. */
    reason: Unanswered.exactOptional(),
    /** The name of the person, where several people use the service. */
    by: z.string().exactOptional(),
    /** No one was asked, or auto-approval was turned on while it waited (then `answered_at` is later than `asked_at`). */
    auto: AutoApproval.exactOptional(),
    /** How far the permission reaches, when it is for more than once. */
    scope: RuleScope.exactOptional(),
    /** What else it covers: first words followed by ` *`. */
    rule: z.string().exactOptional(),
    /** Seconds since 1970. */
    asked_at: z.number(),
    answered_at: z.number(),
  })
  .meta({ id: 'Decision' })
export type Decision = z.infer<typeof Decision>

/** Of a message of another program, or of a copy; what is not a decision is left out. */
export const readDecisions = (value: unknown): Decision[] =>
  Array.isArray(value)
    ? value.filter(isObject).flatMap(each => Decision.safeParse(each).data ?? [])
    : []
