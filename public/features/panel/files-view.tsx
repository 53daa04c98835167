/** Files: the toolbar, the tree, uploads, and the open file, which takes the place of the tree or is beside it. */
import { visibleName } from '../../../lib/base/visible.ts'
import { useRef } from 'preact/hooks'
import { formatBytes } from '../../parts/file-kind.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { MenuButton } from '../../parts/menu-button.tsx'
import { t } from '../workspace/strings.ts'
import { FilePreview } from './preview.tsx'
import { useWorkspacePanel } from './context.ts'
import { Tree } from './tree-view.tsx'
import { useWide } from './use-wide.ts'
import { useChat, useWorkspaces } from '../../contexts.ts'

const Uploads = () => {
  const { uploads } = useWorkspacePanel()
  const list = uploads.list.value
  if (list.length === 0) return null
  return (
    <ul class="uploads" aria-label={t('files.uploading')}>
      {list.map(({ id, name, sizeBytes, sentBytes }) => (
        <li key={id} class="upload">
          <span class="upload-name">{name}</span>
          <span class="upload-size">{formatBytes(sizeBytes)}</span>
          <progress
            max={Math.max(1, sizeBytes)}
            value={sentBytes}
            aria-label={t('attach.uploading', {
              name,
              percent: Math.floor((100 * sentBytes) / Math.max(1, sizeBytes)),
            })}
          />
          <IconButton
            icon="close"
            size={12}
            label={t('files.upload.cancel', { name })}
            onClick={() => uploads.cancel(id)}
          />
        </li>
      ))}
    </ul>
  )
}

const Bar = () => {
  const { transcript: chat } = useChat()
  const workspaces = useWorkspaces()
  const panel = useWorkspacePanel()
  const { files, uploads } = panel
  const input = useRef<HTMLInputElement>(null)
  const workspace = chat.details.value?.workspace ?? ''
  return (
    <div class="files-bar">
      <span class="files-place" dir="auto" title={visibleName(workspace)}>
        {visibleName(workspaces.nameOf(workspace))}
      </span>
      <input
        ref={input}
        class="attach-input"
        type="file"
        multiple
        tabIndex={-1}
        aria-hidden="true"
        onChange={event => {
          void uploads.add([...(event.currentTarget.files ?? [])], '')
          event.currentTarget.value = ''
        }}
      />
      <IconButton
        icon="plus"
        size={16}
        asks="POST /api/file/create"
        label={t('files.new.file')}
        onClick={() => {
          files.naming.value = { kind: 'file', directory: '' }
        }}
      />
      <MenuButton
        label={t('files.more')}
        items={() => [
          {
            label: t('files.new.dir'),
            icon: 'folder',
            asks: 'POST /api/file/create-dir',
            run: () => {
              files.naming.value = { kind: 'dir', directory: '' }
            },
          },
          {
            label: t('files.upload'),
            icon: 'upload',
            asks: 'POST /api/upload',
            run: () => input.current?.click(),
          },
          'line',
          {
            label: t('files.download.all'),
            icon: 'download',
            run: () => panel.download('', 'dir'),
          },
        ]}
      />
    </div>
  )
}

const TreeOrStatus = () => {
  const { files } = useWorkspacePanel()
  const root = files.directories.value.get('')
  if (!root || (root.state === 'loading' && root.entries.length === 0)) {
    return (
      <p class="panel-note panel-late" role="status">
        {t('app.loading')}
      </p>
    )
  }
  if (root.state === 'failed' && root.entries.length === 0) {
    return (
      <div class="panel-blank" role="alert">
        <p>{t('files.failed')}</p>
        <Button icon="refresh" onClick={() => void files.load('')}>
          {t('list.retry')}
        </Button>
      </div>
    )
  }
  return <Tree />
}

export const FilesView = () => {
  const { openFile: preview } = useWorkspacePanel()
  const isWide = useWide()
  const isOpen = preview.doc.value !== null
  return (
    <div class={isWide ? 'files-view review-columns' : 'files-view'}>
      {(isWide || !isOpen) && (
        <div class="files-top">
          <Bar />
          <TreeOrStatus />
          <Uploads />
        </div>
      )}
      {isOpen ? (
        <FilePreview />
      ) : (
        isWide && (
          <div class="review-pane panel-blank">
            <p>{t('files.choose')}</p>
          </div>
        )
      )}
    </div>
  )
}
