/** The images of a turn: how they are sent, and which of the attached files are images. */
import { setImmediate as nextTick } from 'node:timers/promises'
import {
  createImageKeeper,
  type ImageProblem,
  type ImageStore,
  UnusableImage,
} from '../../agent/images.ts'
import { guardRead, resolvePath } from '../../agent/tools/allowed-paths.ts'
import { readImageBytes } from '../../agent/tools/read-image.ts'
import { hasImageName } from '../../agent/tools/text-file.ts'
import { imageRefusal } from '../../agent/providers/images.ts'
import type { ModelEndpoint, ToolContext } from '../../agent/types.ts'
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

/** Images that were stored, and those that the model does not get. */
export type AttachedImages = { images: StoredImage[]; leftOut: LeftOut[] }

/** Stores copies of the attached files that are images, because the files may change later. Other files are skipped. */
const storeAttachedImages = async (
  paths: readonly string[],
  place: Pick<ToolContext, 'workspace' | 'env' | 'forbidden' | 'readable'>,
  store: ImageStore,
): Promise<AttachedImages> => {
  const leftOut: LeftOut[] = []
  if (store.mode === 'text') return { images: [], leftOut }
  const keep = createImageKeeper(store)
  const images: StoredImage[] = []
  for (const path of paths.filter(hasImageName)) {
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
  return { images, leftOut }
}

export const noImages = async (_: readonly string[]): Promise<AttachedImages> => ({
  images: [],
  leftOut: [],
})

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

type AttachOptions = {
  place: Parameters<typeof storeAttachedImages>[1]
  store: ImageStore
  endpoint: ModelEndpoint
  warn: (sentences: string[]) => void
}

/** Stores the attached images, and tells the person which of them the model does not get. */
export const attachImages =
  ({ place, store, endpoint, warn }: AttachOptions) =>
  async (paths: readonly string[]): Promise<AttachedImages> => {
    const { images, leftOut } = await storeAttachedImages(paths, place, store)
    // The request itself has a note about each of these for the model.
    const refused = images.flatMap((image): LeftOut[] => {
      const reason = imageRefusal(image, endpoint)
      return reason === null ? [] : [{ path: image.name, code: 'not_accepted', reason }]
    })
    warn(
      [...leftOut, ...refused].map(
        ({ path, reason }) => `${path} is not shown to the model: ${reason}`,
      ),
    )
    return { images, leftOut }
  }
