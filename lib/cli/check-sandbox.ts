/** Checks whether the sandbox of commands works on this computer. */
import { UserError } from '../errors.ts'
import { checkSandbox } from '../sandbox/availability.ts'
import { type Check, type CheckContext, fail, ok } from './check.ts'

export const sandboxChecks = async ({ config, home }: CheckContext): Promise<Check[]> => {
  try {
    const { enabled, network } = home.settings().sandbox
    const { problem } = await checkSandbox(config.env)
    if (problem === null)
      return [ok('sandbox', enabled ? `on, ${toWords(network)}` : 'off; it would work here')]
    // Not wanted, so there is nothing to do.
    if (!enabled) return [ok('sandbox', 'off')]
    return [fail('sandbox', problem, 'Until then commands are refused. docs/sandbox.md has more.')]
  } catch (error) {
    // An unreadable configuration has a check of its own.
    if (error instanceof UserError) return []
    throw error
  }
}

const toWords = (network: boolean | readonly string[]): string =>
  network === true ? 'with network' : network === false ? 'without network' : 'network by pattern'
