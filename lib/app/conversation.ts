/** Composition: what starts turns in a session and what a client sees of it. */
import { join } from 'node:path'
import { type BackgroundPrompts, createBackgroundPrompts } from '../turns/background-prompts.ts'
import { createExternalAgentOptions } from '../turns/external-agent-options.ts'
import { createExternalAgentSessions } from '../turns/external-agent-sessions.ts'
import { createMessageQueue, type MessageQueue } from '../turns/queue.ts'
import { etagOf } from '../http/etag.ts'
import { createSessionViews, type SessionViews } from '../turns/session-view.ts'
import { SpendingLimit } from '../turns/context/spending-limit.ts'
import { createSideQuestions, type SideQuestions } from '../turns/side-questions.ts'
import { createTurnStarter, type TurnStarter } from '../turns/start-turn.ts'
import { redact, redactValue } from '../base/redact/redact.ts'
import { outlivesTurn } from '../turns/open-questions.ts'
import { createEdits, type Edits } from '../sessions/edits.ts'
import type { Skills } from '../profiles/skills/skills.ts'
import type { Composition } from './data.ts'
import { createPlanFollowUp } from '../turns/plan-follow-up.ts'
import type { Engine } from './engine.ts'

export type ConversationServices = {
  turnStarter: TurnStarter
  queue: MessageQueue
  sessionViews: SessionViews
  sideQuestions: SideQuestions
  backgroundPrompts: BackgroundPrompts
  externalAgentOptions: ReturnType<typeof createExternalAgentOptions>
  externalAgentSessions: ReturnType<typeof createExternalAgentSessions>
  edits: Edits
  /** Continues after an answer to a plan whose turn has ended. Never rejects. */
  answerPlan: (sessionId: string, answer: string) => Promise<void>
}

const composeExternalAgents = (
  { data: { homes, hub, onSessionDeleted, sessions } }: Composition,
  { endpointOf, external, turns }: Engine,
  skills: Skills,
) => {
  onSessionDeleted(id => external.forget(id))
  const options = {
    external,
    sessions,
    homes,
    endpointOf,
  }
  return {
    externalAgentOptions: createExternalAgentOptions(options),
    externalAgentSessions: createExternalAgentSessions({
      ...options,
      runExclusive: turns.runExclusive,
      expandSkill: skills.expand,
      onChange: id => void hub.publish(`session:${id}`, { type: 'reset', data: {} }),
      redact,
    }),
  }
}

export const composeConversation = (
  composition: Composition,
  engine: Engine,
  skills: Skills,
): ConversationServices => {
  const { config, log, clock, data } = composition
  const { homes, hub, sessions, workspaces } = data
  const { models, turns } = engine
  const turnStarter = createTurnStarter({ sessions, turns, homes, models, workspaces })
  const queue = createMessageQueue({
    sessions,
    hub,
    streamOf: turns.streamOf,
    async send(sessionId, { id, text, attachments, by_member, client_message_id }) {
      const message = {
        sessionId,
        role: by_member ? ('member' as const) : ('owner' as const),
        text,
        attachments,
        queued: id,
        clientMessageId: client_message_id,
      }
      const { turn } = await turnStarter.turn(message)
      queue.publish(sessionId)
      return turn
    },
    clock,
    log: log.warn,
  })
  const sideQuestions = createSideQuestions({
    sessions,
    hub,
    eventLogs: turns.eventLogs,
    liveDir: join(config.stateDir, 'live'),
    agent: engine.agent,
    providers: engine.providers,
    homeOf: homes.of,
    endpoint: turnStarter.endpoint,
    budgetFor(scope) {
      const attended = { ...scope, unattended: true }
      const limit = new SpendingLimit(
        attended,
        sessions,
        engine.spending,
        turns.questions.approve,
        clock,
      )
      return () => limit.check()
    },
    redact,
    clock,
    log: log.error,
  })
  return {
    turnStarter,
    queue,
    sideQuestions,
    sessionViews: createSessionViews({
      sessions,
      turns,
      hub,
      clock,
      redactValue,
      etagOf,
      shownModel: (model, profile) =>
        model === null ? null : models.compatible(homes.of(profile), model).model,
    }),
    backgroundPrompts: createBackgroundPrompts({ sessions, turnStarter, hub, redact }),
    edits: createEdits(
      sessions,
      id => {
        turns.requireIdle(id)
        // A plan that waits for an answer may be in the messages that change.
        turns.questions.denyAll(id, 'edit', question => !outlivesTurn(question))
      },
      id => void hub.publish(`session:${id}`, { type: 'reset', data: {} }),
    ),
    answerPlan: createPlanFollowUp({ queue, sessions, log: log.warn }),
    ...composeExternalAgents(composition, engine, skills),
  }
}
