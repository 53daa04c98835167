/** Renders inline tokens: emphasis, code, safe links, click-to-load images, formulas, footnotes. */
import { useSignal } from '@preact/signals'

import type { ComponentChild } from 'preact'
import { useLightbox } from '../features/lightbox/use-lightbox.ts'
import { Icon } from '../parts/icon.tsx'
import { t } from '../strings/transcript-strings.ts'
import type { Token, Tokens } from '../../lib/base/markdown/lexer.ts'
import type { TagToken } from '../../lib/base/markdown/plain-tags.ts'
import { LinkedImage, LinkedPath, LinkedText } from './linked-text.tsx'
import { visibleWords } from '../../lib/base/visible.ts'
import { decodeEntities, hiddenHost, safeImage, safeLink } from '../../lib/base/markdown/links.ts'
import { Formula } from './math.tsx'
import { isRemote, Media } from './media.tsx'
import type { RenderContext } from './markdown.tsx'

export const inline = (tokens: Token[] | undefined, place: RenderContext): ComponentChild[] =>
  (tokens ?? []).map(token => node(token, place))

const node = (token: Token, place: RenderContext): ComponentChild => {
  switch (token.type) {
    case 'text':
      return token.tokens ? inline(token.tokens, place) : text(decodeEntities(token.text), place)
    case 'escape':
      return token.text
    case 'strong':
      return <strong>{inline(token.tokens, place)}</strong>
    case 'em':
      return <em>{inline(token.tokens, place)}</em>
    case 'del':
      return <del>{inline(token.tokens, place)}</del>
    case 'tag': {
      const { tag: Tag, tokens } = token as TagToken
      return <Tag>{inline(tokens, place)}</Tag>
    }
    case 'codespan':
      return <code dir="ltr">{codeText(token.text, place)}</code>
    case 'br':
      return <br />
    case 'link':
      return link(token as Tokens.Link, place)
    case 'image':
      return (
        <Picture
          key={token.href}
          src={token.href}
          text={decodeEntities(token.text)}
          directory={place.open ? null : place.directory}
        />
      )
    case 'mathInline':
      return <Formula text={token.text} display={false} />
    case 'footnoteRef':
      return <NoteMark label={(token as Token & { label: string }).label} place={place} />
    case 'media':
      // While streaming the path is incomplete, and each partial path would be fetched.
      if (place.open) return token.raw
      if (!isRemote(token.text)) return <Media key={token.text} path={token.text} />
      return <Picture key={token.text} src={token.text} text="" directory={null} />
    case 'checkbox':
      return null
    default:
      // Raw HTML and unknown tokens are shown as text.
      return token.raw
  }
}

/** While streaming, a name is incomplete: its links come with the end of the block. */
const text = (value: string, place: RenderContext): ComponentChild =>
  place.open || place.isLink ? value : <LinkedText text={value} />

/** A name in code must not look like another one; its link leads to the file as it is named. */
const codeText = (value: string, place: RenderContext): ComponentChild => {
  if (place.open || place.isLink) return visibleWords(value)
  const slice = (from: number, to: number) => visibleWords(value.slice(from, to))
  return <LinkedText text={value} code slice={slice} />
}

const link = ({ href, text: label, tokens }: Tokens.Link, place: RenderContext): ComponentChild => {
  const children = inline(tokens, { ...place, isLink: true })
  const safe = safeLink(href)
  if (!safe)
    return (
      <LinkedPath target={href} directory={place.directory}>
        {children}
      </LinkedPath>
    )
  const host = hiddenHost(decodeEntities(label), safe)
  return (
    <>
      <a href={safe} title={safe} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
      {host && <bdi class="md-host">({host})</bdi>}
    </>
  )
}

type PictureProps = { src: string; text: string; directory: string | null }

/** `directory` is null while a name may be incomplete. */
function Picture({ src, text, directory }: PictureProps) {
  const isShown = useSignal(false)
  const show = useLightbox()
  const safe = safeImage(src)
  if (!safe && directory !== null)
    return <LinkedImage target={src} directory={directory} text={text || t('md.image')} />
  if (!safe) return <span class="md-dead">{text || t('md.image')}</span>
  if (safe.kind === 'data')
    return (
      <button type="button" class="picture" data-picture onClick={show}>
        <img class="md-image" src={safe.src} alt={text || t('md.image')} decoding="async" />
      </button>
    )
  if (isShown.value) return <Fetched src={safe.src} text={text} />
  const host = new URL(safe.src).host
  return (
    <button
      type="button"
      class="md-image-ask"
      onClick={() => {
        isShown.value = true
      }}
    >
      <Icon name="image" />
      <span>{text || t('md.image')}</span>
      <small>{t('md.image.load', { host })}</small>
    </button>
  )
}

/** Fetched by the server, so that other hosts learn nothing about this browser. */
function Fetched({ src, text }: { src: string; text: string }) {
  const show = useLightbox()
  const broken = useSignal(false)
  if (broken.value)
    return (
      <a href={src} target="_blank" rel="noopener noreferrer">
        {text || t('md.image.broken')}
      </a>
    )
  return (
    <button type="button" class="picture" data-picture onClick={show}>
      <img
        class="md-image md-image-box"
        src={`api/media/remote?url=${encodeURIComponent(src)}`}
        alt={text || t('md.image')}
        onError={() => {
          broken.value = true
        }}
      />
    </button>
  )
}

/** Footnote reference; without a footnote it stays plain text. */
function NoteMark({ label, place }: { label: string; place: RenderContext }) {
  const number = [...place.footnotes.keys()].indexOf(label) + 1
  if (!number) return <>{`[^${label}]`}</>
  const show = () =>
    document.getElementById(`${place.id}-note-${label}`)?.scrollIntoView({ block: 'nearest' })
  return (
    <sup>
      <button
        type="button"
        class="md-note-mark"
        onClick={show}
        aria-label={t('md.note', { number })}
      >
        {number}
      </button>
    </sup>
  )
}
