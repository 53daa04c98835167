/** Saves variables in a home's .env: locked, atomic, mode 0600, never in a managed home. */
import { join } from 'node:path'
import { conflict } from '../errors.ts'
import { withFileLock } from '../store/flock.ts'
import { readText } from '../store/read-text.ts'
import { replaceText } from '../store/atomic-write.ts'
import { editEnv } from './env-format.ts'
import { type Home, isManaged } from './home.ts'

const LOCK_MS = 5_000

/** Throws for an unreadable file: treated as empty, it would be overwritten. */
const requireText = (path: string): string => {
  const { text, problem } = readText(path)
  if (problem !== null)
    throw conflict(`Couldn’t read .env, so it was not changed: ${problem}`, {
      code: 'file_unreadable',
      values: { file: '.env', reason: problem },
    })
  return text ?? ''
}

/** Null removes a variable. Reads the file under the lock, so that no other program's change is lost. */
export const writeEnv = async (
  home: { dir: string; env?: Home['env'] },
  values: Readonly<Record<string, string | null>>,
): Promise<void> => {
  if (isManaged(home.dir, home.env?.() ?? {}))
    throw conflict('This home is managed by the system. Its keys can’t be changed here.', {
      code: 'managed_home',
    })
  const path = join(home.dir, '.env')
  await withFileLock(join(home.dir, '.env.lock'), { timeoutMs: LOCK_MS }, () => {
    const before = requireText(path)
    let text = before
    for (const [name, value] of Object.entries(values)) text = editEnv(text, name, value)
    if (text !== before) replaceText(path, text, { mode: 0o600, keepsMark: true })
  })
}
