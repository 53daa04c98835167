/** The images of a turn: how they are sent, and which of the attached files are images. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { createImageKeeper, type ImageStore } from '../agent/images.ts'
import { guardRead, resolvePath } from '../agent/tools/allowed-paths.ts'
import { readImageBytes } from '../agent/tools/read-image.ts'
import { hasImageName } from '../agent/tools/text-file.ts'
import type { ToolContext } from '../agent/types.ts'
import type { ProfileConfig } from '../profiles/config.ts'
import type { StoredImage } from '../schema/image.ts'
import { auxiliarySettings } from './auxiliary-model.ts'

/** As the host agent reads it: a model configured for images is the way they go, unless `native` says otherwise. */
export const imageMode = (config: ProfileConfig): ImageStore['mode'] => {
  const mode = config.agent.image_input_mode
  const { provider, model, baseUrl } = auxiliarySettings(config, 'vision')
  return mode === 'auto' && (provider !== null || model !== '' || baseUrl !== '') ? 'text' : mode
}

/**
 * Stores copies of the attached files that are images, because the files may change later. Others are skipped, as are
 * images that cannot be stored: the message names them, and reading them gives the model the reason.
 */
export const storeAttachedImages = async (
  paths: readonly string[],
  place: Pick<ToolContext, 'workspace' | 'env' | 'forbidden' | 'readable'>,
  store: ImageStore,
): Promise<StoredImage[]> => {
  if (store.mode === 'text') return []
  const keep = createImageKeeper(store)
  const images: StoredImage[] = []
  for (const path of paths.filter(hasImageName)) {
    // Up to 10 MB are read and hashed at a time; running turns must not wait for twenty of them.
    await nextTick()
    try {
      const fullPath = resolvePath(place, path)
      guardRead(place, fullPath)
      images.push(keep(readImageBytes(fullPath), path))
    } catch {
      // Missing, forbidden, too large, or no image.
    }
  }
  return images
}
