/** The composer's switch for plan mode, and the line above the composer while it is on. */
import { Icon } from '../../parts/icon.tsx'
import { useSessions, useShell } from '../../contexts.ts'
import { useApp } from '../shell/context.ts'
import { setPlanning } from './plan-mode.ts'
import { t } from './strings.ts'

const usePlanning = (): [isOn: boolean, set: (isOn: boolean) => void] => {
  const app = useApp()
  const { route } = useShell()
  const { sessions } = useSessions()
  return [
    sessions.row(route.sessionId.value)?.mode === 'plan',
    next => void app.attempt(() => setPlanning(app, next)),
  ]
}

export const PlanChip = () => {
  const [isOn, set] = usePlanning()
  return (
    <button
      type="button"
      class="chip chip-plan"
      aria-label={t('plan.chip')}
      aria-pressed={isOn}
      title={t(isOn ? 'plan.chip.on' : 'plan.chip')}
      onClick={() => set(!isOn)}
    >
      <Icon name="checklist" size={14} />
      <span class="chip-value">{t('plan.short')}</span>
    </button>
  )
}

export const PlanLine = () => {
  const [isOn, set] = usePlanning()
  return isOn ? (
    <p class="plan-line" role="status">
      <Icon name="checklist" size={14} />
      <span>{t('plan.on')}</span>
      <button type="button" class="tx-link" onClick={() => set(false)}>
        {t('plan.off')}
      </button>
    </p>
  ) : null
}
