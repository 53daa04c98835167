/** File shown by `MEDIA:<path>` in an answer: image, audio or video inline, others as a download. */
import { useSignal } from '@preact/signals'

import { AUDIO, extensionOf, isImagePath, fileName, VIDEO } from '../parts/file-kind.ts'
import { useLightbox } from '../features/lightbox/use-lightbox.ts'
import { Icon } from '../parts/icon.tsx'
import { t } from '../strings/transcript-strings.ts'

/** URLs of this server, as an external agent may write them; others are never fetched without a click. */
const OWN =
  /^https?:\/\/(?:localhost|127\.0\.0\.1)(?::\d+)?\/(api\/(?:media|file\/raw)\?[^\s"'<>]+)$/i

export const isRemote = (path: string): boolean => /^https?:\/\//i.test(path) && !OWN.test(path)

/** Relative to the page's base, so that it works under any path. */
const sourceOf = (path: string): string =>
  OWN.exec(path)?.[1] ?? `api/media?path=${encodeURIComponent(path.replace(/^file:\/\//, ''))}`

export function Media({ path }: { path: string }) {
  const broken = useSignal(false)
  const show = useLightbox()
  const src = sourceOf(path)
  const name = fileName(path)
  const extension = broken.value ? '' : extensionOf(path)
  const onError = () => {
    broken.value = true
  }
  if (!broken.value && isImagePath(path)) {
    return (
      <a
        class="md-media"
        data-picture
        onClick={show}
        href={src}
        target="_blank"
        rel="noopener noreferrer"
      >
        <img
          class="md-image md-image-box"
          src={src}
          alt={t('media.image', { name })}
          loading="lazy"
          decoding="async"
          onError={onError}
        />
      </a>
    )
  }
  if (AUDIO.includes(extension)) {
    const label = t('media.audio', { name })
    return (
      // biome-ignore lint/a11y/useMediaCaption: an agent's file comes without captions
      <audio class="md-audio" src={src} controls preload="none" aria-label={label} />
    )
  }
  if (VIDEO.includes(extension)) {
    const label = t('media.video', { name })
    return (
      // biome-ignore lint/a11y/useMediaCaption: an agent's file comes without captions
      <video class="md-image" src={src} controls preload="metadata" aria-label={label} />
    )
  }
  return (
    <a class="md-file" href={src} download={name}>
      <Icon name="download" size={14} />
      <span>{name}</span>
    </a>
  )
}
