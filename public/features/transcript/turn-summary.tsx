/** Summary below a response: the files it changed, what failed or was denied, and undo. One line, which opens. */
import { useChat } from '../../contexts.ts'
import { useEffect, useMemo } from 'preact/hooks'
import { visibleName, visibleText } from '../../../lib/base/visible.ts'
import { formatCost, formatTokens } from '../../parts/amounts.ts'
import { useShowMore } from '../../markdown/show-more.tsx'
import { IconButton } from '../../parts/button.tsx'
import { DiffCounts } from '../../parts/diff-view.tsx'
import { formatSeconds } from '../../parts/elapsed.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useApp } from '../shell/context.ts'
import { describeToolCall, parseArgs, phraseOf } from '../tool-calls/describe-tool-call.ts'
import { ToolPhrase } from '../tool-calls/tool-phrase.tsx'
import type { FootRow } from './rows.ts'
import { useTranscript } from '../messages/transcript-context.ts'
import { directoryOf, nameOf } from '../../parts/file-kind.ts'
import {
  type TurnChange,
  type TurnChanges,
  turnChangesOf,
  type TurnFile,
} from '../workspace/turn-changes.ts'
import { TurnTimes } from '../time-travel/turn-times.tsx'
import { t } from '../turn-summary/strings.ts'
import { factsOf, type TurnFacts } from './turn-facts.ts'
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

/** More are shown on demand. */
const FILES_AT_ONCE = 50

/** Longer commands are cut in the line; the opened summary has them whole. */
const SHORT_CHARS = 32

const shortCommand = (command: string): string => {
  const line = command.trim().split('\n', 1)[0] ?? ''
  return line.length > SHORT_CHARS ? `${line.slice(0, SHORT_CHARS - 1).trimEnd()}…` : line
}

/** Reads the changes of the chat, and again when this turn has ended. */
const useTurnChange = (turns: TurnChanges, { asked, last, turn }: FootRow): TurnChange | null => {
  const newest = last ? (turn.at(-1)?.id ?? '') : ''
  useEffect(() => void turns.follow(newest), [newest])
  return (
    turns.list.value.find(
      ({ message_id: id, undo_of }) => undo_of === null && id !== null && asked.includes(id),
    ) ?? null
  )
}

// The line keeps its place while the turn runs, so nothing moves when it ends.
export function TurnSummary({ row }: { row: FootRow }) {
  const { transcript: chat } = useChat()
  return row.live || !chat.sessionId.value ? <div class="turn-sum" /> : <Summary row={row} />
}

function Summary({ row }: { row: FootRow }) {
  const { opened, toggle } = useTranscript()
  const turns = turnChangesOf(useApp())
  const change = useTurnChange(turns, row)
  const facts = useMemo(() => factsOf(row.turn), [row.turn])
  const state = change && undoStateOf(change, turns.list.value)
  const key = `${row.key}:summary`
  const open = opened.value.has(key)
  if (!change && facts.steps === 0) return <div class="turn-sum" />
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
          <Line change={change} facts={facts} state={state} />
        </button>
        {change && state && <UndoButton change={change} state={state} turns={turns} />}
      </div>
      {open && <Details row={row} change={change} facts={facts} state={state} />}
    </section>
  )
}

type Shown = { change: TurnChange | null; facts: TurnFacts; state: UndoState | null }

const Line = ({ change, facts, state }: Shown) => {
  const { failed, steps, seconds } = facts
  const missed = facts.denied.filter(({ by }) => by === 'timeout')
  const denied = facts.denied.filter(({ by }) => by !== 'timeout')
  const [only] = failed
  return (
    <span class="turn-sum-parts">
      {change && (
        <span>
          {t('files', { count: change.file_count })}{' '}
          {change.added + change.removed > 0 && (
            <DiffCounts added={change.added} removed={change.removed} />
          )}
        </span>
      )}
      {state && state.undone !== 'none' && (
        <span class="turn-sum-state">{t(`undone.${state.undone}`)}</span>
      )}
      {only && (
        <span class="turn-sum-warn">
          {failed.length === 1 ? (
            <ToolPhrase
              phrase={phraseOf(t('failed.one', { object: '{object}' }), only.command)}
              object={visibleText(shortCommand(only.command))}
              code
            />
          ) : (
            t('failed', { count: failed.length })
          )}
        </span>
      )}
      {missed.length > 0 && (
        <span class="turn-sum-warn">{t('missed', { count: missed.length })}</span>
      )}
      {denied.length > 0 && <span>{t('denied', { count: denied.length })}</span>}
      {!change && failed.length + facts.denied.length === 0 && (
        <span>
          {seconds === null
            ? t('steps', { count: steps })
            : t('steps.in', { count: steps, time: formatSeconds(seconds) })}
        </span>
      )}
    </span>
  )
}

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

const Details = ({ row, change, facts, state }: Shown & { row: FootRow }) => {
  const { failed, denied, steps, seconds } = facts
  const { usage } = row
  return (
    <div class="turn-sum-body">
      {change && state && <Files change={change} state={state} />}
      {change?.truncated && (
        <p class="turn-sum-note">
          {t('files.more', { count: change.file_count - change.files.length })}
        </p>
      )}
      {failed.length > 0 && (
        <ul>
          {failed.map(({ id, command, exitCode }) => (
            <li key={id} class="turn-sum-item">
              <Icon name="alert" size={14} />
              <code>{visibleText(command)}</code>
              <span class="turn-sum-warn">
                {exitCode < 0 ? t('exit.signal') : t('exit.code', { code: `${exitCode}` })}
              </span>
            </li>
          ))}
        </ul>
      )}
      {denied.length > 0 && (
        <ul>
          {denied.map(({ id, name, written, by }) => {
            const { did, object } = describeToolCall(name, parseArgs(written))
            return (
              <li key={id} class="turn-sum-item">
                <Icon name="shield" size={14} />
                <code>{object || did.before}</code>
                <span>{t(`by.${by}`)}</span>
              </li>
            )
          })}
        </ul>
      )}
      {[...(change?.interrupted ? [t('interrupted')] : []), ...(change?.notes ?? [])].map(note => (
        <p key={note} class="turn-sum-note">
          {note}
        </p>
      ))}
      {change && <TurnTimes change={change} />}
      <p class="turn-sum-facts">
        {steps > 0 && <span>{t('steps', { count: steps })}</span>}
        {seconds !== null && <span>{t('took', { time: formatSeconds(seconds) })}</span>}
        {usage && usage.input_tokens > 0 && (
          <span>
            {t('tokens', {
              input: formatTokens(usage.input_tokens),
              output: formatTokens(usage.output_tokens),
            })}
          </span>
        )}
        {usage && usage.estimated_cost > 0 && <span>{formatCost(usage.estimated_cost)}</span>}
      </p>
    </div>
  )
}

type FilesProps = { change: TurnChange; state: UndoState }

const Files = ({ change, state }: FilesProps) => {
  const { shown, button } = useShowMore(change.files, FILES_AT_ONCE)
  return (
    <div>
      <ul aria-label={t('files.label')}>
        {shown.map(file => (
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
  const show = () => {
    app.panel.choose('changes')
    app.panel.show()
    void turns.reveal(change, file)
  }
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
        onClick={show}
      >
        <bdi>{visibleName(nameOf(path))}</bdi>
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
