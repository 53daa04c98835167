/** The menu of a chat, whose entries are loaded when it is first opened. */
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { App } from '../../app.ts'
import { lateItems } from '../shell/late-items.ts'

export const lateSessionMenu = (app: App, row: SessionRow, rename: () => void) =>
  lateItems(app.shell, async () =>
    (await import('./session-menu.ts')).sessionMenu(app, row, rename),
  )
