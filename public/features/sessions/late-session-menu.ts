/** The menu of a session, whose many entries are loaded when it is first opened. */
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { App } from '../../app.ts'
import type { MenuItem } from '../../parts/menu-button.tsx'

/** Null when it could not be loaded, which a toast says. */
export const lateSessionMenu = async (
  app: App,
  row: SessionRow,
  rename: () => void,
): Promise<readonly MenuItem[] | null> => {
  let items: readonly MenuItem[] | null = null
  await app.shell.attempt(async () => {
    items = (await import('./session-menu.ts')).sessionMenu(app, row, rename)
  })
  return items
}
