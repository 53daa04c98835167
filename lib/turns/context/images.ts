/** The images of a turn: how they are sent, and which of the attached files are images. */
import { sentence, type Words } from '../../base/sentences.ts'
import { setImmediate as nextTick } from 'node:timers/promises'
import {
  imageKeeper,
  type ImageProblem,
  type ImageStore,
  UnusableImage,
} from '../../agent/images.ts'
import { guardRead, resolvePath } from '../../agent/tools/allowed-paths.ts'
import { readImageBytes } from '../../agent/tools/read-image.ts'
import { hasImageName } from '../../agent/tools/text-file.ts'
import { imageRefusal } from '../../agent/providers/images.ts'
import type { ModelEndpoint, PathScope } from '../../agent/types.ts'
import { messageOf } from '../../errors.ts'
import type { ProfileConfig } from '../../profiles/config.ts'
import type { StoredImage } from '../../schema/image.ts'
import type { Sent } from '../../sessions/entries.ts'
import { auxiliarySettings } from './auxiliary-model.ts'

/** As the host agent reads it: a model configured for images is the way they go, unless `native` says otherwise. */
export const imageMode = (config: ProfileConfig): ImageStore['mode'] => {
  const mode = config.agent.image_input_mode
  const { provider, model, baseUrl } = auxiliarySettings(config, 'vision')
  return mode === 'auto' && (provider !== null || model !== '' || baseUrl !== '') ? 'text' : mode
}

/** An attached image that the model does not get, and why. */
export type LeftOut = {
  path: string
  code: ImageProblem | 'not_readable' | 'not_accepted'
  reason: string
}

/** Images that were stored, those that the model does not get, and what the person is told about the latter. */
export type AttachedImages = { images: StoredImage[]; leftOut: LeftOut[]; warnings: Words[] }

export const NO_IMAGES: AttachedImages = { images: [], leftOut: [], warnings: [] }

export const hasImages = ({ images, leftOut }: AttachedImages): boolean =>
  images.length + leftOut.length > 0

/** How a message is sent with its images, and with a note in front about those that the model does not get. */
export const sentWith = (how: Omit<Sent, 'id'>, { images, leftOut }: AttachedImages) => ({
  ...how,
  before:
    leftOut.map(({ path, reason }) => `[Not shown to you: ${path}. ${reason}]\n`).join('') +
    how.before,
  ...(images.length > 0 && { images }),
})

/** Stores copies of the attached files that are images, because the files may change later. Other files are skipped. */
export const attachImages = async (
  paths: readonly string[],
  place: PathScope,
  store: ImageStore,
  endpoint: ModelEndpoint,
): Promise<AttachedImages> => {
  const images: StoredImage[] = []
  const leftOut: LeftOut[] = []
  const keep = imageKeeper(store)
  for (const path of store.mode === 'text' ? [] : paths.filter(hasImageName)) {
    // Up to 10 MB are read and hashed at a time; running turns must not wait for twenty of them.
    await nextTick()
    try {
      const fullPath = resolvePath(place, path)
      guardRead(place, fullPath)
      images.push(keep(readImageBytes(fullPath), path))
    } catch (error) {
      const code = error instanceof UnusableImage ? error.code : 'not_readable'
      leftOut.push({ path, code, reason: messageOf(error) })
    }
  }
  // The request itself has a note about each of these for the model.
  const refused = images.flatMap((image): LeftOut[] => {
    const reason = imageRefusal(image, endpoint)
    return reason === null ? [] : [{ path: image.name, code: 'not_accepted', reason }]
  })
  const warnings = [...leftOut, ...refused].map(({ path, reason }) =>
    sentence('turn.image_not_shown', { file: path, reason }),
  )
  return { images, leftOut, warnings }
}
