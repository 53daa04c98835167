/** A new directory; the runner removes the one in which all of a run are (`run.ts`). */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const tempDir = (name: string): string => mkdtempSync(join(tmpdir(), `${name}-`))
