/** The import: a chat that was exported here, or the file of another program, its progress, and the report of the last one. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { every } from '../../../lib/base/clock.ts'
import type { ImportReport, ImportState } from '../../../lib/schema/import.ts'
import { useSessionActions, useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Row } from '../../parts/field.tsx'
import { may } from '../../parts/may.ts'
import type { LoadState } from '../../parts/load-state.ts'
import { LoadNote } from '../../parts/view-state.tsx'
import { errorText } from '../../strings/server-text.ts'
import { t as inSessions } from '../sessions/import-strings.ts'
import { t as ts } from '../settings/strings.ts'
import { View } from '../shell/view.tsx'
import { t } from './strings.ts'

const POLL_MS = 1_000
const MAX_CHATS = 50

type Sending = { name: string; percent: number }

const percentOf = (part: number, total: number): number =>
  total === 0 ? 0 : Math.min(100, Math.floor((100 * part) / total))

const DropZone = ({ isBusy, onFile }: { isBusy: boolean; onFile: (file: File) => void }) => {
  const input = useRef<HTMLInputElement>(null)
  const take = (files: FileList | null | undefined) => {
    const file = files?.[0]
    if (file && !isBusy) onFile(file)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button does the same by keyboard
    <div
      class="import-drop"
      onDragOver={event => event.preventDefault()}
      onDrop={event => {
        event.preventDefault()
        take(event.dataTransfer?.files)
      }}
    >
      <Button icon="upload" disabled={isBusy} onClick={() => input.current?.click()}>
        {t('imports.choose')}
      </Button>
      <span class="field-hint">{t('imports.drop')}</span>
      <input
        ref={input}
        type="file"
        hidden
        accept=".zip,.json,.jsonl,application/zip,application/json"
        onChange={event => {
          take(event.currentTarget.files)
          event.currentTarget.value = ''
        }}
      />
    </div>
  )
}

const Status = ({ state, sending }: { state: ImportState; sending: Sending | null }) => {
  if (sending)
    return (
      <p role="status">
        {t('imports.sending', sending)} <progress max={100} value={sending.percent} />
      </p>
    )
  const { status, file: name, bytes, bytes_total, error, code } = state
  if (status === 'none') return null
  if (status === 'failed')
    return (
      <p class="form-error" role="alert">
        {t('imports.failed', { name, reason: errorText(code, undefined) ?? error })}
      </p>
    )
  if (status !== 'running') return <p role="status">{t(`imports.${status}`, { name })}</p>
  const percent = percentOf(bytes, bytes_total)
  return (
    <p role="status">
      {t('imports.running', { name, percent })} <progress max={100} value={percent} />
    </p>
  )
}

const Counts = ({ report }: { report: ImportReport }) => {
  const { counts, files, versions } = report
  const rows = [
    ...(['new', 'updated', 'unchanged', 'kept'] as const).map(
      key => [t(`imports.${key}`), counts[key]] as const,
    ),
    [t('imports.files'), files] as const,
    [t('imports.versions'), versions] as const,
  ].filter(([, count], at) => at === 0 || count > 0)
  return (
    <section class="view-part" aria-label={t('imports.result')}>
      <h3>{t('imports.result')}</h3>
      <dl class="import-list">
        {rows.map(([label, count]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{count}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

const LeftOut = ({ left_out }: Pick<ImportReport, 'left_out'>) => (
  <section class="view-part" aria-label={t('imports.left')}>
    <h3>{t('imports.left')}</h3>
    <dl class="import-list">
      {left_out.map(({ code, count, names }) => (
        <div key={code}>
          <dt>
            {t(`imports.left.${code}`)}
            {names.length > 0 && (
              <small class="field-hint" dir="auto">
                {names.join(', ')}
                {count > names.length && ', …'}
              </small>
            )}
          </dt>
          <dd>{count}</dd>
        </div>
      ))}
    </dl>
  </section>
)

const Problems = ({ problems, problem_count }: ImportReport) => (
  <section class="view-part" aria-label={t('imports.problems')}>
    <h3>{`${t('imports.problems')} (${problem_count})`}</h3>
    <ul class="import-plain">
      {problems.map(({ name, code }, index) => (
        <li key={index}>
          <span dir="auto">{name}</span>{' '}
          <small class="field-hint">{t(`imports.problem.${code}`)}</small>
        </li>
      ))}
      {problem_count > problems.length && <li>…</li>}
    </ul>
  </section>
)

const Chats = ({ chats }: Pick<ImportReport, 'chats'>) => {
  const { route } = useShell()
  return (
    <section class="view-part" aria-label={t('imports.chats')}>
      <h3>{t('imports.chats')}</h3>
      <ul class="import-plain">
        {chats.slice(0, MAX_CHATS).map(({ session_id, title }) => (
          <li key={session_id}>
            <a href={route.hrefOf({ view: 'chat', sessionId: session_id })} dir="auto">
              {title}
            </a>
          </li>
        ))}
        {chats.length > MAX_CHATS && <li>…</li>}
      </ul>
    </section>
  )
}

const Report = ({ report }: { report: ImportReport }) => (
  <>
    <Counts report={report} />
    {report.left_out.length > 0 && <LeftOut left_out={report.left_out} />}
    {report.problem_count > 0 && <Problems {...report} />}
    {report.chats.length > 0 && <Chats chats={report.chats} />}
  </>
)

const Programs = () => {
  const { attempt, api, platform } = useShell()
  const state = useSignal<ImportState | null>(null)
  const sending = useSignal<Sending | null>(null)
  const loading = useSignal<LoadState>('loading')
  const load = async () => {
    try {
      state.value = await api('GET /api/import')
      loading.value = 'ready'
    } catch {
      loading.value = 'failed'
    }
  }
  const isRunning = state.value?.status === 'running'
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
        failed={t('imports.load.failed')}
        onRetry={() => {
          loading.value = 'loading'
          void load()
        }}
      />
    )
  const send = async (file: File) => {
    const { name, size } = file
    sending.value = { name, percent: 0 }
    try {
      await platform.upload({
        to: 'api/import',
        file,
        name,
        onProgress(bytes) {
          sending.value = { name, percent: percentOf(bytes, size) }
        },
      })
    } finally {
      sending.value = null
      await load()
    }
  }
  return (
    <>
      <p class="view-lead">{t('imports.lead')}</p>
      <DropZone
        isBusy={isRunning || sending.value !== null}
        onFile={file => void attempt(() => send(file))}
      />
      <Status state={view} sending={sending.value} />
      {view.report && <Report report={view.report} />}
    </>
  )
}

const OneChat = () => {
  const actions = useSessionActions()
  const input = useRef<HTMLInputElement>(null)
  return (
    <Row
      group
      label={t('imports.chat')}
      hint={t('imports.chat.hint')}
      control={() => (
        <>
          <Button icon="upload" onClick={() => input.current?.click()}>
            {t('imports.choose')}
          </Button>
          <input
            ref={input}
            type="file"
            accept=".json,application/json"
            hidden
            onChange={event => {
              const [file] = event.currentTarget.files ?? []
              // Allows choosing the same file again.
              event.currentTarget.value = ''
              if (file) void actions.importFile(file)
            }}
          />
        </>
      )}
    />
  )
}

export const ImportView = () => (
  <View title={ts('settings.import')}>
    <div class="rows">
      <OneChat />
    </div>
    {may('POST /api/import') && (
      <section class="settings-part">
        <h2 class="settings-part-title">{inSessions('import.others')}</h2>
        <Programs />
      </section>
    )}
  </View>
)
