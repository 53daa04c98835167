/** The open file: its header, preview or source, and the editor. */
import { visibleName } from '../../../lib/base/visible.ts'
import type { Signal } from '@preact/signals'
import { directoryOf, formatBytes, nameOf } from './file-kind.ts'
import { formatKeys } from '../shell/keys.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { MenuButton, type MenuItem } from '../../parts/menu.tsx'
import { canEdit, type Doc, hasSourceView, isDirty } from './document.ts'
import { t } from './strings.ts'
import { lazy } from '../../parts/lazy.tsx'
import { Conflict } from './conflict-view.tsx'
import { useWorkspacePanel } from './context.ts'
import { CsvView, Download, HtmlView, MarkdownView, MediaView, PdfView } from './media-preview.tsx'
import { TextView } from './text-view.tsx'
import { useShell, useComposer } from '../../contexts.ts'

/** CodeMirror and its languages are several hundred kB, needed only for editing. */
const Editor = lazy(async () => (await import('./editor.tsx')).Editor)

const FileEditor = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  return (
    <Editor
      key={`${doc.sessionId} ${doc.path} ${doc.generation}`}
      path={doc.path}
      text={doc.draft ?? doc.content}
      line={doc.line}
      label={t('edit.label', { name: nameOf(doc.path) })}
      onEdit={(text: string) => preview.edit(text)}
      onSave={() => void preview.save()}
    />
  )
}

const Contents = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  if (doc.state === 'loading') {
    return (
      <p class="panel-note panel-late" role="status">
        {t('preview.loading')}
      </p>
    )
  }
  if (doc.state === 'binary') return <Download doc={doc} why={t('preview.binary')} />
  if (doc.state === 'large') return <Download doc={doc} why={t('preview.large')} />
  if (doc.state === 'failed') {
    return (
      <div class="panel-blank" role="alert">
        <p>{doc.error || t('preview.failed')}</p>
        <Button icon="refresh" onClick={() => preview.reload()}>
          {t('files.again')}
        </Button>
      </div>
    )
  }
  if (doc.mode === 'edit') return <FileEditor doc={doc} />
  const view = doc.mode === 'source' ? 'text' : doc.kind
  switch (view) {
    case 'markdown':
      return <MarkdownView doc={doc} />
    case 'csv':
      return <CsvView doc={doc} />
    case 'html':
      return <HtmlView doc={doc} />
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
        disabled={!dirty || doc.saving}
        title={formatKeys('mod+s', layout.mac)}
        onClick={() => void preview.save()}
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

const useMenu = (doc: Doc): (() => MenuItem[]) => {
  const { copy } = useShell()
  const { composer } = useComposer()
  const { linkTo, download } = useWorkspacePanel()
  const { path, line } = doc
  return () => [
    {
      label: line === null ? t('preview.copy.link') : t('preview.copy.link.line', { line }),
      icon: 'link',
      run: () => void copy(linkTo(path, line)),
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
    { label: t('files.attach'), icon: 'paperclip', run: () => composer.addFile(path) },
    { label: t('files.download'), icon: 'download', run: () => download(path, 'file') },
  ]
}

const Head = ({ doc, alone }: { doc: Doc; alone: Signal<boolean> }) => {
  const { openFile: preview } = useWorkspacePanel()
  const menu = useMenu(doc)
  const lines = doc.content ? doc.content.replace(/\n$/, '').split('\n').length : null
  return (
    <header class="preview-head">
      <div class="preview-line">
        <h3 class="preview-name" title={visibleName(doc.path)}>
          {isDirty(doc) && <span class="preview-dirty" aria-hidden="true" />}
          <bdi class="preview-base">{visibleName(nameOf(doc.path))}</bdi>
          <span class="preview-dir">{visibleName(directoryOf(doc.path))}</span>
        </h3>
        <MenuButton label={t('files.menu', { name: nameOf(doc.path) })} items={menu} />
        <IconButton
          icon={alone.value ? 'chevron-down' : 'chevron-up'}
          size={16}
          label={t(alone.value ? 'preview.shrink' : 'preview.grow')}
          onClick={() => {
            alone.value = !alone.value
          }}
        />
        <IconButton
          icon="close"
          size={16}
          label={t('preview.close')}
          onClick={() => preview.close()}
        />
      </div>
      {doc.state === 'ready' && (
        <div class="preview-line preview-tools">
          {doc.mode === 'edit' ? (
            <EditActions doc={doc} />
          ) : (
            <>
              <span class="preview-state">
                {[
                  lines !== null && t('preview.lines', { count: lines }),
                  doc.sizeBytes !== null && formatBytes(doc.sizeBytes),
                ]
                  .filter(Boolean)
                  .join(' · ')}
              </span>
              {hasSourceView(doc.kind) && <ViewModes doc={doc} />}
              {canEdit(doc) && (
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

export const FilePreview = ({ alone }: { alone: Signal<boolean> }) => {
  const { openFile: preview } = useWorkspacePanel()
  const doc = preview.doc.value
  if (!doc) return null
  return (
    <section class="preview" aria-label={t('preview.label', { name: nameOf(doc.path) })}>
      <Head doc={doc} alone={alone} />
      {doc.conflict !== null && <Conflict doc={doc} />}
      <Contents doc={doc} />
    </section>
  )
}
