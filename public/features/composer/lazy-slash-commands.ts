/** Slash commands, loaded after the first render or with the first slash. */
import type { App } from '../../app.ts'
import type { Toasts } from '../shell/toast.ts'

type Registry = typeof import('./slash-commands.ts')

export const createSlashCommands = (toasts: Toasts) => {
  const kept: { registry: Registry | null } = { registry: null }
  const load = async (): Promise<Registry> => {
    const registry = await import('./slash-commands.ts')
    kept.registry = registry
    return registry
  }
  return {
    load,
    /** For the completion list. */
    suggestions: () => kept.registry?.suggestions() ?? [],
    /** Runs a command; false for other text. Rejects when it failed: the text stays. */
    async run(app: App, text: string): Promise<boolean> {
      if (!text.trimStart().startsWith('/')) return false
      const found = (await load()).parseCommand(text)
      if (!found) return false
      const said = await found.command.run(app, found.argument)
      if (said) toasts.show(said)
      return true
    },
  }
}
