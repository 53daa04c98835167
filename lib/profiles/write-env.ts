/** Writes variables into a home's .env: under the lock, whole or not at all, owner-only, never in a managed home. */
import { join } from 'node:path'
import { conflict } from '../errors.ts'
import { withFileLock } from '../store/flock.ts'
import { readText } from '../store/read-text.ts'
import { replaceText } from '../store/atomic-write.ts'
import { editEnv } from './env-format.ts'
import { type Home, isManaged } from './home.ts'

const LOCK_MS = 5_000

/** Refuses to take a file that cannot be read for an empty one: it would be overwritten. */
const requireText = (path: string): string => {
  const { text, problem } = readText(path)
  if (problem !== null) throw conflict(`.env cannot be read, so it was left alone: ${problem}`)
  return text ?? ''
}

/** Null takes a variable out. Read again under the lock: what another program wrote meanwhile is kept. */
export const writeEnv = async (
  home: Pick<Home, 'dir'> & Partial<Pick<Home, 'env'>>,
  values: Readonly<Record<string, string | null>>,
): Promise<void> => {
  if (isManaged(home.dir, home.env?.() ?? {}))
    throw conflict('The keys of this home are managed by the system and cannot be changed here.', {
      code: 'managed_home',
    })
  const path = join(home.dir, '.env')
  await withFileLock(join(home.dir, '.env.lock'), { timeoutMs: LOCK_MS }, () => {
    const before = requireText(path)
    let text = before
    for (const [name, value] of Object.entries(values)) text = editEnv(text, name, value)
    if (text !== before) replaceText(path, text, { mode: 0o600 })
  })
}
