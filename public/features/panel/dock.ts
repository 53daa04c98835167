/** The terminal dock, with a style sheet of its own: the emulator's is as large as those of several views. */
import { lazy } from '../../parts/lazy.tsx'
import { loadLazyCss } from '../../parts/lazy-css.ts'

export const Dock = lazy(async () => {
  const [{ TerminalDock }] = await Promise.all([
    import('./terminal-dock.tsx'),
    loadLazyCss('terminal'),
  ])
  return TerminalDock
}, true)
