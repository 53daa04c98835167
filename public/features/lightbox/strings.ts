/** English text of the lightbox, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('lightbox', {
  'lightbox.title': 'Image {number} of {total}',
  'lightbox.next': 'Next image',
  'lightbox.previous': 'Previous image',
  'lightbox.in': 'Zoom in',
  'lightbox.out': 'Zoom out',
  'lightbox.download': 'Download',
  'lightbox.failed': 'This image is no longer available.',
})
