/** Previews of images, audio, video, PDF, CSV, Markdown, and HTML. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { directoryOf, fileName } from '../../parts/file-kind.ts'
import { lazy } from '../../parts/lazy.tsx'
import { LiveFrame } from './live-frame.tsx'
import { Markdown } from '../../markdown/markdown.tsx'
import { Button } from '../../parts/button.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import type { Doc } from '../workspace/document.ts'
import { t } from '../workspace/strings.ts'
import { trustedHtml } from '../../markdown/trusted-types.ts'
import { pageNonce } from '../workspace/nonce.ts'
import { useWorkspacePanel } from './context.ts'

const Diagram = lazy(async () => (await import('../../markdown/diagram.tsx')).Diagram)

export const Download = ({ doc, why }: { doc: Doc; why: string }) => {
  const panel = useWorkspacePanel()
  return (
    <div class="panel-blank">
      <p>{why}</p>
      <Button icon="download" onClick={() => panel.download(doc.path, 'file')}>
        {t('files.download')}
      </Button>
    </div>
  )
}

export const MarkdownView = ({ doc }: { doc: Doc }) => (
  <ScrollBox class="md-view" label={t('preview.contents', { name: fileName(doc.path) })}>
    <Markdown
      text={doc.content.replace(/^---\n[\s\S]*?\n---\n/, '')}
      id={`file-${doc.path}`}
      directory={directoryOf(doc.path)}
    />
  </ScrollBox>
)

export const HtmlView = ({ doc }: { doc: Doc }) =>
  doc.isRunning ? (
    <LiveFrame html={doc.content} name={fileName(doc.path)} />
  ) : (
    <StaticHtml doc={doc} />
  )

/** Without scripts. The HTML parser is loaded on first use. */
const StaticHtml = ({ doc }: { doc: Doc }) => {
  const framed = useSignal('')
  useEffect(() => {
    let current = true
    void import('../workspace/html-frame.ts').then(({ frameDocument }) => {
      if (current) framed.value = trustedHtml(frameDocument(doc.content, pageNonce()))
    })
    return () => {
      current = false
    }
  }, [doc.content])
  // An empty srcdoc would be a plain string, which Trusted Types rejects.
  if (framed.value === '') return null
  return (
    <iframe
      class="frame-view"
      title={t('preview.frame', { name: fileName(doc.path) })}
      sandbox=""
      srcdoc={framed.value}
    />
  )
}

/** Framed by a `blob:` URL: no URL of the server may be framed. */
export const PdfView = ({ doc }: { doc: Doc }) =>
  doc.blob ? <iframe class="frame-view" title={fileName(doc.path)} src={doc.blob} /> : null

/** As an image: a browser runs no script of an SVG image, and loads nothing for it. */
export const SvgView = ({ doc }: { doc: Doc }) => {
  const url = useSignal('')
  const broken = useSignal(false)
  useEffect(() => {
    const objectUrl = URL.createObjectURL(new Blob([doc.content], { type: 'image/svg+xml' }))
    url.value = objectUrl
    broken.value = false
    return () => URL.revokeObjectURL(objectUrl)
  }, [doc.content])
  if (broken.value) return <p class="panel-note">{t('preview.svg.broken')}</p>
  return (
    <div class="media-view media-image">
      {url.value && (
        <img
          src={url.value}
          alt={fileName(doc.path)}
          onError={() => {
            broken.value = true
          }}
        />
      )}
    </div>
  )
}

export const MermaidView = ({ doc }: { doc: Doc }) => {
  const failure = useSignal('')
  if (failure.value === doc.content) return <p class="panel-note">{t('code.failed')}</p>
  return (
    <div class="media-view media-diagram">
      <Diagram
        text={doc.content}
        onFail={() => {
          failure.value = doc.content
        }}
      />
    </div>
  )
}

export const MediaView = ({ doc }: { doc: Doc }) => {
  const panel = useWorkspacePanel()
  const broken = useSignal(false)
  const name = fileName(doc.path)
  const src = panel.rawUrl(doc.path, { v: doc.generation || undefined })
  const onError = () => {
    broken.value = true
  }
  if (broken.value) return <Download doc={doc} why={t('preview.media')} />
  return (
    <div class={`media-view media-${doc.kind}`}>
      {doc.kind === 'image' && <img src={src} alt={name} onError={onError} />}
      {doc.kind === 'audio' && (
        // biome-ignore lint/a11y/useMediaCaption: a file of the workspace comes without captions
        <audio src={src} controls preload="metadata" aria-label={name} onError={onError} />
      )}
      {doc.kind === 'video' && (
        // biome-ignore lint/a11y/useMediaCaption: a file of the workspace comes without captions
        <video src={src} controls preload="metadata" aria-label={name} onError={onError} />
      )}
    </div>
  )
}
