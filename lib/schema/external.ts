/** The external agent (ACP) of a session: modes, options, commands and sessions. */
import { z } from 'zod'

const Choice = z.object({ value: z.string(), name: z.string(), description: z.string() })

export const ExternalAgent = z
  .object({
    /** Null unless the model of the session is an external agent. */
    agent: z.object({ id: z.string(), name: z.string() }).nullable(),
    /** False until the agent is running and has opened its session. */
    is_open: z.boolean(),
    /** Not null after the agent has said that nobody is signed in to it. */
    sign_in: z
      .object({
        /** What the agent says about it; empty when it says no more than that. */
        said: z.string(),
        methods: z.array(
          z.object({
            id: z.string(),
            name: z.string(),
            description: z.string(),
            /** To run in a terminal of the server; empty: the agent signs in itself. */
            command: z.string(),
          }),
        ),
      })
      .nullable(),
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
    /** Slash commands of the agent; sent to it as typed. */
    commands: z.array(z.object({ name: z.string(), description: z.string(), hint: z.string() })),
  })
  .meta({ id: 'ExternalAgent' })
export type ExternalAgent = z.infer<typeof ExternalAgent>

export const AgentSessions = z
  .object({
    /** In the agent's order; of the workspace of the session. */
    sessions: z.array(
      z.object({
        agent_session_id: z.string(),
        title: z.string(),
        /** Seconds since 1970. */
        updated_at: z.number().nullable(),
        cwd: z.string(),
        /** Our session that continues it. */
        session_id: z.string().nullable(),
      }),
    ),
    /** Why the list is empty; empty otherwise. */
    note: z.string(),
  })
  .meta({ id: 'AgentSessions' })
export type AgentSessions = z.infer<typeof AgentSessions>

export const Adopted = z.object({
  session_id: z.string(),
  message_count: z.number(),
  /** What is missing from the transcript, and why; empty when it is complete. */
  note: z.string(),
})
export type Adopted = z.infer<typeof Adopted>
