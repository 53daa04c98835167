/** Writes variables into a home's .env: under the lock, whole or not at all, owner-only, never in a managed home. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { conflict } from '../errors.ts'
import { withFileLock } from '../store/flock.ts'
import { replaceText } from '../store/replace.ts'
import { editEnv } from './env-file.ts'
import type { Home } from './home.ts'

const LOCK_MS = 5_000

const readText = (path: string): string =>
  existsSync(path) ? readFileSync(path, 'utf8').replace(/^\uFEFF/, '') : ''

/** Null takes a variable out. Read again under the lock: what another program wrote meanwhile is kept. */
export const writeEnv = async (
  home: Pick<Home, 'dir'>,
  values: Readonly<Record<string, string | null>>,
): Promise<void> => {
  if (existsSync(join(home.dir, '.managed')))
    throw conflict('The keys of this home are managed by the system and cannot be changed here.')
  const path = join(home.dir, '.env')
  await withFileLock(join(home.dir, '.env.lock'), { timeoutMs: LOCK_MS }, () => {
    const before = readText(path)
    let text = before
    for (const [name, value] of Object.entries(values)) text = editEnv(text, name, value)
    if (text !== before) replaceText(path, text, { mode: 0o600 })
  })
}
