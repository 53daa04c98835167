/** Text with links to what it names: files open in the panel, URLs in a new tab. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useContext, useMemo } from 'preact/hooks'
import type { App } from '../../app.ts'
import type {
  LinkedImageProps,
  LinkedPathProps,
  LinkedTextProps,
} from '../../markdown/linked-text.tsx'
import { decodeEntities, hiddenHost } from '../../../lib/base/markdown/links.ts'
import { useLightbox } from '../lightbox/use-lightbox.ts'
import { AppContext } from '../shell/context.ts'
import { fileQuery } from '../shell/route.ts'
import { isImagePath } from '../../parts/file-kind.ts'
import { formatTarget } from '../../parts/target.ts'
import { findReferences, type Reference, wholeReference } from './find-references.ts'
import { KnownNames, type KnownName } from './known-names.ts'
import { t } from './strings.ts'

const created = new WeakMap<App, KnownNames>()

const knownNamesOf = (app: App): KnownNames => {
  const cached = created.get(app)
  if (cached) return cached
  const names = new KnownNames({ platform: app.shell.platform, busy: app.chat.transcript.busy })
  created.set(app, names)
  return names
}

type LineRange = { line: number | null; endLine: number | null }

/** What is known of a name in the open chat. Null outside of a chat: then only URLs are links. */
const useName = (name: string | null): KnownName | null => {
  const app = useContext(AppContext)
  const session = app?.chat.transcript.sessionId.value
  if (!app || !session || name === null) return null
  const names = knownNamesOf(app)
  // Missing names are asked for again after each turn.
  void names.round.value
  return names.look(session, name).value ?? null
}

type LinkProps = { file: KnownName; place: LineRange; children: ComponentChildren }

const KnownLink = ({ file, place, children }: LinkProps) => {
  const app = useContext(AppContext)!
  const session = app.chat.transcript.sessionId.value
  const isDirectory = file.type === 'dir'
  const target = { path: file.path, ...place, isDirectory }
  const at = app.shell.route.hrefOf({ view: 'chat', sessionId: session })
  const href = isDirectory ? at : at + fileQuery(formatTarget(target))
  const open = (event: MouseEvent) => {
    // With a modifier, the browser opens the address in a new tab or window.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    // A link in a dialog leads out of it.
    app.shell.layout.overlay.value = null
    app.panel.openTarget(target)
  }
  const title = t(isDirectory ? 'ref.folder' : 'ref.file', { path: file.path || '.' })
  return (
    <a class="ref" href={href} title={title} onClick={open}>
      {children}
    </a>
  )
}

type OneProps = { reference: Reference; text: string; children: ComponentChildren }

/** One reference: plain text until it is known to exist, and the same text afterward. */
const One = ({ reference, text, children }: OneProps) => {
  const file = useName(reference.kind === 'path' ? reference.path : null)
  if (reference.kind === 'url') {
    const host = hiddenHost(text, reference.href)
    return (
      <>
        <a href={reference.href} title={reference.href} target="_blank" rel="noopener noreferrer">
          {children}
        </a>
        {host && <bdi class="md-host">({host})</bdi>}
      </>
    )
  }
  if (!file) return <>{children}</>
  return (
    <KnownLink file={file} place={reference}>
      {children}
    </KnownLink>
  )
}

const isPlace = (reference: Reference): boolean =>
  reference.kind === 'url' || (reference.kind === 'path' && reference.line !== null)

export function ReferenceText({ text, code = false, places = false, slice }: LinkedTextProps) {
  const references = useMemo(() => {
    const whole = code ? wholeReference(text) : null
    if (whole) return [whole]
    return places ? findReferences(text).filter(isPlace) : findReferences(text)
  }, [text, code, places])
  const show = (from: number, to: number) => (slice ? slice(from, to) : text.slice(from, to))
  if (references.length === 0) return <>{show(0, text.length)}</>
  const parts: ComponentChildren[] = []
  let at = 0
  for (const reference of references) {
    const { start, end } = reference
    if (start > at) parts.push(show(at, start))
    parts.push(
      <One key={start} reference={reference} text={text.slice(start, end)}>
        {show(start, end)}
      </One>,
    )
    at = end
  }
  if (at < text.length) parts.push(show(at, text.length))
  return <>{parts}</>
}

/** `../img/a.png` in `docs/guide/start.md` is `docs/img/a.png`; null for what leaves the workspace. */
const resolveRelative = (directory: string, target: string): string | null => {
  if (target.startsWith('/')) return target
  const names: string[] = []
  for (const name of `${directory}/${target}`.split('/')) {
    if (name === '..' && names.length === 0) return null
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return names.join('/')
}

/** A target of a link may be percent-encoded; a lone `%` is a part of the name. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The workspace file that a Markdown link or image names; null for anything else, such as an anchor. */
const fileTarget = (target: string, directory: string): (LineRange & { path: string }) | null => {
  const text = decodeEntities(target).trim()
  const local = /^file:\/\/(?:localhost)?(?=\/)/i.exec(text)?.[0] ?? ''
  const rest = text.slice(local.length)
  if (rest === '' || /^(?:#|\/\/|[a-z][a-z\d+.-]*:(?!\d))/i.test(rest)) return null
  const [, path = rest, line, end] =
    /^(.+?)(?:#L(\d{1,7})(?:-L?(\d{1,7}))?|:(\d{1,7})(?::\d{1,7})?|[#?].*)?$/.exec(rest) ?? []
  const column = /:(\d{1,7})(?::\d{1,7})?$/.exec(rest.slice(path.length))?.[1]
  const fullPath = resolveRelative(local ? '' : directory, decoded(path))
  if (!fullPath || /[\0\\]/.test(fullPath)) return null
  const start = Number(line ?? column ?? 0)
  return {
    path: fullPath,
    line: start || null,
    endLine: end && Number(end) > start ? Number(end) : null,
  }
}

export function PathLink({ target, directory, children }: LinkedPathProps) {
  const place = useMemo(() => fileTarget(target, directory), [target, directory])
  const file = useName(place?.path ?? null)
  if (!file || !place) return <span class="md-dead">{children}</span>
  return (
    <KnownLink file={file} place={place}>
      {children}
    </KnownLink>
  )
}

/** Images and SVG only, by an `<img>` element, in which nothing runs. Other files are links. */
export function WorkspaceImage({ target, directory, text }: LinkedImageProps) {
  const app = useContext(AppContext)
  const show = useLightbox()
  const broken = useSignal(false)
  const place = useMemo(() => fileTarget(target, directory), [target, directory])
  const file = useName(place?.path ?? null)
  if (!app || file?.type !== 'file' || broken.value || !isImagePath(file.path))
    return (
      <PathLink target={target} directory={directory}>
        {text}
      </PathLink>
    )
  const session = app.chat.transcript.sessionId.value
  return (
    <button type="button" class="picture" data-picture onClick={show}>
      <img
        class="md-image md-image-box"
        src={`api/file/raw?session_id=${encodeURIComponent(session)}&path=${encodeURIComponent(file.path)}`}
        alt={text}
        loading="lazy"
        decoding="async"
        onError={() => {
          broken.value = true
        }}
      />
    </button>
  )
}
