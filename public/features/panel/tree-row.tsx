/** One row of the file tree: name, Git mark, and menu; or its name field. */
import { isComposing } from '../../parts/composing.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { fileName } from '../../parts/file-kind.ts'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { MenuButton, type MenuItem, openMenuAt } from '../../parts/menu-button.tsx'
import type { Mark } from '../workspace/git-changes.ts'
import type { TreeRow } from '../workspace/open-directories.ts'
import { t } from '../workspace/strings.ts'
import { useWorkspacePanel } from './context.ts'
import { useComposer, usePanel, useShell } from '../../contexts.ts'

/** The data type of a row dragged within the tree. */
/** The session and the path. */
export const DRAGGED = 'application/x-agent-webui-path'

const letters: Readonly<Record<Mark, string>> = {
  modified: 'M',
  added: 'A',
  deleted: 'D',
  renamed: 'R',
  untracked: 'U',
  conflict: '!',
}

export const MarkView = ({ mark }: { mark: Mark }) => (
  <span class={`file-mark file-mark-${mark}`} title={t(`mark.${mark}`)}>
    <span aria-hidden="true">{letters[mark]}</span>
    <span class="sr-only">{t(`mark.${mark}`)}</span>
  </span>
)

const indentOf = (level: number) => ({ paddingInlineStart: `${8 + (level - 1) * 14}px` })

type NameFieldProps = {
  level: number
  kind: 'file' | 'dir' | 'rename'
  name: string
  path?: string
}

/** Enter and blur save the name, Escape cancels. */
export const NameField = ({ level, kind, name, path = '' }: NameFieldProps) => {
  const { files, openFile: preview } = useWorkspacePanel()
  const ref = useRef<HTMLInputElement>(null)
  const finished = useRef(false)
  // In a layout effect: a later selection could replace what was already typed.
  useLayoutEffect(() => {
    const field = ref.current
    if (!field) return
    field.focus()
    const dot = name.lastIndexOf('.')
    field.setSelectionRange(0, dot > 0 ? dot : name.length)
  }, [])

  const finish = async (keep: boolean, back: boolean) => {
    if (finished.current) return
    finished.current = true
    // Not that of another chat, if one is shown when the request has been answered.
    const tree = ref.current?.closest('.tree')
    const newName = ref.current?.value.trim() ?? ''
    const naming = files.naming.value
    files.naming.value = null
    let place = path
    if (keep && newName && newName !== name && naming) {
      if (naming.kind === 'rename') {
        if (await files.rename(naming.path, newName)) place = files.active.value
      } else {
        const created = await files.create(naming.kind, naming.directory, newName)
        if (created) place = created
        if (created && naming.kind === 'file') preview.open({ path: created, line: null })
      }
    }
    if (!back) return
    const row = tree?.querySelector<HTMLElement>(`[data-path="${CSS.escape(place)}"]`)
    const any = tree?.querySelector<HTMLElement>('[role="treeitem"][tabindex="0"]')
    ;(row ?? any)?.focus()
  }

  return (
    <div class="tree-row tree-naming" role="none" style={indentOf(level)}>
      <Icon name={kind === 'dir' ? 'folder' : 'file'} size={14} />
      <input
        ref={ref}
        class="tree-field"
        aria-label={kind === 'rename' ? t('files.rename.label', { name }) : t('files.name')}
        placeholder={kind === 'rename' ? '' : t(`files.new.${kind}`)}
        defaultValue={name}
        spellcheck={false}
        autocomplete="off"
        onBlur={() => void finish(true, false)}
        onKeyDown={event => {
          if (event.key !== 'Enter' && event.key !== 'Escape') return
          if (isComposing(event)) return
          event.preventDefault()
          event.stopPropagation()
          void finish(event.key === 'Enter', true)
        }}
      />
    </div>
  )
}

const useMenu = (row: TreeRow): (() => MenuItem[]) => {
  const { draft: composer } = useComposer()
  const panel = usePanel()
  const { copy } = useShell()
  const workspace = useWorkspacePanel()
  const { files, openFile: preview, uploads } = workspace
  const { path, type } = row
  const pick = () => {
    const input = document.createElement('input')
    input.type = 'file'
    input.multiple = true
    input.onchange = () => void uploads.add([...(input.files ?? [])], path)
    input.click()
  }
  const name = (kind: 'file' | 'dir') => () => {
    files.open(path)
    files.naming.value = { kind, directory: path }
  }
  const own: MenuItem[] =
    type === 'dir'
      ? [
          {
            label: t('files.new.file.in'),
            icon: 'plus',
            asks: 'POST /api/file/create',
            run: name('file'),
          },
          {
            label: t('files.new.dir.in'),
            icon: 'folder',
            asks: 'POST /api/file/create-dir',
            run: name('dir'),
          },
          {
            label: t('files.upload.in'),
            icon: 'upload',
            asks: 'POST /api/upload',
            run: pick,
          },
        ]
      : [
          { label: t('files.open'), icon: 'eye', run: () => preview.open({ path, line: null }) },
          {
            label: t('files.attach'),
            icon: 'paperclip',
            asks: 'POST /api/chat/start',
            run: () => {
              composer.addFile(path)
              if (panel.overlay.value) panel.hide()
            },
          },
        ]
  return () => [
    ...own,
    'line',
    {
      label: t('files.rename'),
      icon: 'edit',
      keys: 'F2',
      asks: 'POST /api/file/rename',
      run: () => {
        files.naming.value = { kind: 'rename', path }
      },
    },
    { label: t('files.copy.path'), icon: 'copy', run: () => void copy(path) },
    {
      label: t(type === 'dir' ? 'files.download.zip' : 'files.download'),
      icon: 'download',
      run: () => workspace.download(path, type),
    },
    'line',
    {
      label: t('files.delete'),
      icon: 'trash',
      keys: 'Del',
      asks: 'POST /api/file/delete',
      danger: true,
      run: () => void files.remove(path, type),
    },
  ]
}

type RowProps = {
  row: TreeRow
  active: boolean
  over: boolean
  onUse: () => void
  after: ComponentChildren
}

export const RowView = ({ row, active, over, onUse, after }: RowProps) => {
  const { sessionId, files, changes, openFile: preview } = useWorkspacePanel()
  const { path, name, type, level, open, position, siblingCount } = row
  const naming = files.naming.value
  const menu = useMenu(row)
  if (naming?.kind === 'rename' && naming.path === path) {
    return <NameField level={level} kind="rename" name={name} path={path} />
  }
  const mark = changes.marks.value.get(path)
  const inside = type === 'dir' && !mark && changes.touched.value.has(path)
  const isOpen = preview.doc.value?.path === path
  return (
    <>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys of all rows */}
      <div
        class={`tree-row${over ? ' tree-over' : ''}${mark ? ` tree-${mark}` : ''}`}
        role="treeitem"
        data-path={path}
        tabIndex={active ? 0 : -1}
        aria-level={level}
        aria-posinset={position}
        aria-setsize={siblingCount}
        aria-selected={isOpen}
        {...(type === 'dir' ? { 'aria-expanded': open } : {})}
        style={indentOf(level)}
        draggable={may('POST /api/file/move')}
        onDragStart={event => {
          event.dataTransfer?.setData(DRAGGED, `${sessionId}/${path}`)
          if (event.dataTransfer) event.dataTransfer.effectAllowed = 'move'
        }}
        onClick={event => {
          if (!(event.target as Element).closest('.tree-menu, .popover')) onUse()
        }}
        onFocus={event => {
          if (event.target === event.currentTarget) files.active.value = path
        }}
        onContextMenu={event => openMenuAt(event, event.currentTarget.querySelector('.tree-menu'))}
      >
        {type === 'dir' ? (
          <Icon name={open ? 'chevron-down' : 'chevron-right'} size={14} />
        ) : (
          <Icon name="file" size={14} />
        )}
        <span class="tree-name" dir="auto" title={visibleName(path)}>
          <bdi>{visibleName(name)}</bdi>
        </span>
        {inside && <span class="file-mark-dot" role="img" aria-label={t('mark.inside')} />}
        {mark && <MarkView mark={mark} />}
        <MenuButton
          class="tree-menu"
          label={t('files.menu', { name: fileName(path) })}
          tabIndex={-1}
          items={menu}
        />
      </div>
      {after}
    </>
  )
}
