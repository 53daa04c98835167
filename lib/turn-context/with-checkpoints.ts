/** Has what a turn changes recorded, whoever is the agent: before the first change, and when nothing of it runs any more. */
import type { Agent, ChangeScope, LoopMessage } from '../agent/types.ts'
import type { TurnRecorder, TurnStart } from '../checkpoints/turn-recorder.ts'
import type { TurnScope } from './turn-scope.ts'

export type CheckpointSource = { startTurn: (start: TurnStart) => TurnRecorder }

const TITLE_CHARS = 120

/** The first line the person wrote, without what we put in front of it. */
const titleOf = (history: readonly LoopMessage[]): string => {
  const last = history.findLast(({ role }) => role === 'user')?.content
  const text = typeof last === 'string' ? last.replace(/^\[Workspace: [^\n]*\]\n/, '') : ''
  return (text.trim().split('\n')[0] ?? '').slice(0, TITLE_CHARS)
}

/** The same agent; a failure to record is one warning and never the turn's. */
export const withCheckpoints = (
  checkpoints: CheckpointSource | null,
  place: TurnScope,
  agent: Agent,
): Agent => {
  const { config, home, workspace, sessionId, turn } = place
  if (!checkpoints || !config.checkpoints.enabled) return agent
  return async (request, emit) => {
    const recorder = checkpoints.startTurn({
      home,
      workspace,
      sessionId,
      streamId: turn.streamId,
      messageId: turn.userMessageId,
      title: titleOf(request.history),
      maxTurns: config.checkpoints.max_snapshots,
    })
    const beforeChange = async (what: ChangeScope) => {
      const notes = await recorder.beforeChange(what)
      if (notes.length > 0) emit({ type: 'warning', kind: 'checkpoint', message: notes.join(' ') })
    }
    request.signal.addEventListener('abort', recorder.stopping, { once: true })
    try {
      // Another program changes files without asking us first.
      if (request.endpoint.apiMode === 'acp') await beforeChange('workspace')
      return await agent({ ...request, beforeChange }, emit)
    } finally {
      // Not waited for: the answer is there. Whoever asks for the list waits instead.
      void recorder.end()
    }
  }
}
