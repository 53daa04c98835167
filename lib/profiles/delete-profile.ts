/** Deletes a profile: an atomic rename makes it disappear, then its files are removed. */
import { randomBytes } from 'node:crypto'
import { readdirSync, renameSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { conflict, invalid } from '../errors.ts'
import { syncDir } from '../store/atomic-write.ts'
import type { Home } from './home.ts'
import { DEFAULT_PROFILE, type Homes } from './homes.ts'
import { isGatewayRunning } from './profile-summary.ts'
import { reportWrite } from '../store/write-reports.ts'

const DELETED_PREFIX = '.deleted-'

/** Removes a tree. Links are removed, their targets are not. */
const removeTree = (path: string): Promise<void> => rm(path, { recursive: true, force: true })

export const requireDeletable = ({ name, dir }: Home): void => {
  if (name === DEFAULT_PROFILE)
    throw invalid('The default profile cannot be deleted.', { code: 'default_profile' })
  if (isGatewayRunning(dir))
    throw conflict(`The gateway of profile '${name}' is running. Stop it first.`, {
      code: 'gateway_running',
      values: { name },
    })
}

/** The profile no longer exists when this returns; the promise resolves when its files are removed. */
export const deleteProfile = (homes: Homes, home: Home): Promise<void> => {
  const { name, dir } = home
  requireDeletable(home)
  if (homes.active() === name) homes.activate(homes.base)
  const grave = join(homes.dir, `${DELETED_PREFIX}${name}-${randomBytes(4).toString('hex')}`)
  renameSync(dir, grave)
  reportWrite(dir)
  homes.forget(name)
  syncDir(homes.dir)
  return removeTree(grave)
}

/** Removes what a killed process left behind. */
export const removeDeletedProfiles = async (dir: string): Promise<void> => {
  const names = (() => {
    try {
      return readdirSync(dir)
    } catch {
      // There is no profiles directory.
      return []
    }
  })()
  const left = names.filter(
    name => name.startsWith(DELETED_PREFIX) || name.startsWith('.creating-'),
  )
  await Promise.all(left.map(name => removeTree(join(dir, name))))
}
