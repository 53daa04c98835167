/** Slash commands, loaded after the first render or with the first slash. */
import type { App } from '../../app.ts'
import type { OfferedCommand } from './find-commands.ts'

type Registry = typeof import('./slash-commands.ts')

export class SlashCommands {
  #registry: Registry | null = null

  async load(): Promise<Registry> {
    this.#registry = await import('./slash-commands.ts')
    return this.#registry
  }

  /** For the completion list: the commands of the page and `others` that fit. */
  find(query: string, others: readonly OfferedCommand[]): readonly OfferedCommand[] {
    return this.#registry?.findCommands([...this.#registry.suggestions(), ...others], query) ?? []
  }

  /** Runs a command; false for other text. Rejects when it failed: the text stays. */
  async run(app: App, text: string): Promise<boolean> {
    if (!text.trimStart().startsWith('/')) return false
    const match = (await this.load()).parseCommand(text)
    if (!match) return false
    const answer = await match.command.run(app, match.argument)
    if (answer) app.shell.toasts.show(answer)
    return true
  }
}
