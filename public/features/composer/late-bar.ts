/** Loads a part of the composer's bar once the page has shown what was opened. */
import { firstContent } from '../../parts/first-content.ts'

type Parts = typeof import('./lazy-bar.ts')

export const lateBar =
  <P>(pick: (parts: Parts) => P) =>
  async (): Promise<P> => {
    await firstContent
    return pick(await import('./lazy-bar.ts'))
  }
