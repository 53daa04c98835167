/** Card at the end of a turn that used all its steps: continue, or change the limit. */
import { useChat, useShell } from '../../contexts.ts'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { t } from './error-strings.ts'

export const StepLimitCard = ({ steps, last }: { steps: number; last: boolean }) => {
  const { transcript: chat, turns } = useChat()
  const { route } = useShell()
  return (
    <article class="fail fail-limit" aria-label={t('limit.title', { count: steps })}>
      <Icon name="alert" size={18} />
      <div class="fail-text">
        <p class="fail-title">{t('limit.title', { count: steps })}</p>
        <p class="fail-why">{t('limit.text')}</p>
      </div>
      {last && may('POST /api/chat/start') && (
        <div class="fail-steps">
          <button
            type="button"
            class="ask-button ask-main"
            disabled={chat.busy.value}
            onClick={() => void turns.sendText(t('limit.message'))}
          >
            {t('limit.continue')}
          </button>
          {may('POST /api/budgets') && (
            <button
              type="button"
              class="ask-button"
              onClick={() => route.go({ view: 'settings', section: 'system' })}
            >
              {t('limit.change')}
            </button>
          )}
        </div>
      )}
    </article>
  )
}
