/** The file tree (ARIA tree view): roving focus, drag and drop between folders and from the desktop. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { TreeRow } from '../workspace/open-directories.ts'
import { directoryOf } from '../../parts/file-kind.ts'
import { t } from '../workspace/strings.ts'
import { dropped, addDroppedFolders } from '../composer/drop-area.tsx'
import { may } from '../../parts/may.ts'
import { useApp } from '../shell/context.ts'
import { useWorkspacePanel } from './context.ts'
import { DRAGGED, NameField, RowView } from './tree-row.tsx'

type Step =
  | { kind: 'go'; path: string }
  | { kind: 'open' | 'close' | 'use' | 'rename' | 'remove'; row: TreeRow }

const go = (row: TreeRow | undefined): Step | null => (row ? { kind: 'go', path: row.path } : null)

/** The row of the parent directory. */
const parentOf = (rows: readonly TreeRow[], at: number): TreeRow | undefined =>
  rows.slice(0, at).findLast(({ level }) => level === rows[at]!.level - 1)

const byLetter = (rows: readonly TreeRow[], at: number, letter: string): TreeRow | undefined => {
  const turned = [...rows.slice(at + 1), ...rows.slice(0, at + 1)]
  return turned.find(({ name }) => name.toLowerCase().startsWith(letter.toLowerCase()))
}

/** Keyboard navigation by the ARIA tree view pattern: the action of a key while the row of `path` has the focus; null for other keys. */
export const stepOf = (rows: readonly TreeRow[], path: string, key: string): Step | null => {
  const at = Math.max(
    0,
    rows.findIndex(row => row.path === path),
  )
  const row = rows[at]
  if (!row) return null
  switch (key) {
    case 'ArrowDown':
      return go(rows[at + 1])
    case 'ArrowUp':
      return go(rows[at - 1])
    case 'Home':
      return go(rows[0])
    case 'End':
      return go(rows.at(-1))
    case 'ArrowRight':
      if (row.type === 'file') return null
      if (!row.open) return { kind: 'open', row }
      return rows[at + 1]?.level === row.level + 1 ? go(rows[at + 1]) : null
    case 'ArrowLeft':
      return row.open ? { kind: 'close', row } : go(parentOf(rows, at))
    case 'Enter':
    case ' ':
      return { kind: 'use', row }
    case 'F2':
      return { kind: 'rename', row }
    case 'Delete':
      return { kind: 'remove', row }
    default:
      return key.length === 1 ? go(byLetter(rows, at, key)) : null
  }
}

const carries = (event: DragEvent): boolean => {
  if (!may('POST /api/file/move')) return false
  const types = event.dataTransfer?.types ?? []
  return types.includes(DRAGGED) || types.includes('Files')
}

/** What follows a directory's row: its loading or error note, and the field for a new entry. */
const Below = ({ row }: { row: TreeRow }) => {
  const { files } = useWorkspacePanel()
  const directory = files.directories.value.get(row.path)
  const naming = files.naming.value
  const isNew = naming && naming.kind !== 'rename' && naming.directory === row.path
  const missing = directory ? directory.total - directory.entries.length : 0
  const indent = { paddingInlineStart: `${12 + row.level * 14}px` }
  const note =
    !directory || (directory.state === 'loading' && directory.entries.length === 0)
      ? t('app.loading')
      : directory.state === 'failed'
        ? t('files.failed')
        : directory.entries.length === 0 && !isNew
          ? t('files.empty.dir')
          : missing > 0
            ? t('files.cut', { count: missing })
            : ''
  return (
    <>
      {isNew && <NameField level={row.level + 1} kind={naming.kind} name="" />}
      {note && (
        <div class="tree-note" role="none" style={indent}>
          {note}
        </div>
      )}
    </>
  )
}

const Cut = () => {
  const root = useWorkspacePanel().files.directories.value.get('')
  const missing = root ? root.total - root.entries.length : 0
  if (missing <= 0) return null
  return (
    <div class="tree-note" role="none">
      {t('files.cut', { count: missing })}
    </div>
  )
}

export const Tree = () => {
  const app = useApp()
  const { sessionId, files, uploads, openFile: preview } = useWorkspacePanel()
  const ref = useRef<HTMLDivElement>(null)
  const over = useSignal<string | null>(null)
  const rows = files.rows.value
  const naming = files.naming.value
  const active = rows.some(({ path }) => path === files.active.value)
    ? files.active.value
    : (rows[0]?.path ?? '')

  const rowOf = (path: string): HTMLElement | null =>
    ref.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`) ?? null

  useEffect(() => {
    rowOf(active)?.scrollIntoView({ block: 'nearest' })
  }, [active])
  // Back from a file whose button had the focus.
  useEffect(() => {
    if (document.activeElement === document.body) rowOf(active)?.focus()
  }, [])

  const focus = (path: string) => {
    files.active.value = path
    rowOf(path)?.focus()
  }

  const use = (row: TreeRow) => {
    files.active.value = row.path
    if (row.type === 'dir') files.toggle(row.path)
    else preview.open({ path: row.path, line: null })
  }

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const target = event.target as Element
    if (!target.closest('[role="treeitem"]') || target.closest('.popover, input')) return
    // A button in the row handles its own keys.
    if (target.closest('button') && (event.key === 'Enter' || event.key === ' ')) return
    const step = stepOf(rows, active, event.key)
    if (!step) return
    event.preventDefault()
    if (step.kind === 'go') focus(step.path)
    else if (step.kind === 'open') files.open(step.row.path)
    else if (step.kind === 'close') files.close(step.row.path)
    else if (step.kind === 'use') use(step.row)
    else if (!may('POST /api/file/rename')) return
    else if (step.kind === 'rename') files.naming.value = { kind: 'rename', path: step.row.path }
    else {
      const at = rows.indexOf(step.row)
      const next = rows.slice(at + 1).find(({ level }) => level <= step.row.level) ?? rows[at - 1]
      void files.remove(step.row.path, step.row.type).then(isGone => {
        if (isGone && next) focus(next.path)
      })
    }
  }

  /** The directory under the pointer: the row's own, or its parent. */
  const placeOf = (event: DragEvent): string => {
    const path = (event.target as Element).closest<HTMLElement>('[data-path]')?.dataset.path
    const row = rows.find(one => one.path === path)
    if (!row) return ''
    return row.type === 'dir' ? row.path : directoryOf(row.path)
  }

  const onDrop = (event: DragEvent) => {
    if (!carries(event)) return
    event.preventDefault()
    over.value = null
    const place = placeOf(event)
    const dragged = event.dataTransfer?.getData(DRAGGED)
    if (dragged) {
      // Not from the tree of another chat, which may be in another tab.
      const own = `${sessionId}/`
      if (dragged.startsWith(own)) void files.move(dragged.slice(own.length), place)
    } else {
      const { files: loose, directories } = dropped(event.dataTransfer)
      void uploads.add(loose, place)
      addDroppedFolders(app, directories, folders => uploads.add(folders, place))
    }
  }

  const isNewHere = naming && naming.kind !== 'rename' && naming.directory === ''
  const workspace = app.workspaces.nameOf(app.chat.transcript.details.value?.workspace ?? '')
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what is dropped beside the rows goes into the root
    <div
      class={over.value === '' ? 'tree-box tree-over' : 'tree-box'}
      onDragOver={event => {
        if (!carries(event)) return
        event.preventDefault()
        over.value = placeOf(event)
      }}
      onDragLeave={event => {
        const to = event.relatedTarget as Node | null
        if (!event.currentTarget.contains(to)) over.value = null
      }}
      onDrop={onDrop}
    >
      <div
        ref={ref}
        class="tree"
        role="tree"
        aria-label={t('files.tree', { name: workspace })}
        onKeyDown={onKeyDown}
      >
        {isNewHere && <NameField level={1} kind={naming.kind} name="" />}
        {rows.map(row => (
          <RowView
            key={row.path}
            row={row}
            active={row.path === active}
            over={over.value === row.path && row.type === 'dir'}
            onUse={() => use(row)}
            after={row.open ? <Below row={row} /> : null}
          />
        ))}
        <Cut />
      </div>
      {rows.length === 0 && !isNewHere && (
        <div class="panel-blank">
          <h3>{t('files.empty')}</h3>
          <p>{t('files.empty.hint')}</p>
        </div>
      )}
    </div>
  )
}
