/** Images of a tool result: small, below the line of the call; a click opens the whole image. */
import { useSignal } from '@preact/signals'

import type { StoredImage } from '../../../lib/schema/image.ts'
import { useLightbox } from '../lightbox/use-lightbox.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import { t } from './tool-images-strings.ts'

const MAX_WIDTH = 220
const MAX_HEIGHT = 120

/** Known before the image is loaded, so that nothing moves. */
const shownSize = ({ width, height }: StoredImage): { width: number; height: number } => {
  const scale = Math.min(1, MAX_WIDTH / width, MAX_HEIGHT / height)
  return {
    width: Math.max(1, Math.round(width * scale)),
    height: Math.max(1, Math.round(height * scale)),
  }
}

/** Relative to the page's base. */
const sourceOf = (session: string, { file }: StoredImage): string =>
  `api/media?session_id=${encodeURIComponent(session)}&path=${encodeURIComponent(file)}`

export function ToolImages(props: { session: string; images: readonly StoredImage[] }) {
  const show = useLightbox()
  const names = useSignal<readonly string[]>([])
  // Copies are removed when their space is needed.
  const images = props.images.filter(({ file }) => !names.value.includes(file))
  if (images.length === 0 || props.session === '') return null
  return (
    <ul class="tool-images" aria-label={t('tool.images')}>
      {images.map((image, index) => {
        const src = sourceOf(props.session, image)
        const name = visibleName(image.name)
        return (
          <li key={index}>
            <a
              data-picture
              onClick={show}
              href={src}
              target="_blank"
              rel="noopener noreferrer"
              title={name}
            >
              <img
                src={src}
                alt={t('media.image', { name })}
                loading="lazy"
                decoding="async"
                {...shownSize(image)}
                onError={() => {
                  names.value = [...names.value, image.file]
                }}
              />
            </a>
          </li>
        )
      })}
    </ul>
  )
}
