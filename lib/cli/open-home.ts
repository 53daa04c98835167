/** Opens the profile of a command that serves a program. */
import { invalid } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { TerminalEngine } from './terminal-engine.ts'

/** The active profile when `profile` is null. Closes the engine and throws a UserError when it cannot be used. */
export const openHome = async (engine: TerminalEngine, profile: string | null): Promise<Home> => {
  try {
    const home = engine.homes.open(profile ?? engine.homes.active())
    const problem = home.config.problem()
    if (problem) throw invalid(`config.yaml: ${problem}`)
    return home
  } catch (error) {
    await engine.close()
    throw error
  }
}
