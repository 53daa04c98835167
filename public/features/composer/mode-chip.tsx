/** How freely the agent works in this chat: it asks, it plans first, or it runs everything. */
import { usePart } from '../../parts/use-part.ts'
import { useChat, useSessions } from '../../contexts.ts'
import { Icon } from '../../parts/icon.tsx'
import { MenuButton, type MenuItem } from '../../parts/menu-button.tsx'
import { setPlanning } from '../plan/plan-mode.ts'
import { steeringActions } from '../queue/actions.ts'
import { useApp } from '../shell/context.ts'
import { mayRun } from './slash-routes.ts'
import { t } from './mode-strings.ts'

const MODES = ['ask', 'plan', 'auto'] as const
type Mode = (typeof MODES)[number]
const ICONS = { ask: 'shield', plan: 'checklist', auto: 'play' } as const

/** Nothing that was asked before is answered by it. */
const useMode = (): [mode: Mode, choose: (mode: Mode) => Promise<void>] => {
  const app = useApp()
  const sessions = useSessions()
  const row = sessions.row(app.chat.transcript.sessionId.value)
  const mode = row?.mode === 'plan' ? 'plan' : row?.yolo ? 'auto' : 'ask'
  const choose = (next: Mode) =>
    app.shell.attempt(async () => {
      if (next === mode) return
      if (mode === 'plan' || next === 'plan') await setPlanning(app, next === 'plan')
      if (!row?.yolo && next !== 'auto') return
      const id = await app.chat.choices.ensureSession()
      await app.chat.choices.importIfHostSession(id)
      await steeringActions.setYolo(app, id, next === 'auto')
    })
  return [mode, choose]
}

export const ModeChip = () => {
  const [mode, choose] = useMode()
  const { transcript: chat } = useChat()
  // Another mode would approve the plan, which is left to its card.
  const isPlanOpen = usePart(chat.chat, ({ questions }) =>
    questions.some(question => question.kind === 'clarify' && question.plan),
  )
  const toItem = (name: Mode): MenuItem => ({
    label: t(name),
    hint: t(`${name}.hint`),
    icon: 'check',
    checked: name === mode,
    run: () => void choose(name),
  })
  return (
    <MenuButton
      class={`chip chip-mode chip-mode-${mode}`}
      label={t('mode', { mode: t(mode) })}
      side="above"
      disabled={isPlanOpen}
      items={() => MODES.filter(name => name !== 'auto' || mayRun('yolo')).map(toItem)}
    >
      <Icon name={ICONS[mode]} size={14} />
      <span class="chip-value">{t(mode)}</span>
    </MenuButton>
  )
}
