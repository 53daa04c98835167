/** Settings → Backups: when and where, the last result, a backup now, and the files. */
import { every } from '../../../lib/base/clock.ts'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { BackupSettings, BackupState } from '../../../lib/schema/backup.ts'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Row, Select, Switch } from '../../parts/field.tsx'
import { Field } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import type { LoadState } from '../../parts/load-state.ts'
import { LoadNote } from '../../parts/view-state.tsx'
import { pageLocale } from '../../strings/t.ts'
import { formatFull } from '../sessions/relative-time.ts'
import { formatBytes } from '../workspace/file-kind.ts'
import { errorText } from '../../strings/server-text.ts'
import { t } from './strings.ts'

const POLL_MS = 1_000
/** 2024-01-07 was a Sunday. */
const weekdayName = (day: number): string =>
  new Intl.DateTimeFormat(pageLocale(), { weekday: 'long', timeZone: 'UTC' }).format(
    Date.UTC(2024, 0, 7 + day),
  )
/** In the order of most calendars. */
const WEEKDAYS = [1, 2, 3, 4, 5, 6, 0]

type PartProps = { state: BackupState; save: (patch: Partial<BackupSettings>) => void }

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

type CountProps = PartProps & { name: 'keep_daily' | 'keep_weekly'; min: number; max: number }

const Count = ({ state, save, name, min, max }: CountProps) => (
  <Row
    label={t(`backups.${name}`)}
    hint={name === 'keep_weekly' ? t('backups.keep.hint') : undefined}
    control={ids => (
      <input
        id={ids.control}
        class="input"
        type="number"
        inputMode="numeric"
        required
        min={min}
        max={max}
        step="1"
        aria-describedby={ids.hint}
        defaultValue={String(state.settings[name])}
        onChange={event => {
          const { value, validity } = event.currentTarget
          if (validity.valid) save({ [name]: Number(value) })
        }}
      />
    )}
  />
)

const Times = ({ state, save }: PartProps) => {
  const { every, weekday, at } = state.settings
  return (
    <>
      <Row
        label={t('backups.every')}
        control={ids => (
          <Select
            id={ids.control}
            describedBy={ids.hint}
            value={every}
            options={(['day', 'week'] as const).map(
              each => [each, t(`backups.every.${each}`)] as const,
            )}
            onChange={value => save({ every: value === 'week' ? 'week' : 'day' })}
          />
        )}
      />
      {every === 'week' && (
        <Row
          label={t('backups.weekday')}
          control={ids => (
            <Select
              id={ids.control}
              describedBy={ids.hint}
              value={String(weekday)}
              options={WEEKDAYS.map(day => [String(day), weekdayName(day)] as const)}
              onChange={value => save({ weekday: Number(value) })}
            />
          )}
        />
      )}
      <Row
        label={t('backups.at')}
        hint={t('backups.at.hint')}
        control={ids => (
          <input
            id={ids.control}
            class="input"
            type="time"
            required
            aria-describedby={ids.hint}
            value={at}
            onChange={event => {
              const { value, validity } = event.currentTarget
              if (validity.valid) save({ at: value.slice(0, 5) })
            }}
          />
        )}
      />
    </>
  )
}

const Schedule = ({ state, save }: PartProps) => {
  const { settings, next_at, suggested_dir } = state
  const turn = (enabled: boolean) =>
    save({ enabled, ...(settings.dir === '' && { dir: suggested_dir }) })
  return (
    <section class="view-part rows" aria-label={t('backups.schedule')}>
      <h3>{t('backups.schedule')}</h3>
      <Row
        label={t('backups.on')}
        hint={next_at === null ? undefined : t('backups.on.next', { time: formatFull(next_at) })}
        control={ids => (
          <Switch
            id={ids.control}
            describedBy={ids.hint}
            checked={settings.enabled}
            onChange={turn}
          />
        )}
      />
      {settings.enabled && (
        <>
          <Times state={state} save={save} />
          <Count state={state} save={save} name="keep_daily" min={1} max={365} />
          <Count state={state} save={save} name="keep_weekly" min={0} max={520} />
        </>
      )}
      <div class="backup-folder">
        <Folder state={state} save={save} />
        <p class="field-hint">{t(state.has_keys ? 'backups.keys.on' : 'backups.keys.off')}</p>
      </div>
    </section>
  )
}

const LastResult = ({ state: { last, running } }: Pick<PartProps, 'state'>) => {
  if (running) return <p role="status">{t('backups.running')}</p>
  if (last && !last.ok)
    return (
      <p class="form-error" role="alert">
        {t('backups.last.failed', { reason: errorText(last.code, last.values) ?? last.error })}
      </p>
    )
  if (!last?.problems) return null
  return <p class="backup-problems">{t('backups.last.problems', { count: last.problems })}</p>
}

const Files = ({ state, onRun }: Pick<PartProps, 'state'> & { onRun: () => void }) => (
  <section class="view-part rows" aria-label={t('backups.files')}>
    <h3>{t('backups.files')}</h3>
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
  </section>
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
  const shown = state.value
  if (!shown)
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
      <Schedule state={shown} save={patch => change(() => api('POST /api/backups', patch))} />
      <Files
        state={shown}
        onRun={() =>
          change(async () => {
            if (shown.settings.dir === '')
              await api('POST /api/backups', { dir: shown.suggested_dir })
            return api('POST /api/backups/run', {})
          })
        }
      />
    </>
  )
}
