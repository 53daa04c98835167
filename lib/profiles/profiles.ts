/** Lists, creates and deletes profiles. An atomic rename makes a deleted one disappear, then its files are removed. */
import { randomBytes } from 'node:crypto'
import { renameSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { namesIn } from '../base/directories.ts'
import type { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import { conflict, invalid, messageOf } from '../errors.ts'
import { syncDir } from '../store/atomic-write.ts'
import { reportWrite } from '../store/write-reports.ts'
import type { Profile } from '../schema/profile.ts'
import { checkNewName, createProfile, type NewProfile } from './create-profile.ts'
import type { Home } from './home.ts'
import { DEFAULT_PROFILE, type Homes } from './homes.ts'
import { isGatewayRunning, toProfile } from './profile-summary.ts'

const DELETED_PREFIX = '.deleted-'

/** Removes a tree. Links are removed, their targets are not. */
const removeTree = (path: string): Promise<void> => rm(path, { recursive: true, force: true })

const requireDeletable = ({ name, dir }: Home): void => {
  if (name === DEFAULT_PROFILE)
    throw invalid('The default profile cannot be deleted.', { code: 'default_profile' })
  if (isGatewayRunning(dir))
    throw conflict(`The gateway of profile '${name}' is running. Stop it first.`, {
      code: 'gateway_running',
      values: { name },
    })
}

/** The profile no longer exists when this returns; the promise resolves when its files are removed. */
const deleteProfile = (homes: Homes, home: Home): Promise<void> => {
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
const removeDeletedProfiles = async (dir: string): Promise<void> => {
  const names = namesIn(dir).filter(
    name => name.startsWith(DELETED_PREFIX) || name.startsWith('.creating-'),
  )
  await Promise.all(names.map(name => removeTree(join(dir, name))))
}

export class Profiles {
  readonly #options
  readonly checkName = checkNewName
  readonly checkRemovable = requireDeletable
  readonly record = toProfile

  constructor(options: {
    homes: Homes
    acceptedSettings: AcceptedSettings
    env: Readonly<Record<string, string>>
    log: (message: string, extra?: Record<string, unknown>) => void
    /** Notifies open pages that a profile was deleted. */
    onDeleted: (name: string) => void
  }) {
    this.#options = options
    void this.#finish(removeDeletedProfiles(options.homes.dir))
  }

  /** The profile is deleted; removing its files is retried at the next start. */
  async #finish(removal: Promise<void>): Promise<void> {
    try {
      await removal
    } catch (error) {
      const { log } = this.#options
      log('could not remove the files of a deleted profile', { error: messageOf(error) })
    }
  }

  /** `active`: the caller's profile. */
  list(active: string): Promise<Profile[]> {
    return Promise.all(this.#options.homes.list().map(home => toProfile(home, active)))
  }

  create(profile: NewProfile): Home {
    const home = createProfile(this.#options.homes, this.#options.env, profile)
    this.#options.acceptedSettings.created(home.name, profile.source?.name)
    // What the person entered for the new profile.
    this.#options.acceptedSettings.edited(
      home.name,
      profile.source?.configFile.peek() ?? {},
      home.configFile.peek(),
    )
    return home
  }

  async remove(home: Home): Promise<void> {
    const removal = deleteProfile(this.#options.homes, home)
    this.#options.acceptedSettings.forget(home.name)
    this.#options.onDeleted(home.name)
    await this.#finish(removal)
  }
}
