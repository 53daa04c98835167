/** The names in a directory; none when it is absent or cannot be read. */
import { readdirSync } from 'node:fs'

export const namesIn = (dir: string): string[] => {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}
