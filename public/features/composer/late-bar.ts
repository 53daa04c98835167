/** Loads a part of the composer's bar once the page has shown what was opened. */
import { firstContent } from '../../parts/first-content.ts'
import { loadLazyCss } from '../../parts/lazy-css.ts'

type BarModule = typeof import('./lazy-bar.ts')

export const lateBar =
  <P>(pick: (parts: BarModule) => P) =>
  async (): Promise<P> => {
    await firstContent
    // Not beside the request of the part: a style sheet that arrives before the first view is shown delays it.
    const [parts] = await Promise.all([import('./lazy-bar.ts'), loadLazyCss()])
    return pick(parts)
  }
