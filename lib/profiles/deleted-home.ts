/** The home of a deleted profile: its sessions can be read, but nothing can run or be sent. */
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { conflict, type UserError } from '../errors.ts'
import { DEFAULT_PROFILE_CONFIG } from './config.ts'
import { type Home, withLenient } from './home.ts'

const NOTHING = Object.freeze({})

/** `.missing` is not a valid profile name, so nothing is ever found there. */
export const deletedHome = (name: string, profilesDir: string, clock: Clock): Home => {
  const dir = join(profilesDir, '.missing')
  const refusal = (): UserError =>
    conflict(
      `This conversation’s profile, '${name}', no longer exists. Choose another profile to continue.`,
      { code: 'profile_deleted', values: { name }, config_problem: true, missing_profile: name },
    )
  const refuse = (): never => {
    throw refusal()
  }
  const home: Parameters<typeof withLenient>[0] = {
    name,
    dir,
    clock,
    config: {
      path: join(dir, 'config.yaml'),
      read: refuse,
      peek: () => NOTHING,
      problem: () => null,
      isLost: () => true,
      edit: refuse,
      editAll: refuse,
    },
    values: refuse,
    peek: () => NOTHING,
    settings: refuse,
    configProblems: () => [],
    dotenv: refuse,
    env: refuse,
    authJson: refuse,
    authProblem: () => null,
    problems: () => [],
    childEnv: refuse,
    sourceInitFiles: async () => refuse(),
  }
  // Code that only displays a session gets the defaults.
  return withLenient(home, { ...home, settings: () => DEFAULT_PROFILE_CONFIG })
}
