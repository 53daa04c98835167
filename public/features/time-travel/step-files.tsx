/** Below an opened tool call: shows the files as they were after it. */
import { Icon } from '../../parts/icon.tsx'
import { useApp } from '../shell/context.ts'
import { showFilesAfter } from './open-past.ts'
import { t } from './strings.ts'

export function StepFiles({ callId }: { callId: string }) {
  const app = useApp()
  const { messages } = app.chat.transcript.chat.peek()
  // Of a call that another program made, no files were kept.
  if (!messages.some(({ tool_calls }) => tool_calls?.some(({ id }) => id === callId))) return null
  return (
    <button
      type="button"
      class="past-open past-step"
      onClick={() => void app.shell.attempt(() => showFilesAfter(app, callId))}
    >
      <Icon name="clock" size={14} /> {t('step.files')}
    </button>
  )
}
