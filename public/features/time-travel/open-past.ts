/** Opens the workspace panel at a point of a turn. */
import type { App } from '../../app.ts'
import { type TurnChange, turnChangesOf } from '../workspace/turn-changes.ts'
import { pastOfCall, type Past } from './points.ts'

const showPast = (app: App, past: Past): void => {
  // Another chat may be shown by now, whose panel is the same.
  if (app.pane.isShown.peek()) app.panel.choose('files')
  app.panel.past.value = past
  if (app.pane.isShown.peek()) app.panel.show()
}

/** The files after a tool call of the open chat. */
export const showFilesAfter = async (app: App, callId: string): Promise<void> => {
  const { sessionId, messages } = app.chat.transcript.chat.peek()
  const turns = turnChangesOf(app)
  await turns.follow('')
  showPast(app, pastOfCall(sessionId, messages, turns.list.peek(), callId))
}

export const showFilesOfTurn = (app: App, change: TurnChange, point: 'before' | 'after'): void =>
  showPast(app, {
    session: app.chat.transcript.chat.peek().sessionId,
    change,
    point,
    isWhole: false,
  })
