/** A message of the user as the start of a new command. */
import type { App } from '../../app.ts'

/** A command that is being written is shown instead: it has not been saved. */
export const saveAsCommand = async (app: App, text: string): Promise<void> => {
  const { ownFilesOf } = await import('./own-files.ts')
  const commands = ownFilesOf(app, 'command')
  if (!commands.draft.value) commands.create({ text })
  app.shell.route.go({ view: 'skills', tab: 'commands', skill: null, query: '' })
}
