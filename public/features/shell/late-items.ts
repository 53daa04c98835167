/** The entries of a menu whose code is loaded when it is first opened. */
import type { MenuItem } from '../../parts/menu-button.tsx'
import type { Shell } from './shell-state.ts'

/** Null when it could not be loaded, which a toast says. */
export const lateItems = async (
  shell: Shell,
  load: () => Promise<readonly MenuItem[]>,
): Promise<readonly MenuItem[] | null> => {
  let items: readonly MenuItem[] | null = null
  await shell.attempt(async () => {
    items = await load()
  })
  return items
}
