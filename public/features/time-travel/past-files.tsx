/** The workspace panel at an earlier step: a bar with the step, the files as they were, and one of them in comparison with now. */
import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { Api } from '../../../router.ts'
import { formatFull } from '../../parts/relative-time.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import { usePanel, useShell } from '../../contexts.ts'
import { CodeText } from '../../markdown/code.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { parseDiff } from '../../parts/diff.ts'
import { Diff } from '../../parts/diff-view.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { languageOf } from '../../parts/file-kind.ts'
import { type TurnChange, changeTitle } from '../workspace/turn-changes.ts'
import { type Past, type Point, pointsOf } from './points.ts'
import { t } from './strings.ts'
import type { PastFileState } from '../../../lib/schema/checkpoint.ts'

type PastFileEntry = { path: string; state: PastFileState }
type TreeLine =
  | { kind: 'directory'; path: string; name: string; depth: number; open: boolean }
  | ({ kind: 'file'; name: string; depth: number } & PastFileEntry)

const parentsOf = (path: string): string[] => {
  const names = path.split('/')
  return names.slice(0, -1).map((_, at) => names.slice(0, at + 1).join('/'))
}

/** Directories of at most `max` files that differ from now: they are open at first. */
const directoriesOfChanges = (files: readonly PastFileEntry[], max = 50): Set<string> =>
  new Set(
    files
      .filter(({ state }) => state !== 'same')
      .slice(0, max)
      .flatMap(({ path }) => parentsOf(path)),
  )

/** Directories before files, each by name. */
const compare = (left: string, right: string): number => {
  const [a, b] = [left.split('/'), right.split('/')]
  const at = a.findIndex((name, index) => name !== b[index])
  const [isFileA, isFileB] = [at === a.length - 1, at === b.length - 1]
  if (isFileA !== isFileB) return isFileA ? 1 : -1
  return (a[at] ?? '') < (b[at] ?? '') ? -1 : 1
}

/** The lines of the list: directories that open, and the files in open ones. */
export const linesOf = (files: readonly PastFileEntry[], open: ReadonlySet<string>): TreeLine[] => {
  const lines: TreeLine[] = []
  const paths = new Set<string>()
  for (const file of files.toSorted((a, b) => compare(a.path, b.path))) {
    const parents = parentsOf(file.path)
    for (const [depth, path] of parents.entries()) {
      const isShown = parents.slice(0, depth).every(each => open.has(each))
      if (paths.has(path) || !isShown) continue
      paths.add(path)
      const name = path.slice(path.lastIndexOf('/') + 1)
      lines.push({ kind: 'directory', path, name, depth, open: open.has(path) })
    }
    if (!parents.every(each => open.has(each))) continue
    const name = file.path.slice(file.path.lastIndexOf('/') + 1)
    lines.push({ kind: 'file', name, depth: parents.length, ...file })
  }
  return lines
}

type Listing = Api['GET /api/rollback/files']['output']
type File = Api['GET /api/rollback/file']['output']
type Loaded<T> = { state: 'loading' } | { state: 'failed' } | { state: 'ready'; value: T }

type Query = { session_id: string; checkpoint: string; point?: 'before' | 'after'; call?: string }

const queryOf = (session: string, { checkpoint }: TurnChange, point: Point): Query => ({
  session_id: session,
  checkpoint,
  ...(point === 'before' || point === 'after' ? { point } : { call: point }),
})

/** Loads again when the key changes; a late response of an earlier key is dropped. */
const useLoaded = <T,>(key: string, load: () => Promise<T>): [Loaded<T>, () => void] => {
  const state = useSignal<Loaded<T>>({ state: 'loading' })
  const attempt = useSignal(0)
  useEffect(() => {
    let isCurrent = true
    const put = (next: Loaded<T>) => {
      if (isCurrent) state.value = next
    }
    load().then(
      value => put({ state: 'ready', value }),
      // Shown in place of the contents, with Retry.
      () => put({ state: 'failed' }),
    )
    return () => {
      isCurrent = false
    }
  }, [key, attempt.value])
  return [
    state.value,
    () => {
      attempt.value = attempt.value + 1
    },
  ]
}

const labelOf = (points: readonly Point[], point: Point): string => {
  const n = points.indexOf(point)
  if (point === 'before' || point === 'after') return t(`at.${point}`)
  return t('at.step', { n, count: points.length - 2 })
}

export function PastFiles() {
  const panel = usePanel()
  const past = panel.past.value
  if (!past) return null
  return (
    <section class="past" aria-label={t('files.label')}>
      {past.change ? (
        <Recorded past={past} change={past.change} />
      ) : (
        <>
          <div class="past-bar">
            <Back />
          </div>
          <div class="panel-blank">
            <h3>{t('none')}</h3>
            <p>{t('none.text')}</p>
          </div>
        </>
      )}
    </section>
  )
}

function Back() {
  const panel = usePanel()
  return (
    <Button
      onClick={() => {
        panel.past.value = null
      }}
    >
      {t('now')}
    </Button>
  )
}

function Recorded({ past, change }: { past: Past; change: TurnChange }) {
  const panel = usePanel()
  const points = pointsOf(change)
  const at = points.indexOf(past.point)
  const go = (by: number) => {
    panel.past.value = { ...past, point: points[at + by] ?? past.point, isWhole: false }
  }
  const when = past.point === 'before' ? change.at : change.steps?.[at - 1]?.at
  return (
    <>
      <div class="past-bar">
        <Icon name="clock" size={16} />
        <div class="past-at">
          <strong aria-live="polite">{labelOf(points, past.point)}</strong>
          <span class="past-turn">
            {formatFull(when ?? change.ended_at)} · {changeTitle(change)}
          </span>
        </div>
        <IconButton
          class="past-earlier"
          icon="chevron-right"
          label={t('earlier')}
          disabled={at <= 0}
          onClick={() => go(-1)}
        />
        <IconButton
          icon="chevron-right"
          label={t('later')}
          disabled={at >= points.length - 1}
          onClick={() => go(1)}
        />
        <Back />
      </div>
      {past.isWhole && <p class="panel-note">{t('whole.text')}</p>}
      <Files past={past} change={change} />
    </>
  )
}

function Files({ past, change }: { past: Past; change: TurnChange }) {
  const { platform } = useShell()
  const query = queryOf(past.session, change, past.point)
  const [listing, retry] = useLoaded<Listing>(JSON.stringify(query), () =>
    platform.api('GET /api/rollback/files', query),
  )
  const openPath = useSignal<string | null>(null)
  const toggled = useSignal<ReadonlySet<string>>(new Set())
  const files = listing.state === 'ready' ? listing.value.files : null
  const lines = useMemo(() => {
    // Directories with changes are open at first.
    const open = directoriesOfChanges(files ?? []).symmetricDifference(toggled.value)
    return linesOf(files ?? [], open)
  }, [files, toggled.value])
  if (listing.state === 'failed') return <Failed text={t('failed')} onRetry={retry} />
  if (listing.state === 'loading') return <p class="panel-note panel-late">{t('loading')}</p>
  const { notes, truncated } = listing.value
  return (
    <>
      <ul class="past-files">
        {lines.map(line => (
          <li key={line.path} style={{ '--depth': line.depth }}>
            {line.kind === 'directory' ? (
              <button
                type="button"
                class="past-line"
                aria-expanded={line.open}
                onClick={() => {
                  toggled.value = toggled.value.symmetricDifference(new Set([line.path]))
                }}
              >
                <Icon name={line.open ? 'chevron-down' : 'chevron-right'} size={14} />
                <bdi>{visibleName(line.name)}</bdi>
              </button>
            ) : (
              <button
                type="button"
                class={`past-line past-${line.state}`}
                aria-current={line.path === openPath.value}
                onClick={() => {
                  openPath.value = line.path === openPath.value ? null : line.path
                }}
              >
                <Icon name="file" size={14} />
                <bdi>{visibleName(line.name)}</bdi>
                {line.state !== 'same' && (
                  <span class="past-state" title={t(`state.${line.state}`)}>
                    {line.state === 'unknown' ? '?' : t(`state.${line.state}`)}
                    {line.state === 'unknown' && <span class="sr-only">{t('state.unknown')}</span>}
                  </span>
                )}
              </button>
            )}
          </li>
        ))}
      </ul>
      {lines.length === 0 && <p class="panel-note">{t('empty')}</p>}
      {[...(truncated ? [t('truncated')] : []), ...notes].map(note => (
        <p key={note} class="panel-note">
          {note}
        </p>
      ))}
      {openPath.value !== null && (
        <OneFile
          query={{ ...query, path: openPath.value }}
          onClose={() => {
            openPath.value = null
          }}
        />
      )}
    </>
  )
}

const Failed = ({ text, onRetry }: { text: string; onRetry: () => void }) => (
  <div class="panel-blank" role="alert">
    <p>{text}</p>
    <Button icon="refresh" onClick={onRetry}>
      {t('retry')}
    </Button>
  </div>
)

function OneFile({ query, onClose }: { query: Query & { path: string }; onClose: () => void }) {
  const { platform } = useShell()
  const compared = useSignal(false)
  const [state, retry] = useLoaded<File>(JSON.stringify(query), () =>
    platform.api('GET /api/rollback/file', query),
  )
  const name = visibleName(query.path)
  return (
    <section class="past-file" aria-label={name}>
      <div class="past-head">
        <bdi class="past-name">{name}</bdi>
        <IconButton icon="close" size={16} label={t('close', { name })} onClick={onClose} />
        <fieldset class="past-views">
          <legend class="sr-only">{t('view')}</legend>
          {[false, true].map(view => (
            <button
              key={`${view}`}
              type="button"
              aria-pressed={compared.value === view}
              onClick={() => {
                compared.value = view
              }}
            >
              {t(view ? 'compare' : 'contents')}
            </button>
          ))}
        </fieldset>
      </div>
      {state.state === 'failed' && <Failed text={t('file.failed')} onRetry={retry} />}
      {state.state === 'loading' && <p class="panel-note panel-late">{t('loading')}</p>}
      {state.state === 'ready' && <FileBody file={state.value} compared={compared.value} />}
    </section>
  )
}

function FileBody({ file, compared }: { file: File; compared: boolean }) {
  const { path, state, text, diff, binary, truncated } = file
  const diffs = useMemo(() => parseDiff(diff), [diff])
  const note = (text: string) => <p class="panel-note">{text}</p>
  if (state === 'unknown') return note(t('unknown.text'))
  if (compared && !truncated && !binary) {
    if (diff === '') return note(t('same.text'))
    return (
      <>
        {diffs.map((each, at) => (
          <Diff key={at} file={{ ...each, path }} />
        ))}
      </>
    )
  }
  if (text === null) return note(t(truncated ? 'large' : binary ? 'binary' : 'later.text'))
  const numbers = Array.from(
    { length: text.replace(/\n$/, '').split('\n').length },
    (_, n) => n + 1,
  )
  return (
    <ScrollBox class="text-view" label={visibleName(path)}>
      <div class="text-lines" dir="ltr">
        <pre class="text-numbers" aria-hidden="true">
          {numbers.join('\n')}
        </pre>
        <pre class="text-code">
          <CodeText text={text} label={languageOf(path)} />
        </pre>
      </div>
    </ScrollBox>
  )
}
