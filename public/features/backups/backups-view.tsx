/** Settings → Backups: where, the last result, a backup now, and the files. */
import { every } from '../../../lib/base/clock.ts'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { BackupSettings, BackupState } from '../../../lib/schema/backup.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Row, Section } from '../../parts/field.tsx'
import { Field } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import type { LoadState } from '../../parts/load-state.ts'
import { LoadNote } from '../../parts/view-state.tsx'
import { formatFull } from '../../parts/relative-time.ts'
import { formatBytes } from '../../parts/file-kind.ts'
import { errorText } from '../../strings/server-text.ts'
import { t } from './strings.ts'

const POLL_MS = 1_000
type PartProps = { state: BackupState; save: (settings: BackupSettings) => void }

const Folder = ({ state, save }: PartProps) => {
  const { dir } = state.settings
  return (
    <Field
      label={t('backups.dir')}
      hint={t('backups.dir.hint')}
      control={({ id, describedBy }) => (
        <input
          id={id}
          key={dir}
          class="input"
          dir="ltr"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          aria-describedby={describedBy}
          defaultValue={dir || state.suggested_dir}
          onChange={event => save({ dir: event.currentTarget.value })}
        />
      )}
    />
  )
}

const FolderPart = ({ state, save }: PartProps) => (
  <div class="view-part backup-folder">
    {state.was_scheduled && <p class="form-error">{t('backups.stopped')}</p>}
    <Folder state={state} save={save} />
    <p class="field-hint">{t(state.has_keys ? 'backups.keys.on' : 'backups.keys.off')}</p>
  </div>
)

const LastResult = ({ state: { last, running } }: Pick<PartProps, 'state'>) => {
  if (running) return <p role="status">{t('backups.running')}</p>
  if (last && !last.ok)
    return (
      <p class="form-error" role="alert">
        {t('backups.last.failed', {
          reason: errorText(last.code, last.values, last.sentences) ?? last.error,
        })}
      </p>
    )
  if (!last?.problems) return null
  return <p class="backup-problems">{t('backups.last.problems', { count: last.problems })}</p>
}

const Files = ({ state, onRun }: Pick<PartProps, 'state'> & { onRun: () => void }) => (
  <Section title={t('backups.files')}>
    <div class="backup-now">
      <Button icon="download" disabled={state.running} onClick={onRun}>
        {t('backups.now')}
      </Button>
      <LastResult state={state} />
    </div>
    {state.files.length === 0 && <p class="field-hint">{t('backups.none')}</p>}
    {state.files.map(({ name, size, at }) => (
      <Row
        key={name}
        label={formatFull(at)}
        hint={formatBytes(size)}
        control={ids => (
          <a
            id={ids.control}
            class="icon-button"
            href={`api/backups/file?name=${encodeURIComponent(name)}`}
            download={name}
            aria-label={t('backups.download', { time: formatFull(at) })}
            title={t('backups.download', { time: formatFull(at) })}
          >
            <Icon name="download" size={18} />
          </a>
        )}
      />
    ))}
  </Section>
)

export const BackupSettingsView = () => {
  const { attempt, api, platform } = useShell()
  const state = useSignal<BackupState | null>(null)
  const loading = useSignal<LoadState>('loading')
  const load = async () => {
    try {
      state.value = await api('GET /api/backups')
      loading.value = 'ready'
    } catch {
      loading.value = 'failed'
    }
  }
  const isRunning = state.value?.running === true
  useEffect(() => void load(), [])
  useEffect(() => {
    if (!isRunning) return
    return every(platform.clock, POLL_MS, () => void load())
  }, [isRunning])
  const view = state.value
  if (!view)
    return (
      <LoadNote
        state={loading.value}
        failed={t('backups.load.failed')}
        onRetry={() => {
          loading.value = 'loading'
          void load()
        }}
      />
    )
  const change = (work: () => Promise<BackupState>) =>
    void attempt(async () => {
      state.value = await work()
    })
  return (
    <>
      <p class="view-lead">{t('backups.lead')}</p>
      <p class="view-lead">{t('backups.timer')}</p>
      <FolderPart
        state={view}
        save={settings => change(() => api('POST /api/backups', settings))}
      />
      <Files
        state={view}
        onRun={() =>
          change(async () => {
            if (view.settings.dir === '')
              await api('POST /api/backups', { dir: view.suggested_dir })
            return api('POST /api/backups/run', {})
          })
        }
      />
    </>
  )
}
