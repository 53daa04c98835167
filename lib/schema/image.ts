/** Images of a message: copies that are stored with the session and named by their content. */
import { z } from 'zod'

/** The name says what is in the file, so a message that names it always means the same bytes. */
export const IMAGE_FILE = /^image-[0-9a-f]{32}\.(?:png|jpg|gif|webp)$/

export const StoredImage = z
  .object({
    /** Name of the copy, without a folder. */
    file: z.string().regex(IMAGE_FILE),
    /** What the image was called: a path, or the tool that returned it. */
    name: z.string(),
    /** In pixels. */
    width: z.int().positive(),
    height: z.int().positive(),
    bytes: z.int().positive(),
  })
  .meta({ id: 'StoredImage' })
export type StoredImage = z.infer<typeof StoredImage>

/** The valid entries of a list that may come from a file; one invalid entry costs one image. */
export const readImages = (value: unknown): StoredImage[] =>
  Array.isArray(value)
    ? value.flatMap(item => {
        const result = StoredImage.safeParse(item)
        return result.success ? [result.data] : []
      })
    : []

const sizeOf = (bytes: number): string =>
  bytes < 1_000_000
    ? `${Math.max(1, Math.round(bytes / 1_000))} kB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`

/** `[image: shots/page.png, 1280×720, 214 kB]`: how text refers to an image. */
export const imageLabel = ({ name, width, height, bytes }: Omit<StoredImage, 'file'>): string =>
  `[image: ${name}, ${width}×${height}, ${sizeOf(bytes)}]`
