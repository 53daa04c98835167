/** The open file: its header, preview or source, and the editor. */
import { useEffect, useRef } from 'preact/hooks'
import { visibleName } from '../../../lib/base/visible.ts'
import { directoryOf, formatBytes, fileName } from '../../parts/file-kind.ts'
import { formatKeys } from '../shell/keys.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { MenuButton, type MenuItem } from '../../parts/menu-button.tsx'
import { canEdit, type Doc, hasSourceView, hasViews, isDirty } from '../workspace/document.ts'
import { t } from '../workspace/strings.ts'
import { lazy } from '../../parts/lazy.tsx'
import { Conflict, Moved } from './conflict-view.tsx'
import { useWorkspacePanel } from './context.ts'
import {
  Download,
  HtmlView,
  MarkdownView,
  MediaView,
  MermaidView,
  PdfView,
  SvgView,
} from './media-preview.tsx'
import { CsvView } from './csv-view.tsx'
import { canRun } from './live-frame.tsx'
import { JsonView, TextView } from './text-view.tsx'
import { useWide } from './use-wide.ts'
import { useComposer, useShell } from '../../contexts.ts'

const NotebookView = lazy(async () => (await import('./notebook-view.tsx')).NotebookView)

/** CodeMirror and its languages are several hundred kB, needed only for editing. */
const Editor = lazy(async () => (await import('./editor.tsx')).Editor)

const FileEditor = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  return (
    <Editor
      key={`${doc.id} ${doc.path} ${doc.generation}`}
      path={doc.path}
      text={doc.draft ?? doc.content}
      line={doc.line}
      label={t('edit.label', { name: fileName(doc.path) })}
      onEdit={(text: string) => preview.edit(text)}
      onSave={() => void preview.saver.save()}
    />
  )
}

const Contents = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  if (doc.state === 'loading') {
    return (
      <p class="panel-note panel-late" role="status">
        {t('app.loading')}
      </p>
    )
  }
  if (doc.state === 'binary') return <Download doc={doc} why={t('preview.binary')} />
  // An SVG image too large to be read as text.
  if (doc.state === 'large')
    return <MediaView key={doc.generation} doc={{ ...doc, kind: 'image' }} />
  if (doc.state === 'failed') {
    return (
      <div class="panel-blank" role="alert">
        <p>{doc.error || t('preview.failed')}</p>
        <Button icon="refresh" onClick={() => preview.reload()}>
          {t('list.retry')}
        </Button>
      </div>
    )
  }
  if (doc.mode === 'edit') return <FileEditor doc={doc} />
  const view = doc.mode === 'source' || doc.page ? 'text' : doc.kind
  switch (view) {
    case 'markdown':
      return <MarkdownView doc={doc} />
    case 'csv':
      return <CsvView doc={doc} />
    case 'json':
      return <JsonView doc={doc} />
    case 'notebook':
      return <NotebookView doc={doc} />
    case 'html':
      return <HtmlView doc={doc} />
    case 'svg':
      return <SvgView doc={doc} />
    case 'mermaid':
      return <MermaidView doc={doc} />
    case 'pdf':
      return <PdfView doc={doc} />
    case 'image':
    case 'audio':
    case 'video':
      return <MediaView key={doc.generation} doc={doc} />
    default:
      return <TextView doc={doc} />
  }
}

const MODES = ['view', 'source'] as const

const ViewModes = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  return (
    <fieldset class="faces" aria-label={t('preview.mode')}>
      {MODES.map(mode => (
        <button
          key={mode}
          type="button"
          class="face"
          aria-pressed={doc.mode === mode}
          onClick={() => preview.setMode(mode)}
        >
          {t(`preview.${mode}`)}
        </button>
      ))}
    </fieldset>
  )
}

const EditActions = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  const { layout } = useShell()
  const dirty = isDirty(doc)
  return (
    <>
      <span class="preview-state" role="status">
        {t(doc.saving ? 'edit.saving' : dirty ? 'edit.dirty' : 'edit.saved')}
      </span>
      <button
        type="button"
        class="button button-primary button-small"
        disabled={!dirty || doc.saving || doc.isMoved}
        title={formatKeys('mod+s', layout.mac)}
        onClick={() => void preview.saver.save()}
      >
        {t('edit.save')}
      </button>
      <button
        type="button"
        class="button button-small"
        onClick={() => preview.setMode(hasSourceView(doc.kind) && doc.line ? 'source' : 'view')}
      >
        {t('edit.done')}
      </button>
    </>
  )
}

/** Downloads text that is not a file of the workspace. */
const saveText = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

/** Kinds that a browser shows in a tab of its own without running anything. */
const opensInTab = (doc: Doc): boolean => doc.kind === 'pdf' || doc.kind === 'image'

/** Runs the scripts of an HTML document, or stops them. */
const RunButton = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  return (
    <button
      type="button"
      class="button button-small"
      disabled={!canRun()}
      title={canRun() ? t('live.hint') : t('live.unsupported')}
      onClick={() => preview.setRunning(!doc.isRunning)}
    >
      <Icon name={doc.isRunning ? 'stop' : 'play'} size={14} />
      {t(doc.isRunning ? 'live.stop' : 'live.run')}
    </button>
  )
}

const useMenu = (doc: Doc): (() => MenuItem[]) => {
  const { copy } = useShell()
  const { draft: composer } = useComposer()
  const panel = useWorkspacePanel()
  const { path, line } = doc
  if (doc.isAnswer)
    return () => [
      {
        label: t('preview.copy.text'),
        icon: 'copy',
        run: () => void copy(doc.content),
      },
      { label: t('files.download'), icon: 'download', run: () => saveText(path, doc.content) },
    ]
  return () => [
    {
      label: line === null ? t('preview.copy.link') : t('preview.copy.link.line', { line }),
      icon: 'link',
      run: () => void copy(panel.linkTo(path, line)),
    },
    { label: t('files.copy.path'), icon: 'copy', run: () => void copy(path) },
    ...(doc.content
      ? [
          {
            label: t('preview.copy.text'),
            icon: 'copy' as const,
            run: () => void copy(doc.draft ?? doc.content),
          },
        ]
      : []),
    {
      label: t('files.attach'),
      icon: 'paperclip',
      asks: 'POST /api/chat/start',
      run: () => composer.addFile(path),
    },
    { label: t('files.download'), icon: 'download', run: () => panel.download(path, 'file') },
    ...(opensInTab(doc)
      ? [
          {
            label: t('preview.tab'),
            icon: 'link' as const,
            run: () => void window.open(doc.blob ?? panel.rawUrl(path), '_blank', 'noopener'),
          },
        ]
      : []),
  ]
}

const Head = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  const isWide = useWide()
  const menu = useMenu(doc)
  const lines = doc.content && !doc.page ? doc.content.replace(/\n$/, '').split('\n').length : null
  return (
    <header class="preview-head">
      <div class="preview-line">
        {!isWide && (
          <IconButton
            icon="list"
            size={16}
            label={t('preview.back')}
            onClick={() => preview.close()}
          />
        )}
        <h3 class="preview-name" title={visibleName(doc.path)}>
          {isDirty(doc) && <span class="preview-dirty" aria-hidden="true" />}
          <bdi class="preview-base">{visibleName(fileName(doc.path))}</bdi>
          <span class="preview-dir">{visibleName(directoryOf(doc.path))}</span>
        </h3>
        <MenuButton label={t('files.menu', { name: fileName(doc.path) })} items={menu} />
        {isWide && (
          <IconButton
            icon="close"
            size={16}
            label={t('preview.close')}
            onClick={() => preview.close()}
          />
        )}
      </div>
      {doc.state === 'ready' && (
        <div class="preview-line preview-tools">
          {doc.mode === 'edit' ? (
            <EditActions doc={doc} />
          ) : (
            <>
              <span class="preview-state">
                {doc.isRunning && doc.mode === 'view' && t('live.isolated')}
                {!doc.isRunning &&
                  [
                    lines !== null && t('preview.lines', { count: lines }),
                    doc.sizeBytes !== null && formatBytes(doc.sizeBytes),
                  ]
                    .filter(Boolean)
                    .join(' · ')}
              </span>
              {doc.kind === 'html' && doc.mode === 'view' && <RunButton doc={doc} />}
              {hasViews(doc) && <ViewModes doc={doc} />}
              {canEdit(doc) && may('POST /api/file/save') && (
                <button
                  type="button"
                  class="button button-small"
                  onClick={() => preview.setMode('edit')}
                >
                  {t('files.edit')}
                </button>
              )}
            </>
          )}
        </div>
      )}
    </header>
  )
}

export const FilePreview = () => {
  const { openFile: preview } = useWorkspacePanel()
  const doc = preview.doc.value
  const place = useRef<HTMLElement>(null)
  // The row that opened it may be gone, and with it the focus.
  useEffect(() => {
    if (document.activeElement === document.body) place.current?.focus()
  }, [])
  if (!doc) return null
  return (
    <section
      ref={place}
      tabIndex={-1}
      class="preview"
      aria-label={t('preview.label', { name: fileName(doc.path) })}
    >
      <Head doc={doc} />
      {doc.isMoved ? <Moved doc={doc} /> : doc.conflict !== null && <Conflict doc={doc} />}
      <Contents doc={doc} />
    </section>
  )
}
