/** Checks whether the sandbox of commands works on this computer. */
import { UserError } from '../errors.ts'
import { checkSandbox } from '../commands/sandbox/availability.ts'
import { type Check, type CheckContext, fail, ok, warn } from './check.ts'

export const sandboxChecks = async ({ config, home }: CheckContext): Promise<Check[]> => {
  try {
    const { enabled, network } = home.settings().sandbox
    const { problem } = await checkSandbox(config.env)
    const isOff = enabled === false || (enabled === 'auto' && !config.looksForSandbox)
    if (isOff)
      return [ok('sandbox', `off: ${DIRECT}${problem === null ? '; it would work here' : ''}`)]
    if (problem === null) return [ok('sandbox', `on: commands run in it, ${toWords(network)}`)]
    if (enabled === 'auto') return [warn('sandbox_off', 'sandbox', `off: ${DIRECT}`, problem.text)]
    return [
      fail(
        'sandbox_unusable',
        'sandbox',
        problem.text,
        'Until then commands are refused. docs/sandbox.md has more.',
      ),
    ]
  } catch (error) {
    // An unreadable configuration has a check of its own.
    if (error instanceof UserError) return []
    throw error
  }
}

const DIRECT = 'commands run directly on this computer, with your rights'

const toWords = (network: boolean | readonly string[]): string =>
  network === true ? 'with network' : network === false ? 'without network' : 'network by pattern'
