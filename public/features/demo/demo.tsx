/** What a person sees before a model is connected: what the demo can do, and how to get a real model. */
import { useEffect } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { t } from './strings.ts'
import { useModels } from '../models/context.ts'
import { useShell } from '../shell/shell-state.ts'
import { useChat } from '../chat/chat-state.ts'

const SAMPLES = ['list', 'write', 'run', 'ask', 'markdown'] as const

/** How to get a real model; while nobody has said so yet, also that the demo will do. Never in the way of either. */
const Invitation = () => {
  const { onboarding } = useModels()
  const { attempt } = useShell()
  useEffect(() => void onboarding.load(), [])
  const isAsking = onboarding.needed.value === true
  return (
    <div class="welcome-actions">
      <Button
        kind={isAsking ? 'primary' : 'plain'}
        onClick={() => {
          onboarding.open.value = true
        }}
      >
        {t('connect')}
      </Button>
      {isAsking && (
        <Button onClick={() => void attempt(() => onboarding.skip())}>{t('skip')}</Button>
      )}
    </div>
  )
}

/** The demo is a script and says so; a person sees at once what it can do, and how to get a real model. */
export const DemoIntroduction = () => {
  const { sendText } = useChat()
  return (
    <div class="demo">
      <p>{t('text')}</p>
      <ul class="demo-samples" aria-label={t('samples')}>
        {SAMPLES.map(key => (
          <li key={key}>
            <Button kind="quiet" onClick={() => void sendText(t(key))}>
              {t(key)}
            </Button>
          </li>
        ))}
      </ul>
      <Invitation />
    </div>
  )
}
