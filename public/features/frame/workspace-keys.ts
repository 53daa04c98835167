/** What the shortcuts of the workspace do; loaded when one is pressed. */
import type { App } from '../../app.ts'
import { may } from '../../parts/may.ts'

/** With the cursor in the message of the commit. */
const reviewChanges = ({ panel, shell: { route } }: App): void => {
  route.backToChat()
  panel.choose('changes')
  panel.show()
  panel.commitFocus.value += 1
}

const toggleTerminal = ({ shell: { layout, route } }: App): void => {
  if (!may('POST /api/terminal/open')) return
  const isHidden = layout.dock.value === 'closed' || route.current.peek().view !== 'chat'
  route.backToChat()
  layout.setDock(isHidden ? 'asked' : 'closed')
}

const openFileDialog = async (app: App): Promise<void> =>
  (await import('../panel/file-dialog.tsx')).openFileDialog(app)

export const workspaceKeys = { reviewChanges, toggleTerminal, openFileDialog }
