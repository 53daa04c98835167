/** Summary of a profile for the profile list. */
import { isAlive } from '../base/is-alive.ts'
import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { asObject } from '../base/json.ts'
import type { Profile } from '../schema/profile.ts'
import type { Home } from './home.ts'
import { readText } from '../store/read-text.ts'
import { DEFAULT_PROFILE } from './homes.ts'

const textOf = (...values: unknown[]): string | null => {
  const text = values.find(value => typeof value === 'string' && value.trim() !== '')
  return typeof text === 'string' ? text.trim() : null
}

const pidIn = (text: string): number => {
  try {
    const value: unknown = JSON.parse(text)
    return Number(typeof value === 'number' ? value : asObject(value).pid)
  } catch {
    // Partially written, or not a number.
    return Number.NaN
  }
}

/** Whether the messaging gateway of a home runs, by its pid file. */
export const isGatewayRunning = (dir: string): boolean => {
  try {
    return isAlive(pidIn(readText(join(dir, 'gateway.pid'), { maxBytes: 64 * 1024 }).text ?? ''))
  } catch {
    // An unreadable file is that of no gateway.
    return false
  }
}

/** Directories of the skill hub and of git. */
const SKIPPED = new Set(['.hub', '.git'])

/** Counts SKILL.md files below a directory. Links are not followed, so that none counts twice. */
const countSkills = async (dir: string): Promise<number> => {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
  const below = entries.filter(entry => entry.isDirectory() && !SKIPPED.has(entry.name))
  const counts = await Promise.all(below.map(entry => countSkills(join(dir, entry.name))))
  const own = entries.some(entry => entry.name === 'SKILL.md' && entry.isFile())
  return counts.reduce((sum, count) => sum + count, own ? 1 : 0)
}

/** `active`: the name of the caller's profile. */
export const toProfile = async (home: Home, active: string): Promise<Profile> => {
  const { model: setting } = home.lenient.config()
  const model = asObject(setting)
  return {
    name: home.name,
    path: home.dir,
    is_default: home.name === DEFAULT_PROFILE,
    is_active: home.name === active,
    gateway_running: isGatewayRunning(home.dir),
    model: textOf(setting, model.default, model.model),
    provider: textOf(model.provider),
    has_env: statSync(join(home.dir, '.env'), { throwIfNoEntry: false })?.isFile() === true,
    skill_count: await countSkills(join(home.dir, 'skills')),
  }
}
