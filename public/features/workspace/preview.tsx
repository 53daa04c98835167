/** The open file: its name and state, how it is shown, and the editor when it is changed. */
import { visibleName } from '../../../lib/base/visible.ts'
import type { Signal } from '@preact/signals'
import { directoryOf, formatBytes, nameOf } from './file-kind.ts'
import { formatKeys } from '../shell/keys.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { MenuButton, type MenuItem } from '../../parts/menu.tsx'
import { canEdit, type Doc, hasSourceView, isDirty } from './open-file.ts'
import { tw } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { lazy } from '../../parts/lazy.tsx'
import { Conflict } from './conflict-view.tsx'
import { useWorkspacePanel } from './context.ts'
import { CsvView, Download, HtmlView, MarkdownView, MediaView, PdfView } from './media-preview.tsx'
import { TextView } from './text-view.tsx'

/** CodeMirror and its languages: some hundred kilobytes that reading needs none of. */
const Editor = lazy(async () => (await import('./editor.tsx')).Editor)

const FileEditor = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  return (
    <Editor
      key={`${doc.sessionId} ${doc.path} ${doc.generation}`}
      path={doc.path}
      text={doc.draft ?? doc.content}
      line={doc.line}
      label={tw('edit.label', { name: nameOf(doc.path) })}
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
        {tw('preview.loading')}
      </p>
    )
  }
  if (doc.state === 'binary') return <Download doc={doc} why={tw('preview.binary')} />
  if (doc.state === 'large') return <Download doc={doc} why={tw('preview.large')} />
  if (doc.state === 'failed') {
    return (
      <div class="panel-blank" role="alert">
        <p>{doc.error || tw('preview.failed')}</p>
        <Button icon="refresh" onClick={() => preview.reload()}>
          {tw('files.again')}
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
    <fieldset class="faces" aria-label={tw('preview.mode')}>
      {MODES.map(mode => (
        <button
          key={mode}
          type="button"
          class="face"
          aria-pressed={doc.mode === mode}
          onClick={() => preview.setMode(mode)}
        >
          {tw(`preview.${mode}`)}
        </button>
      ))}
    </fieldset>
  )
}

const EditActions = ({ doc }: { doc: Doc }) => {
  const { openFile: preview } = useWorkspacePanel()
  const app = useApp()
  const dirty = isDirty(doc)
  return (
    <>
      <span class="preview-state" role="status">
        {tw(doc.saving ? 'edit.saving' : dirty ? 'edit.dirty' : 'edit.saved')}
      </span>
      <button
        type="button"
        class="button button-primary button-small"
        disabled={!dirty || doc.saving}
        title={formatKeys('mod+s', app.layout.mac)}
        onClick={() => void preview.save()}
      >
        {tw('edit.save')}
      </button>
      <button
        type="button"
        class="button button-small"
        onClick={() => preview.setMode(hasSourceView(doc.kind) && doc.line ? 'source' : 'view')}
      >
        {tw('edit.done')}
      </button>
    </>
  )
}

const useMenu = (doc: Doc): (() => MenuItem[]) => {
  const app = useApp()
  const { linkTo, download } = useWorkspacePanel()
  const { path, line } = doc
  return () => [
    {
      label: line === null ? tw('preview.copy.link') : tw('preview.copy.link.line', { line }),
      icon: 'link',
      run: () => void app.copy(linkTo(path, line)),
    },
    { label: tw('files.copy.path'), icon: 'copy', run: () => void app.copy(path) },
    ...(doc.content
      ? [
          {
            label: tw('preview.copy.text'),
            icon: 'copy' as const,
            run: () => void app.copy(doc.draft ?? doc.content),
          },
        ]
      : []),
    { label: tw('files.attach'), icon: 'paperclip', run: () => app.composer.addFile(path) },
    { label: tw('files.download'), icon: 'download', run: () => download(path, 'file') },
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
        <MenuButton label={tw('files.menu', { name: nameOf(doc.path) })} items={menu} />
        <IconButton
          icon={alone.value ? 'chevron-down' : 'chevron-up'}
          size={16}
          label={tw(alone.value ? 'preview.shrink' : 'preview.grow')}
          onClick={() => {
            alone.value = !alone.value
          }}
        />
        <IconButton
          icon="close"
          size={16}
          label={tw('preview.close')}
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
                  lines !== null && tw('preview.lines', { count: lines }),
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
                  {tw('files.edit')}
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
    <section class="preview" aria-label={tw('preview.label', { name: nameOf(doc.path) })}>
      <Head doc={doc} alone={alone} />
      {doc.conflict !== null && <Conflict doc={doc} />}
      <Contents doc={doc} />
    </section>
  )
}
