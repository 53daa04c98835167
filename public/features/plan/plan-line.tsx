/** The line above the composer while plan mode is on. */
import { usePart } from '../../parts/use-part.ts'
import { Icon } from '../../parts/icon.tsx'
import { useChat, useSessions } from '../../contexts.ts'
import { useApp } from '../shell/context.ts'
import { setPlanning } from './plan-mode.ts'
import { t } from './strings.ts'

const usePlanning = (): [isOn: boolean, set: (isOn: boolean) => void] => {
  const app = useApp()
  const sessions = useSessions()
  return [
    sessions.row(app.chat.transcript.sessionId.value)?.mode === 'plan',
    next => void app.shell.attempt(() => setPlanning(app, next)),
  ]
}

/** A plan waits for an answer. Turning plan mode off would approve it, so that is left to its card. */
const usePlanOpen = (): boolean => {
  const { transcript: chat } = useChat()
  return usePart(chat.chat, ({ questions }) =>
    questions.some(question => question.kind === 'clarify' && question.plan),
  )
}

export const PlanLine = () => {
  const [isOn, set] = usePlanning()
  const isPlanOpen = usePlanOpen()
  return isOn ? (
    <p class="beside-line" role="status">
      <Icon name="checklist" size={14} />
      <span>{t(isPlanOpen ? 'plan.open' : 'plan.on')}</span>
      {!isPlanOpen && (
        <button type="button" class="tx-link" onClick={() => set(false)}>
          {t('plan.off')}
        </button>
      )}
    </p>
  ) : null
}
