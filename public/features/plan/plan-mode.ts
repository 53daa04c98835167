/** Turns plan mode of the open or the new chat on and off. */
import type { App } from '../../app.ts'
import { t } from './strings.ts'

export const setPlanning = async (app: App, isOn: boolean): Promise<void> => {
  // A new chat begins with it.
  const id = await app.chat.choices.ensureSession()
  await app.chat.choices.importIfHostSession(id)
  await app.shell.api('POST /api/session/mode', { session_id: id, mode: isOn ? 'plan' : 'normal' })
}

/** `/plan` switches; `/plan <task>` turns plan mode on and sends the task. */
export const planCommand = async (app: App, task: string): Promise<string | undefined> => {
  const isOn = app.sessions.row(app.chat.transcript.sessionId.value)?.mode === 'plan'
  if (task) {
    await setPlanning(app, true)
    if (!(await app.chat.turns.sendText(task)))
      app.composer.draft.restoreDraft({ text: task, files: [] })
    return undefined
  }
  await setPlanning(app, !isOn)
  return t(isOn ? 'command.plan.off' : 'command.plan.on')
}
