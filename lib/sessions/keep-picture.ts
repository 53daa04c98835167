/** Pictures that a person pasted: kept with the chat, under a name made of their content, and never in its workspace. */
import { join } from 'node:path'
import { readImageFile } from '../agent/image-file.ts'
import { MAX_IMAGE_BYTES } from '../agent/images.ts'
import { invalid } from '../errors.ts'
import { readWhole } from '../store/read-text.ts'
import type { ToolOutput } from './tool-output.ts'

const refused = () =>
  invalid('A pasted picture must be PNG, JPEG, GIF or WebP, and at most 10 MB.', {
    code: 'picture_not_kept',
    values: { max: MAX_IMAGE_BYTES >> 20 },
  })

/** `from`: the file that was uploaded. The name that messages attach it by is its path. */
export const keepPicture = (store: ToolOutput, sessionId: string, from: string) => {
  const bytes = readWhole(from)
  const image = bytes.length > MAX_IMAGE_BYTES ? null : readImageFile(bytes)
  const name = image && store.saveImage(sessionId, bytes, image.ending)
  if (!name) throw refused()
  const path = join(store.dirOf(sessionId), name)
  return { filename: path, path }
}
