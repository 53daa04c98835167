/** The end line of an answer that changed files: how many, the way to review them, and undo. It opens to the list of files. */
import type { App } from '../../app.ts'
import { useChat } from '../../contexts.ts'
import { useEffect } from 'preact/hooks'
import { visibleName } from '../../../lib/base/visible.ts'
import { useShowMore } from '../../markdown/show-more.tsx'
import { IconButton } from '../../parts/button.tsx'
import { DiffCounts } from '../../parts/diff-counts.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useApp } from '../shell/context.ts'
import type { FootRow } from './rows.ts'
import { useTranscript } from '../messages/transcript-context.ts'
import { directoryOf, fileName } from '../../parts/file-kind.ts'
import {
  type TurnChange,
  type TurnChanges,
  turnChangesOf,
  type TurnFile,
} from '../workspace/turn-changes.ts'
import { TurnTimes } from '../time-travel/turn-times.tsx'
import { t } from '../turn-summary/strings.ts'
import { may } from '../../parts/may.ts'

type UndoState = {
  /** The last undo of each file that is undone as a whole. */
  files: ReadonlyMap<string, TurnChange>
  /** All files, some of them or parts of them, or none. */
  undone: 'all' | 'some' | 'none'
  /** The undo that can be undone for all files at once. */
  last: TurnChange | null
}

/** Records of the session, in any order. */
export const undoStateOf = (turn: TurnChange, records: readonly TurnChange[]): UndoState => {
  const byId = new Map(records.map(record => [record.checkpoint, record]))
  /** How many undos led from the turn to this record; 0 when it belongs to another turn. */
  const depthOf = (record: TurnChange): number => {
    let depth = 0
    for (let at: TurnChange | undefined = record; at; at = byId.get(at.undo_of ?? '')) {
      if (at.checkpoint === turn.checkpoint) return depth
      depth++
    }
    return 0
  }
  const files = new Map<string, TurnChange>()
  const parts = new Set<string>()
  let last: TurnChange | null = null
  const undos = records.filter(record => record.undo_of !== null && depthOf(record) > 0)
  for (const record of undos.toSorted((a, b) => a.at - b.at)) {
    const isUndo = depthOf(record) % 2 === 1
    const paths = record.files.flatMap(({ path, old_path }) => [path, old_path ?? path])
    if (record.is_partial) {
      for (const path of paths) {
        if (isUndo) parts.add(path)
        else parts.delete(path)
      }
      continue
    }
    for (const path of paths) {
      parts.delete(path)
      if (isUndo) files.set(path, record)
      else files.delete(path)
    }
    last = isUndo ? record : null
  }
  const isAll = turn.files.length > 0 && turn.files.every(({ path }) => files.has(path))
  const undone = isAll ? 'all' : files.size + parts.size > 0 ? 'some' : 'none'
  const covers = (record: TurnChange) => record.file_count >= turn.file_count
  return { files, undone, last: isAll && last && covers(last) ? last : null }
}

/** Says that a retry leaves the files as the answer that it replaces left them. */
export const noteKeptFiles = (app: App, id: string): void => {
  const prompt = app.chat.transcript.messages.promptOf(id)
  const { value } = turnChangesOf(app).list
  const change = value.find(
    ({ message_id, undo_of }) => undo_of === null && message_id === prompt?.id,
  )
  if (change && change.file_count > 0 && undoStateOf(change, value).undone !== 'all')
    app.shell.toasts.show(t('kept'))
}

/** More are shown on demand. */
const FILES_AT_ONCE = 50

/** Reads the changes of the chat, and again when this turn has ended. */
const useTurnChange = (turns: TurnChanges, { userIds, last, turn }: FootRow): TurnChange | null => {
  const newest = last ? (turn.at(-1)?.id ?? '') : ''
  useEffect(() => void turns.follow(newest), [newest])
  return (
    turns.list.value.find(
      ({ message_id: id, undo_of }) => undo_of === null && id !== null && userIds.includes(id),
    ) ?? null
  )
}

export function TurnSummary({ row }: { row: FootRow }) {
  const { transcript: chat } = useChat()
  return chat.sessionId.value ? <Summary row={row} /> : null
}

const hasNews = ({ file_count, interrupted, notes }: TurnChange): boolean =>
  file_count > 0 || interrupted === true || (notes?.length ?? 0) > 0

function Summary({ row }: { row: FootRow }) {
  const { expandedKeys, toggle } = useTranscript()
  const app = useApp()
  const turns = turnChangesOf(app)
  const change = useTurnChange(turns, row)
  if (!change || !hasNews(change)) return null
  const state = undoStateOf(change, turns.list.value)
  const key = `${row.key}:summary`
  const open = expandedKeys.value.has(key)
  const [first] = change.files
  return (
    <section class="turn-sum" aria-label={t('label')}>
      <div class="turn-sum-line">
        <button
          type="button"
          class="turn-sum-head"
          aria-expanded={open}
          onClick={() => toggle(key)}
        >
          <Icon name={open ? 'chevron-down' : 'chevron-right'} size={14} />
          <Line change={change} state={state} />
        </button>
        {first && (
          <button
            type="button"
            class="turn-sum-undo"
            aria-label={t('review.label')}
            onClick={() => reveal(app, change, first)}
          >
            {t('review')}
          </button>
        )}
        {change.file_count > 0 && <UndoButton change={change} state={state} turns={turns} />}
      </div>
      {open && <Details change={change} state={state} />}
    </section>
  )
}

/** Shows the changes of a file in the workspace panel. */
const reveal = (app: App, change: TurnChange, file: TurnFile): void => {
  app.panel.choose('changes')
  app.panel.show()
  void turnChangesOf(app).reveal(change, file)
}

type SummaryProps = { change: TurnChange; state: UndoState }

const Line = ({ change, state }: SummaryProps) => (
  <span class="turn-sum-parts">
    <span>
      {change.file_count > 0 ? t('files', { count: change.file_count }) : t('label')}{' '}
      {change.added + change.removed > 0 && (
        <DiffCounts added={change.added} removed={change.removed} />
      )}
    </span>
    {state.undone !== 'none' && <span class="turn-sum-state">{t(`undone.${state.undone}`)}</span>}
  </span>
)

type UndoProps = { change: TurnChange; state: UndoState; turns: TurnChanges }

const UndoButton = ({ change, state, turns }: UndoProps) => {
  const { undone, last } = state
  if ((undone === 'all' && !last) || !may('POST /api/rollback/restore')) return null
  return (
    <button
      type="button"
      class="turn-sum-undo"
      aria-label={t(last ? 'redo.label' : 'undo.label')}
      onClick={() => (last ? void turns.redo(last) : turns.undo(change))}
    >
      <Icon name={last ? 'refresh' : 'undo'} size={14} />
      {t(last ? 'redo' : 'undo')}
    </button>
  )
}

const Details = ({ change, state }: SummaryProps) => (
  <div class="turn-sum-body">
    <Files change={change} state={state} />
    {change.truncated && (
      <p class="turn-sum-note">
        {t('files.more', { count: change.file_count - change.files.length })}
      </p>
    )}
    {[...(change.interrupted ? [t('interrupted')] : []), ...(change.notes ?? [])].map(note => (
      <p key={note} class="turn-sum-note">
        {note}
      </p>
    ))}
    <TurnTimes change={change} />
  </div>
)

type FilesProps = { change: TurnChange; state: UndoState }

const Files = ({ change, state }: FilesProps) => {
  const { visible, button } = useShowMore(change.files, FILES_AT_ONCE)
  return (
    <div>
      <ul aria-label={t('files.label')}>
        {visible.map(file => (
          <FileLine key={file.path} change={change} file={file} state={state} />
        ))}
      </ul>
      {button}
    </div>
  )
}

const KINDS = { added: 'A', modified: 'M', typechange: 'M', deleted: 'D', renamed: 'R' } as const

const kindOf = ({ status, old_path }: TurnFile): string =>
  status === 'renamed'
    ? t('renamed', { path: old_path ?? '' })
    : t(status === 'typechange' ? 'modified' : status)

type FileProps = { change: TurnChange; file: TurnFile; state: UndoState }

const FileLine = ({ change, file, state }: FileProps) => {
  const app = useApp()
  const turns = turnChangesOf(app)
  const { path, old_path, status, added, removed } = file
  const undo = state.files.get(path)
  return (
    <li class="turn-sum-item">
      <span
        class={`file-mark file-mark-${status === 'typechange' ? 'modified' : status}`}
        title={kindOf(file)}
      >
        <span aria-hidden="true">{KINDS[status]}</span>
        <span class="sr-only">{kindOf(file)}</span>
      </span>
      <button
        type="button"
        class={undo ? 'turn-sum-file turn-sum-gone' : 'turn-sum-file'}
        title={t('open', { path })}
        onClick={() => reveal(app, change, file)}
      >
        <bdi>{visibleName(fileName(path))}</bdi>
        <span class="turn-sum-dir" dir="auto">
          {visibleName(directoryOf(path))}
        </span>
      </button>
      {undo ? (
        <span class="turn-sum-state">{t('file.undone')}</span>
      ) : added === null || removed === null ? (
        <span class="turn-sum-state">{t('uncounted')}</span>
      ) : (
        added + removed > 0 && <DiffCounts added={added} removed={removed} />
      )}
      <IconButton
        icon={undo ? 'refresh' : 'undo'}
        size={14}
        label={t(undo ? 'file.redo' : 'file.undo', { path })}
        onClick={() =>
          undo
            ? void turns.redo(undo, old_path === undefined ? [path] : [path, old_path])
            : turns.undoFile(change, file)
        }
      />
    </li>
  )
}
