/** What a list of profiles says about one of them: nine fields, each as its files stand now. */
import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { asObject } from '../base/json.ts'
import type { Profile } from '../schema/profile.ts'
import type { Home } from './home.ts'
import { readText } from '../store/read-text.ts'
import { DEFAULT_PROFILE } from './homes.ts'

const textOf = (...values: unknown[]): string | null => {
  const found = values.find(value => typeof value === 'string' && value.trim() !== '')
  return typeof found === 'string' ? found.trim() : null
}

const pidIn = (text: string): number => {
  try {
    const value: unknown = JSON.parse(text)
    return Number(typeof value === 'number' ? value : asObject(value).pid)
  } catch {
    // Half-written, or no number at all: nobody's pid.
    return Number.NaN
  }
}

/** The messaging gateway of a home answers to the pid it left there. */
export const isGatewayRunning = (dir: string): boolean => {
  try {
    const pid = pidIn(readText(join(dir, 'gateway.pid'), { maxBytes: 64 * 1024 }).text ?? '')
    // 0 and negative numbers would ask about whole groups of processes.
    return Number.isSafeInteger(pid) && pid > 0 && process.kill(pid, 0)
  } catch (error) {
    // No file and no process mean no; a process of another user may not be asked, and is alive.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Not skills: what the skill hub keeps for itself, and history. */
const SKIPPED = new Set(['.hub', '.git'])

/** SKILL.md files below a directory; links are not followed, so that none is counted twice. */
const countSkills = async (dir: string): Promise<number> => {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
  const below = entries.filter(entry => entry.isDirectory() && !SKIPPED.has(entry.name))
  const counts = await Promise.all(below.map(entry => countSkills(join(dir, entry.name))))
  const own = entries.some(entry => entry.name === 'SKILL.md' && entry.isFile())
  return counts.reduce((sum, count) => sum + count, own ? 1 : 0)
}

/** `active` is the name of the profile the caller is in. */
export const toProfile = async (home: Home, active: string): Promise<Profile> => {
  const { model: written } = home.lenient.settings()
  const model = asObject(written)
  return {
    name: home.name,
    path: home.dir,
    is_default: home.name === DEFAULT_PROFILE,
    is_active: home.name === active,
    gateway_running: isGatewayRunning(home.dir),
    model: textOf(written, model.default, model.model),
    provider: textOf(model.provider),
    has_env: statSync(join(home.dir, '.env'), { throwIfNoEntry: false })?.isFile() === true,
    skill_count: await countSkills(join(home.dir, 'skills')),
  }
}
