/** Images of a conversation: which endpoints receive them, and how an image becomes a stored copy. */
import type { StoredImage } from '../schema/image.ts'
import { otherImageFormat, readImageFile } from './image-file.ts'
import type { ModelEndpoint } from './types.ts'

/** Where the images of a session are stored. */
export type ImageStore = {
  /** `auto` sends images to models that are known to accept them (`agent.image_input_mode`). */
  mode: 'auto' | 'native' | 'text'
  /** Stores a copy named by its content and returns the name; null when that failed. */
  save: (bytes: Buffer, ending: string) => string | null
  load: (file: string) => Buffer | null
}

/** How a request sends the images of its messages. */
export type ImageSource = {
  /** False: the model is known not to accept images, or the user turned them off for it. */
  isSent: boolean
  /** `vision_analyze` can describe an image to a model that cannot see it. */
  hasAnalyzer: boolean
  /** The bytes of a stored copy; null when it was removed. */
  load: (file: string) => Buffer | null
}

/** Larger than what any provider accepts as one image. */
export const MAX_IMAGE_BYTES = 10 * 1024 * 1024
/** Describes images to models that cannot see them, and fetches images of the web. */
export const VISION_TOOL = 'vision_analyze'
/** Per run, so that one turn cannot evict the stored results of other sessions: a quarter of the limits in `tool-output.ts`. */
const MAX_RUN_BYTES = 64 * 1024 * 1024
const MAX_RUN_IMAGES = 500

/** `auto`: only to models that are known to accept images. An unknown model might ignore them and answer anyway. */
export const sendsImages = (
  mode: ImageStore['mode'],
  { apiMode, vision }: { apiMode: ModelEndpoint['apiMode']; vision?: boolean | undefined },
): boolean => apiMode !== 'demo' && (mode === 'native' || (mode === 'auto' && vision === true))

export type ImageProblem = 'format' | 'damaged' | 'too_large' | 'too_many' | 'not_stored'

/** Why an image cannot be shown to a model. */
export class UnusableImage extends Error {
  readonly code: ImageProblem

  constructor(code: ImageProblem, message: string) {
    super(message)
    this.code = code
  }
}

/** The error for bytes that are no image a model accepts. */
export const unusableBytes = (bytes: Buffer): UnusableImage => {
  const format = otherImageFormat(bytes)
  return format === null
    ? new UnusableImage('damaged', 'This is no PNG, JPEG, GIF or WebP image that can be read.')
    : new UnusableImage('format', `Models do not accept ${format}. Convert it to JPEG or PNG.`)
}

export const tooLargeImage = (): UnusableImage =>
  new UnusableImage(
    'too_large',
    `The image has more than ${MAX_IMAGE_BYTES >> 20} MB. Make a smaller copy.`,
  )

/** Stores images for one run. What it returns throws an `UnusableImage`. */
export const imageKeeper = (store: ImageStore) => {
  const files = new Set<string>()
  let bytesLeft = MAX_RUN_BYTES
  return (bytes: Buffer, name: string): StoredImage => {
    const image = readImageFile(bytes)
    if (!image) throw unusableBytes(bytes)
    if (bytes.length > MAX_IMAGE_BYTES) throw tooLargeImage()
    if (bytes.length > bytesLeft)
      throw new UnusableImage(
        'too_many',
        `The images of this turn have more than ${MAX_RUN_BYTES >> 20} MB.`,
      )
    if (files.size >= MAX_RUN_IMAGES)
      throw new UnusableImage('too_many', `A turn stores ${MAX_RUN_IMAGES} images at most.`)
    const file = store.save(bytes, image.ending)
    if (file === null) throw new UnusableImage('not_stored', 'The image could not be stored.')
    // A copy that exists takes no more space.
    if (!files.has(file)) bytesLeft -= bytes.length
    files.add(file)
    return { file, name, width: image.width, height: image.height, bytes: bytes.length }
  }
}
