/** Opens the picture that was clicked, and all others of the transcript with it. */
import { useContext } from 'preact/hooks'
import { AppContext } from '../shell/context.ts'

/** For a button or link around an image. Outside of the page, a link stays a link. */
export const useLightbox = (): ((event: MouseEvent) => void) => {
  const app = useContext(AppContext)
  return event => {
    if (!app || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    const image = (event.currentTarget as Element).querySelector('img')
    if (!image) return
    event.preventDefault()
    import('./lightbox.tsx').then(
      ({ openLightbox }) => openLightbox(app, image),
      // Offline: the image itself, in a tab of its own.
      () => void window.open(image.src, '_blank', 'noopener'),
    )
  }
}
