/** What an empty chat says and offers while the demo model is used. */
import { useEffect } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { may } from '../../parts/may.ts'
import { t } from './strings.ts'
import { useChat, useModels, useShell } from '../../contexts.ts'

/** What is sent: the demo understands English only. */
const SAMPLES = {
  list: 'List the files',
  write: 'Write notes.txt with hello brave world',
  run: 'Run `rm -rf build`',
} as const

/** Connects a model; until the user has decided, also offers to keep the demo. */
const Invitation = () => {
  const { onboarding } = useModels()
  const { attempt } = useShell()
  useEffect(() => {
    if (may('GET /api/onboarding/status')) void onboarding.load()
  }, [])
  const isAsking = onboarding.needed.value === true
  if (!may('POST /api/onboarding/setup')) return null
  return (
    <div class="demo-actions">
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

/** Says in one line that it is a demo, offers to connect a model, and what can be tried without one. */
export const DemoIntroduction = () => {
  const { turns } = useChat()
  return (
    <div class="demo">
      <div class="demo-notice">
        <p>{t('text')}</p>
        <Invitation />
      </div>
      <ul class="demo-samples" aria-label={t('samples')}>
        {(['list', 'write', 'run'] as const).map(key => (
          <li key={key}>
            <Button onClick={() => void turns.sendText(SAMPLES[key])}>{t(key)}</Button>
          </li>
        ))}
      </ul>
    </div>
  )
}
