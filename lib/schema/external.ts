/** Another program's agent as a session sees it: its modes, its options, its commands, its earlier sessions. */
import { z } from 'zod'

const Choice = z.object({ value: z.string(), name: z.string(), description: z.string() })

export const ExternalAgent = z
  .object({
    /** Null while the session's model is no agent of another program. */
    agent: z.object({ id: z.string(), name: z.string() }).nullable(),
    /** False until its program runs and has opened its side of the session. */
    is_open: z.boolean(),
    mode: z.object({ current: z.string(), choices: z.array(Choice) }).nullable(),
    options: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        description: z.string(),
        /** A switch is a choice between `on` and `off`. */
        current: z.string(),
        choices: z.array(Choice),
        kind: z.enum(['select', 'switch']),
      }),
    ),
    /** Typed with a slash before them; sent to the agent as they are. */
    commands: z.array(z.object({ name: z.string(), description: z.string(), hint: z.string() })),
  })
  .meta({ id: 'ExternalAgent' })
export type ExternalAgent = z.infer<typeof ExternalAgent>

export const AgentSessions = z
  .object({
    /** Newest as the agent orders them; of the session's workspace. */
    sessions: z.array(
      z.object({
        agent_session_id: z.string(),
        title: z.string(),
        /** Seconds since 1970. */
        updated_at: z.number().nullable(),
        cwd: z.string(),
        /** Ours that goes on with it already. */
        session_id: z.string().nullable(),
      }),
    ),
    /** Why there are none; empty when there are some. */
    note: z.string(),
  })
  .meta({ id: 'AgentSessions' })
export type AgentSessions = z.infer<typeof AgentSessions>

export const Adopted = z.object({
  session_id: z.string(),
  message_count: z.number(),
  /** What is not shown, and why; empty when all of it is. */
  note: z.string(),
})
export type Adopted = z.infer<typeof Adopted>
