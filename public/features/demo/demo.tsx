/** Introduction shown while the demo model is used. */
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
  ask: 'Ask me something',
  markdown: 'Show me some Markdown',
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

/** Explains the demo, offers sample prompts, and connects a model. */
export const DemoIntroduction = () => {
  const { turns } = useChat()
  return (
    <div class="demo">
      <p>{t('text')}</p>
      <ul class="demo-samples" aria-label={t('samples')}>
        {(['list', 'write', 'run', 'ask', 'markdown'] as const).map(key => (
          <li key={key}>
            <Button onClick={() => void turns.sendText(SAMPLES[key])}>{t(key)}</Button>
          </li>
        ))}
      </ul>
      <Invitation />
    </div>
  )
}
