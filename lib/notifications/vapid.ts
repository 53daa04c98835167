/** The key pair with which this server signs Web Push messages (RFC 8292): made once, in a private file. */
import { join } from 'node:path'
import { z } from 'zod'
import { unavailable } from '../errors.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { readWholeText } from '../store/read-text.ts'

export const VapidFile = z.object({ publicKey: z.string(), privateKey: z.string() })
export type VapidKeys = z.infer<typeof VapidFile>

const pathIn = (stateDir: string): string => join(stateDir, 'vapid.json')

/** Null: none was made yet. A damaged file is not replaced: every subscription is bound to its key. */
const readVapid = (stateDir: string): VapidKeys | null => {
  const path = pathIn(stateDir)
  try {
    return VapidFile.parse(JSON.parse(readWholeText(path)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw unavailable(
      `${path} is damaged. Restore it, or remove it and turn notifications on again on each device.`,
      { code: 'file_damaged', values: { path } },
    )
  }
}

/** Imported on demand: only servers that send such messages pay for it. */
export const loadWebPush = async () => (await import('web-push')).default

/** The keys of this server; makes them where there are none. */
export const vapidKeys = async (stateDir: string): Promise<VapidKeys> => {
  const keys = readVapid(stateDir)
  if (keys) return keys
  const newKeys = (await loadWebPush()).generateVAPIDKeys()
  // Another request may have made them in between.
  const others = readVapid(stateDir)
  if (others) return others
  writeAtomic(pathIn(stateDir), `${JSON.stringify(newKeys)}\n`)
  return newKeys
}
