/** Below an opened tool call: shows the files as they were after it. */
import { Icon } from '../../parts/icon.tsx'
import { useApp } from '../shell/context.ts'
import { showFilesAfter } from './open-past.ts'
import { t } from './strings.ts'

export function StepFiles({ callId }: { callId: string }) {
  const app = useApp()
  return (
    <button
      type="button"
      class="past-open past-step"
      onClick={() => void app.attempt(() => showFilesAfter(app, callId))}
    >
      <Icon name="clock" size={14} /> {t('step.files')}
    </button>
  )
}
