/** Changes by turn: the files with their diffs, and undo. */
import { useEffect, useRef } from 'preact/hooks'
import { visibleName } from '../../../lib/base/visible.ts'
import { directoryOf, fileName } from '../../parts/file-kind.ts'
import { IconButton } from '../../parts/button.tsx'
import { DiffCounts } from '../../parts/diff-counts.tsx'
import { Icon } from '../../parts/icon.tsx'
import type { Mark } from '../workspace/git-changes.ts'
import { keyOf, changeTitle, type TurnChange, type TurnFile } from '../workspace/turn-changes.ts'
import { t } from '../workspace/turn-changes-strings.ts'
import { formatAgo, formatFull } from '../../parts/relative-time.ts'
import { LoadedDiffView } from './loaded-diff.tsx'
import { useWorkspacePanel } from './context.ts'
import { MarkView } from './tree-row.tsx'
import { useWide } from './use-wide.ts'
import { useShell } from '../../contexts.ts'

const MARKS: Readonly<Record<TurnFile['status'], Mark>> = {
  added: 'added',
  modified: 'modified',
  deleted: 'deleted',
  renamed: 'renamed',
  typechange: 'modified',
}

const FileView = ({ turn, file }: { turn: TurnChange; file: TurnFile }) => {
  const { turns, review } = useWorkspacePanel()
  const isWide = useWide()
  const { path, old_path, status } = file
  const key = keyOf(turn, file)
  const diff = turns.diffs.value.get(key)
  const isShown = isWide && review.current.value?.key === key
  const place = useRef<HTMLLIElement>(null)
  const isTarget = turns.target.value === key && diff?.state === 'ready'
  useEffect(() => {
    if (!isTarget) return
    turns.target.value = null
    review.choose(key)
    place.current?.scrollIntoView({ block: 'start' })
  }, [isTarget])
  return (
    <li class="change" ref={place}>
      <div class="change-line">
        <button
          type="button"
          class="change-head"
          {...(isWide ? { 'aria-current': isShown } : { 'aria-expanded': diff !== undefined })}
          title={
            old_path
              ? `${visibleName(path)} ${t('git.from', { path: old_path })}`
              : visibleName(path)
          }
          onClick={() => (isWide ? review.choose(key) : void turns.toggleFile(turn, file))}
        >
          {!isWide && <Icon name={diff ? 'chevron-down' : 'chevron-right'} size={14} />}
          <span class={status === 'deleted' ? 'change-name change-gone' : 'change-name'} dir="auto">
            <bdi>{visibleName(fileName(path))}</bdi>
          </span>
          <span class="change-dir" dir="auto">
            {visibleName(directoryOf(path))}
          </span>
          <MarkView mark={MARKS[status]} />
        </button>
        <IconButton
          class="change-open"
          icon="undo"
          asks="POST /api/rollback/restore"
          size={14}
          label={t('undo.file', { path })}
          onClick={() => turns.undoFile(turn, file)}
        />
      </div>
      {diff && !isWide && <TurnFileDiff turn={turn} file={file} />}
    </li>
  )
}

export const TurnFileDiff = ({ turn, file }: { turn: TurnChange; file: TurnFile }) => {
  const { turns } = useWorkspacePanel()
  return (
    <LoadedDiffView
      path={file.path}
      diff={turns.diffs.value.get(keyOf(turn, file))}
      {...(file.status === 'modified' && {
        onUndo: (header: string) => void turns.undoHunk(turn, file, header),
      })}
    />
  )
}

const TurnView = ({ turn }: { turn: TurnChange }) => {
  const { platform } = useShell()
  const { turns } = useWorkspacePanel()
  const { checkpoint, at, added, removed, file_count, notes, files, interrupted } = turn
  const isOpen = turns.openTurns.value.has(checkpoint)
  const isUndo = turn.undo_of !== null
  const title = changeTitle(turn)
  return (
    <li class="turn-change">
      <div class="change-line">
        <button
          type="button"
          class="change-head turn-head"
          aria-expanded={isOpen}
          onClick={() => turns.toggleTurn(turn)}
        >
          <Icon name={isOpen ? 'chevron-down' : 'chevron-right'} size={14} />
          <span class="turn-words">
            <span class="turn-title" dir="auto" title={title}>
              {title}
            </span>
            <span class="turn-facts">
              <time title={formatFull(at)}>{formatAgo(at, platform.clock.now() / 1_000)}</time>
              <span>{t('files', { count: file_count })}</span>
              <DiffCounts added={added} removed={removed} />
            </span>
          </span>
        </button>
        <IconButton
          class="change-open"
          asks="POST /api/rollback/restore"
          icon={isUndo ? 'refresh' : 'undo'}
          size={16}
          label={`${t(isUndo ? 'redo' : 'undo')}: ${title}`}
          onClick={() => turns.undo(turn)}
        />
      </div>
      {isOpen && (
        <>
          <ul class="turn-files">
            {files.map(file => (
              <FileView key={file.path} turn={turn} file={file} />
            ))}
          </ul>
          {turn.truncated && (
            <p class="panel-note">{t('files.more', { count: file_count - files.length })}</p>
          )}
          {[...(interrupted ? [t('interrupted')] : []), ...notes].map(note => (
            <p key={note} class="panel-note turn-note">
              {note}
            </p>
          ))}
        </>
      )}
    </li>
  )
}

export const TurnChangesView = () => {
  const { turns } = useWorkspacePanel()
  const list = turns.list.value
  if (turns.state.value === 'failed') return <p class="panel-note">{t('turns.failed')}</p>
  if (list.length === 0) return null
  return (
    <section class="change-group turn-changes">
      <h3>
        {t('turns')} <span class="panel-count">{list.length}</span>
      </h3>
      <ul>
        {list.map(turn => (
          <TurnView key={turn.checkpoint} turn={turn} />
        ))}
      </ul>
    </section>
  )
}
