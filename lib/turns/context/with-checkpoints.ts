/** Wraps an agent so that the file changes of a turn are recorded: before the first change and after the last. */
import type { ChangeScope } from '../../agent/tool-services.ts'
import type { Agent, LoopMessage } from '../../agent/types.ts'
import type { TurnRecorder, TurnStart } from '../../workspaces/checkpoints/turn-recorder.ts'
import type { TurnScope } from './turn-scope.ts'

export type CheckpointSource = {
  startTurn: (start: TurnStart) => TurnRecorder
  /** False where nothing is recorded. */
  canUndo?: boolean
}

const MAX_TITLE_CHARS = 120

/** The first line of the user's message, without our workspace tag. */
const checkpointTitle = (history: readonly LoopMessage[]): string => {
  const last = history.findLast(({ role }) => role === 'user')?.content
  const text = typeof last === 'string' ? last.replace(/^\[Workspace: [^\n]*\]\n/, '') : ''
  return (text.trim().split('\n')[0] ?? '').slice(0, MAX_TITLE_CHARS)
}

/** A failure to record produces a warning and does not fail the turn. */
export const withCheckpoints = (
  checkpoints: CheckpointSource | null,
  scope: TurnScope,
  agent: Agent,
): Agent => {
  const { config, home, workspace, sessionId, turn } = scope
  if (!checkpoints || !config.checkpoints.enabled) return agent
  return async (request, emit) => {
    const recorder = checkpoints.startTurn({
      home,
      workspace,
      sessionId,
      streamId: turn.streamId,
      messageId: turn.userMessageId,
      isContinued: turn.resumed !== null,
      title: checkpointTitle(request.history),
      maxTurns: config.checkpoints.max_snapshots,
    })
    const beforeChange = async (what: ChangeScope) => {
      const notes = await recorder.beforeChange(what)
      for (const message of notes) emit({ type: 'warning', kind: 'checkpoint', message })
    }
    const isExternal = request.endpoint.apiMode === 'acp'
    request.signal.addEventListener('abort', () => recorder.stopping(), { once: true })
    try {
      // An external agent may change files without asking first.
      if (isExternal) await beforeChange('workspace')
      const canUndo = checkpoints.canUndo !== false
      // Not called by an external agent, which does not wait until a step is recorded.
      const calls = {
        started: (id: string) => recorder.callStarted(id),
        ended: (id: string) => recorder.callEnded(id),
      }
      return await agent({ ...request, beforeChange, canUndo, calls }, emit)
    } finally {
      // Not awaited: the response is complete. Listing the changes waits for it instead.
      void recorder.end(turn.parking === 'suspended')
    }
  }
}
